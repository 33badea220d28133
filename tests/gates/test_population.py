import json
import random

from simulator.gates.population import POPULATION_GATES, check_population
from simulator.gates.summary import PARTS, summarise
from simulator.gates.verdict import Findings, Verdict


def test_a_fair_population_passes_and_says_what_was_measured(fair):
    for verdict in check_population(fair(), {}):
        if verdict.gate in (3, 8):
            assert verdict.passed, verdict.failures
            assert verdict.measured and set(verdict.limits) <= set(verdict.measured)


def test_verdicts_do_not_depend_on_the_order_of_personas(fair):
    summaries = fair(30)
    mixed = list(summaries)
    random.Random(1).shuffle(mixed)
    assert check_population(mixed, {}) == check_population(summaries, {})


def test_verdicts_come_in_the_order_of_their_gates(fair):
    numbers = [verdict.gate for verdict in check_population(fair(10), {})]
    assert numbers == sorted(numbers)
    assert {3, 8} <= set(numbers)


def test_nothing_measured_is_not_passed():
    assert [verdict.passed for verdict in check_population([], {}) if verdict.gate in (3, 8)] == [False, False]


def test_a_verdict_goes_into_the_manifest():
    findings = Findings({"share": 1 / 3, "tasks": 3, "kind": "api"}, {"share": 0.1}, ["share: too much"])
    verdict = findings.verdict(8, "not vacuous")
    assert verdict == Verdict(8, "not vacuous", False, {"share": 1 / 3, "tasks": 3, "kind": "api"}, {"share": 0.1}, ("share: too much",))
    assert json.loads(json.dumps(verdict.as_dict())) == {
        "gate": 8, "name": "not vacuous", "passed": False, "measured": {"share": 0.333333, "tasks": 3, "kind": "api"},
        "limits": {"share": 0.1}, "failures": ["share: too much"],
    }  # fmt: skip


def test_summaries_are_small_json_with_one_part_a_module(views, library):
    summaries = [summarise(view, library) for view in views]
    assert all(set(summary) == {"persona", "tasks", *PARTS} for summary in summaries)
    text = json.dumps(summaries)
    assert json.loads(text) == summaries
    assert len(text) < 3_000 * sum(len(view.tasks) for view in views) + 2_000 * len(views)  # a task's own parts and a persona's
    assert set(POPULATION_GATES) <= set(PARTS)


def test_real_personas_pass_the_population_gates(views, library):
    verdicts = check_population([summarise(view, library) for view in views], {})
    assert [verdict.failures for verdict in verdicts if verdict.gate in (3, 8)] == [(), ()]
