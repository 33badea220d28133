"""Who a persona is: the frozen models, without any way of drawing them.

A persona is background, traits, voice and circle. What changes in time (tastes, states, roles) is no part
of it: that lives in the ledger.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from scenarios.line import Frozen

Length = Literal["terse", "even", "chatty"]
Formality = Literal["casual", "neutral", "formal"]
Punctuation = Literal["full", "light", "none"]
Spelling = Literal["british", "american"]
EmojiUse = Literal["none", "rare", "often"]
PhrasePlace = Literal["start", "end"]
Group = Literal["household", "family", "friend", "colleague"]


class Voice(Frozen):
    """How a persona writes."""

    length: Length = Field(description="How many sentences a turn tends to have.")
    formality: Formality = Field(description="Register; it decides the pet phrases, punctuation and emoji.")
    punctuation: Punctuation = Field(description="light: no final full stop; none: sentences begin in lower case too.")
    spelling: Spelling = Field(description="British, or American where the table of spellings has a pair.")
    emoji: EmojiUse = Field(description="How often a turn ends in an emoji.")
    typo_rate: float = Field(ge=0.0, le=0.04, description="Typos a word outside decisive clauses, at most one a turn.")
    pet_phrases: tuple[str, ...] = Field(min_length=2, max_length=4, description="Small sentences, seldom used, telling nothing.")


class Relation(Frozen):
    """Somebody of the persona's circle."""

    name: str = Field(description="First name, unique within the circle and different from the persona's.")
    relation: str = Field(description="What they are to the persona, such as sister.")
    group: Group = Field(description="The part of life they belong to.")
    mention: str = Field(description="How the persona calls them in talk, such as 'my sister Nora'.")
    lives_with: bool = Field(default=False, description="Whether they share the persona's home.")
    is_child: bool = Field(default=False, description="Whether they are under age.")


class Background(Frozen):
    """Facts of a life that do not change over the span."""

    birth_year: int = Field(ge=1900, le=2100, description="Calendar year.")
    pronouns: str = Field(description="Such as she/her.")
    occupation: str = Field(description="Title, fitting work and age.")
    household: str = Field(description="Who shares the home, in words.")


class Persona(Frozen):
    """One simulated user."""

    index: int = Field(ge=0, description="Number in the population, from 0.")
    persona_id: str = Field(description="Opaque id.")
    display_name: str = Field(description="Full name.")
    locale: str = Field(description="Such as en_GB.")
    timezone: str = Field(description="IANA name.")
    city: str
    street: str = Field(description="The street they live in.")
    background: Background
    traits: dict[str, str] = Field(description="Trait to value, every trait of the population.")
    voice: Voice
    social: tuple[Relation, ...] = Field(description="The circle, household first.")
    quota: str | None = Field(default=None, description="What the persona was reserved for; null if drawn freely.")

    @property
    def first_name(self) -> str:
        """The first word of the name."""
        return self.display_name.split()[0]

    @property
    def companions(self) -> tuple[Relation, ...]:
        """Everybody who shares the home."""
        return tuple(person for person in self.social if person.lives_with)
