"""Personas made once per test process, and fresh views of them to mutate."""

from __future__ import annotations

import asyncio
import copy
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from iba_bench.verb import composed
from personas.life_events import load_life_events
from personas.population import load_population
from scenarios.library import ROOT, Library, read_library
from simulator.factory import Materials, PersonaFactory
from simulator.gates.view import PersonaView, view_of
from simulator.verbs.generate import split_config

Tables = dict[str, list[dict[str, Any]]]
SCENARIOS = ("food_delivery", "doctor_appointment")
SAMPLE = ("benchmark.personas=4", "benchmark.tasks=8", "history=short", "noise=low", "missing_info=0")


@pytest.fixture(scope="session")
def library() -> Library:
    """A library of two api scenarios with the shared banks."""
    return read_library(ROOT, SCENARIOS)


@pytest.fixture(scope="session")
def made_personas(library: Library) -> list[Tables]:
    """Rows of four personas with two api tasks each; copy them before changing anything."""
    config, _ = split_config(composed("generate", list(SAMPLE)))
    factory = PersonaFactory(config, Materials(library, load_population(), load_life_events()))
    return [asyncio.run(factory.make(index)).bundle.tables() for index in range(config.benchmark.personas)]


@pytest.fixture
def good_rows(made_personas: list[Tables]) -> Tables:
    """A copy of the first persona's rows, to mutate."""
    return copy.deepcopy(made_personas[0])


@pytest.fixture
def view(good_rows: Tables) -> PersonaView:
    """A fresh view of the first persona, to mutate."""
    return view_of(good_rows)


@pytest.fixture
def views(made_personas: list[Tables]) -> list[PersonaView]:
    """Fresh views of all four personas."""
    return [view_of(copy.deepcopy(tables)) for tables in made_personas]


@pytest.fixture
def edited(good_rows: Tables) -> Callable[[Callable[[Tables], None]], PersonaView]:
    """Return a function that applies an edit to the first persona's rows and gives the view of the result."""

    def apply(edit: Callable[[Tables], None]) -> PersonaView:
        edit(good_rows)
        return view_of(json.loads(json.dumps(good_rows)))

    return apply


class SummaryMaker:
    """Makes summaries of a fair population: gold is drawn uniformly, features carry nothing, probes fail."""

    scenarios = ("alpha", "beta", "gamma", "delta")
    sizes = (4, 2, 2)

    def __init__(self, kind: str = "api", grid: bool = False) -> None:
        self.kind, self.grid = kind, grid
        self.rng = random.Random(7)

    def make(self, personas: int) -> list[dict[str, Any]]:
        """Return summaries of personas with one task in each of four scenarios."""
        return [self.persona(number) for number in range(personas)]

    def persona(self, number: int) -> dict[str, Any]:
        """Return one summary."""
        out: dict[str, Any] = {"persona": f"p{number:05}", "tasks": [], "leak": [], "vacuous": []}
        for scenario in self.scenarios:
            self._task(out, f"q{number:05}{scenario}", scenario)
        return out

    def _task(self, out: dict[str, Any], task: str, scenario: str) -> None:
        slots = []
        for place, size in enumerate(self.sizes):
            levels = [f"v{level}" for level in range(size)]
            slots.append([f"{scenario}.d{place}", levels, [self.rng.choice(levels)], 1])
        row: dict[str, Any] = {"task": task, "scenario": scenario, "kind": self.kind, "split": "test", "missing": False}
        out["tasks"].append(row | {"challenges": [], "slots": slots})
        if self.kind != "text":
            gold = [self.rng.randrange(16)]
            families = ("length", "numbers", "medoid", "overlap", "ids")
            rules = {family: {f"{family} {mark}": float(self.rng.randrange(16) == 0) for mark in ("low", "high")} for family in families}
            side = {"n": 16, "right": gold, "gold": gold, "rules": rules}
            out["leak"].append({"task": task, "sides": {"grid" if self.grid else "entity": side}})
        out["vacuous"].append({"task": task, "passes": dict.fromkeys(self.probes, 0)})

    probes = (
        "noop", "refuse", "always_ask", "ask_one", "random", "first", "kitchen_sink", "popular_default", "lexical_overlap",
    )  # fmt: skip


@pytest.fixture
def fair() -> Callable[..., list[dict[str, Any]]]:
    """Return a function that makes the summaries of a fair population."""

    def make(personas: int = 100, **options: Any) -> list[dict[str, Any]]:
        return SummaryMaker(**options).make(personas)

    return make
