"""Hostile tests of gate 8: probes do what they say, and a task or a population that one of them solves is refused."""

import dataclasses
import json
import random
from collections import Counter

import pytest

from scenarios.grading import grade
from scenarios.models import Scenario
from scenarios.text.dimensions import dimension_spec
from scenarios.writer import brief_of, topics_of, write
from simulator.gates import shallow, vacuous
from simulator.gates.probes import (
    PROBES,
    always_ask,
    ask_one,
    at_random,
    choices_of,
    constant,
    first,
    kitchen_sink,
    lexical_overlap,
    misread,
    noop,
    popular_default,
    realise,
    refuse,
    situation_of,
    user_words,
)  # fmt: skip
from simulator.gates.view import PersonaView, TaskView

RNG = random.Random(4)


def tasks_of(summaries, part="tasks"):
    return [task for summary in summaries for task in summary[part]]


def seen(task, library, words=None):
    return situation_of(task.graded, task.entities, library, words)


def right_vector(task, library):
    choices = choices_of(task.graded, task.entities, library)
    return {key: right[0] for key, _, right, _ in shallow.slots_of(task, choices)}


def passes(task, actions):
    return grade(task.graded, {"entities": task.entities}, task.constraints, actions, task.missing).success


def ranked(task, library):
    """The task as a rank task: the constraints on entities alone."""
    kept = [c for c in task.constraints if c["predicate"]["on"] == "entity"]
    row = {**task.row, "action_kind": "rank", "scenario_id": task.row["scenario_id"]}
    viewed = [entity["id"] for entity in task.entities][::-1]
    return dataclasses.replace(task, row=row, context={**task.context, "viewed": viewed}, tools=[], constraints=kept)


# --- probes on api and rank tasks ----------------------------------------------------------


def test_right_values_realised_are_the_answer(views, library):
    for view in views:
        for task in view.tasks:
            vector = right_vector(task, library)
            assert passes(task, realise(seen(task, library), vector, RNG))
            other = ranked(task, library)
            assert passes(other, realise(seen(other, library), vector, RNG))


def test_doing_nothing_refusing_and_asking_never_pass(view, library):
    for task in (view.tasks[0], ranked(view.tasks[0], library)):
        situation = seen(task, library)
        assert noop(situation, RNG) == []
        assert refuse(situation, RNG)[0]["text"]
        assert {action["ask"] for action in always_ask(situation, RNG)} == {choice.dimension.id for choice in situation.choices}
        assert len(ask_one(situation, RNG)) == 1
        for name in vacuous.NEVER:
            assert not passes(task, PROBES[name](situation, RNG))


def test_first_takes_what_is_listed_first(view, library):
    task = view.tasks[0]
    (action,) = first(seen(task, library), RNG)
    job = next(tool for tool in task.tools if tool["kind"] == "write")
    assert action["arguments"][job["chooses"]] == task.entities[0]["id"]
    for key, value in action["arguments"].items():
        schema = job["parameters"]["properties"][key]
        assert "enum" not in schema or value == schema["enum"][0]
    other = ranked(task, library)
    assert first(seen(other, library), RNG) == [{"ranking": other.context["viewed"]}]


def test_kitchen_sink_does_everything_and_fails(view, library):
    task = view.tasks[0]
    actions = kitchen_sink(seen(task, library), RNG)
    job = next(tool for tool in task.tools if tool["kind"] == "write")
    assert {action["arguments"].get(job["chooses"]) for action in actions} >= {entity["id"] for entity in task.entities}
    assert {action["tool"] for action in actions} == {tool["name"] for tool in task.tools if tool["kind"] == "write"}
    assert not passes(task, actions)
    assert not passes(ranked(task, library), kitchen_sink(seen(ranked(task, library), library), RNG))


def test_popular_default_takes_the_most_common_value_on_offer(view, library):
    task = view.tasks[0]
    situation = seen(task, library)
    (action,) = popular_default(situation, RNG)
    entity = next(e for e in task.entities if e["id"] in action["arguments"].values())
    for choice in situation.choices:
        weights = {level: choice.dimension.values[level].weight for level in choice.levels}
        shown = (entity if choice.place == "entity" else action["arguments"])[choice.dimension.parameter]
        assert weights[next(k for k in choice.levels if choice.dimension.public(k) == shown)] == max(weights.values())


