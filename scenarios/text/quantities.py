"""Measured quantities: which system of units, and their size in one base unit.

Only a unit after a quantity counts (``two miles``, ``a few inches``), so ``the extra mile`` and ``on her feet`` do not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from scenarios.text.document import Document
from scenarios.text.numbers import DIGITS, SPELLED, from_digits, from_words

# name -> (system, kind, factor to m, g, ml, degree Celsius, m2, m/s)
_LONG = {
    "millimet(?:re|er)s?": ("metric", "length", 0.001), "centimet(?:re|er)s?": ("metric", "length", 0.01),
    "kilomet(?:re|er)s?(?: (?:per|an) hour)?": ("metric", "length", 1000.0), "met(?:re|er)s?": ("metric", "length", 1.0),
    "milligrams?": ("metric", "mass", 0.001), "kilograms?|kilos?": ("metric", "mass", 1000.0), "grams?|grammes?": ("metric", "mass", 1.0),
    "millilit(?:re|er)s?": ("metric", "volume", 1.0), "lit(?:re|er)s?": ("metric", "volume", 1000.0), "tonnes?": ("metric", "mass", 1e6),
    "hectares?": ("metric", "area", 1e4), "square met(?:re|er)s?": ("metric", "area", 1.0),
    "degrees? (?:celsius|centigrade|c)": ("metric", "temperature", 1.0),
    "inch(?:es)?": ("imperial", "length", 0.0254), "feet|foot": ("imperial", "length", 0.3048), "yards?": ("imperial", "length", 0.9144),
    "miles?(?: (?:per|an) hour)?": ("imperial", "length", 1609.344), "ounces?": ("imperial", "mass", 28.35),
    "stone": ("imperial", "mass", 6350.0), "lbs?": ("imperial", "mass", 453.6), "pints?": ("imperial", "volume", 568.0),
    "gallons?": ("imperial", "volume", 4546.0), "fluid ounces?|fl\\.? oz": ("imperial", "volume", 28.41), "acres?": ("imperial", "area", 4047.0),
    "quarts?": ("imperial", "volume", 1136.0), "square (?:feet|foot|yards?)": ("imperial", "area", 0.0929),
    "degrees? (?:fahrenheit|f)": ("imperial", "temperature", 0.0),
}  # fmt: skip
_SHORT = {
    "mm": ("metric", "length", 0.001), "cm": ("metric", "length", 0.01), "km/h|kph": ("metric", "speed", 1.0), "km": ("metric", "length", 1000.0),
    "m": ("metric", "length", 1.0), "mg": ("metric", "mass", 0.001), "kg": ("metric", "mass", 1000.0), "g": ("metric", "mass", 1.0),
    "ml": ("metric", "volume", 1.0), "l|L": ("metric", "volume", 1000.0), "\u00b0 ?C|C": ("metric", "temperature", 1.0),
    "ft|'(?=\\d|\\s|$)": ("imperial", "length", 0.3048), "yd|yds": ("imperial", "length", 0.9144), "mi": ("imperial", "length", 1609.344),
    "mph": ("imperial", "speed", 1.609), "oz": ("imperial", "mass", 28.35), "lb|lbs": ("imperial", "mass", 453.6),
    "\u00b0 ?F|F": ("imperial", "temperature", 0.0), "psi": ("imperial", "pressure", 1.0), "kPa": ("metric", "pressure", 1.0),
    "cups?": ("imperial", "volume", 240.0),
}  # fmt: skip
_UNITS = [*_LONG.values(), *_SHORT.values()]
_COUNT = rf"{SPELLED}|(?:an?|one|half an?|half|a few|several|many|some|couple of|hundreds of|thousands of|dozens of|per|every|each|\d/\d)"
_LONG_ALT = "|".join(f"(?P<u{index}>{name})" for index, name in enumerate(_LONG))
_SHORT_ALT = "|".join(f"(?P<u{len(_LONG) + index}>{name})" for index, name in enumerate(_SHORT))
_FRACTION = "[\u00bc\u00bd\u00be\u2153]"
_FIND = re.compile(
    rf"(?:(?<![\w\u00a3$\u20ac.])(?P<digits>{DIGITS})(?:\s?(?:\d/\d|{_FRACTION}))?|{_FRACTION}|(?i:\b(?P<words>{_COUNT})))"
    rf"(?:(?:[ -](?i:and a half ))?[ -]?(?i:{_LONG_ALT})|(?<=[\d{_FRACTION[1:-1]}]) ?(?:{_SHORT_ALT}))(?!\w)(?! ?/)"
)
_POUNDS = re.compile(
    r"(?:weigh\w*|lost|gained|lose|lift\w*)\b[^.\n]{0,30}?\bpounds?\b|\d ?pounds? of (?!that|which|it|the|my|our)\w|\bpounds? (?:heavier|lighter|per square)"
    r"|\b(?:half )?an? pound of \w|\d-pound\b",
    re.IGNORECASE,
)
_IDIOM = re.compile(
    r"\b(?:a foot (?:in|wrong)|(?:every|an|each) inch of|a mile (?:off|away|wide)|a yard (?:sale|full)|(?:per|a|every) (?:foot|yard|stone|pint))\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A measured quantity; `size` is none where the count is vague."""

    system: str
    kind: str
    size: float | None


def _size(match: re.Match[str], factor: float) -> float | None:
    if digits := match.group("digits"):
        return float(from_digits(digits)) * factor
    words = (match.group("words") or "").lower()
    value = 1 if words in ("a", "an", "one") else from_words(words)
    return None if value is None else value * factor


def quantities_in(text: str) -> Iterator[Quantity]:
    """Yield the quantities of the text."""
    for match in _FIND.finditer(text):
        if _IDIOM.match(text, match.start(), match.end() + 6):
            continue
        index = next(i for i in range(len(_UNITS)) if match.group(f"u{i}"))
        system, kind, factor = _UNITS[index]
        yield Quantity(system, kind, _size(match, factor))
    for _ in _POUNDS.finditer(text):
        yield Quantity("imperial", "mass", None)


def units_of(doc: Document) -> tuple[str, str]:
    """Return the one system (metric, imperial, mixed, none) and what was found."""
    counts = Counter(quantity.system for quantity in quantities_in(doc.text))
    found = ", ".join(f"{count} {system} quantities" for system, count in sorted(counts.items()))
    if len(counts) == 1:
        return next(iter(counts)), found
    return ("mixed", found) if counts else ("none", "no measured quantity")
