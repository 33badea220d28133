"""Gate 10: duplicates, shared wordings, crowded values, worn lines and dull text are caught; the figures are the known ones."""

from __future__ import annotations

import copy
import random
from dataclasses import asdict

import pytest

from scenarios.line import Line
from simulator.gates import diversity
from simulator.gates.diversity import LINE, WORDING, short_hash, too_many
from simulator.gates.figures import figures

TURNS = [
    "The boiler man came on Tuesday and left his torch behind.", "The boiler man came on Tuesday and left his torch behind.",
    "The boiler man came on Tuesday and left his ladder behind.", "Could you find me something quiet for the evening, please?", "Right then.",
    "My neighbour's cat sat on the bonnet of our car again, for hours.", "Could you find me a table near the window for two?",
    "It rained all through the match; nobody minded much in the end.", "Half of the street was dark after the storm went by.",
    "Half of the street was dark after the storm had gone by.", "The boiler's back!",
    "We took 3 buses and 2 trains to see her, and she'd gone out.",
]  # fmt: skip


def made_up(seed, words, count, again, shortest, longest, narrow):
    rng = random.Random(seed)
    vocabulary = [f"w{number}" for number in range(words)]
    turns = []
    for _ in range(count):
        turns.append(" ".join(
            rng.choice(vocabulary[: 2 + int(rng.random() * (words - 2))] if narrow else vocabulary)
            for _ in range(rng.randint(shortest, longest))
        ))  # fmt: skip
    return turns + turns[:again]


# --- the figures: numbers of the reference formula --------------------------------------


def test_figures_of_a_few_sentences():
    assert asdict(figures(TURNS)) == {
        "turns": 10, "words_per_turn": 11.6, "distinct2": 0.726, "distinct3": 0.74, "exact_repeats": 0.1, "near_repeats": 0.3,
        "top_opening": 0.3, "enough_text": False,
    }  # fmt: skip


def test_figures_of_narrow_text():
    assert asdict(figures(made_up(11, 40, 400, 40, 3, 14, True))) == {
        "turns": 346, "words_per_turn": 9.6, "distinct2": 0.268, "distinct3": 0.829, "exact_repeats": 0.0697, "near_repeats": 0.0697,
        "top_opening": 0.0058, "enough_text": False,
    }  # fmt: skip


def test_figures_of_enough_text():
    assert asdict(figures(made_up(12, 90, 6000, 600, 4, 18, False))) == {
        "turns": 6178, "words_per_turn": 11.5, "distinct2": 0.201, "distinct3": 0.919, "exact_repeats": 0.0707, "near_repeats": 0.0267,
        "top_opening": 0.0005, "enough_text": True,
    }  # fmt: skip


def test_figures_of_nothing():
    assert asdict(figures([])) == {
        "turns": 0, "words_per_turn": 0.0, "distinct2": 0.0, "distinct3": 0.0, "exact_repeats": 0.0, "near_repeats": 0.0,
        "top_opening": 0.0, "enough_text": False,
    }  # fmt: skip


# --- one persona ---------------------------------------------------------------------------


def test_real_personas_pass(views, library):
    assert [failure for view in views for failure in diversity.check(view, library)] == []


def test_a_session_lived_through_twice(view, library):
    first, second = view.sessions[:2]
    second["turns"] = [turn | {"turn_id": f"t_{n:012x}"} for n, turn in enumerate(copy.deepcopy(first["turns"]))]
    assert [failure.reason for failure in diversity.check(view, library)] == ["a session repeats"]


def test_a_task_that_stands_twice_under_another_id(view, library):
    again = copy.deepcopy(view.tasks[0])
    again.row = {**again.row, "task_id": "q_000000000000", "environment_id": "v_000000000000"}
    again.entities = [entity | {"id": f"x_{n:012x}"} for n, entity in enumerate(reversed(again.entities))]
    view.tasks.append(again)
    assert [(failure.reason, failure.task_id) for failure in diversity.check(view, library)] == [("a task repeats", "q_000000000000")]


def test_tasks_that_differ_in_one_constraint_are_two(view):
    again = copy.deepcopy(view.tasks[0])
    again.constraints[0]["strength"] = "prefer" if again.constraints[0]["strength"] == "must" else "must"
    assert diversity.task_key(again) != diversity.task_key(view.tasks[0])


# --- the whole run ---------------------------------------------------------------------------


@pytest.fixture
def summaries(views, library, monkeypatch):
    monkeypatch.setattr(diversity, "load_library", lambda: library)
    diversity._line_groups.cache_clear()
    yield [{"persona": view.persona["persona_id"], "diversity": diversity.summary(view, library)} for view in views]
    diversity._line_groups.cache_clear()


def verdict(summaries, expected=None):
    found = next(iter(diversity.population(summaries, expected or {"scenarios": ["food_delivery", "doctor_appointment"]})))
    assert found.passed == (not found.failures)
    return found


def repeated(summaries, times):
    """Return copies of the summaries that share nothing that must not be shared."""
    out = []
    for number in range(times):
        for summary in copy.deepcopy(summaries):
            part = summary["diversity"]
            part["tasks"] = [f"{key}{number}" for key in part["tasks"]]
            out.append(summary)
    return out


def test_real_personas_pass_the_whole(summaries):
    found = verdict(summaries)
    assert found.passed, found.failures
    assert found.measured["turns"] > 10 and found.measured["enough_text"] == 0


def test_summaries_hold_both_splits_and_every_cue(summaries, views):
    assert {summary["diversity"]["split"] for summary in summaries} == {"dev", "test"}
    for summary, view in zip(summaries, views, strict=True):
        cues = [row for row in view.voiced if row["cue_type"] != "end"]
        assert len(summary["diversity"]["lines"]) == LINE * len(cues)


