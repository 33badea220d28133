"""Hostile tests of gate 3: every leak that it can name is planted and must be found."""

import json
import random

import pytest

from simulator.gates import leak
from simulator.gates.probes import choices_of
from simulator.gates.sides import record_of, sides_of


def tasks_of(summaries, part="tasks"):
    return [task for summary in summaries for task in summary[part]]


def reasons(view, library):
    return {failure.reason for failure in leak.check(view, library)}


def gold_label(rows, library):
    """The label of the first task's first gold value."""
    solution = rows["solutions"][0]
    constraint = solution["constraints"][0]
    dimension = library.dimensions[constraint["dimension"]]
    wanted = json.loads(constraint["predicate"])["value"]
    return next(value for key, value in dimension.values.items() if dimension.public(key) == wanted)


def row_of(rows, table):
    task_id = rows["solutions"][0]["task_id"]
    task = next(row for row in rows["tasks"] if row["task_id"] == task_id)
    return task if table == "tasks" else next(e for e in rows[table] if e["environment_id"] == task["environment_id"])


def test_clean_personas_pass(views, library):
    assert [failure for view in views for failure in leak.check(view, library)] == []


@pytest.mark.parametrize("name", ["label", "synonym", "capitals"])
def test_a_gold_value_named_in_the_instruction_is_found(edited, library, name):
    def edit(rows):
        value = gold_label(rows, library)
        said = {"label": value.label, "synonym": value.synonyms[0], "capitals": value.label.upper()}[name]
        row_of(rows, "tasks")["instruction"] += f" Make it {said}!"

    assert reasons(edited(edit), library) == {"the instruction names a gold value"}


def test_part_of_a_longer_word_names_nothing(edited, library):
    def edit(rows):
        row_of(rows, "tasks")["instruction"] += f" x{gold_label(rows, library).label}x"

    assert reasons(edited(edit), library) == set()


def test_a_gold_value_named_in_the_context_is_found(edited, library):
    def edit(rows):
        task = row_of(rows, "tasks")
        task["context"] = json.dumps(json.loads(task["context"]) | {"hint": [f"likes {gold_label(rows, library).label}"]})

    assert reasons(edited(edit), library) == {"the context names a gold value"}


@pytest.mark.parametrize("key", ["name", "blurb", "reviews"])
def test_a_gold_value_named_by_an_entity_outside_its_attribute_is_found(edited, library, key):
    def edit(rows):
        environment = row_of(rows, "environments")
        entities = json.loads(environment["entities"])
        said = f"the {gold_label(rows, library).label} one"
        entities[3][key] = [{"text": said}] if key == "reviews" else said
        environment["entities"] = json.dumps(entities)

    assert reasons(edited(edit), library) == {"the environment names a gold value"}


def edit_tools(rows, change):
    task = row_of(rows, "tasks")
    tools = json.loads(task["tools"])
    change(tools)
    task["tools"] = json.dumps(tools)


@pytest.mark.parametrize("where", ["description", "errors", "neutral", "slot"])
def test_a_gold_value_named_by_a_tool_outside_the_glosses_is_found(edited, library, where):
    def edit(rows):
        label = gold_label(rows, library).label
        parameter = library.dimensions[rows["solutions"][0]["constraints"][0]["dimension"]].parameter

        def change(tools):
            for tool in tools:
                properties = tool["parameters"]["properties"]
                if where == "slot" and parameter in properties:
                    properties[parameter]["description"] += f" Usually {label}."
            if where == "description":
                tools[0]["description"] += f" Should be {label}."
            if where == "errors":
                tools[-1]["errors"] = {"404": f"no {label} found"}
            if where == "neutral":
                tools[0]["parameters"]["properties"]["limit"]["description"] = f"how many {label} results"

        edit_tools(rows, change)

    assert reasons(edited(edit), library) == {"a tool names a gold value"}


def test_a_listing_of_all_values_tells_nothing(edited, library):
    def edit(rows):
        dimension = library.dimensions[rows["solutions"][0]["constraints"][0]["dimension"]]
        labels = ", ".join(value.label for value in dimension.values.values())
        edit_tools(rows, lambda tools: tools[0].update(description=f"Finds what is {labels}."))

    assert reasons(edited(edit), library) == set()


def test_a_constraint_without_a_known_value_is_found(edited, library):
    def edit(rows):
        constraint = rows["solutions"][0]["constraints"][0]
        constraint["predicate"] = json.dumps(json.loads(constraint["predicate"]) | {"value": "no such value"})

    assert "a constraint speaks of no value" in reasons(edited(edit), library)


# --- what is measured of a task -------------------------------------------------------


def records(view, library):
    task = view.tasks[0]
    sides = sides_of(task, choices_of(task.graded, task.entities, library))
    return task, {name: record_of(side, task.row["instruction"]) for name, side in sides.items()}


def test_chance_is_counted_from_entities_and_options(views, library):
    for view in views:
        for task in view.tasks:
            sides = sides_of(task, choices_of(task.graded, task.entities, library))
            chance = 1.0
            for side in sides.values():
                chance *= len(side.right) / len(side.candidates)
            assert chance <= 1 / 16
            assert all(side.gold <= side.right and side.gold for side in sides.values())


