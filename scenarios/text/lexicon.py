"""The word lists (``lexicon.yaml``), compiled once at first use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

from iba_bench.yaml_source import YamlSource

_ENDINGS = r"(?:s|ed|ing|er|ers|ful|fully|less|able|ably|ite|ites|hood|hoods|hoody|y|ly|al|ally|ist|ists|some)?"
_VERB = r"(?:e|es|ed|er|ers|ing|ation|ations|ational|able)"

Entries = Annotated[tuple[str, ...], BeforeValidator(lambda text: tuple(entry.strip() for entry in text.split(",")))]


class Variety(BaseModel):
    """The marked words of one spelling variety."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    stems: Entries
    verbs: Entries
    words: Entries

    def pattern(self) -> re.Pattern[str]:
        """Return what finds a marked word."""
        forms = [stem + _ENDINGS for stem in self.stems] + [verb + _VERB for verb in self.verbs]
        return re.compile(rf"\b(?:{grouped([*forms, *self.words])})\b", re.IGNORECASE)


class Lexicon(BaseModel):
    """All word lists."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    british: Variety
    american: Variety
    warm: Entries
    upbeat: Entries


def grouped(entries: Iterable[str]) -> str:
    """Return the alternatives (patterns), grouped by first letter so that a position is tried once a letter, not once an entry."""
    groups: dict[str, list[str]] = {}
    for entry in sorted(set(entries), key=lambda entry: (-len(entry), entry)):
        plain = entry[:1].isalpha() and entry[1:2] not in ("?", "*", "+", "{", "|", "")
        groups.setdefault(entry[0] if plain else "", []).append(entry[1:] if plain else entry)
    return "|".join(f"{letter}(?:{'|'.join(rests)})" for letter, rests in sorted(groups.items()))


def whole(phrases: Iterable[str]) -> re.Pattern[str]:
    """Return what finds any of the phrases (patterns) as whole words, in any case, over any white space."""
    spaced = (phrase.replace(" ", r"\s+") for phrase in phrases)
    return re.compile(rf"(?<!\w)(?:{grouped(spaced)})(?!\w)", re.IGNORECASE)


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """Return the word lists."""
    return YamlSource(Path(__file__).with_name("lexicon.yaml")).parse(Lexicon)


@lru_cache(maxsize=1)
def spelling_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of the British and the American marks."""
    return lexicon().british.pattern(), lexicon().american.pattern()


@lru_cache(maxsize=1)
def tone_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of warm and of upbeat words."""
    return whole(lexicon().warm), whole(lexicon().upbeat)
