"""Blind decoding: the sheet does not tell, the key does, the record cannot be talked into a right reading."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scenarios import decoding
from scenarios.decoding_items import ANY, NOT_STATED, file_items, key_row, library_items, rows_of, with_example
from scenarios.decoding_record import is_right, merged, read_record, reading_of, review, tidied
from scenarios.library import ROOT, read_library

FOOD = ROOT / "catalog" / "dining" / "food_delivery.yaml"
SHARED = [ROOT / "shared" / f"{name}.yaml" for name in ("frames", "scopes", "noise")]


@pytest.fixture(scope="module")
def food():
    return {item.id: item for item in file_items(FOOD)}


@pytest.fixture(scope="module")
def keys():
    return {row["id"]: row for row in rows_of([item for path in (FOOD, *SHARED) for item in file_items(path)], "key")}


def right_answer(key):
    wanted = key["phrase_value"] if key["value"] == ANY else key["value"]
    letter = next(letter for letter, value in key["letters"].items() if value == wanted)
    return {"id": key["id"], "answer": letter, "strength": key["strength"], "holder": key["holder"]}


def wrong_answer(key):
    letter = next(letter for letter, value in key["letters"].items() if value not in (key["value"], key["phrase_value"]))
    return right_answer(key) | {"answer": letter}


# --- the sheet ----------------------------------------------------------------------------


def test_a_sheet_shows_every_line_once_in_the_order_of_its_hash(food):
    rows = rows_of(food.values(), "sheet")
    assert [row["id"] for row in rows] == sorted(food)
    assert all(set(row) == {"id", "text", "dimension_description", "options"} for row in rows)


def test_a_sheet_does_not_tell(food):
    for row in rows_of(food.values(), "sheet"):
        item = food[row["id"]]
        shown = json.dumps(row)
        assert item.dimension not in shown
        assert not any(f'"{value}"' in shown for value in item.options)
        assert not {"value", "strength", "holder", "kind", "split", "letters"} & set(row)


def test_options_hold_every_gloss_and_not_stated_in_an_order_of_the_lines_own(food):
    orders = set()
    for row in rows_of(food.values(), "sheet"):
        glosses = sorted(food[row["id"]].options.values())
        assert sorted(text for text in row["options"].values() if not text.startswith("not stated")) == glosses
        orders.add(tuple(text.startswith("not stated") for text in row["options"].values()))
    assert len(orders) > 8


def test_a_sheet_is_the_same_each_time():
    assert rows_of(file_items(FOOD), "sheet") == rows_of(file_items(FOOD), "sheet")


def test_no_brackets_or_braces_are_left_in_what_is_read():
    for path in (FOOD, *SHARED):
        for row in rows_of(file_items(path), "sheet"):
            assert not set("[]{}|") & set(row["text"]), row["text"]


def test_frames_and_noise_speak_of_a_value_of_some_dimension(keys):
    frames = [key for key in keys.values() if key["kind"] == "frame"]
    assert frames and all(key["phrase_value"] in key["letters"].values() for key in frames)
    dislikes = {key["phrase_value"] for key in frames if key["dimension"].endswith("_dislikes")}
    assert dislikes <= {"peanut", "shellfish", "dairy", "gluten", "sesame", "journey", "unlock", "delve", "hack", "vibrant"}
    noise = [key for key in keys.values() if key["kind"] == "noise"]
    assert {key["dimension"] for key in noise} >= {"noise.third_party", "noise.sarcasm", "noise.small_talk", "noise.assistant_error"}


def test_every_line_that_shows_something_is_on_some_sheet():
    library = read_library(ROOT, ("food_delivery",))
    dimensions = library.dimensions.values()
    cues = sum(len(value.cues) + len(value.served) for d in dimensions for value in d.values.values())
    assert sum(item.kind in ("cue", "served") for item in library_items(library)) == cues
    assert {item.kind for item in library_items(library)} == {"cue", "served", "frame", "scope", "noise"}


# --- what is right ------------------------------------------------------------------------


def test_right_and_wrong_readings(keys):
    for key in keys.values():
        assert reading_of(key, right_answer(key))["right"], key
        if key["dimension"] != "noise.third_party":
            assert not reading_of(key, wrong_answer(key))["right"], key


@pytest.mark.parametrize(("kind", "field", "value"), [
    ("cue", "strength", "unclear"), ("cue", "holder", "other"), ("served", "holder", "user"), ("frame", "strength", "unclear"),
])  # fmt: skip
def test_a_reading_needs_strength_and_holder(keys, kind, field, value):
    key = next(key for key in keys.values() if key["kind"] == kind)
    assert not reading_of(key, right_answer(key) | {field: value})["right"]


def test_noise_about_a_third_person_may_be_read_as_theirs_but_not_as_the_users(keys):
    key = next(key for key in keys.values() if key["dimension"] == "noise.third_party")
    assert reading_of(key, wrong_answer(key) | {"holder": "other"})["right"]
    assert not reading_of(key, wrong_answer(key) | {"holder": "user"})["right"]
    other = next(key for key in keys.values() if key["dimension"] == "noise.sarcasm")
    assert not reading_of(other, wrong_answer(other) | {"holder": "other"})["right"]


def test_an_answer_that_is_no_option_is_named(keys):
    key = next(iter(keys.values()))
    with pytest.raises(decoding.UserError, match=f"answer 'Z' to line {key['id']} is no option"):
        reading_of(key, {"id": key["id"], "answer": "Z"})


# --- the record ---------------------------------------------------------------------------


def test_a_second_reading_leaves_the_first(keys):
    key = next(key for key in keys.values() if key["kind"] == "cue")
    record = merged({}, keys, [wrong_answer(key)], "one")
    record = merged(record, keys, [right_answer(key)], "two")
    row = record[key["id"]]
    assert (row["first"]["right"], row["final"]["right"], row["action"], row["reader"]) == (False, True, "kept", "two")


def test_a_rewritten_line_keeps_the_first_reading_of_the_old(food, keys):
    old, new = [item for item in food.values() if item.dimension == "dining.heat" and item.value == "warm" and item.kind == "cue"][:2]
    record = merged({}, keys, [wrong_answer(keys[old.id])], "one")
    record = merged(record, keys, [right_answer(keys[new.id])], "two")
    current = {key: item for key, item in food.items() if key != old.id}
    record = tidied(record, [new.id], current)
    assert old.id not in record
    row = record[new.id]
    assert (row["action"], row["was"], row["first"]["right"], row["final"]["right"]) == ("rewritten", old.id, False, True)


def test_a_misread_line_that_goes_is_marked_removed_and_counts_against(food, keys):
    gone, *rest = food.values()
    record = merged({}, keys, [wrong_answer(keys[gone.id]), *(right_answer(keys[item.id]) for item in rest)], "one")
    record = tidied(record, [], {item.id: item for item in rest})
    assert record[gone.id]["action"] == "removed"
    found = review(rest, record)
    assert found.problems == () and found.share == pytest.approx((len(food) - 1) / len(food))


def test_lines_of_files_that_are_not_looked_at_are_left_alone(food, keys):
    frame = next(key for key in keys.values() if key["kind"] == "frame")
    record = merged({}, keys, [right_answer(frame)], "one")
    assert tidied(record, [], food) == record


# --- the review ---------------------------------------------------------------------------


@pytest.fixture
def record(food, keys):
    return merged({}, keys, [right_answer(keys[key]) for key in food], "one")


def test_a_full_record_has_no_problems(food, record):
    found = review(food.values(), record)
    assert (found.problems, found.lines, found.right, found.share) == ((), len(food), len(food), 1.0)


def test_a_line_without_reading_is_named(food, record):
    lost = record.pop(next(iter(food)))
    assert [lost["id"] in problem and "no reading on record" in problem for problem in review(food.values(), record).problems] == [True]


def test_a_removed_record_is_no_reading(food, record):
    record[next(iter(food))]["action"] = "removed"
    assert "no reading on record" in review(food.values(), record).problems[0]


def test_a_wrong_reading_is_named_whatever_its_mark(food, record):
    row = record[next(iter(food))]
    row["final"] = row["final"] | {"value": NOT_STATED, "right": True}
    assert "read as not_stated" in review(food.values(), record).problems[0]


def test_a_line_whose_strength_changed_since_is_stale(food, record):
    row = next(row for row in record.values() if row["strength"] == "must")
    row["strength"], row["final"] = "prefer", row["final"] | {"strength": "prefer"}
    assert "the record is stale" in review(food.values(), record).problems[0]


def test_a_record_of_a_line_that_is_gone_is_stale(food, record):
    items = list(food.values())[1:]
    assert "the line is not in the file" in review(items, record).problems[0]


def test_a_reworded_line_has_no_reading(food, record):
    from dataclasses import replace

    first, *rest = food.values()
    problems = review([replace(first, line=first.line + " Truly."), *rest], record).problems
    assert len(problems) == 2 and "no reading" in problems[0] and "stale" in problems[1]


def test_less_than_95_per_cent_right_is_refused_even_if_all_wrong_lines_went(food, keys):
    items = list(food.values())
    wrong, rest = items[: len(items) // 10], items[len(items) // 10 :]
    answers = [wrong_answer(keys[i.id]) for i in wrong] + [right_answer(keys[i.id]) for i in rest]
    record = tidied(merged({}, keys, answers, "one"), [], {item.id: item for item in rest})
    problems = review(rest, record).problems
    assert len(problems) == 1 and "at least 95% must be" in problems[0]


# --- the command --------------------------------------------------------------------------


def test_from_sheet_to_check(tmp_path: Path, capsys, keys):
    folder, answers = tmp_path / "record", tmp_path / "answers.jsonl"
    assert decoding.main(["key", str(FOOD)]) == 0
    key = tmp_path / "key.jsonl"
    key.write_text(capsys.readouterr().out)
    rows = [json.loads(line) for line in key.read_text().splitlines()]
    answers.write_text("\n".join(json.dumps(right_answer(row)) for row in rows[5:]))
    assert decoding.main(["score", str(answers), "--key", str(key), "--record", str(folder), "--reader", "R"]) == 0
    assert "scenarios/catalog/dining/food_delivery.yaml" in capsys.readouterr().out
    record = read_record(folder)
    assert len(record) == len(rows) - 5 and all(is_right(row, row["final"]) for row in record.values())
    assert decoding.main(["sheet", str(FOOD), "--missing", "--record", str(folder)]) == 0
    assert [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()] == [row["id"] for row in rows[:5]]
    assert decoding.main(["check", "--record", str(folder)]) == 1


def test_a_mistake_is_one_line_and_exit_code_2(tmp_path: Path, capsys):
    bad = tmp_path / "answers.jsonl"
    bad.write_text("{}\n")
    assert decoding.main(["score", str(bad), "--record", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"{bad}:1: not an object with an 'id'; mend the line\n"
    assert decoding.main(["sheet", str(tmp_path / "nothing.yaml")]) == 2


def test_the_key_has_the_answer(food):
    item = next(iter(food.values()))
    row = key_row(with_example(item, []))
    assert row["letters"] | {} == {letter: value for letter, value in row["letters"].items()}
    assert {row["value"], NOT_STATED} <= set(row["letters"].values())