def test_rules_point_at_gold_that_stands_out(view, library):
    task, found = records(view, library)
    gold = found["entity"]["gold"][0]
    task.entities[gold]["name"] += " with a very long name indeed, the longest of all of them"
    price = next(key for key, value in task.entities[0].items() if isinstance(value, float))
    task.entities[gold][price] = -5.0
    task = view.tasks[0]
    task.row["instruction"] = "Zanzibar, please"
    task.entities[gold]["name"] += " zanzibar"
    _, found = records(view, library)
    rules = found["entity"]["rules"]
    assert rules["length"]["name high"] == 1.0
    assert rules["numbers"][f"{price} low"] == 1.0
    assert rules["overlap"]["shared high"] == 1.0


def test_a_gold_entity_amid_its_likes_is_the_medoid(view, library):
    task, found = records(view, library)
    gold = found["entity"]["gold"][0]
    for entity in task.entities[: len(task.entities) // 2]:
        entity |= {key: value for key, value in task.entities[gold].items() if key not in ("id", "name")}
    _, found = records(view, library)
    assert found["entity"]["rules"]["medoid"]["agreement high"] == 1.0


# --- population -----------------------------------------------------------------------------


def verdict(summaries):
    (found,) = leak.population(summaries, {})
    return found


def caught(summaries):
    return {failure.split(":")[0].split("/")[0] for failure in verdict(summaries).failures}


@pytest.mark.parametrize("grid", [False, True])
def test_a_fair_population_passes(fair, grid):
    found = verdict(fair(200, grid=grid))
    assert found.passed, found.failures
    group = "grid" if grid else "choice"
    assert found.measured[f"chance/{group}"] == pytest.approx(1 / 16)
    assert found.limits[f"position/{group}"] == pytest.approx(1 / 16 + 0.05)
    assert found.measured[f"tasks/{group}"] == 800


@pytest.mark.parametrize("family", ["length", "numbers", "medoid", "overlap", "ids"])
@pytest.mark.parametrize("grid", [False, True])
def test_a_feature_that_tells_gold_in_one_of_six_tasks_is_found(fair, family, grid):
    summaries, rng = fair(200, grid=grid), random.Random(3)
    for row in tasks_of(summaries, "leak"):
        if rng.randrange(6) == 0:
            row["sides"]["grid" if grid else "entity"]["rules"][family][f"{family} low"] = 1.0
    assert {family, f"{family} by scenario"} <= caught(summaries)


def test_a_feature_that_tells_gold_otherwise_in_each_scenario_is_found(fair):
    summaries = fair(100)
    marks = {"alpha": "low", "beta": "high", "gamma": "low", "delta": "high"}
    for row in tasks_of(summaries, "leak"):
        scenario = row["task"][6:]
        rules = row["sides"]["entity"]["rules"]["numbers"]
        other = "low" if marks[scenario] == "high" else "high"
        rules |= {f"numbers {marks[scenario]}": 0.3, f"numbers {other}": 0.0}
    assert "numbers by scenario" in caught(summaries)


@pytest.mark.parametrize("place", [0, 7, 15])
def test_a_place_where_gold_stands_too_often_is_found(fair, place):
    summaries, rng = fair(200), random.Random(5)
    for row in tasks_of(summaries, "leak"):
        if rng.randrange(8) == 0:
            row["sides"]["entity"]["right"] = row["sides"]["entity"]["gold"] = [place]
    assert {"position", "places"} <= caught(summaries)


def test_the_last_place_is_found_in_lists_of_any_length(fair):
    summaries, rng = fair(100), random.Random(5)
    for row in tasks_of(summaries, "leak"):
        side = row["sides"]["entity"]
        side["n"] = rng.choice([16, 18, 24, 36])
        side["right"] = side["gold"] = [side["n"] - 1]
    assert "position" in caught(summaries)


def test_a_half_of_the_list_that_gold_avoids_is_found_by_its_places(fair):
    summaries = fair(200)
    for row in tasks_of(summaries, "leak"):
        side = row["sides"]["entity"]
        side["right"] = side["gold"] = [4 + side["gold"][0] % 12]
    assert "places" in caught(summaries)


def test_a_value_that_is_gold_too_often_is_found(fair):
    summaries, rng = fair(200), random.Random(5)
    for task in tasks_of(summaries):
        for slot in task["slots"]:
            if rng.randrange(5):
                slot[2] = slot[1][-1:]
    assert {"modes", "rates", "neighbours"} <= caught(summaries)


def test_a_value_that_is_gold_whenever_it_is_on_offer_is_found(fair):
    summaries, rng = fair(200), random.Random(5)
    for task in tasks_of(summaries):
        for slot in task["slots"]:
            gold = f"rare{rng.randrange(4)}"
            slot[1][0], slot[2] = gold, [gold]
    assert "rates" in caught(summaries)


def test_a_small_run_is_refused_for_a_gross_leak_only(fair):
    summaries = fair(5)
    for row in tasks_of(summaries, "leak")[:3]:
        row["sides"]["entity"]["rules"]["ids"]["ids low"] = 1.0
    assert verdict(summaries).passed
    for row in tasks_of(summaries, "leak")[:16]:
        row["sides"]["entity"]["rules"]["ids"]["ids low"] = 1.0
    assert "ids" in caught(summaries)


def test_tasks_that_nobody_measured_are_noticed(fair):
    summaries = fair(5)
    summaries[0]["leak"].pop()
    assert verdict(summaries).failures == ("tasks are missing from the summaries",)


def test_text_tasks_alone_leave_nothing_to_choose_and_pass(fair):
    assert verdict(fair(5, kind="text")).passed
