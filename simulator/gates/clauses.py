"""Finding a catalog's line in a rendered turn: its fixed parts in order, whatever fills the rest.

Both sides are made *plain*: lower case, one spelling, no punctuation. A value's phrase is put into the text as `PHRASE`
(`with_phrase`), so that a frame is compiled once and not once a value. Patterns are compiled once a process; a literal part is
looked for first, which decides almost every comparison.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import chain, combinations
from typing import TypeVar

from personas.spelling import americanised
from personas.voice import load_voices, normalise
from scenarios.line import Line, LineParts

PHRASE = "\u00a4"
_FILL = r".{1,90}?"
_GLUE = r"[ .,:]?"
_LEAST_LETTERS = 4
_FAR, _LACKING = 9, 3
_LENGTHS_APART = 5  # two slips, and what the spelling varieties add or drop (programme, program)
SLIPS = 2


@lru_cache(maxsize=16384)
def plain(text: str) -> str:
    """Return the words of ``text`` for comparison; a genitive or contraction is two words, so that its stem has one spelling."""
    return normalise(text.replace("\u2019", " ").replace("'", " "))


@lru_cache(maxsize=65536)
def plain_words(text: str) -> str:
    """Return what `plain` does, of words that come again and again: phrases, names, options."""
    return plain(text)


def with_phrase(text: str, phrase: str) -> str:
    """Return plain text with a value's phrase marked."""
    return text.replace(plain_words(phrase), PHRASE)


@dataclass(frozen=True)
class Clause:
    """A line to be found.

    Attributes:
        expression: What finds it, as text.
        anchor: Its longest literal; text without it cannot hold the line.
        fixed: All words of its literals.
        words: All words of its literals and alternatives.
    """

    expression: str
    anchor: str
    fixed: frozenset[str]
    words: frozenset[str]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Finds the line in plain text; compiled when the anchor is first met, which for most lines is never."""
        return re.compile(self.expression)


@cache
def clause(say: str) -> Clause:
    """Return a line compiled."""
    parsed = LineParts(say)
    fills = iter(parsed.fills)
    parts: list[str] = []
    literals: list[str] = []
    words: set[str] = set()
    for part in parsed.parts:
        if isinstance(part, tuple):
            options = [plain(option) for option in part]
            words.update(word for option in options for word in option.split())
            parts.append("(?:" + "|".join(map(re.escape, options)) + ")")
        elif part is None:
            parts.append(re.escape(PHRASE) if next(fills) == "phrase" else _FILL)
        elif literal := plain(part):
            literals.append(literal)
            parts.append(re.escape(literal))
    fixed = frozenset(word for literal in literals for word in literal.split())
    return Clause(_bounded(parts), max(literals, key=len, default=""), fixed, fixed | words)


def _bounded(parts: list[str]) -> str:
    """Join the parts; fills at either end say nothing, and where there are none the line begins and ends with whole words."""
    first, last = 0, len(parts)
    while first < last and parts[first] == _FILL:
        first += 1
    while last > first and parts[last - 1] == _FILL:
        last -= 1
    start = r"(?<!\w)" if first == 0 else ""
    end = r"(?!\w)" if last == len(parts) else ""
    return start + _GLUE.join(parts[first:last]) + end


LineT = TypeVar("LineT", bound=Line)
_banks: dict[int, tuple[tuple[Line, ...], list[tuple[str, Clause, Line]]]] = {}


def matches(bank: tuple[LineT, ...], text: str) -> Iterator[tuple[LineT, re.Match[str]]]:
    """Yield those of a bank's lines that plain text holds, and where.

    A bank belongs to the catalogs and is compiled once; it is kept with what was compiled, so that its id stays its own.
    """
    if id(bank) not in _banks:
        _banks[id(bank)] = bank, [(clause(line.say).anchor, clause(line.say), line) for line in bank]
    for anchor, compiled, line in _banks[id(bank)][1]:
        if anchor in text and (match := compiled.pattern.search(text)):
            yield line, match  # type: ignore[misc]


def heard_of(bank: tuple[LineT, ...], text: str) -> list[LineT]:
    """Return those of a bank's lines that plain text holds."""
    return [line for line, _ in matches(bank, text)]


