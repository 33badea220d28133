"""Every text dimension's value has a spec, and the specs of one dimension tell its values apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

import scenarios.text
from iba_bench.yaml_source import YamlSource
from scenarios.text import check, parse_spec

CHECKS = YamlSource(Path(scenarios.text.__file__).with_name("dimension_checks.yaml")).data
VALUES = {
    "writing.person": "first_person second_person third_person",
    "writing.length": "brief middling long",
    "writing.layout": "bullets numbered headings paragraphs",
    "writing.greeting": "no_greeting casual_greeting formal_greeting",
    "writing.sign_off": "no_sign_off casual_sign_off formal_sign_off",
    "writing.emoji": "no_emoji single_emoji many_emoji",
    "writing.spelling": "british american",
    "writing.date_format": "iso_dates day_first month_first",
    "writing.reading_level": "plain expert",
    "writing.tone": "warm dry upbeat",
    "writing.units": "metric imperial",
    "finance.currency_style": "symbol code spelled_out",
    "finance.rounding": "to_the_penny whole_units nearest_ten",
    "finance.report_opening": "total_first biggest_change savings_first warning_first",
    "finance.comparison": "last_month last_year against_plan no_comparison",
    "learning.example_world": "kitchen sport garden music",
    "learning.ending": "check_question summary_line next_step further_reading",
    "learning.notation": "words_only formula code_snippet small_table",
    "learning.opening": "definition_first story_first question_first",
    "communication.headline": "question number how_to statement",
    "communication.blog_ending": "question_to_readers call_to_subscribe personal_note quotation",
    "communication.avoided_word": "journey unlock delve hack vibrant",
    "communication.hook": "anecdote statistic quotation bold_claim",
}


@pytest.mark.parametrize("dimension", VALUES)
def test_every_value_of_a_text_dimension_has_a_spec(dimension: str) -> None:
    assert list(CHECKS[dimension]) == VALUES[dimension].split()
    for spec in CHECKS[dimension].values():
        parse_spec(spec)


@pytest.mark.parametrize(
    ("dimension", "text", "only"),
    [
        ("finance.comparison", "Food fell by \u00a320 on last month.", "last_month"),
        ("finance.comparison", "Heating is a third dearer than last year.", "last_year"),
        ("finance.comparison", "Clothes stayed under budget.", "against_plan"),
        ("finance.comparison", "Food was \u00a3310 and rent \u00a3800.", "no_comparison"),
        ("finance.comparison", "Food fell on last month but rose on last year.", None),
        ("learning.example_world", "Stir the soup and watch the butter melt.", "kitchen"),
        ("learning.example_world", "The striker hits the ball past the goalkeeper.", "sport"),
        ("learning.example_world", "A seedling leans towards light; turn the soil.", "garden"),
        ("learning.example_world", "A violin string sounds an octave up.", "music"),
        ("learning.example_world", "A train leaves at noon.", None),
    ],
)
def test_a_text_shows_one_value_at_most(dimension: str, text: str, only: str | None) -> None:
    held = [value for value, spec in CHECKS[dimension].items() if check(parse_spec(spec), text).holds]
    assert held == ([only] if only else [])


@pytest.mark.parametrize(
    "data",
    [
        {"measure": "words"},
        {"measure": "emoji", "at_least": 3, "at_most": 1},
        {"measure": "tone", "is": "cold"},
        {"measure": "mentions"},
        {"measure": "mentions", "any_of": ["a"], "at_least": 2},
        {"measure": "avoids", "words": []},
        {"measure": "person", "is": "first", "strict": True},
        {"measure": "mood", "is": "sad"},
    ],
)
def test_a_spec_that_makes_no_sense_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        parse_spec(data)


def test_a_spec_survives_the_way_through_json() -> None:
    spec = parse_spec({"measure": "rounding", "is": "whole_units", "except": ["12.50"]})
    assert parse_spec(spec.model_dump()) == spec
    assert spec.model_dump()["is"] == "whole_units"
