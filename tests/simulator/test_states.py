"""Emotional states: what is preferred under stress, and who is said to be at ease."""

from __future__ import annotations

import asyncio
import datetime as dt
from dataclasses import replace

import pytest

from iba_bench.hydra_config import compose
from personas.life_events import load_life_events
from simulator.calendar import DAY
from simulator.config import GenerateConfig
from simulator.factory import Materials, PersonaFactory
from simulator.gates.clauses import heard_of, plain
from simulator.life import STRESSED, Focus, Happening


@pytest.fixture(scope="module")
def factory() -> PersonaFactory:
    raw = compose("generate", ["benchmark=dev", "drift.scoped=1.0"])
    fields = GenerateConfig.model_fields
    return PersonaFactory(GenerateConfig(**{key: value for key, value in raw.items() if key in fields}), Materials.load())


def strain(onset: int, end: int) -> Happening:
    event = next(event for event in load_life_events().values() if event.emotional == "stressed")
    return Happening(event, onset, end, True)


@pytest.mark.parametrize(("scope", "on", "upset"), [(STRESSED, False, True), (STRESSED, True, False), ("work", False, False), (None, False, False)])
def test_nobody_is_said_to_be_at_ease_in_the_midst_of_a_strain(scope: str | None, on: bool, upset: bool) -> None:
    focus = Focus("food_delivery", 50 * DAY, 0, "api", scope=scope, scope_on=on)
    assert strain(48 * DAY, 60 * DAY).upsets(focus) is upset
    assert not strain(51 * DAY, 60 * DAY).upsets(focus)
    late = strain(0, 3 * DAY)
    assert late.upsets(replace(focus, at=late.sure_after + DAY)) is False


def test_preferences_under_stress_decide_tasks_and_the_instruction_says_how_the_user_is(factory: PersonaFactory) -> None:
    seen = 0
    for index in range(6):
        bundle = asyncio.run(factory.make(index)).bundle
        stressed = {entry["entry_id"] for entry in bundle.ledger if entry["scope"] == STRESSED}
        instructions = {task["task_id"]: task["instruction"] for task in bundle.tasks}
        bank = factory.materials.library.scopes.scopes[STRESSED].on
        for task_id, solution in bundle.solutions.items():
            if any(constraint["entry_id"] in stressed for constraint in solution["constraints"]):
                seen += 1
                assert heard_of(bank, plain(instructions[task_id])), instructions[task_id]
    assert seen


def test_the_dates_of_a_strain_are_those_of_its_kind() -> None:
    happening = strain(10 * DAY, 20 * DAY)
    assert happening.sure_to - happening.onset == happening.event.earliest * DAY
    assert dt.timedelta(seconds=happening.sure_after - happening.onset) == dt.timedelta(days=happening.event.latest)