def test_random_answers_are_valid_and_differ(view, library):
    situation = seen(view.tasks[0], library)
    answers = {json.dumps(at_random(situation, random.Random(seed)), sort_keys=True) for seed in range(20)}
    assert len(answers) > 5
    for answer in answers:
        assert grade(view.tasks[0].graded, {"entities": view.tasks[0].entities}, [], json.loads(answer)).behaves


def test_lexical_overlap_takes_the_value_whose_words_were_said(view, library):
    task = view.tasks[0]
    vector = right_vector(task, library)
    said = Counter()
    for key, value in vector.items():
        gloss = library.dimensions[key].values[value]
        said.update(user_words([{"turns": [{"role": "user", "content": f"{gloss.label} {gloss.gloss} " * 50}]}]))
    assert passes(task, lexical_overlap(seen(task, library, said), RNG))


def test_only_the_users_turns_count_as_said():
    turns = [{"role": role, "content": "Lukewarm lukewarm"} for role in ("assistant", "event", "other")]
    assert user_words([{"turns": turns}]) == {}


def test_a_misreading_puts_the_rival_in_and_is_none_without_one():
    rivals = {"a": {"x": "stale", "y": "other"}, "b": {"z": "wrong_scope"}}
    assert misread({"a": "right", "b": "right"}, rivals, "stale") == {"a": "x", "b": "right"}
    assert misread({"a": "right"}, rivals, "ignored_state") is None


def test_a_constant_vector_falls_back_on_what_is_popular(view, library):
    task = view.tasks[0]
    assert constant({})(seen(task, library), RNG) == popular_default(seen(task, library), RNG)
    assert passes(task, constant(right_vector(task, library))(seen(task, library), RNG))


# --- the instance part -----------------------------------------------------------------


def reasons(view, library):
    return {failure.reason for failure in vacuous.check(view, library)}


def test_clean_personas_pass(views, library):
    assert [failure for view in views for failure in vacuous.check(view, library)] == []


@pytest.mark.parametrize(("kind", "reason"), [("drift", "stale"), ("state", "ignore_state"), ("scope", "wrong_scope")])
def test_a_task_said_to_be_decided_without_such_a_rival_is_found(edited, library, kind, reason):
    def edit(rows):
        for solution in rows["solutions"]:
            solution["challenges"] = [kind]
            solution["rivals"] = "{}"

    assert reasons(edited(edit), library) == {f"{reason} passes"}


@pytest.mark.parametrize(("label", "kind"), [("stale", "drift"), ("ignored_state", "state"), ("wrong_scope", "scope"), ("third_party", "")])
def test_a_rival_that_is_right_after_all_is_found(edited, library, label, kind):
    def edit(rows):
        for solution in rows["solutions"]:
            must = next(c for c in solution["constraints"] if c["strength"] == "must" and json.loads(c["predicate"])["op"] == "equals")
            solution["challenges"] = [kind]
            solution["rivals"] = json.dumps({must["dimension"]: {str(json.loads(must["predicate"])["value"]): label}})

    name = next(name for name, wanted in vacuous.MISREADINGS.items() if wanted == label)
    assert reasons(edited(edit), library) == {f"{name} passes"}


def test_grading_that_lets_nothing_pass_for_something_is_found(view, library, monkeypatch):
    monkeypatch.setattr(vacuous, "grade", lambda *_: grade(view.tasks[0].graded, None, [], [{"ask": "x"}], "x"))
    assert reasons(view, library) >= {f"{name} passes" for name in vacuous.NEVER}


def test_where_a_slot_is_unknown_only_the_right_question_passes(view, library):
    task = view.tasks[0]
    key = task.constraints.pop()["dimension"]
    task = dataclasses.replace(task, witness=[{"ask": key}])
    found = vacuous.summary(dataclasses.replace(view, tasks=[task]), library)[0]["passes"]
    assert not any(hit for name, hit in found.items() if name not in vacuous.ASKING)
    assert passes(task, [{"ask": key}])


# --- text tasks ---------------------------------------------------------------------------


STYLE = {"writing.person": "second_person", "writing.length": "brief", "writing.layout": "numbered"}


@pytest.fixture
def writing(library):
    """The library with a bare text scenario that applies the shared dimensions of its brief."""
    applies = tuple(key for key in brief_of("blog_post").dimensions if key in library.shared["writing"].dimensions)
    scenario = Scenario.model_construct(scenario="blog_post", domain="communication", kind="text", applies=applies, dimensions={}, fills={})
    return dataclasses.replace(library, scenarios={"blog_post": scenario})


