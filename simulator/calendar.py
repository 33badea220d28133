"""The calendar of a run: seconds since the first local midnight, and how people say a day."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import lru_cache
from zoneinfo import ZoneInfo

MINUTE, HOUR, DAY = 60, 3600, 86400
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class Calendar:
    """Turns seconds since the first local midnight into dates, ISO times and words.

    Attributes:
        start: First day of the span.
        timezone: IANA name of the persona's zone.
    """

    start: dt.date
    timezone: str

    def date(self, at: int) -> dt.date:
        """Return the local date."""
        return self.start + dt.timedelta(days=at // DAY)

    def iso(self, at: int) -> str:
        """Return ISO 8601 with the zone's offset on that day."""
        begin, offset = _hour(self.start, self.timezone, at // HOUR)
        return f"{begin}{at % HOUR // MINUTE:02}:{at % MINUTE:02}{offset}"

    def weekday(self, at: int) -> int:
        """Return the weekday, Monday 0."""
        return self.date(at).weekday()

    def words(self, at: int) -> str:
        """Return the day as people say it: ``Thursday the 5th``."""
        date = self.date(at)
        return f"{WEEKDAYS[date.weekday()]} the {ordinal(date.day)}"

    def scopes(self, at: int) -> frozenset[str]:
        """Return the conditions that the date itself brings."""
        date = self.date(at)
        out = {"weekend" if date.weekday() >= 5 else "weekday"}
        if date.weekday() == 4:
            out.add("fridays")
        if date.day <= 7:
            out.add("start_of_month")
        return frozenset(out)


@lru_cache(maxsize=16384)
def _hour(start: dt.date, timezone: str, hour: int) -> tuple[str, str]:
    """Return the beginning and the end of the ISO times within an hour since the start: clocks change on the hour."""
    naive = dt.datetime.combine(start, dt.time()) + dt.timedelta(hours=hour)
    text = naive.replace(tzinfo=ZoneInfo(timezone)).isoformat()
    return text[:14], text[19:]


def ordinal(number: int) -> str:
    """Return ``1st``, ``2nd``, ``3rd``, ``4th``, ..."""
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"
