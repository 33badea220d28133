"""Who somebody is on paper: name, age, pronouns, place and occupation.

Names come from Faker by locale; era, month names and words that are names of other things are sorted out
with lists of the catalog. Faker never sees the clock here: years are counted back from the population's
reference year.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from faker import Faker
from faker.config import AVAILABLE_LOCALES
from pydantic import Field, model_validator

from iba_bench.errors import InstanceRefused, near_match
from iba_bench.streams import pick, weighted
from iba_bench.yaml_source import YamlSource
from personas.spelling import CATALOG
from scenarios.line import Frozen

_TRIES = 200
_ERA = 1980
_WORLD_SHARE = 0.3


class City(Frozen):
    """A real city and the zone its clocks follow."""

    city: str
    timezone: str

    @model_validator(mode="after")
    def _zone(self) -> City:
        try:
            ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError):
            raise ValueError(f"unknown timezone '{self.timezone}'; use an IANA name such as Europe/London") from None
        return self


class Places(Frozen):
    """Where the people of a locale live."""

    cities: tuple[City, ...] = Field(min_length=8)
    streets: tuple[str, ...] = Field(min_length=8)


class Occupation(Frozen):
    """A title and who can have it."""

    title: str
    ages: tuple[str, ...] = ()
    households: tuple[str, ...] = ()

    def fits(self, traits: Mapping[str, str]) -> bool:
        """Whether somebody with these traits can have the title."""
        return (not self.ages or traits["age_band"] in self.ages) and (not self.households or traits["household"] in self.households)


class NameLists(Frozen):
    """Names sorted by era and origin."""

    before_1980: frozenset[str]
    after_1980: frozenset[str]
    avoid: frozenset[str]
    world_she: tuple[str, ...]
    world_he: tuple[str, ...]
    child_she: tuple[str, ...]
    child_he: tuple[str, ...]


class IdentityBank(Frozen):
    """Places, pronouns, occupations and names."""

    places: dict[str, Places]
    pronouns: dict[str, float]
    occupations: dict[str, tuple[Occupation, ...]]
    early_retirement_age: int = Field(description="Years; the youngest age of somebody retired in the middle band.")
    names: NameLists

    @model_validator(mode="after")
    def _locales(self) -> IdentityBank:
        for locale in self.places:
            if locale not in AVAILABLE_LOCALES:
                raise ValueError(f"places: Faker has no locale '{locale}'; {near_match(locale, AVAILABLE_LOCALES)}")
        return self


def load_identity(path: Path = CATALOG / "identity.yaml") -> IdentityBank:
    """Read places, occupations and names.

    Raises:
        UserError: If the file is no such bank.
    """
    return YamlSource(path, f"personas/catalog/{path.name}").parse(IdentityBank)


@cache
def _faker(locale: str) -> Faker:
    return Faker(locale)


class NameSource:
    """Names for one persona and its circle: no first name comes twice.

    Args:
        rng: The persona's stream; Faker is seeded from it.
        locale: Such as en_GB.
        names: Lists that sort out names of the wrong era and misleading ones.
    """

    def __init__(self, rng: random.Random, locale: str, names: NameLists) -> None:
        self._rng, self._names, self._taken = rng, names, set[str]()
        self._faker = _faker(locale)
        self._faker.seed_instance(rng.getrandbits(64))

    def last(self) -> str:
        """Return a family name of the locale."""
        return str(self._faker.last_name())

    def first(self, gender: str, born: int, *, worldly: bool = False, is_child: bool = False) -> str:
        """Return a first name that is still free.

        Args:
            gender: she, he or any.
            born: Calendar year, for the era of the name.
            worldly: Whether the name may come from elsewhere.
            is_child: Whether it is a child's name.
        """
        for _ in range(_TRIES):
            name = self._candidate(gender, worldly, is_child)
            if name not in self._taken and self._fits(name, born):
                self._taken.add(name)
                return name
        raise InstanceRefused("no_free_name")

    def _candidate(self, gender: str, worldly: bool, is_child: bool) -> str:
        kind = gender if gender != "any" else pick(self._rng, ("she", "he"))
        if is_child:
            return pick(self._rng, self._names.child_she if kind == "she" else self._names.child_he)
        if worldly and self._rng.random() < _WORLD_SHARE:
            return pick(self._rng, self._names.world_she if kind == "she" else self._names.world_he)
        return str(self._faker.first_name_female() if kind == "she" else self._faker.first_name_male())

    def _fits(self, name: str, born: int) -> bool:
        wrong_era = self._names.before_1980 if born > _ERA else self._names.after_1980
        return name not in wrong_era and name not in self._names.avoid and name.isalpha() and len(name) > 2


class Identity(Frozen):
    """A name, a place and a life in outline."""

    display_name: str
    pronouns: str
    city: City
    street: str
    birth_year: int
    occupation: str


def draw_identity(
    rng: random.Random,
    traits: Mapping[str, str],
    bank: IdentityBank,
    names: NameSource,
    ages: tuple[int, int],
    year: int,
) -> Identity:
    """Draw who somebody with these traits is.

    Args:
        rng: The persona's stream.
        traits: All traits.
        bank: Places, occupations and names.
        names: The persona's names; the persona's own is taken from them.
        ages: Youngest and oldest age of the age band.
        year: The year in which they have that age.
    """
    low, high = ages
    if traits["work"] == "retired":
        low = max(low, min(high, bank.early_retirement_age))
    birth_year = year - rng.randint(low, high)
    pronouns = weighted(rng, list(bank.pronouns), list(bank.pronouns.values()))
    places = bank.places[traits["locale"]]
    return Identity(
        display_name=f"{names.first(gender_of(pronouns), birth_year)} {names.last()}",
        pronouns=pronouns,
        city=pick(rng, places.cities),
        street=pick(rng, places.streets),
        birth_year=birth_year,
        occupation=pick(rng, [job.title for job in bank.occupations[traits["work"]] if job.fits(traits)]),
    )


def gender_of(pronouns: str) -> str:
    """Return the kind of name that goes with pronouns: she, he or any."""
    return {"she/her": "she", "he/him": "he"}.get(pronouns, "any")
