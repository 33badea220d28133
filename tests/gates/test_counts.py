"""Gate 12: a run that has not what its config promises is caught, whatever it lacks."""

from __future__ import annotations

import copy

import pytest

from simulator.gates import counts
from simulator.gates.counts import CHALLENGES

SCENARIOS = ("food_delivery", "doctor_appointment")
EXPECTED = {
    "personas": 100, "tasks": 400, "quota": 4, "scenarios": list(SCENARIOS), "missing_info": 0.05, "noise_level": 0.35, "noise_adversarial": 0.3,
    "history_tokens": 20_000, "failed": [],
}  # fmt: skip


def task(number, missing):
    row = {
        "scenario": SCENARIOS[number % 2], "missing": int(missing), "slots": 4, "must": 3, "prefer": 0 if missing else 1, "evidence": 7,
        "by": [number % len(CHALLENGES)],
    }  # fmt: skip
    return row if missing else row | {"popular": [1, 4, 1.25, 0, 0.0625]}


def run():
    """Return the summaries of a run that keeps every promise."""
    out = []
    for index in range(100):
        due = int((index + 1) * 0.2 + 1e-9) > int(index * 0.2 + 1e-9)
        tasks = [task(index * 4 + k, due and k == 0) for k in range(4)]
        out.append({"persona": f"p{index:03}", "counts": {"tokens": [20_000, 10_770, 3_231], "tasks": tasks}})
    return out


def verdict(summaries, **over):
    found = next(iter(counts.population(summaries, EXPECTED | over)))
    assert found.gate == 12 and found.passed == (not found.failures)
    return found


def every(summaries, change, to=10**9):
    """Change the rows of the first tasks."""
    rows = [row for summary in summaries for row in summary["counts"]["tasks"] if not row["missing"]]
    for row in rows[:to]:
        change(row)
    return summaries


# --- one persona ---------------------------------------------------------------------------


def test_a_persona_is_counted_from_its_rows(views, library):
    for view in views:
        found = counts.summary(view, library)
        kinds = {row["turn_id"]: row["noise_kind"] for row in view.annotations}
        assert sum(found["tokens"][:2]) == sum(turn["tokens"] for turn in view.turns.values())
        assert found["tokens"][1] == sum(turn["tokens"] for key, turn in view.turns.items() if kinds[key])
        assert found["tokens"][2] <= found["tokens"][1]
        for row, task in zip(found["tasks"], view.tasks, strict=True):
            assert row["must"] + row["prefer"] == len(task.constraints) and row["slots"] <= 5
            hits, slots, chance, _, answers = row["popular"]
            assert 0 <= hits <= slots and 0 < chance < slots and 1 / 40 < answers <= 1 / 4


def test_truth_that_is_popular_is_counted(view, library):
    task = view.tasks[0]
    for constraint in task.constraints:
        dimension = library.dimensions[constraint["dimension"]]
        if dimension.polarity == "likes":
            constraint["predicate"]["value"] = dimension.public(dimension.popular)
    hits, slots, _, _, _ = counts.summary(view, library)["tasks"][0]["popular"]
    assert hits == slots


def test_real_personas_pass(views, library):
    summaries = [{"persona": "p", "counts": counts.summary(view, library)} for view in views]
    found = next(iter(counts.population(summaries, {
        "personas": 4, "tasks": 8, "quota": 2, "scenarios": list(SCENARIOS), "missing_info": 0, "noise_level": 0.15, "noise_adversarial": 0.3,
        "history_tokens": 5_000, "failed": [],
    })))  # fmt: skip
    assert found.passed, found.failures


# --- the whole run ---------------------------------------------------------------------------


def test_a_run_that_keeps_its_promises_passes():
    found = verdict(run())
    assert found.passed, found.failures
    assert found.measured["missing_info"] == 20 == found.limits["missing_info"]
    assert found.measured["share_drift"] == pytest.approx(0.125)


def test_a_persona_lost():
    assert verdict(run()[1:]).failures[:2] == ("99 personas, 100 are configured", "396 tasks, 400 are configured")


def test_a_persona_that_could_not_be_made():
    found = verdict(run(), failed=[{"index": 7, "reason": "no_attempt"}])
    assert found.failures == ("persona 7 could not be made: no_attempt",)


