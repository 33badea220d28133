"""Traits and what causes them: a graph of conditional tables, checked when it is read.

A trait names its values, its parents and a row of weights for every combination of the parents' values; "*"
in a row stands for any value and the first row that matches counts. Everything that can be wrong is found
at load, among it by exact enumeration: a coherence rule that a draw could break, a quota that none could
fill.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping
from itertools import combinations, product
from math import gcd
from typing import Any

import networkx as nx
from pydantic import Field

from iba_bench.errors import InstanceRefused, near_match
from iba_bench.streams import weighted
from scenarios.line import Frozen

ANY = "*"
NO_PARENTS = "always"
_TRIES = 20_000
_RAREST = 0.004
Problem = tuple[tuple[str | int, ...], str]
Wanted = Mapping[str, Collection[str]]


class Trait(Frozen):
    """One trait and its conditional table."""

    values: tuple[str, ...] = Field(min_length=2)
    parents: tuple[str, ...] = ()
    table: dict[str, dict[str, float]] = Field(min_length=1, description="Row of weights by the parents' values.")

    @staticmethod
    def pattern(row: str) -> tuple[str, ...]:
        """Return the parents' values that a row's name stands for."""
        return () if row == NO_PARENTS else tuple(part.strip() for part in row.split(","))

    def row_for(self, given: tuple[str, ...]) -> str | None:
        """Return the name of the first row that matches the parents' values."""
        for row in self.table:
            pattern = self.pattern(row)
            if len(pattern) == len(given) and all(want in (ANY, have) for want, have in zip(pattern, given, strict=True)):
                return row
        return None


class Quota(Frozen):
    """Personas reserved for traits that chance brings too seldom."""

    traits: dict[str, str] = Field(min_length=1)
    every: int = Field(ge=2, description="Every how many personas.")
    offset: int = Field(ge=0, description="Index of the first.")

    @property
    def label(self) -> str:
        """What the persona is reserved for, such as ``health=diabetes``."""
        return ",".join(f"{trait}={value}" for trait, value in self.traits.items())

    def covers(self, index: int) -> bool:
        """Whether persona number ``index`` is reserved."""
        return index % self.every == self.offset


class Rule(Frozen):
    """Whoever matches all traits cannot exist."""

    never: dict[str, tuple[str, ...]] = Field(min_length=1)
    why: str

    def breaks(self, traits: Mapping[str, str]) -> bool:
        """Whether ``traits`` are what cannot exist."""
        return all(traits[trait] in values for trait, values in self.never.items())


class TraitGraph:
    """The compiled tables, in an order in which parents come first."""

    def __init__(self, traits: Mapping[str, Trait]) -> None:
        self.graph: nx.DiGraph[str] = nx.DiGraph()
        self.graph.add_nodes_from(traits)
        self.graph.add_edges_from((parent, name) for name, trait in traits.items() for parent in trait.parents)
        place = {name: index for index, name in enumerate(traits)}
        self.order: tuple[str, ...] = tuple(nx.lexicographical_topological_sort(self.graph, key=place.__getitem__))
        self.traits = {name: traits[name] for name in self.order}
        self.rows = {name: self._compiled(traits, name) for name in self.order}

    @staticmethod
    def _compiled(traits: Mapping[str, Trait], name: str) -> dict[tuple[str, ...], tuple[float, ...]]:
        trait = traits[name]
        rows: dict[tuple[str, ...], tuple[float, ...]] = {}
        for given in product(*(traits[parent].values for parent in trait.parents)):
            row = trait.table[trait.row_for(given) or NO_PARENTS]
            total = sum(row.values())
            rows[given] = tuple(row[value] / total for value in trait.values)
        return rows

    def weights(self, name: str, drawn: Mapping[str, str]) -> tuple[float, ...]:
        """Return the probabilities of a trait's values, given its parents."""
        return self.rows[name][tuple([drawn[parent] for parent in self.traits[name].parents])]

    def draw(self, rng: random.Random, wanted: Mapping[str, str]) -> dict[str, str]:
        """Draw all traits, on condition that some have given values (by drawing until they do).

        Raises:
            InstanceRefused: If no draw fits.
        """
        for _ in range(_TRIES):
            drawn: dict[str, str] = {}
            for name in self.order:
                value = weighted(rng, self.traits[name].values, self.weights(name, drawn))
                if wanted and wanted.get(name, value) != value:
                    break
                drawn[name] = value
            else:
                return {name: drawn[name] for name in self.order}
        raise InstanceRefused("no_traits_for_quota")

    def probability(self, wanted: Wanted) -> float:
        """Return the exact probability that every trait of ``wanted`` has one of its values."""
        needed = {ancestor for name in wanted for ancestor in nx.ancestors(self.graph, name)} | wanted.keys()
        names = [name for name in self.order if name in needed]
        return self._enumerate(names, wanted, {})

    def _enumerate(self, names: list[str], wanted: Wanted, drawn: dict[str, str]) -> float:
        if not names:
            return 1.0
        name, rest = names[0], names[1:]
        allowed = wanted.get(name, self.traits[name].values)
        return sum(
            share * self._enumerate(rest, wanted, {**drawn, name: value})
            for value, share in zip(self.traits[name].values, self.weights(name, drawn), strict=True)
            if share and value in allowed
        )


