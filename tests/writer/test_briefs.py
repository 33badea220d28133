"""The brief files: what they promise to those who give out the tasks."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from iba_bench.errors import UserError
from iba_bench.yaml_source import YamlSource
from scenarios.text import check, parse_spec
from scenarios.writer import behaves, brief_of, topic_by_id, topics_of
from scenarios.writer.briefs import CATALOG, read_brief
from scenarios.writer.marks import dated, rounded
from scenarios.writer.models import MARK, Brief, Topic

SCENARIOS = ("budget_report", "concept_explanation", "blog_post")
SWITCHED = {"p": 3, "s": 2, "u": 2}


def _says(brief: Brief, topic: Topic) -> list[str]:
    passages = [passage for bank in (*brief.pieces.values(), *topic.pieces.values()) for passage in bank.values()]
    passages += [passage for section in (*topic.sections, brief.notes) for passage in (*section.say, *section.more)]
    return [say for passage in passages for lines in (passage.say, *passage.when.values()) for say in lines]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_mark_is_well_formed(scenario: str) -> None:
    brief = brief_of(scenario)
    for say in (say for topic in brief.topics for say in _says(brief, topic)):
        for letter, body in MARK.findall(say):
            assert letter in "md" or len(body.split("|")) == SWITCHED[letter], say
        assert not {"{", "}"} & set(MARK.sub("", say)), say


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_topics_have_distinct_subjects_and_facts(scenario: str) -> None:
    topics = topics_of(scenario)
    assert len({topic.subject for topic in topics}) == len(topics) >= 10
    for topic in topics:
        assert len({fact.id for fact in topic.facts}) == len(topic.facts)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_defaults_do_the_job(scenario: str) -> None:
    verdicts = {default.topic: behaves(topic_by_id(scenario, default.topic), default.text) for default in brief_of(scenario).defaults}
    assert set(verdicts.values()) == {(True, "")}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_defaults_rarely_meet_three_requirements_at_once(scenario: str) -> None:
    brief, rng = brief_of(scenario), random.Random(11)
    table = YamlSource(CATALOG.parent / "text" / "dimension_checks.yaml").data
    dimensions = [dimension for dimension in brief.dimensions if dimension != "communication.avoided_word"]
    passed = 0
    for _ in range(400):
        text = rng.choice(brief.defaults).text
        chosen = {dimension: rng.choice(brief.dimensions[dimension].values) for dimension in rng.sample(dimensions, 3)}
        passed += all(check(parse_spec(table[dimension][value]), text).holds for dimension, value in chosen.items())
    assert passed <= 40


def test_behaviour_names_what_is_wrong() -> None:
    topic = topic_by_id("budget_report", "march_household")
    assert behaves(topic, "") == (False, "the text has 0 words, fewer than 20")
    assert behaves(topic, "spent " * 30) == (False, "the text lacks the fact 'total'")
    assert behaves(topic, "word " * 5000)[1] == "the text has 25,000 characters, more than 20,000"


def test_unknown_scenarios_and_topics_are_refused_with_what_exists() -> None:
    with pytest.raises(UserError, match="scenario 'budget' has no brief file; did you mean 'budget_report'"):
        brief_of("budget")
    with pytest.raises(UserError, match="scenario 'budget_report' has no topic 'march'; "):
        topic_by_id("budget_report", "march")


def test_a_brief_with_an_unknown_dimension_is_refused(tmp_path: Path) -> None:
    text = (CATALOG / "finance" / "budget_report.brief.yaml").read_text(encoding="utf-8")
    path = tmp_path / "budget_report.brief.yaml"
    path.write_text(text.replace("switches: {p: writing.person}", "switches: {p: writing.persona}"), encoding="utf-8")
    with pytest.raises(UserError, match="unknown dimension 'writing.persona'; did you mean 'writing.person'"):
        read_brief(path)


@pytest.mark.parametrize(
    ("rounding", "written"),
    [("to_the_penny", "2,286.43"), ("whole_units", "2,286"), ("nearest_ten", "2,290")],
)
def test_amounts_are_rounded(rounding: str, written: str) -> None:
    assert rounded("2286.43", rounding) == written


@pytest.mark.parametrize(
    ("style", "written"),
    [("iso_dates", "2026-04-05"), ("day_first", "5 April 2026"), ("month_first", "April 5, 2026")],
)
def test_dates_follow_the_format(style: str, written: str) -> None:
    assert dated("2026-04-05", style) == written
