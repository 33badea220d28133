"""The people around a persona: a graph of household, family, friends and colleagues.

Nodes are first names (the persona is `SELF`), an edge says how two people know each other. People of one
home, one family or one workplace know each other; friends know the home only. The persona's own edges carry
the `Relation`, so the released tuple is read off the graph.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import networkx as nx
from pydantic import Field, model_validator

from iba_bench.errors import near_match
from iba_bench.streams import pick, weighted
from iba_bench.yaml_source import YamlSource
from personas.identity import NameSource
from personas.persona import Group, Relation
from personas.spelling import CATALOG
from scenarios.line import Frozen

SELF = "self"
OUTSIDE_HOME: tuple[Group, ...] = ("family", "friend", "colleague")
_JITTER = 4


class Who(Frozen):
    """Whose circle something belongs to; everybody's where left out."""

    ages: tuple[str, ...] = ()
    work: tuple[str, ...] = ()
    households: tuple[str, ...] = ()
    locales: tuple[str, ...] = ()

    def fits(self, traits: Mapping[str, str]) -> bool:
        """Whether it can be in the circle of somebody with these traits."""
        pairs = (
            ("age_band", self.ages),
            ("work", self.work),
            ("household", self.households),
            ("locale", self.locales),
        )
        return all(not allowed or traits[trait] in allowed for trait, allowed in pairs)


class Form(Who):
    """One relation, and how the persona calls whoever stands in it."""

    relation: str
    gender: Literal["she", "he", "any"]
    mention: str = Field(pattern=r"\{name\}")


class Kin(Frozen):
    """A member of a household, in the forms it can take."""

    group: Group
    generation: int = Field(description="Years that they are born after the persona.")
    is_child: bool = False
    forms: tuple[Form, ...] = Field(min_length=1)


class Other(Form):
    """Somebody outside the home."""

    group: Group
    generation: int = Field(description="Years that they are born after the persona.")
    limit: int = Field(ge=1, description="How many of this relation a circle holds, the home included.")
    weight: float = Field(gt=0)
    is_child: bool = False


class Home(Who):
    """People under one roof."""

    weight: float = Field(gt=0)
    people: tuple[str, ...]
    text: str
    between: tuple[int, int] | None = Field(default=None, description="Youngest and oldest age at which one lives so.")

    def narrowed(self, ages: tuple[int, int]) -> tuple[int, int]:
        """Return the ages of a band at which one can live so."""
        low, high = self.between or ages
        return max(low, ages[0]), min(high, ages[1])


class CircleBank(Frozen):
    """What circles are drawn from."""

    size: tuple[int, int]
    households: dict[str, tuple[Home, ...]]
    kin: dict[str, Kin]
    others: tuple[Other, ...]

    @model_validator(mode="after")
    def _known(self) -> CircleBank:
        for homes in self.households.values():
            for person in (person for home in homes for person in home.people):
                if person not in self.kin:
                    raise ValueError(f"households: unknown kin '{person}'; {near_match(person, self.kin)}")
        return self


def load_circle(path: Path = CATALOG / "circle.yaml") -> CircleBank:
    """Read what circles are drawn from.

    Raises:
        UserError: If the file is no such bank.
    """
    return YamlSource(path, f"personas/catalog/{path.name}").parse(CircleBank)


def draw_home(rng: random.Random, traits: Mapping[str, str], bank: CircleBank) -> Home:
    """Draw who lives under the persona's roof."""
    homes = [home for home in bank.households[traits["household"]] if home.fits(traits)]
    return weighted(rng, homes, [home.weight for home in homes])


def draw_circle(
    rng: random.Random,
    traits: Mapping[str, str],
    home: Home,
    birth_year: int,
    names: NameSource,
    bank: CircleBank,
) -> tuple[Relation, ...]:
    """Draw the persona's circle, household first, at least one of every other group.

    Args:
        rng: The persona's stream.
        traits: All traits.
        home: Who shares the home.
        birth_year: The persona's.
        names: Source of names; none comes twice.
        bank: What circles are drawn from.
    """
    people = [_housemate(rng, traits, bank.kin[kin], birth_year, names) for kin in home.people]
    counts = Counter(person.relation for person in people)
    fitting = [other for other in bank.others if other.fits(traits)]
    size = rng.randint(*bank.size)
    wanted: list[Group | None] = [*OUTSIDE_HOME]
    wanted += [None] * max(0, size - len(people) - len(wanted))
    for group in wanted:
        free = [other for other in fitting if counts[other.relation] < other.limit and group in (None, other.group)]
        chosen = weighted(rng, free, [other.weight for other in free])
        counts[chosen.relation] += 1
        people.append(_relation(rng, chosen, chosen, birth_year, names))
    order = ("household", *OUTSIDE_HOME)
    return tuple(sorted(people, key=lambda person: order.index(person.group)))


def _housemate(rng: random.Random, traits: Mapping[str, str], kin: Kin, birth_year: int, names: NameSource) -> Relation:
    form = pick(rng, [form for form in kin.forms if form.fits(traits)])
    return _relation(rng, form, kin, birth_year, names).model_copy(update={"lives_with": True})


def _relation(rng: random.Random, form: Form, kin: Kin | Other, birth_year: int, names: NameSource) -> Relation:
    born = birth_year + kin.generation + rng.randint(-_JITTER, _JITTER)
    kindred = kin.group == "family" or kin.generation != 0
    name = names.first(form.gender, born, worldly=not kindred, is_child=kin.is_child)
    return Relation(
        name=name,
        relation=form.relation,
        group=kin.group,
        mention=form.mention.replace("{name}", name),
        is_child=kin.is_child,
    )


def circle_graph(social: Iterable[Relation]) -> nx.Graph[str]:
    """Return who knows whom: edges from `SELF` carry ``relation``, all carry ``group``."""
    graph: nx.Graph[str] = nx.Graph()
    graph.add_node(SELF)
    people = list(social)
    for person in people:
        graph.add_edge(SELF, person.name, relation=person, group=person.group)
    for index, one in enumerate(people):
        for other in people[index + 1 :]:
            if _acquainted(one, other):
                graph.add_edge(one.name, other.name, group=other.group)
    return graph


def _acquainted(one: Relation, other: Relation) -> bool:
    if one.lives_with and other.group != "colleague":
        return True
    return one.group == other.group != "friend"


def companions(graph: nx.Graph[str], name: str) -> tuple[Relation, ...]:
    """Return the people of the circle whom ``name`` also knows: who could plausibly come along."""
    return tuple(graph.edges[SELF, other]["relation"] for other in graph.neighbors(name) if other != SELF)