def test_one_task_of_two_personas(summaries):
    summaries[1]["diversity"]["tasks"][0] = summaries[0]["diversity"]["tasks"][0]
    assert verdict(summaries).failures == ("1 tasks stand twice",)


@pytest.mark.parametrize("field", ["cues", "noise", "instructions"])
def test_a_wording_shared_between_the_splits(summaries, field):
    dev = next(s["diversity"] for s in summaries if s["diversity"]["split"] == "dev")
    test = next(s["diversity"] for s in summaries if s["diversity"]["split"] == "test")
    test[field] += dev[field][:WORDING]
    assert verdict(summaries).failures == (f"1 wordings of {field} are shared between dev and test",)


def test_the_same_words_in_two_texts_are_one_wording(views, library):
    dev, test = views[0], views[1]
    noise = {row["turn_id"] for row in (*dev.annotations, *test.annotations) if row["noise_kind"]}
    one, other = (next(t for k, t in view.turns.items() if k in noise and t["role"] == "user") for view in (dev, test))
    other["content"] = one["content"].upper() + "!"
    parts = [{"diversity": diversity.summary(view, library)} for view in (dev, test)]
    assert short_hash(diversity.plain(one["content"]), WORDING) in parts[0]["diversity"]["noise"]
    assert any("noise are shared" in failure for failure in verdict(parts).failures)


def test_a_line_of_the_catalog_in_both_splits(summaries, library, monkeypatch):
    lines = [*diversity.library_lines(library)]
    twin = Line(say=lines[0].say.replace(",", " -"), split="dev" if lines[0].split == "test" else "test")
    monkeypatch.setattr(diversity, "library_lines", lambda library: [*lines, twin])
    assert [f for f in verdict(summaries).failures if f.startswith("a line of the catalogs is both dev and test")]


def test_a_value_that_most_hold(summaries):
    many = repeated(summaries, 60)
    for number, summary in enumerate(many):
        values = ("gentle", "warm", "fiery", "no_heat")
        summary["diversity"] |= {"base": {"dining.heat": [values[number % 4]]}}
    assert not [f for f in verdict(many).failures if f.startswith("value")]
    for summary in many[: len(many) // 2]:
        summary["diversity"]["base"] = {"dining.heat": ["warm"]}
    assert [f for f in verdict(many).failures if f.startswith("value dining.heat=warm")]


def test_a_value_that_all_of_a_few_hold(summaries):
    many = repeated(summaries, 6)
    for summary in many:
        summary["diversity"]["base"] = {"dining.heat": ["warm"]}
    assert "value dining.heat=warm: 24 of 24 personas, at most 40%" in verdict(many).failures


def test_a_trait_that_most_have(summaries):
    many = repeated(summaries, 60)
    for number, summary in enumerate(many):
        summary["diversity"]["traits"] = {"work": "shift" if number % 2 else "office"}
    assert [f.split(":")[0] for f in verdict(many).failures if f.startswith("trait")] == ["trait work=shift"]


def test_a_line_that_carries_the_run(summaries, library):
    own, worn = [short_hash(line.say, LINE) for line in library.dimensions["dining.heat"].values["warm"].cues], "zzzzzz"
    many = repeated(summaries, 120)
    for summary in many:
        summary["diversity"]["lines"] = "".join(own)
    for summary in many[:200]:
        summary["diversity"]["lines"] += worn
    assert [f for f in verdict(many).failures if f.startswith("one line voices")]


def test_a_frame_that_carries_its_bank(summaries, library):
    frames = [short_hash(f.say, LINE) for f in library.frames.explicit if f.strength == "must" and f.split == "test"]
    many = repeated(summaries, 120)
    for summary in many:
        summary["diversity"]["lines"] = "".join(frames)
    assert not [f for f in verdict(many).failures if f.startswith("one frame")]
    for summary in many:
        summary["diversity"]["lines"] += frames[0] * 2
    assert [f for f in verdict(many).failures if f.startswith("one frame of 'explicit must test'")]


@pytest.mark.parametrize(
    ("turns", "named"),
    [
        (made_up(1, 60, 7000, 0, 9, 14, False), "distinct2"),
        (made_up(2, 900, 6000, 400, 9, 14, False), "exact_repeats"),
        (made_up(2, 900, 6000, 4000, 9, 14, False), "near_repeats"),
        ([f"once upon a {turn}" for turn in made_up(3, 900, 6000, 0, 9, 14, False)], "top_opening"),
    ],
)
def test_dull_text(summaries, turns, named):
    summaries[0]["diversity"]["turns"] = turns
    found = verdict(summaries)
    assert found.measured["enough_text"] == 1
    assert [f for f in found.failures if f.startswith(named)]


def test_dull_text_is_only_reported_where_there_is_little(summaries):
    summaries[0]["diversity"]["turns"] = ["I went to the shop and came back with nothing at all."] * 500
    found = verdict(summaries)
    assert found.passed and found.measured["exact_repeats"] > 0.9 and "exact_repeats" not in found.limits


def test_nothing_measured_does_not_pass():
    assert verdict([]).failures == ("nothing was measured",)


def test_the_limit_on_a_share():
    assert not too_many(40, 100, 0.4, 4, True)
    assert too_many(41, 100, 0.4, 4, True)
    assert not too_many(50, 100, 0.4, 1000, False)
    assert too_many(70, 100, 0.4, 1000, False)
    assert not too_many(0, 0, 0.4, 1, True)