def table_problems(traits: Mapping[str, Trait]) -> Iterator[Problem]:
    """Yield what is wrong with names, parents and rows, each with its place and the fix."""
    for name, trait in traits.items():
        at = ("traits", name)
        if len(dict.fromkeys(trait.values)) < len(trait.values):
            yield (*at, "values"), "a value is listed twice; remove one"
        unknown = [parent for parent in trait.parents if parent not in traits]
        if unknown:
            yield (*at, "parents"), f"unknown trait '{unknown[0]}'; {near_match(unknown[0], traits)}"
        else:
            yield from _row_problems(traits, name)
    yield from _cycle(traits)


def _cycle(traits: Mapping[str, Trait]) -> Iterator[Problem]:
    graph = nx.DiGraph((parent, name) for name, trait in traits.items() for parent in trait.parents)
    try:
        cycle = nx.find_cycle(graph)
    except nx.NetworkXNoCycle:
        return
    path = " -> ".join([edge[0] for edge in cycle] + [cycle[0][0]])
    yield ("traits", cycle[0][1], "parents"), f"traits cause each other: {path}; drop one of these parents"


def _row_problems(traits: Mapping[str, Trait], name: str) -> Iterator[Problem]:
    trait, at = traits[name], ("traits", name, "table")
    for row, weights in trait.table.items():
        problem = _pattern_problem(traits, trait, row) or _weights_problem(trait, weights)
        if problem:
            yield (*at, row), problem
    used: dict[str, None] = {}
    for given in product(*(traits[parent].values for parent in trait.parents)):
        match = trait.row_for(given)
        if match is None:
            yield at, f"no row for '{', '.join(given) or NO_PARENTS}'; add one, or one with '*'"
            return
        used[match] = None
    for row in trait.table:
        if row not in used:
            yield (*at, row), "earlier rows match all of it; move it up or remove it"


def _pattern_problem(traits: Mapping[str, Trait], trait: Trait, row: str) -> str | None:
    pattern = trait.pattern(row)
    if len(pattern) != len(trait.parents):
        wanted = ", ".join(trait.parents) or NO_PARENTS
        return f"{len(pattern)} parts for {len(trait.parents)} parents; name the row by '{wanted}'"
    for parent, value in zip(trait.parents, pattern, strict=True):
        if value not in (ANY, *traits[parent].values):
            return f"unknown value '{value}' of {parent}; {near_match(value, traits[parent].values)}"
    return None


def _weights_problem(trait: Trait, weights: Mapping[str, float]) -> str | None:
    for value in weights:
        if value not in trait.values:
            return f"unknown value '{value}'; {near_match(value, trait.values)}"
    missing = [value for value in trait.values if value not in weights]
    if missing:
        return f"no weight for '{missing[0]}'; add one (0 if it cannot be)"
    if not all(0 <= weight < float("inf") for weight in weights.values()):
        return "a weight is negative or not a number; use 0 or more"
    return None if sum(weights.values()) > 0 else "all weights are 0; give one value a weight above 0"


def name_problems(traits: Mapping[str, Trait], wanted: Mapping[str, Any], at: tuple[str | int, ...]) -> Iterator[Problem]:
    """Yield the traits and values of a quota or rule that do not exist."""
    for name, values in wanted.items():
        if name not in traits:
            yield (*at, name), f"unknown trait '{name}'; {near_match(name, traits)}"
            continue
        for value in (values,) if isinstance(values, str) else values:
            if value not in traits[name].values:
                yield (*at, name), f"unknown value '{value}'; {near_match(value, traits[name].values)}"


def quota_problems(graph: TraitGraph, quotas: Collection[Quota]) -> Iterator[Problem]:
    """Yield quotas that collide, never begin, or that hardly any draw could fill."""
    for index, quota in enumerate(quotas):
        if quota.offset >= quota.every:
            yield ("quotas", index, "offset"), f"must be below every ({quota.every}), got {quota.offset}"
        chance = graph.probability({name: (value,) for name, value in quota.traits.items()})
        if chance < _RAREST:
            yield (
                ("quotas", index, "traits"),
                f"{quota.label} has probability {chance:.4f}, below {_RAREST}; raise its weights",
            )
    for (_, one), (index, other) in combinations(enumerate(quotas), 2):
        if (one.offset - other.offset) % gcd(one.every, other.every) == 0:
            yield (
                ("quotas", index, "offset"),
                f"{other.label} and {one.label} meet in one persona; change the offset",
            )


def rule_problems(graph: TraitGraph, rules: Collection[Rule]) -> Iterator[Problem]:
    """Yield coherence rules that the tables can break."""
    for index, rule in enumerate(rules):
        chance = graph.probability(rule.never)
        if chance > 0:
            yield (
                ("coherence", index),
                f"the tables draw this with probability {chance:.4f} ({rule.why}); set the weight to 0",
            )
