"""No text makes a measure raise or crawl, and the same text gives the same finding."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios.text import Finding, TextSpec, check, parse_spec
from scenarios.text.document import MAX_CHARS, parse
from scenarios.text.scoreboard import cases_of

_ROW = {
    "id": "x",
    "text": "",
    "labels": dict.fromkeys(
        ("person layout greeting sign_off spelling units currency rounding date_format reading_level tone title ending notation"
         " length opening_of_explanation opening_of_report opening_of_post").split(), "none"
    ) | {"emoji": 0},
    "mentions": {"kettle": True},
    "avoids": {"delve": True},
    "facts": {"1,450": True, "5 km": True, "3 May": True},
}  # fmt: skip
SPECS: list[TextSpec] = [parse_spec(case.spec) for case in cases_of([_ROW])]
HOSTILE = {
    "null": "\0" * 5_000,
    "only emoji": "\U0001f600" * 5_000,
    "lone surrogates": "\ud800" * 100,
    "right to left": "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd " * 1_500,
    "spaces": " " * MAX_CHARS,
    "line breaks": "\n" * MAX_CHARS,
    "stars": "*" * MAX_CHARS,
    "hashes": "#" * MAX_CHARS,
    "backticks": "`" * MAX_CHARS,
    "quotes": '"' * MAX_CHARS,
    "brackets": "[" * MAX_CHARS,
    "links": "[a](b" * 4_000,
    "digits": "1" * MAX_CHARS,
    "thousands": "1,111" * 4_000,
    "spaced digits": "1 " * 10_000,
    "number words": "one and " * 2_500,
    "dashes": "a-" * 10_000,
    "dollars": "$ " * 10_000,
    "underscores": "_a" * 10_000,
    "nested quotes": "> " * 10_000,
    "equations": "a=b " * 5_000,
    "greetings": "Dear " * 4_000,
    "closings": "Cheers\n" * 2_800,
    "headings": "Abc\n\n" * 4_000,
    "one long word": "aeiou" * 4_000,
    "capitals": "Aa " * 6_600,
    "pounds": "weigh pounds " * 1_500,
    "nested list": "".join("  " * depth + "- > 1. # a\n" for depth in range(60)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_gives_a_finding_in_time(name: str) -> None:
    text = HOSTILE[name]
    start = time.perf_counter()
    for spec in SPECS:
        assert isinstance(check(spec, text), Finding)
    assert time.perf_counter() - start < 0.15 * len(SPECS)


def test_a_text_over_the_limit_holds_for_nothing_and_says_why() -> None:
    for spec in SPECS:
        assert check(spec, "a" * 10_000_000) == Finding(False, "10,000,000 characters", "Found 10,000,000 characters; wanted at most 20,000.")


def test_an_empty_text_has_no_style() -> None:
    kinded = [spec for spec in SPECS if hasattr(spec, "value")]
    assert kinded and not any(check(spec, "").holds for spec in kinded)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=400))
def test_any_text_gives_at_most_one_value_of_an_exclusive_measure(text: str) -> None:
    held: dict[str, int] = {}
    for spec in SPECS:
        finding = check(spec, text)
        assert finding.reason.startswith("Found ") and finding.reason.endswith(".")
        if hasattr(spec, "value") and spec.measure != "opening":
            held[spec.measure] = held.get(spec.measure, 0) + finding.holds
    assert all(count <= 1 for count in held.values())


def test_a_finding_does_not_depend_on_what_was_checked_before() -> None:
    text = "Hi Ann,\n\nWe paid \u00a35.20 on 3 May for two kilos of plums.\n\nCheers,\nBo"
    before = [check(spec, text) for spec in SPECS]
    parse.cache_clear()
    assert [check(spec, text) for spec in reversed(SPECS)] == before[::-1]
