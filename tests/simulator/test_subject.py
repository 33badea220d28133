"""What a conversation or a task is about stays the same throughout it."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest

from iba_bench.hydra_config import compose
from scenarios.environment import entity_name, subject_of
from simulator.config import GenerateConfig
from simulator.factory import Made, Materials, PersonaFactory

MATERIALS = Materials.load()
SCENARIOS = MATERIALS.library.scenarios


@pytest.fixture(scope="module")
def made() -> list[Made]:
    raw = compose("generate", ["benchmark=dev", "noise=none"])
    config = GenerateConfig(**{key: value for key, value in raw.items() if key in GenerateConfig.model_fields})
    factory = PersonaFactory(config, MATERIALS)
    return [asyncio.run(factory.make(index)) for index in range(6)]


def named(text: str, names: tuple[str, ...]) -> set[str]:
    return {name for name in names if name.lower() in text.lower()}


@pytest.mark.parametrize(("scenario", "fill"), [("flight_booking", "destination"), ("product_search", "item")])
def test_all_that_can_be_chosen_is_of_the_kind_that_is_asked_for(made: list[Made], scenario: str, fill: str) -> None:
    values, seen = SCENARIOS[scenario].fills[fill], 0
    for one in made:
        for task in one.view.tasks:
            asked = named(task.row["instruction"], values) if task.row["scenario_id"] == scenario else set()
            if asked:
                seen += 1
                assert all(named(entity["name"], values) == asked for entity in task.entities), task.row["instruction"]
    assert seen


def test_a_conversation_about_a_flight_has_one_destination(made: list[Made]) -> None:
    values = SCENARIOS["flight_booking"].fills["destination"]
    places = Counter[int]()
    for one in made:
        cues = {row["turn_id"] for row in one.view.voiced}
        for session in one.view.sessions:
            if session["scenario_id"] == "flight_booking" and session["kind"] == "dialogue":
                talk = " ".join(turn["content"] for turn in session["turns"] if turn["turn_id"] not in cues)
                places[len(named(talk, values))] += 1
    assert set(places) <= {0, 1} and places[1] > 10, places


def test_names_keep_to_what_a_task_is_about_and_differ_in_the_rest() -> None:
    scenario, rng = SCENARIOS["flight_booking"], random.Random(1)
    about = subject_of(scenario, rng)
    names = [entity_name(scenario, rng, about) for _ in range(50)]
    assert all(about["destination"] in name for name in names)
    assert len(set(names)) > 40


def test_a_subject_that_is_no_fill_is_named(tmp_path) -> None:
    from iba_bench.errors import UserError
    from iba_bench.yaml_source import YamlSource
    from scenarios.library import ROOT
    from scenarios.models import Scenario

    text = (ROOT / "catalog/travel/flight_booking.yaml").read_text().replace("subject: [destination, trip]", "subject: [destinatoin]")
    path = tmp_path / "flight.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=r"subject 'destinatoin' is no fill of the scenario; valid: airline, "):
        YamlSource(path, "flight.yaml").parse(Scenario)
