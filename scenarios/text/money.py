"""Money: how amounts are marked, and how they are rounded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from scenarios.text.document import Document
from scenarios.text.numbers import DIGITS, SPELLED, from_digits, from_words, numbers_in

_CODES = "GBP|USD|EUR|AUD|CAD|NZD|JPY|CHF|SEK|NOK|DKK|INR|ZAR|SGD|HKD|CNY|PLN"
_SIGN = "[\u00a3$\u20ac\u00a5\u20b9]"
_SCALE = r"(?P<{0}>(?:k|m|bn)\b|\s?(?:thousand|million|billion)\b)?"
_UNIT = r"(?:pounds?(?: sterling)?|dollars?|euros?|quid|bucks|yen|rupees|francs|pence|cents?|pennies)"
_NO_WEIGHT = r"(?! of (?!(?:that|which|it|the|my|our|this|her|his|your|their|income|spending|rent|debt|savings))\w| heavier| lighter| per square)"
_MONEY = re.compile(
    rf"(?P<code>\b(?:{_CODES}) ?-?(?P<code_a>{DIGITS}){_SCALE.format('scale_a')}|(?P<code_b>\b{DIGITS}) ?(?:{_CODES})\b)"
    rf"|(?P<symbol>{_SIGN} ?(?P<sym_a>{DIGITS}){_SCALE.format('scale_b')}|(?P<sym_b>\b{DIGITS}) ?(?:{_SIGN}|p\b))"
    rf"|(?P<spelled>(?P<word_a>\b(?:{DIGITS})|\b{SPELLED}) {_UNIT}\b{_NO_WEIGHT}"
    rf"(?:,? (?:and )?(?P<minor>\d{{1,2}}|{SPELLED})(?: (?:pence|cents|p))?\b)?)",
    re.IGNORECASE,
)
_SMALL_UNIT = re.compile(r"\b(?:pence|cents?|pennies)\b|p$", re.IGNORECASE)
_CELL = re.compile(rf"^-?(?:{DIGITS})$")


@dataclass(frozen=True, slots=True)
class Amount:
    """One amount: how it is marked, its value in major units, its written decimals."""

    kind: str
    value: Decimal
    decimals: int


def _value(written: str) -> tuple[Decimal, int]:
    if written[0].isdigit():
        return from_digits(written), len(written.partition(".")[2])
    return Decimal(from_words(written) or 0), 0


def _amount(match: re.Match[str]) -> Amount:
    groups = match.groupdict()
    kind = next(name for name in ("code", "symbol", "spelled") if groups[name])
    written = next(groups[name] for name in ("code_a", "code_b", "sym_a", "sym_b", "word_a") if groups[name])
    value, decimals = _value(written)
    if groups["scale_a"] or groups["scale_b"]:
        return Amount(kind, value * 1000, 0)
    whole = match.group(0)
    if groups["minor"] and re.search(r"pence|cents|\d$|p$", whole[match.start("minor") - match.start() :]):
        return Amount(kind, value + _value(groups["minor"])[0] / 100, 2)
    if _SMALL_UNIT.search(whole):
        return Amount(kind, value / 100, 2)
    return Amount(kind, value, decimals)


def amounts_in(doc: Document) -> list[Amount]:
    """Return the money amounts; where money is marked anywhere, bare numbers with two decimals and numeric table cells count too."""
    text = f"{doc.title}\n{doc.text}" if doc.title and doc.title not in doc.text else doc.text
    return [_amount(match) for match in _MONEY.finditer(text)]


def _cells(doc: Document) -> list[Amount]:
    cells = [cell.strip() for block in doc.blocks if block.kind == "table" for cell in block.text.split("|")]
    return [Amount("cell", *_value(cell.lstrip("-"))) for cell in cells if _CELL.match(cell)]


def currency_of(doc: Document) -> tuple[str, str]:
    """Return how money is marked (symbol, code, spelled_out, mixed, none) and what was found."""
    counts = Counter("spelled_out" if amount.kind == "spelled" else amount.kind for amount in amounts_in(doc))
    found = ", ".join(f"{count} amounts by {kind.replace('_', ' ')}" for kind, count in sorted(counts.items()))
    if len(counts) == 1:
        return next(iter(counts)), found
    return ("mixed", found) if counts else ("none", "no amount of money")


def _exact(exempt: Sequence[str]) -> frozenset[Decimal]:
    return frozenset(number for entry in exempt for number in numbers_in(entry))


def rounding_of(doc: Document, exempt: Sequence[str] = ()) -> tuple[str, str]:
    """Return how the amounts that need not stay exact are rounded, and what was found."""
    exact = _exact(exempt)
    marked = amounts_in(doc)
    amounts = [amount for amount in [*marked, *(_cells(doc) if marked else [])] if amount.value not in exact]
    if len(amounts) < 2:
        return "none", f"{len(amounts)} amounts of money, too few to tell"
    decimals = {amount.decimals for amount in amounts}
    tens = sum(amount.value % 10 == 0 for amount in amounts)
    found = f"{len(amounts)} amounts, {sum(a.decimals > 0 for a in amounts)} with decimals, {tens} multiples of ten"
    if decimals == {2}:
        return "to_the_penny", found
    if decimals != {0}:
        return "mixed", found
    return ("nearest_ten" if tens == len(amounts) else "whole_units"), found
