"""Dates: how they are written, and which day they mean."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from scenarios.text.document import Document

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|"
    r"Dec(?:ember)?|JANUARY|FEBRUARY|MARCH|APRIL|MAY|JUNE|JULY|AUGUST|SEPTEMBER|OCTOBER|NOVEMBER|DECEMBER)\b\.?"
)
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
_NO_COUNT = r"(?![:.,]?\d)(?! ?(?:%|percent|per cent|people|miles|km|guests|pages|points|times|hours|minutes|pm\b|am\b))"
_DATE = re.compile(
    r"(?P<iso>(?<![\d-])(?:19|20)\d\d-(?P<im>0[1-9]|1[0-2])-(?P<id>0[1-9]|[12]\d|3[01])(?!\d|-\d))"
    rf"|(?P<day_first>\b(?P<dd>{_DAY})(?: of)?[ -](?P<dm>{_MONTH}))"
    rf"|(?P<month_first>\b(?P<mm>{_MONTH}) (?:the )?(?P<md>{_DAY})\b{_NO_COUNT})"
    r"|(?P<numeric>(?<![\d./-])(?P<na>\d{1,2})(?P<sep>[/.-])(?P<nb>\d{1,2})(?P=sep)(?:20)?\d\d(?![\d/]))"
)


@dataclass(frozen=True, slots=True)
class Date:
    """A written date: its format, month and day (of an unclear numeric one: as day first)."""

    kind: str
    month: int
    day: int


def _number(month: str) -> int:
    return MONTHS.index(month[:3].lower()) + 1


def _day(day: str) -> int:
    return int("".join(char for char in day if char.isdigit()))


def _numeric(first: int, second: int) -> Date | None:
    if first > 12 and 1 <= second <= 12 and first <= 31:
        return Date("day_first", second, first)
    if second > 12 and 1 <= first <= 12 and second <= 31:
        return Date("month_first", first, second)
    return Date("unclear", second, first) if 1 <= first <= 12 and 1 <= second <= 12 else None


def dates_in(text: str) -> Iterator[Date]:
    """Yield the dates that name a day and a month."""
    for match in _DATE.finditer(text):
        if match.group("iso"):
            yield Date("iso", int(match.group("im")), int(match.group("id")))
        elif match.group("day_first"):
            yield Date("day_first", _number(match.group("dm")), _day(match.group("dd")))
        elif match.group("month_first"):
            yield Date("month_first", _number(match.group("mm")), _day(match.group("md")))
        elif date := _numeric(int(match.group("na")), int(match.group("nb"))):
            yield date


def date_format_of(doc: Document) -> tuple[str, str]:
    """Return the one format of the dates (iso, day_first, month_first, mixed, unclear, none) and what was found."""
    counts = Counter(date.kind for date in dates_in(doc.text))
    unclear = counts.pop("unclear", 0)
    found = ", ".join(f"{count} {kind.replace('_', ' ')} dates" for kind, count in sorted(counts.items()))
    if len(counts) == 1:
        kind = next(iter(counts))
        return ("mixed", f"{found} and {unclear} unclear") if unclear and kind == "iso" else (kind, found)
    if counts:
        return "mixed", found
    return ("unclear", f"{unclear} dates that read either way") if unclear else ("none", "no date")
