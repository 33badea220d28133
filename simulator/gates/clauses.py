"""Finding a catalog's line in a rendered turn: its fixed parts in order, whatever fills the rest.

Both sides are made *plain*: lower case, one spelling, no punctuation. A value's phrase is put into the text as `PHRASE`
(`with_phrase`), so that a frame is compiled once and not once a value. Patterns are compiled once a process; a literal part is
looked for first, which decides almost every comparison.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from personas.spelling import americanised
from personas.voice import load_voices, normalise
from scenarios.line import LineParts

PHRASE = "\u00a4"
_FILL = r".{1,90}?"
_GLUE = r"[ .,:]?"
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
_TWICE = re.compile(r"\b(\w+(?:'\w+)*) (?=\1\b)", re.IGNORECASE)
_LEAST_LETTERS = 3


def plain(text: str) -> str:
    """Return the words of ``text`` for comparison; a genitive or contraction is two words, so that its stem has one spelling."""
    return normalise(text.replace("\u2019", " ").replace("'", " "))


def with_phrase(text: str, phrase: str) -> str:
    """Return plain text with a value's phrase marked."""
    return text.replace(plain(phrase), PHRASE)


@dataclass(frozen=True, slots=True)
class Clause:
    """A compiled line.

    Attributes:
        pattern: Finds it in plain text.
        anchor: Its longest literal; text without it cannot hold the line.
        words: All words of its literals and alternatives.
    """

    pattern: re.Pattern[str]
    anchor: str
    words: frozenset[str]


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
            words.update(literal.split())
            parts.append(re.escape(literal))
    return Clause(re.compile(_bounded(parts)), max(literals, key=len, default=""), frozenset(words))


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


def found(say: str, text: str) -> bool:
    """Whether plain text holds the line."""
    line = clause(say)
    return line.anchor in text and line.pattern.search(text) is not None


def slip_readings(say: str, content: str, phrase: str = "") -> Iterator[str]:
    """Yield ``content`` as plain text: as written, then with one slip undone (a misheard or doubled word, a typo in a word of the line)."""
    for written in _unslipped(content):
        text = plain(written)
        yield with_phrase(text, phrase) if phrase else text
    yield from _untyped(content, clause(say), phrase)


def found_despite_slip(say: str, content: str) -> bool:
    """Whether ``content`` (as written) holds the line once at most one slip is undone."""
    return any(clause(say).pattern.search(text) for text in slip_readings(say, content))


def _unslipped(content: str) -> Iterator[str]:
    yield content
    for match in _TWICE.finditer(content):
        yield content[: match.start()] + content[match.end() :]
    for match in _WORD.finditer(content):
        other = _misheard().get(match.group().lower())
        if other is not None:
            yield content[: match.start()] + other + content[match.end() :]


def _untyped(content: str, line: Clause, phrase: str) -> Iterator[str]:
    """Yield plain text with one word put right that is one edit away from a word which the line has and the text lacks."""
    tokens = plain(content).split()
    for word in sorted((line.words | set(plain(phrase).split())) - set(tokens)):
        for place, token in enumerate(tokens):
            if _near(token, word) or _near(token, americanised(word)):
                text = " ".join([*tokens[:place], word, *tokens[place + 1 :]])
                yield with_phrase(text, phrase) if phrase else text


@cache
def _misheard() -> dict[str, str]:
    return load_voices().misheard


@lru_cache(maxsize=16384)
def _near(one: str, other: str) -> bool:
    """Whether a letter too many, too few, another letter or two swapped make one word of the other."""
    if min(len(one), len(other)) < _LEAST_LETTERS or abs(len(one) - len(other)) > 1:
        return False
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    a, b = one[start:], other[start:]
    if len(a) == len(b):
        return a[1:] == b[1:] or (a[:2] == b[:2][::-1] and a[2:] == b[2:])
    return a[1:] == b if len(a) > len(b) else a == b[1:]
