"""British and American spelling: whole words, case kept.

The table holds plain words. A capitalised word inside a sentence may be part of a name ("the Grey Heron"),
so it is left as it is; so is one that begins a sentence when another capitalised word follows it.
`canonical` reads the table backwards and is for comparing wordings only: it makes British words of American
ones without asking whether the word meant the other thing ("story", "tire"), which does no harm as long as
both sides go through it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from pydantic import Field, model_validator

from iba_bench.yaml_source import YamlSource
from scenarios.line import Frozen

CATALOG = Path(__file__).parent / "catalog"
_WORD = re.compile(r"[A-Za-z]+")
_SENTENCE_END = ".!?:\n"


class SpellingTable(Frozen):
    """Pairs of British and American spellings."""

    pairs: dict[str, str] = Field(min_length=1)

    @model_validator(mode="after")
    def _reversible(self) -> SpellingTable:
        seen: dict[str, str] = {}
        for british, american in self.pairs.items():
            if not (british.isalpha() and american.isalpha() and (british + american).islower()):
                raise ValueError(f"'{british}: {american}' must be two lower-case words; mend the pair")
            if american in seen:
                raise ValueError(f"'{american}' stands for '{seen[american]}' and '{british}'; keep one")
            if american in self.pairs:
                raise ValueError(f"'{american}' is British in one pair and American in another; remove one")
            seen[american] = british
        return self

    @property
    def british(self) -> dict[str, str]:
        """American to British."""
        return {american: british for british, american in self.pairs.items()}


def load_spelling(path: Path = CATALOG / "spelling.yaml") -> SpellingTable:
    """Read the table of spellings.

    Raises:
        UserError: If the file is no such table.
    """
    return YamlSource(path, f"personas/catalog/{path.name}").parse(SpellingTable)


@cache
def _to_american() -> dict[str, str]:
    return dict(load_spelling().pairs)


@cache
def _to_british() -> dict[str, str]:
    return load_spelling().british


def canonical(word: str) -> str:
    """Return the British spelling of a lower-case word, or the word."""
    return _to_british().get(word, word)


def canonical_words(words: Iterable[str]) -> list[str]:
    """Return the British spellings of lower-case words."""
    table = _to_british()
    return [table.get(word, word) for word in words]


def has_british(text: str) -> bool:
    """Whether any word of ``text`` has an American spelling of its own (a quick look before the work)."""
    return not _to_american().keys().isdisjoint(_WORD.findall(text.lower()))


def americanised(text: str) -> str:
    """Return ``text`` in American spelling."""
    table = _to_american()

    def swap(match: re.Match[str]) -> str:
        word = match.group()
        american = table.get(word.lower())
        if american is None or (word[0].isupper() and _may_be_name(text, match)):
            return word
        return _in_case_of(word, american)

    return _WORD.sub(swap, text)


def _may_be_name(text: str, match: re.Match[str]) -> bool:
    word = match.group()
    if len(word) > 1 and word.isupper():
        return False
    before = text[: match.start()].rstrip(" \"'(")
    follows = text[match.end() : match.end() + 2]
    return bool(before and before[-1] not in _SENTENCE_END) or (follows[:1] == " " and follows[1:].isupper())


def _in_case_of(model: str, word: str) -> str:
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word.capitalize() if model[0].isupper() else word