def found(say: str, text: str) -> bool:
    """Whether plain text holds the line."""
    line = clause(say)
    return line.anchor in text and line.pattern.search(text) is not None


def slip_match(say: str, text: str, phrase: str = "") -> re.Match[str] | None:
    """Return where the line stands in plain text (the phrase not marked) once at most `SLIPS` slips are undone, or None.

    A slip is a word said twice, a misheard one, or one edit in a word that the line (or the phrase) has.
    """
    line, marked = clause(say), bool(phrase) and "{phrase}" in say
    named = frozenset(plain_words(phrase).split()) if marked else frozenset()
    tokens = text.split()
    if len((line.fixed | named).difference(tokens)) > _LACKING:
        return None
    repairs = list(_repairs(tokens, line.words | named))
    for chosen in chain(combinations(repairs, 1), combinations(repairs, 2)):
        if sum(repair.cost for repair in chosen) <= SLIPS:
            repaired = _repaired(tokens, chosen)
            match = line.pattern.search(with_phrase(repaired, phrase) if phrase else repaired)
            if match:
                return match
    return None


@dataclass(frozen=True, slots=True)
class _Repair:
    """Tokens from ``start`` to before ``end`` become ``words``."""

    start: int
    end: int
    words: tuple[str, ...]
    cost: int = 1


def _repairs(tokens: Sequence[str], known: frozenset[str]) -> Iterator[_Repair]:
    """Yield every slip that could be undone towards the words known; a token that is one of them only towards words that are lacking."""
    words = [word for word in sorted(known) if len(word) >= _LEAST_LETTERS]
    lacking = [word for word in words if word not in tokens]
    for place, token in enumerate(tokens):
        for size in (1, 2):
            said = tuple(tokens[place : place + size])
            if said == tuple(tokens[place + size : place + 2 * size]):
                yield _Repair(place, place + size, ())
            if (other := _misheard().get(said)) and known.issuperset(other):
                yield _Repair(place, place + size, other)
        for word in lacking if token in known else words:
            edits = _word_edits(token, word) if abs(len(token) - len(word)) <= _LENGTHS_APART else _FAR
            if edits <= SLIPS:
                yield _Repair(place, place + 1, (word,), edits)


def _repaired(tokens: Sequence[str], repairs: Sequence[_Repair]) -> str:
    out = list(tokens)
    for repair in sorted(repairs, key=lambda item: -item.start):
        out[repair.start : repair.end] = repair.words
    return " ".join(out)


@cache
def _misheard() -> dict[tuple[str, ...], tuple[str, ...]]:
    return {tuple(plain(word).split()): tuple(plain(other).split()) for word, other in load_voices().misheard.items()}


@lru_cache(maxsize=65536)
def _spellings(word: str) -> tuple[str, ...]:
    other = americanised(word)
    return (word,) if other == word else (word, other)


@lru_cache(maxsize=65536)
def _word_edits(token: str, word: str) -> int:
    """Return the fewest slips between two words in any of their spellings."""
    return min(_edits(one, other) for one in _spellings(token) for other in _spellings(word))


def _edits(one: str, other: str) -> int:
    """Return how many slips (letter too many, too few, wrong, or two swapped) lie between two words that differ: 1, 2, or 9 for more."""
    if one == other or abs(len(one) - len(other)) > 2:
        return _FAR
    if len(frozenset(one) ^ frozenset(other)) > 2 * SLIPS:
        return _FAR
    if _near(one, other):
        return 1
    return 2 if any(_near(form, other) for form in _once_edited(one, other)) else _FAR


def _once_edited(one: str, other: str) -> Iterator[str]:
    """Yield what one edit at the first difference makes of ``one``."""
    start = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    yield one[:start] + one[start + 1 :]
    yield one[:start] + other[start : start + 1] + one[start:]
    yield one[:start] + other[start : start + 1] + one[start + 1 :]
    yield one[:start] + one[start : start + 2][::-1] + one[start + 2 :]


def _near(one: str, other: str) -> bool:
    """Whether a letter too many, too few, another letter or two swapped make one word of the other."""
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    a, b = one[start:], other[start:]
    if len(a) == len(b):
        return a[1:] == b[1:] or (a[:2] == b[:2][::-1] and a[2:] == b[2:])
    return a[1:] == b if len(a) > len(b) else a == b[1:]