@pytest.fixture
def text_task():
    topic = topics_of("blog_post")[0]
    constraints = [
        {"constraint_id": f"k{n}", "dimension": key, "strength": "must",
         "predicate": {"op": "text", "spec": dimension_spec(key, value).model_dump(mode="json", exclude_none=True)}}
        for n, (key, value) in enumerate(STYLE.items())
    ]  # fmt: skip
    row = {"task_id": "q1", "scenario_id": "blog_post", "action_kind": "text", "instruction": "Write it up"}
    row["issued_at"] = "2026-03-01T00:00:00+00:00"
    solution = {"challenges": ["implicit_only"]}
    facts = [{"id": fact.id, "statement": fact.statement} for fact in topic.facts]
    entities = [{"id": "x1", "topic": topic.id, "subject": topic.subject, "facts": facts}]
    witness = [{"text": write("blog_post", topic, STYLE, random.Random(0))}]
    return TaskView(row, {}, [], entities, solution, constraints, witness, {}, {}, None, None)


def view_with(task):
    return PersonaView({"persona_id": "p1"}, [], [], [], [task])


def test_a_text_in_the_right_style_passes_and_the_probes_do_not(text_task, writing):
    assert passes(text_task, realise(seen(text_task, writing), STYLE, RNG))
    (found,) = vacuous.summary(view_with(text_task), writing)
    assert {name for name in vacuous.NEVER if found["passes"][name]} == set()
    assert found["passes"]["first"] == 0 and found["passes"]["kitchen_sink"] == 0
    assert list(vacuous.check(view_with(text_task), writing)) == []


def test_the_kitchen_sink_writes_the_stored_text_of_the_topic(text_task, writing):
    (action,) = kitchen_sink(seen(text_task, writing), RNG)
    brief = brief_of("blog_post")
    assert action["text"] in {default.text for default in brief.defaults}


def test_stored_texts_are_judged_by_style_whatever_their_topic(text_task):
    found = vacuous.default_passes(text_task)
    assert len(found) == len(brief_of("blog_post").defaults) and sum(found) <= 1
    text_task.constraints.clear()
    assert all(vacuous.default_passes(text_task))


def test_a_stale_style_is_written_and_fails(text_task, writing):
    text_task.rivals["writing.person"] = {"first_person": "stale"}
    text_task.solution["challenges"].append("drift")
    assert list(vacuous.check(view_with(text_task), writing)) == []
    (found,) = vacuous.summary(view_with(text_task), writing)
    assert found["passes"]["stale"] == 0
    assert reasons(view_with(dataclasses.replace(text_task, rivals={})), writing) == {"stale passes"}


def test_few_texts_are_written_for_a_task(text_task, writing, monkeypatch):
    written = []
    monkeypatch.setattr("simulator.gates.probes.write", lambda *args: written.append(1) or write(*args))
    text_task.rivals["writing.person"] = {"first_person": "stale", "third_person": "wrong_scope"}
    vacuous.summary(view_with(text_task), writing)
    assert len(written) <= 6


# --- population -----------------------------------------------------------------------------


def verdict(summaries):
    (found,) = vacuous.population(summaries, {})
    return found


def caught(summaries):
    return {failure.split(":")[0] for failure in verdict(summaries).failures}


@pytest.mark.parametrize("kind", ["api", "rank", "text"])
def test_a_fair_population_passes(fair, kind):
    found = verdict(fair(200, kind=kind))
    assert found.passed, found.failures
    assert found.measured[f"blind/{kind}"] < 0.1
    assert found.measured[f"wrong_user/{kind}"] == pytest.approx(1 / 16, abs=0.02)


@pytest.mark.parametrize("name", vacuous.NEVER)
def test_one_task_solved_without_doing_the_job_is_refused(fair, name):
    summaries = fair(200)
    tasks_of(summaries, "vacuous")[17]["passes"][name] = 1
    assert caught(summaries) == {f"{name}/api"}


