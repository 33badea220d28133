"""The measures agree with a reader's labels, and where they do not, the failure is listed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scenarios.text.scoreboard import Case, cases_of, disagreements, read_lines, scores

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "text"
LEAST = 0.95


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return list(cases_of(read_lines(DATA / "pool.jsonl")))


def test_every_measure_has_at_least_a_hundred_texts_with_both_verdicts(cases: list[Case]) -> None:
    found = scores(cases)
    assert len(found) == 20
    for measure, score in found.items():
        assert score.texts >= 100, measure
        assert score.positives >= 15 and score.negatives >= 15, measure


def test_every_measure_reaches_the_demanded_sensitivity_and_specificity(cases: list[Case]) -> None:
    low = {m: s for m, s in scores(cases).items() if min(s.sensitivity, s.specificity) < LEAST}
    assert low == {}


def test_every_failure_is_listed_and_every_listed_one_still_fails(cases: list[Case]) -> None:
    key = "{} {} {}".format
    failing = {key(c.text_id, json.dumps(c.spec, sort_keys=True), c.holds) for c in disagreements(cases)}
    listed = {key(row["id"], json.dumps(row["spec"], sort_keys=True), row["labelled"]) for row in read_lines(DATA / "known_failures.jsonl")}
    assert listed, "no checker of language is without failures; the list must not be empty"
    assert failing == listed


def test_the_documentation_shows_the_measured_table_and_the_known_failures(cases: list[Case]) -> None:
    page = (ROOT / "docs" / "text-measures.md").read_text(encoding="utf-8")
    for measure, score in scores(cases).items():
        assert f"| {measure} | {score.texts} | {score.positives} | {score.negatives} | " in page
        assert f"| {score.sensitivity:.3f} | {score.specificity:.3f} |" in page
    for text_id in sorted({case.text_id for case in disagreements(cases)}):
        assert text_id in page, f"{text_id} fails and is not in docs/text-measures.md"


def test_no_text_occurs_twice() -> None:
    rows = read_lines(DATA / "pool.jsonl")
    assert len({row["text"] for row in rows}) == len(rows) == len({row["id"] for row in rows})
