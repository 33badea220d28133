"""The brief file: what a text task is about, and the words the writer composes from.

A `Passage` is the unit of material: one or two sentences with variants. Marks in braces follow the style:

- ``{p:I|you|they}`` one alternative for each value, in order, of the letter's dimension (`switches`);
- ``{m:1447.36}`` an amount of money, rendered by currency style and rounding;
- ``{d:2026-03-31}`` a date.

``when`` replaces the passage for a value (``when: {expert: ...}``; the first that applies), ``unless`` leaves
it out. Value ids are looked up over all dimensions of the brief, so these two name ids of one dimension only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from iba_bench.errors import UserError, near_match
from scenarios.line import Frozen

MARK = re.compile(r"\{([a-z]):([^{}]*)\}")
Place = Literal["title", "greeting", "lead", "first", "last", "block", "close", "sign_off"]


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Passage(Frozen):
    """Variants of one or two sentences, and what the style does to them."""

    say: tuple[str, ...] = Field((), description="variants; one is drawn; empty: nothing is said")
    when: Mapping[str, tuple[str, ...]] = Field({}, description="variants instead of `say`, by value id")
    unless: tuple[str, ...] = Field((), description="value ids that leave the passage out")

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, data: Any) -> Any:
        if data is None:
            return {}
        if isinstance(data, (str, list)):
            return {"say": _listed(data)}
        if not isinstance(data, dict):
            return data
        out = {key: _listed(value) for key, value in data.items()}
        if isinstance(out.get("when"), dict):
            out["when"] = {key: _listed(value) for key, value in out["when"].items()}
        return out

    def variants(self, values: frozenset[str]) -> tuple[str, ...]:
        """Return the variants for a style given by its value ids."""
        if not values.isdisjoint(self.unless):
            return ()
        return next((lines for value, lines in self.when.items() if value in values), self.say)


Bank = Mapping[str, Passage]


class Section(Frozen):
    """One part of the body: its heading, what must be said, and what longer texts may add."""

    heading: str
    say: tuple[Passage, ...] = ()
    more: tuple[Passage, ...] = ()


class Fact(Frozen):
    """One thing that the text must carry."""

    id: str
    statement: str = Field(description="the fact in one neutral line, as the writer of the text is given it")
    must_contain: tuple[str, ...] = Field(min_length=1, description="phrases; numbers, dates and quantities are compared by meaning")
    within: float = Field(0.0, ge=0, description="how far a number may be off, for texts that round; in its own unit")


class Topic(Frozen):
    """What one text is about."""

    id: str
    subject: str = Field(description="noun phrase that completes 'write up ...'")
    facts: tuple[Fact, ...] = Field(min_length=4, max_length=6)
    background: tuple[str, ...] = Field((), description="neutral lines that the text may use and need not")
    pieces: Mapping[str, Bank] = Field({}, description="the topic's words for a piece of the plan, by value id")
    sections: tuple[Section, ...] = Field(min_length=2)


class Choice(Frozen):
    """The values of a dimension, in order, and the one taken where the style says nothing."""

    values: tuple[str, ...] = Field(min_length=2)
    neutral: str

    @model_validator(mode="after")
    def _known(self) -> Choice:
        if self.neutral not in self.values:
            raise ValueError(f"neutral '{self.neutral}' is no value; {near_match(self.neutral, self.values)}")
        return self


class Piece(Frozen):
    """A part of the plan: which words, where, and by which dimension they vary."""

    piece: str
    place: Place
    dimension: str


class Money(Frozen):
    """The currency: sign, code and plural name."""

    symbol: str
    code: str
    name: str


class Default(Frozen):
    """A text as written by somebody who knows nothing of the user."""

    topic: str
    text: Annotated[str, Field(min_length=80)]


class Brief(Frozen):
    """A brief file.

    Attributes:
        scenario: The scenario's id.
        dimensions: All style dimensions that apply, with values and neutral choice.
        switches: Letter of an inline mark to dimension.
        plan: The pieces in reading order within their places.
        words: Number of words to fill up to with optional passages, by length.
        pieces: Words for the pieces that no topic has of its own, by value id.
        conflicts: Pairs of values that no text can have at once as measured; no task may ask for both.
        notes: A last section of passages that fit every topic; only the longer texts draw on it.
        emoji: Emoji to draw from.
    """

    scenario: str
    dimensions: Mapping[str, Choice]
    switches: Mapping[Annotated[str, Field(pattern="^[a-z]$")], str]
    plan: tuple[Piece, ...]
    words: Mapping[str, int]
    money: Money | None = None
    pieces: Mapping[str, Bank] = {}
    conflicts: tuple[Mapping[str, str], ...] = ()
    notes: Section
    emoji: tuple[str, ...] = Field((), description="at least three, or none where emoji are no choice")
    topics: tuple[Topic, ...] = Field(min_length=10)
    defaults: tuple[Default, ...] = Field(min_length=10)

    @model_validator(mode="after")
    def _references(self) -> Brief:
        used = [dimension for pair in self.conflicts for dimension in pair]
        for dimension in (*used, *self.switches.values(), *(piece.dimension for piece in self.plan)):
            if dimension not in self.dimensions:
                raise ValueError(f"unknown dimension '{dimension}'; {near_match(dimension, self.dimensions)}")
        ids = [topic.id for topic in self.topics]
        for name in (default.topic for default in self.defaults):
            if name not in ids:
                raise ValueError(f"defaults: unknown topic '{name}'; {near_match(name, ids)}")
        if len(set(ids)) < len(ids):
            raise ValueError("two topics share an id; rename one")
        return self

    def choose(self, style: Mapping[str, str]) -> dict[str, str]:
        """Return a value for every dimension: the style's, else the neutral one.

        Raises:
            UserError: If the style names a dimension or value that the brief does not know.
        """
        for dimension, value in style.items():
            if dimension not in self.dimensions:
                raise UserError(f"style: unknown dimension '{dimension}'; {near_match(dimension, self.dimensions)}")
            if value not in self.dimensions[dimension].values:
                known = near_match(value, self.dimensions[dimension].values)
                raise UserError(f"style: {dimension}: unknown value '{value}'; {known}")
        return {key: style.get(key, choice.neutral) for key, choice in self.dimensions.items()}

    def conflict_of(self, style: Mapping[str, str]) -> Mapping[str, str] | None:
        """Return the first declared conflict that is part of a style, or none."""
        return next((pair for pair in self.conflicts if pair.items() <= style.items()), None)

    def passage(self, topic: Topic, piece: str, value: str) -> Passage | None:
        """Return the words of a piece: the topic's own, else those of all."""
        own = topic.pieces.get(piece, {})
        return own[value] if value in own else self.pieces.get(piece, {}).get(value)
