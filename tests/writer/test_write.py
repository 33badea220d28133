"""The writer against the checkers: every value of every style holds in the text."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator, Mapping

import pytest

from iba_bench.errors import UserError
from iba_bench.yaml_source import YamlSource
from scenarios.text import TextSpec, check, parse_spec
from scenarios.writer import Brief, Topic, behaves, brief_of, topic_by_id, topics_of, write
from scenarios.writer.briefs import CATALOG

SCENARIOS = ("budget_report", "concept_explanation", "blog_post")
CASES = [(scenario, topic.id) for scenario in SCENARIOS for topic in topics_of(scenario)]


def _specs() -> dict[tuple[str, str], TextSpec]:
    table = YamlSource(CATALOG.parent / "text" / "dimension_checks.yaml").data
    return {(dimension, str(value)): parse_spec(spec) for dimension, specs in table.items() for value, spec in specs.items()}


SPECS = _specs()


def _pairs(brief: Brief) -> Iterator[dict[str, str]]:
    for (one, first), (other, second) in itertools.combinations(brief.dimensions.items(), 2):
        for value, further in itertools.product(first.values, second.values):
            yield {one: value, other: further}


def _full(brief: Brief, rng: random.Random, count: int) -> Iterator[dict[str, str]]:
    for _ in range(count):
        yield {dimension: rng.choice(choice.values) for dimension, choice in brief.dimensions.items()}


def _problems(brief: Brief, topic: Topic, style: Mapping[str, str], rng: random.Random) -> list[str]:
    if brief.conflict_of(style):
        return []
    text = write(brief, topic, style, rng)
    fine, problem = behaves(topic, text)
    found = [(key, check(SPECS[key], text)) for key in style.items()]
    return ([] if fine else [problem]) + [f"{style}: {key[1]}: {one.reason}" for key, one in found if not one.holds]


@pytest.mark.parametrize(("scenario", "topic_id"), CASES)
def test_every_pair_of_values_holds(scenario: str, topic_id: str) -> None:
    brief, topic, rng = brief_of(scenario), topic_by_id(scenario, topic_id), random.Random(topic_id)
    assert [problem for style in _pairs(brief) for problem in _problems(brief, topic, style, rng)] == []


@pytest.mark.parametrize(("scenario", "topic_id"), CASES)
def test_full_styles_hold_in_all_dimensions_at_once(scenario: str, topic_id: str) -> None:
    brief, topic, rng = brief_of(scenario), topic_by_id(scenario, topic_id), random.Random(f"full {topic_id}")
    assert [problem for style in _full(brief, rng, 60) for problem in _problems(brief, topic, style, rng)] == []


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_dimension_and_value_of_a_brief_has_a_check(scenario: str) -> None:
    brief = brief_of(scenario)
    keys = {(dimension, value) for dimension, choice in brief.dimensions.items() for value in choice.values}
    assert keys <= SPECS.keys()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_flipped_value_fails_the_check_of_the_other(scenario: str) -> None:
    brief, rng = brief_of(scenario), random.Random(3)
    for dimension, choice in brief.dimensions.items():
        if dimension == "communication.avoided_word":
            continue
        for value, other in itertools.permutations(choice.values, 2):
            text = write(brief, rng.choice(brief.topics), {dimension: value}, rng)
            assert not check(SPECS[dimension, other], text).holds, (dimension, value, other, text)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_same_stream_gives_the_same_text_and_another_one_varies_it(scenario: str) -> None:
    brief = brief_of(scenario)
    style = {"writing.length": "long"}
    texts = [write(scenario, brief.topics[0], style, random.Random(seed)) for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_mark_is_left_in_any_text(scenario: str) -> None:
    brief, rng = brief_of(scenario), random.Random(5)
    for style in _full(brief, rng, 100):
        text = write(brief, rng.choice(brief.topics), style, rng)
        assert not {"{", "}"} & set(text), text
        assert "  " not in text.replace("    ", ""), text


def test_a_text_takes_less_than_two_milliseconds() -> None:
    brief, rng = brief_of("concept_explanation"), random.Random(7)
    styles = list(_full(brief, rng, 200))
    start = time.process_time()
    for style in styles:
        write(brief, brief.topics[0], style, rng)
    assert (time.process_time() - start) / len(styles) < 0.002


def test_an_unknown_value_is_refused_with_what_exists() -> None:
    brief = brief_of("budget_report")
    with pytest.raises(
        UserError,
        match="style: writing.person: unknown value 'first'; .*valid: first_person, second_person",
    ):
        write(brief, brief.topics[0], {"writing.person": "first"}, random.Random(1))
    with pytest.raises(UserError, match="style: unknown dimension 'writing.tone'; "):
        write(brief, brief.topics[0], {"writing.tone": "dry"}, random.Random(1))
