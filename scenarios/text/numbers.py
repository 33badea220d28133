"""Numbers in text: digits and words, compared as numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

_UNITS = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen").split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
WORDS: dict[str, int] = {word: value for value, word in enumerate(_UNITS)}
WORDS |= {word: 20 + 10 * index for index, word in enumerate(_TENS)}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
_NUMBER_WORD = "|".join(sorted([*WORDS, *_SCALES], key=lambda word: (-len(word), word)))
SPELLED = rf"(?:a hundred|a thousand|(?:{_NUMBER_WORD}))\b(?:(?:[ -]|,? and )(?:{_NUMBER_WORD})\b){{0,9}}"
DIGITS = r"\d{1,3}(?:[, ]\d{3})+(?:\.\d{1,2})?(?![\d])|\d{1,12}(?:\.\d{1,6})?"
_FIND = re.compile(rf"(?<![\w.])-?(?P<digits>{DIGITS})|\b(?P<spelled>{SPELLED})", re.IGNORECASE)


def from_words(phrase: str) -> int | None:
    """Return the value of ``forty-two`` or ``one hundred and twenty``; none if it is no number."""
    total = current = 0
    seen = False
    for word in re.split(r"[ ,-]+", phrase.lower()):
        if word in ("and", "a"):
            current = 1 if word == "a" else current
        elif word in WORDS:
            current, seen = current + WORDS[word], True
        elif word == "hundred":
            current, seen = max(current, 1) * 100, True
        elif word in _SCALES:
            total, current, seen = total + max(current, 1) * _SCALES[word], 0, True
        else:
            return None
    return total + current if seen else None


def from_digits(digits: str) -> Decimal:
    """Return the value of ``1,450.00`` or ``1 450``."""
    return Decimal(digits.replace(",", "").replace(" ", ""))


def numbers_in(text: str) -> Iterator[Decimal]:
    """Yield every number of the text, written in digits or words."""
    for match in _FIND.finditer(text):
        if digits := match.group("digits"):
            yield from_digits(digits)
            yield from (from_digits(part) for part in digits.split(" ") if " " in digits)
        elif (value := from_words(match.group("spelled"))) is not None:
            yield Decimal(value)
