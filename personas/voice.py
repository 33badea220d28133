"""How a persona puts things: one turn, already composed, in its own punctuation, spelling and small habits.

The decisive clause of a turn is what a gate looks for, so its words stay the same words in the same order.
Within it only case, final punctuation and spelling variety change; typos fall outside. `normalise` undoes
what may vary, so that wordings can be compared. `slip` makes one honest mistake, for noise.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from iba_bench.streams import pick, weighted
from iba_bench.yaml_source import YamlSource
from personas.persona import Formality, Length, PhrasePlace, Voice
from personas.spelling import CATALOG, americanised, canonical_words, has_british
from scenarios.line import Frozen

Span = tuple[int, int]
Weights = dict[str, float]
_DAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b"
_START = re.compile(rf"(?:^|(?<=[.!?] )|(?<=\n))(?!I\b|{_DAY}|[A-Z]\w* (?!I\b|{_DAY})[A-Z])[A-Z](?![A-Z])")
_TOKEN = re.compile(r"\d+(?:[.,:]\d+)+|\w+(?:'\w+)*|[£$€%]")
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
_TYPABLE = re.compile(r"(?<![\w'-])(?!today|tomorrow|yesterday|tonight)[a-z]{4,}(?![\w'-]| [A-Z])")
_NEAR = dict(zip("abcdefghijklmnopqrstuvwxyz", "svxsrghjokjlnmiowtdrybecuz", strict=True))
_LETTERS_A_WORD = 6.0


class PhraseGroup(Frozen):
    """Pet phrases of one register and place."""

    formality: Formality
    place: PhrasePlace
    locales: tuple[str, ...] = Field(default=(), description="Where people talk so; everywhere if empty.")
    say: tuple[str, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _sentences(self) -> PhraseGroup:
        for phrase in self.say:
            if not re.fullmatch(r"[A-Z].*[.!]", phrase):
                raise ValueError(f"'{phrase}' is no sentence; begin it with a capital and end it with a full stop")
        return self


class VoiceBank(Frozen):
    """The tables that voices are drawn from, the phrases and the mistakes."""

    length: dict[str, dict[Length, float]]
    formality: dict[str, Weights]
    punctuation: dict[str, Weights]
    emoji: dict[str, Weights]
    spelling: dict[str, Weights]
    typo_rate: dict[str, tuple[float, float]]
    pet_phrases: tuple[int, int]
    pet_share: dict[Length, float]
    emoji_share: Weights
    phrases: tuple[PhraseGroup, ...]
    emoji_signs: tuple[str, ...] = Field(min_length=2)
    homophones: tuple[tuple[str, str], ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _unique_phrases(self) -> VoiceBank:
        counts = Counter(phrase for group in self.phrases for phrase in group.say)
        twice = [phrase for phrase, count in counts.items() if count > 1]
        if twice:
            raise ValueError(f"the phrase '{twice[0]}' is listed twice; remove one")
        return self

    def phrases_for(self, formality: str, locale: str) -> list[str]:
        """Return the pet phrases of a register that people of ``locale`` use."""
        return [
            phrase
            for group in self.phrases
            if group.formality == formality and (not group.locales or locale in group.locales)
            for phrase in group.say
        ]

    @property
    def openers(self) -> frozenset[str]:
        """The phrases that stand before what is said; the others stand after it."""
        return frozenset(phrase for group in self.phrases if group.place == "start" for phrase in group.say)

    @property
    def misheard(self) -> dict[str, str]:
        """Word to the word that dictation makes of it."""
        return {word: other for pair in self.homophones for word, other in (pair, pair[::-1])}


def load_voices(path: Path = CATALOG / "voices.yaml") -> VoiceBank:
    """Read the tables of voices.

    Raises:
        UserError: If the file is no such table.
    """
    return YamlSource(path, f"personas/catalog/{path.name}").parse(VoiceBank)


@cache
def _bank() -> tuple[VoiceBank, frozenset[str], dict[str, str]]:
    bank = load_voices()
    return bank, bank.openers, bank.misheard


def draw_voice(rng: random.Random, traits: Mapping[str, str], bank: VoiceBank) -> Voice:
    """Draw how somebody with these traits writes."""

    def draw(table: Mapping[Any, float]) -> Any:
        return weighted(rng, list(table), list(table.values()))

    formality = draw(bank.formality[traits["age_band"]])
    punctuation = draw(bank.punctuation[formality])
    low, high = bank.typo_rate[punctuation]
    fewest, most = bank.pet_phrases
    return Voice(
        length=draw(bank.length[traits["temperament"]]),
        formality=formality,
        punctuation=punctuation,
        spelling=draw(bank.spelling[traits["locale"]]),
        emoji=draw(bank.emoji[formality]),
        typo_rate=round(low + rng.random() * (high - low), 4),
        pet_phrases=tuple(rng.sample(bank.phrases_for(formality, traits["locale"]), rng.randint(fewest, most))),
    )


def render(voice: Voice, text: str, rng: random.Random, *, decisive: Span | None = None) -> tuple[str, Span | None]:
    """Return ``text`` as the persona would write it, and where its decisive clause now is.

    Args:
        voice: The persona's voice.
        text: One to four sentences in British spelling, properly punctuated.
        rng: The turn's stream.
        decisive: First character and one past the last of the clause that keeps its words, if any.
    """
    start, end = decisive or (len(text), len(text))
    head, core, tail = text[:start], text[start:end], text[end:]
    if voice.spelling == "american" and has_british(text):
        head, core, tail = americanised(head), americanised(core), americanised(tail)
    if voice.typo_rate:
        head, tail = _mistyped(head, tail, voice.typo_rate, rng)
    head, tail = _with_phrase(voice, head, tail, rng)
    out = _punctuated(voice, head + core + tail)
    start = len(head)
    end = min(start + len(core), len(out))
    out += _sign(voice, rng)
    return out, None if decisive is None else (start, end)


def _with_phrase(voice: Voice, head: str, tail: str, rng: random.Random) -> tuple[str, str]:
    bank, openers, _ = _bank()
    if rng.random() >= bank.pet_share[voice.length]:
        return head, tail
    phrase = pick(rng, voice.pet_phrases)
    return (f"{phrase} {head}", tail) if phrase in openers else (head, f"{tail} {phrase}")


def _punctuated(voice: Voice, text: str) -> str:
    if voice.punctuation == "full":
        return text
    if text.endswith(".") and not text.endswith(".."):
        text = text[:-1]
    if voice.punctuation == "none":
        text = _START.sub(lambda match: match.group().lower(), text)
    return text


def _sign(voice: Voice, rng: random.Random) -> str:
    bank, _, _ = _bank()
    if voice.emoji == "none" or rng.random() >= bank.emoji_share[voice.emoji]:
        return ""
    return " " + pick(rng, bank.emoji_signs)


def _mistyped(head: str, tail: str, rate: float, rng: random.Random) -> tuple[str, str]:
    room = len(head) + len(tail)
    if rng.random() * _LETTERS_A_WORD >= rate * room:
        return head, tail
    if rng.random() * room < len(head):
        return _with_typo(head, rng), tail
    return head, _with_typo(tail, rng)


def _with_typo(text: str, rng: random.Random) -> str:
    """Return ``text`` with one typo in a plain word, if it has one that matters little."""
    match = _TYPABLE.search(text, int(rng.random() * len(text))) or _TYPABLE.search(text)
    if match is None:
        return text
    return text[: match.start()] + _typo(match.group(), rng) + text[match.end() :]


def _typo(word: str, rng: random.Random) -> str:
    at = 1 + int(rng.random() * (len(word) - 2))
    kind = int(rng.random() * 4)
    if kind == 0 and word[at] != word[at + 1]:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if kind == 1:
        return word[:at] + word[at + 1 :]
    if kind == 2:
        return word[:at] + _NEAR[word[at]] + word[at + 1 :]
    return word[:at] + word[at] + word[at:]


def slip(text: str, rng: random.Random) -> str:
    """Return ``text`` with one typo or dictation error; only a text without words comes back as it was."""
    kind = rng.random()
    if kind < 0.4:
        return _misheard(text, rng)
    if kind < 0.6:
        return _stuttered(text, rng)
    out = _with_typo(text, rng)
    return _stuttered(text, rng) if out == text else out


def _misheard(text: str, rng: random.Random) -> str:
    _, _, table = _bank()
    found = [match for match in _WORD.finditer(text) if match.group().lower() in table]
    if not found:
        return _stuttered(text, rng)
    match = pick(rng, found)
    word = table[match.group().lower()]
    if match.group()[0].isupper():
        word = word[0].upper() + word[1:]
    return text[: match.start()] + word + text[match.end() :]


def _stuttered(text: str, rng: random.Random) -> str:
    found = list(_WORD.finditer(text))
    if not found:
        return text
    match = pick(rng, found)
    return f"{text[: match.end()]} {match.group().lower()}{text[match.end() :]}"


def normalise(text: str) -> str:
    """Return the words of ``text`` alone: lower case, British spelling, no punctuation, no emoji."""
    return " ".join(canonical_words(_TOKEN.findall(text.lower().replace("\u2019", "'"))))