@pytest.mark.parametrize("name", vacuous.SELDOM)
@pytest.mark.parametrize("kind", ["api", "rank", "text"])
def test_a_probe_that_solves_more_than_a_tenth_of_a_kind_is_refused(fair, name, kind):
    summaries = fair(50) + [summary | {"persona": f"r{n}"} for n, summary in enumerate(renamed(fair(50, kind=kind), kind))]
    rows = tasks_of([summary for summary in summaries if summary["tasks"][0]["kind"] == kind], "vacuous")
    share = round(len(rows) * 0.1)
    for row in rows[:share]:
        row["passes"][name] = 1
    assert caught(summaries) == set()
    rows[share]["passes"][name] = 1
    assert caught(summaries) == {f"{name}/{kind}"}


def renamed(summaries, kind):
    return json.loads(json.dumps(summaries).replace('"q0', f'"{kind}0'))


def test_lexical_overlap_is_limited_on_implicit_tasks_alone(fair):
    summaries = fair(100)
    tasks, rows = tasks_of(summaries), tasks_of(summaries, "vacuous")
    for row in rows[:100]:
        row["passes"]["lexical_overlap"] = 1
    assert caught(summaries) == set()
    for task in tasks[:300]:
        task["challenges"].append("implicit_only")
    assert caught(summaries) == {"lexical_overlap/api"}


@pytest.mark.parametrize(("name", "kind"), sorted(vacuous.DECIDES.items()))
def test_one_task_that_a_misreading_solves_although_it_decides_is_refused(fair, name, kind):
    summaries = fair(100)
    task, row = tasks_of(summaries)[5], tasks_of(summaries, "vacuous")[5]
    row["passes"][name] = 1
    assert caught(summaries) == set()
    task["challenges"].append(kind)
    assert caught(summaries) == {f"{name}/api"}


def test_one_task_that_another_persons_taste_solves_is_refused(fair):
    summaries = fair(50)
    rows = tasks_of(summaries, "vacuous")
    for row in rows[:50]:
        row["passes"]["third_party"] = 0
    assert caught(summaries) == set()
    rows[3]["passes"]["third_party"] = 1
    assert caught(summaries) == {"third_party/api"}


def test_users_who_are_all_alike_are_refused(fair):
    summaries, rng = fair(100), random.Random(2)
    for task in tasks_of(summaries):
        if rng.randrange(3):
            for slot in task["slots"]:
                slot[2] = [slot[1][-1]]
    assert {"wrong_user/api", "blind/api"} <= caught(summaries)


def test_the_blind_constant_is_judged_on_personas_that_it_was_not_fitted_on(fair):
    summaries = fair(2)
    for summary, place in zip(summaries, (0, -1), strict=True):
        for task in summary["tasks"]:
            for slot in task["slots"]:
                slot[2] = [slot[1][place]]
    assert verdict(summaries).measured["blind/api"] == 0
    for task in tasks_of(summaries):
        for slot in task["slots"]:
            slot[2] = [slot[1][-1]]
    assert verdict(summaries).measured["blind/api"] == 1


def test_where_a_slot_is_unknown_one_answer_without_a_question_is_refused(fair):
    summaries = fair(20)
    task, row = tasks_of(summaries)[4], tasks_of(summaries, "vacuous")[4]
    task["missing"] = True
    row["passes"] |= {"ask_one": 1, "always_ask": 1}
    assert caught(summaries) == set()
    row["passes"]["popular_default"] = 1
    assert caught(summaries) == {"popular_default/missing_info"}


def test_stored_texts_that_pass_too_often_in_one_scenario_are_refused(fair):
    summaries = fair(300, kind="text")
    rows = [row for row in tasks_of(summaries, "vacuous") if row["task"].endswith("beta")]
    for number, row in enumerate(rows):
        row["defaults"] = [int(number % 20 == place) for place in range(10)]
    assert verdict(summaries).passed
    for row in rows[:60]:
        row["defaults"][3] = 1
    assert {failure.split(":")[0] for failure in verdict(summaries).failures} == {"luckiest_default of beta"}
    for row in rows:
        row["defaults"] = [1, 1, *[0] * 8]
    assert {failure.split(":")[0] for failure in verdict(summaries).failures} == {"defaults of beta", "luckiest_default of beta"}


def test_a_small_run_is_refused_only_for_what_it_shows(fair):
    summaries = fair(5)
    rows = tasks_of(summaries, "vacuous")
    for row in rows[:6]:
        row["passes"]["random"] = 1
    assert caught(summaries) == set()
    rows[6]["passes"]["random"] = 1
    assert caught(summaries) == {"random/api"}
