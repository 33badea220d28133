"""Who exists: the population's tables, and personas drawn of them.

`load_population` reads and checks all catalogs once. `draw_persona` then needs nothing but a stream, so a
persona depends on its own index alone and a larger population begins with the smaller one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from pydantic import Field

from iba_bench.yaml_source import YamlSource
from personas.identity import IdentityBank, NameSource, draw_identity, load_identity
from personas.persona import Background, Persona
from personas.social import CircleBank, draw_circle, draw_home, load_circle
from personas.spelling import CATALOG
from personas.traits import (
    Problem,
    Quota,
    Rule,
    Trait,
    TraitGraph,
    name_problems,
    quota_problems,
    rule_problems,
    table_problems,
)
from personas.voice import VoiceBank, draw_voice, load_voices
from scenarios.line import Frozen

TRAITS = (
    "age_band",
    "work",
    "chronotype",
    "household",
    "budget",
    "diet",
    "fitness",
    "tech",
    "temperament",
    "planning",
    "health",
    "pet",
    "mobility",
    "locale",
)
_NO_TRAITS: Mapping[str, str] = {}


class PopulationFile(Frozen):
    """What `catalog/population.yaml` holds."""

    reference_year: int = Field(ge=1970, le=2100, description="Year in which personas have the ages of their band.")
    ages: dict[str, tuple[int, int]] = Field(description="Youngest and oldest age of each age band, both included.")
    traits: dict[str, Trait]
    quotas: tuple[Quota, ...] = ()
    coherence: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Population:
    """Everything that personas are drawn from."""

    tables: PopulationFile
    graph: TraitGraph
    identity: IdentityBank
    circle: CircleBank
    voices: VoiceBank

    def quota_of(self, index: int) -> Quota | None:
        """Return what persona number ``index`` is reserved for, if anything."""
        return next((quota for quota in self.tables.quotas if quota.covers(index)), None)

    def incoherences(self, traits: Mapping[str, str]) -> list[str]:
        """Return why somebody with these traits cannot exist; empty if they can."""
        return [rule.why for rule in self.tables.coherence if rule.breaks(traits)]


def load_population(path: Path = CATALOG / "population.yaml") -> Population:
    """Read and check the population's tables and the banks beside them.

    Raises:
        UserError: With file, line, field and fix, at the first thing that is wrong.
    """
    source = YamlSource(path, f"personas/catalog/{path.name}")
    tables = source.parse(PopulationFile)
    _refuse_first(source, chain(_trait_problems(tables), table_problems(tables.traits), _unknown_names(tables)))
    graph = TraitGraph(tables.traits)
    _refuse_first(source, chain(quota_problems(graph, tables.quotas), rule_problems(graph, tables.coherence)))
    population = Population(tables, graph, load_identity(), load_circle(), load_voices())
    _refuse_first(source, _uncovered(population))
    return population


def _refuse_first(source: YamlSource, problems: Iterator[Problem]) -> None:
    for place, problem in problems:
        raise source.error(place, problem)


def _trait_problems(tables: PopulationFile) -> Iterator[Problem]:
    for name in TRAITS:
        if name not in tables.traits:
            yield ("traits",), f"trait '{name}' is missing; add it (scenarios count on {', '.join(TRAITS)})"
    for name in tables.traits:
        if name not in TRAITS:
            yield (
                ("traits", name),
                f"no scenario knows this trait; remove it or rename it to one of {', '.join(TRAITS)}",
            )


def _unknown_names(tables: PopulationFile) -> Iterator[Problem]:
    for index, quota in enumerate(tables.quotas):
        yield from name_problems(tables.traits, quota.traits, ("quotas", index, "traits"))
    for index, rule in enumerate(tables.coherence):
        yield from name_problems(tables.traits, rule.never, ("coherence", index, "never"))


def _uncovered(population: Population) -> Iterator[Problem]:
    """Yield values that another catalog has nothing for."""
    tables, voices = population.tables, population.voices
    needs = (
        ("age_band", "ages", tables.ages),
        ("age_band", "voices.yaml: formality", voices.formality),
        ("temperament", "voices.yaml: length", voices.length),
        ("locale", "voices.yaml: spelling", voices.spelling),
        ("locale", "identity.yaml: places", population.identity.places),
        ("work", "identity.yaml: occupations", population.identity.occupations),
        ("household", "circle.yaml: households", population.circle.households),
    )
    for trait, where, covered in needs:
        for value in tables.traits[trait].values:
            if value not in covered:
                yield ("traits", trait, "values"), f"'{value}' has no entry in {where}; add one there"


def draw_traits(rng: random.Random, population: Population, wanted: Mapping[str, str] = _NO_TRAITS) -> dict[str, str]:
    """Draw all traits of one persona, on condition that those of ``wanted`` come out as given.

    Raises:
        InstanceRefused: If no draw fits ``wanted``.
    """
    return population.graph.draw(rng, wanted)


def draw_persona(rng: random.Random, population: Population, index: int, persona_id: str) -> Persona:
    """Draw persona number ``index``.

    Args:
        rng: The persona's own stream.
        population: Tables and banks.
        index: Number in the population; it decides whether the persona is reserved for a quota.
        persona_id: Opaque id.
    """
    quota = population.quota_of(index)
    traits = draw_traits(rng, population, quota.traits if quota else _NO_TRAITS)
    tables = population.tables
    names = NameSource(rng, traits["locale"], population.identity.names)
    home = draw_home(rng, traits, population.circle)
    ages = home.narrowed(tables.ages[traits["age_band"]])
    who = draw_identity(rng, traits, population.identity, names, ages, tables.reference_year)
    return Persona(
        index=index,
        persona_id=persona_id,
        display_name=who.display_name,
        locale=traits["locale"],
        timezone=who.city.timezone,
        city=who.city.city,
        street=who.street,
        background=Background(birth_year=who.birth_year, pronouns=who.pronouns, occupation=who.occupation, household=home.text),
        traits=traits,
        voice=draw_voice(rng, traits, population.voices),
        social=draw_circle(rng, traits, home, who.birth_year, names, population.circle),
        quota=quota.label if quota else None,
    )