def test_a_persona_with_another_number_of_tasks():
    summaries = run()
    moved = summaries[0]["counts"]["tasks"].pop()
    summaries[1]["counts"]["tasks"].append(moved)
    assert verdict(summaries).failures == ("2 personas have another number of tasks than 4",)


def test_a_scenario_without_a_task():
    assert "scenarios without a task: playlist_creation" in verdict(run(), scenarios=[*SCENARIOS, "playlist_creation"]).failures


def test_a_scenario_that_is_not_configured():
    summaries = every(run(), lambda row: row.update(scenario="blog_post"), 1)
    assert "scenarios that are not configured: blog_post" in verdict(summaries).failures


def test_scenarios_out_of_balance():
    summaries = every(run(), lambda row: row.update(scenario="food_delivery"), 2)
    assert [f for f in verdict(summaries).failures if f.startswith("scenarios have")]


def test_one_task_too_few_that_lacks_a_slot():
    summaries = run()
    row = next(row for summary in summaries for row in summary["counts"]["tasks"] if row["missing"])
    row["missing"] = 0
    assert verdict(summaries).failures == ("19 tasks lack a slot, 20 are configured",)


def test_one_task_too_many_that_lacks_a_slot():
    assert "20 tasks lack a slot, 0 are configured" in verdict(run(), missing_info=0.0).failures


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"slots": 6}, "1 tasks with fewer than two or more than five slots"),
        ({"slots": 1}, "1 tasks with fewer than two or more than five slots"),
        ({"prefer": 2}, "1 tasks with more than one prefer"),
        ({"must": 1}, "1 tasks with fewer than two musts"),
        ({"evidence": 4}, "1 tasks with fewer than five evidence items"),
    ],
)
def test_one_task_that_breaks_a_rule(change, rule):
    assert verdict(every(run(), lambda row: row.update(change), 1)).failures == (rule,)


def test_too_many_tasks_with_two_musts():
    assert verdict(every(run(), lambda row: row.update(must=2), 80)).passed
    assert [f for f in verdict(every(run(), lambda row: row.update(must=2), 81)).failures if "three musts" in f]


@pytest.mark.parametrize(
    ("tokens", "named"),
    [([20_000, 9_200, 2_760], "noise_level"), ([20_000, 12_600, 3_780], "noise_level"), ([20_000, 10_770, 3_600], "noise_adversarial")],
)
def test_noise_beside_its_level(tokens, named):
    summaries = run()
    for summary in summaries:
        summary["counts"]["tokens"] = tokens
    assert [f.split(" ")[0] for f in verdict(summaries).failures] == [named]


def test_noise_where_none_is_wanted():
    summaries = run()
    for summary in summaries:
        summary["counts"]["tokens"] = [20_000, 0, 0]
    assert verdict(summaries, noise_level=0).passed
    summaries[3]["counts"]["tokens"] = [20_000, 1, 0]
    assert verdict(summaries, noise_level=0).failures == ("1 tokens of noise, none are configured",)


def test_histories_of_another_length():
    found = verdict(run(), history_tokens=24_000)
    assert [f for f in found.failures if "clean tokens a persona" in f]
    few = copy.deepcopy(run()[:10])
    assert not [f for f in verdict(few, history_tokens=24_000).failures if "clean tokens" in f]


def test_truth_that_is_too_often_the_popular_value():
    assert verdict(every(run(), lambda row: row.update(popular=[1, 4, 0.8, 0, 0.06]))).passed
    found = verdict(every(run(), lambda row: row.update(popular=[1, 4, 0.6, 0, 0.06])))
    assert [f for f in found.failures if f.startswith("the popular value is the true one in 25.0%")]


def test_all_musts_popular_at_once():
    summaries = every(run(), lambda row: row.update(popular=[1, 4, 1.25, 1, 0.0625]), 24)
    assert [f for f in verdict(summaries).failures if f.startswith("popular values are right in all musts of 24 of 380")]
    assert verdict(every(run(), lambda row: row.update(popular=[1, 4, 1.25, 1, 0.0625]), 23)).passed


def test_a_run_without_tasks_does_not_pass():
    assert "there is no task" in verdict([]).failures
