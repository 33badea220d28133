"""Inline marks: switches, money and dates."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal

from scenarios.writer.models import MARK, Brief

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_STEPS = {"to_the_penny": "0.01", "whole_units": "1", "nearest_ten": "10"}


def rounded(amount: str, rounding: str) -> str:
    """Return an amount in digits with thousands commas, rounded to a penny, a unit or ten; halves go up."""
    step = Decimal(_STEPS[rounding])
    value = (Decimal(amount) / step).quantize(Decimal(1), ROUND_HALF_UP) * step
    return f"{value:,.2f}" if rounding == "to_the_penny" else f"{int(value):,}"


def dated(day: str, style: str) -> str:
    """Return an ISO day in a date format (`iso_dates`, `day_first`, `month_first`)."""
    date = datetime.date.fromisoformat(day)
    month = MONTHS[date.month - 1]
    if style == "iso_dates":
        return date.isoformat()
    return f"{date.day} {month} {date.year}" if style == "day_first" else f"{month} {date.day}, {date.year}"


class Marks:
    """Renders the marks of one text."""

    __slots__ = ("_money", "_chosen", "_index")

    def __init__(self, brief: Brief, chosen: Mapping[str, str]) -> None:
        self._money, self._chosen = brief.money, chosen
        self._index = {letter: brief.dimensions[dimension].values.index(chosen[dimension]) for letter, dimension in brief.switches.items()}

    def fill(self, say: str) -> str:
        """Return a passage with its marks rendered."""
        return MARK.sub(self._one, say).strip()

    def _one(self, match: re.Match[str]) -> str:
        letter, body = match.groups()
        if letter in self._index:
            return body.split("|")[self._index[letter]]
        return self._amount(body) if letter == "m" else dated(body, self._chosen.get("writing.date_format", "day_first"))

    def _amount(self, body: str) -> str:
        assert self._money is not None, "an amount needs the brief's `money`"
        digits = rounded(body, self._chosen.get("finance.rounding", "to_the_penny"))
        style = self._chosen.get("finance.currency_style", "symbol")
        if style == "code":
            return f"{self._money.code} {digits}"
        return f"{self._money.symbol}{digits}" if style == "symbol" else f"{digits} {self._money.name}"
