"""Hostile tests of gates 1, 2, 4, 5, 7 and 11: every reason that they can give is planted in a good persona and must be found."""

from __future__ import annotations

import json

import pytest

from simulator.gates import evidence, identifiable, references, solvable, time


def found(gate, view, library):
    return {failure.reason for failure in gate(view, library)}


@pytest.mark.parametrize("gate", [references.check, time.check, evidence.check, identifiable.check, solvable.check_solvable, solvable.check_twins])
def test_good_personas_pass(views, library, gate):
    assert [failure for view in views for failure in gate(view, library)] == []


# --- gate 1 ----------------------------------------------------------------------


def _first_cue(rows):
    return next(row for row in rows["annotations"] if row["dimension"] and row["cue_type"] != "end")


REFERENCES = {
    "an id is not opaque": lambda rows: rows["histories"][0].update(session_id="gold_session"),
    "an id stands twice": lambda rows: rows["histories"][1].update(session_id=rows["histories"][0]["session_id"]),
    "annotation without its turn": lambda rows: rows["annotations"][0].update(turn_id="t_000000000000"),
    "annotation without its entry": lambda rows: _first_cue(rows).update(entry_id="e_000000000000"),
    "turn without annotation": lambda rows: rows["annotations"].pop(0),
    "superseded entry is missing": lambda rows: rows["ledger"][0].update(supersedes="e_000000000000"),
    "unknown scenario": lambda rows: rows["tasks"][0].update(scenario_id="time_travel"),
    "constraint without its entry": lambda rows: rows["solutions"][0]["constraints"][0].update(entry_id="e_000000000000"),
    "evidence turn is missing": lambda rows: rows["solutions"][0]["constraints"][0].update(evidence=["t_000000000000"]),
    "edited turn is missing": lambda rows: rows["twins"][0]["edits"][0].update(turn_id="t_000000000000"),
    "row of another persona": lambda rows: rows["ledger"][0].update(persona_id="p_000000000000"),
    "entity ids repeat": lambda rows: _entities(rows, lambda data: data[0].update(id=data[1]["id"])),
}


def _entities(rows, change):
    row = rows["environments"][0]
    data = json.loads(row["entities"])
    change(data)
    row["entities"] = json.dumps(data)


@pytest.mark.parametrize("reason", REFERENCES)
def test_a_broken_reference_is_found(edited, library, reason):
    assert reason in found(references.check, edited(REFERENCES[reason]), library)


# --- gate 2 ----------------------------------------------------------------------


def _turn(rows, place=1):
    return rows["histories"][2]["turns"][place]


TIMES = {
    "session index out of order": lambda rows: rows["histories"][0].update(session_index=7),
    "session does not start with its first turn": lambda rows: rows["histories"][0].update(started_at=rows["histories"][1]["started_at"]),
    "turn not after the one before": lambda rows: _turn(rows).update(at=_turn(rows, 0)["at"]),
    "offset is not the zone's": lambda rows: _turn(rows, 0).update(at=_turn(rows, 0)["at"][:19] + "+05:45"),
    "a day named in text does not exist": lambda rows: _turn(rows).update(content="We met on Monday the 32nd."),
    "a day has the wrong ending": lambda rows: [_turn(rows).update(content=f"Come on {day} the {n}th.") for day, n in [_wrong(_turn(rows)["at"])]],
    "tasks out of order": lambda rows: rows["tasks"][1].update(issued_at=rows["tasks"][0]["issued_at"]),
    "first task before a quarter of the span": lambda rows: rows["tasks"][0].update(issued_at=rows["histories"][1]["started_at"]),
}


def _wrong(at):
    import datetime as dt

    date = dt.date.fromisoformat(at[:10])
    while date.day not in (1, 2, 3, 21, 22, 23, 31):
        date -= dt.timedelta(days=1)
    return date.strftime("%A"), date.day


@pytest.mark.parametrize("reason", TIMES)
def test_a_wrong_time_is_found(edited, library, reason):
    assert reason in found(time.check, edited(TIMES[reason]), library)


def test_a_day_in_the_wrong_week_is_found(edited, library):
    import datetime as dt

    def edit(rows):
        date = dt.date.fromisoformat(_turn(rows)["at"][:10]) - dt.timedelta(days=3)
        wrong = (date + dt.timedelta(days=1)).strftime("%A")
        _turn(rows)["content"] = f"It broke on {wrong} the {date.day}th."

    assert "a day named in text does not exist" in found(time.check, edited(edit), library)


# --- gate 4 ----------------------------------------------------------------------


def _gold(rows, library):
    constraint = rows["solutions"][0]["constraints"][0]
    return constraint, library.dimensions[constraint["dimension"]]


def _say_in_session(rows, library, role):
    row = next(r for r in rows["annotations"] if r["explicitness"] == "implicit" and r["dimension"] and r["cue_type"] not in ("end", "behaviour"))
    session = next(s for s in rows["histories"] if s["session_id"] == row["session_id"])
    value = library.dimensions[row["dimension"]].values[evidence.value_id(row["value"])]
    turn = next(t for t in session["turns"] if t["role"] == role)
    turn["content"] += f" So, {value.label.upper()}?"


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_an_implicit_session_that_names_its_value_is_found(edited, library, role):
    view = edited(lambda rows: _say_in_session(rows, library, role))
    assert "implicit session names the value" in found(evidence.check, view, library)


EVIDENCE = {
    "constraint without evidence": lambda rows: rows["solutions"][0]["constraints"][0].update(evidence=[]),
    "evidence turn voices something else": lambda rows: rows["solutions"][0]["constraints"][0].update(
        evidence=[rows["histories"][0]["turns"][-1]["turn_id"]]
    ),
    "evidence after the task": lambda rows: rows["tasks"][0].update(issued_at=rows["histories"][0]["started_at"]),
    "fewer than five evidence items": lambda rows: [c.update(evidence=c["evidence"][:1]) for s in rows["solutions"] for c in s["constraints"]],
}


@pytest.mark.parametrize("reason", EVIDENCE)
def test_missing_evidence_is_found(edited, library, reason):
    assert reason in found(evidence.check, edited(EVIDENCE[reason]), library)


# --- gate 5 ----------------------------------------------------------------------


def _other(rows, library, constraint):
    predicate = json.loads(constraint["predicate"])
    dimension = library.dimensions[constraint["dimension"]]
    return dimension.public(next(key for key in dimension.values if dimension.public(key) != predicate["value"])), predicate


def _plain(rows):
    """A constraint on a single-valued dimension."""
    return next(c for s in rows["solutions"] for c in s["constraints"] if json.loads(c["predicate"])["op"] == "equals")


def _wrong_gold(rows, library):
    constraint = _plain(rows)
    value, predicate = _other(rows, library, constraint)
    constraint["predicate"] = json.dumps({**predicate, "value": value})


def test_gold_that_no_turn_voices_is_found(edited, library):
    assert "observer derives another value" in found(identifiable.check, edited(lambda rows: _wrong_gold(rows, library)), library)


def test_evidence_that_voices_another_value_is_found(edited, library):
    def edit(rows):
        constraint = _plain(rows)
        for row in rows["annotations"]:
            if row["entry_id"] == constraint["entry_id"]:
                row["value"] = json.dumps(_other(rows, library, constraint)[0])

    assert "observer derives another value" in found(identifiable.check, edited(edit), library)


def test_the_observer_never_reads_entry_ids(edited, library):
    def edit(rows):
        for row in rows["annotations"]:
            row["entry_id"] = None

    assert found(identifiable.check, edited(edit), library) == set()


def test_a_later_contradiction_is_found(edited, library):
    def edit(rows):
        constraint = _plain(rows)
        last = max(
            (r for r in rows["annotations"] if r["turn_id"] in constraint["evidence"]), key=lambda r: constraint["evidence"].index(r["turn_id"])
        )
        last["value"] = json.dumps(_other(rows, library, constraint)[0])

    assert "observer derives another value" in found(identifiable.check, edited(edit), library)


def test_a_must_that_only_sounds_like_a_leaning_is_found(edited, library):
    def edit(rows):
        for row in rows["annotations"]:
            if row["dimension"]:
                row["strength"] = "prefer"

    assert "observer derives another strength" in found(identifiable.check, edited(edit), library)


def test_a_dropped_constraint_is_found(edited, library):
    def edit(rows):
        next(s for s in rows["solutions"] if len(s["constraints"]) > 2)["constraints"].pop(0)

    reasons = found(identifiable.check, edited(edit), library)
    assert reasons & {"exposed and evidenced, but no constraint", "observer avoids other things"}


def test_another_persons_taste_taken_for_the_users_is_found(edited, library):
    def edit(rows):
        constraint = _plain(rows)
        for row in rows["annotations"]:
            if row["turn_id"] in constraint["evidence"]:
                row["holder"] = "my cousin Vera"

    assert "observer derives another value" in found(identifiable.check, edited(edit), library)


# --- gates 7 and 11 -----------------------------------------------------------------


def test_a_wrong_witness_and_a_wrong_predicate_are_found(edited, library):
    def edit(rows):
        solution = rows["solutions"][0]
        witness = json.loads(solution["witness"])
        witness[0]["tool"] = "no_such_tool"
        solution["witness"] = json.dumps(witness)

    assert found(solvable.check_solvable, edited(edit), library) == {"the witness fails"}


def test_an_unsolvable_environment_is_found(edited, library):
    def edit(rows):
        solution = rows["solutions"][0]
        task = next(t for t in rows["tasks"] if t["task_id"] == solution["task_id"])
        right = next(iter(v for v in json.loads(solution["witness"])[0]["arguments"].values() if str(v).startswith("x_")))
        row = next(e for e in rows["environments"] if e["environment_id"] == task["environment_id"])
        row["entities"] = json.dumps([e for e in json.loads(row["entities"]) if e["id"] != right])

    assert "the oracle fails" in found(solvable.check_solvable, edited(edit), library)


def test_a_predicate_that_accepts_anything_is_found(edited, library, monkeypatch):
    from scenarios import constraints

    monkeypatch.setattr(constraints, "same_value", lambda *_: True)
    reasons = found(solvable.check_solvable, edited(lambda rows: None), library)
    assert "a predicate misses a flipped value" in reasons


def _solution(rows, change):
    twin = rows["twins"][0]
    data = json.loads(twin["solution"])
    change(data, next(s for s in rows["solutions"] if s["task_id"] == twin["task_id"]))
    twin["solution"] = json.dumps(data)


def _same_gold(data, solution):
    data["constraints"] = [{**c, "predicate": json.loads(c["predicate"])} for c in solution["constraints"]]
    data["witness"] = json.loads(solution["witness"])


TWINS = {
    "no twin": lambda rows: rows["twins"].pop(0),
    "the old gold passes the twin": lambda rows: _solution(rows, _same_gold),
    "the twin's gold passes the task": lambda rows: _solution(rows, _same_gold),
    "the twin's gold fails": lambda rows: _solution(rows, lambda data, _: data.update(witness=[{"ask": "x"}])),
    "a turn of the flipped entry is not edited": lambda rows: rows["twins"][0]["edits"].pop(0),
}


@pytest.mark.parametrize("reason", TWINS)
def test_a_twin_that_is_none_is_found(edited, library, reason):
    assert reason in found(solvable.check_twins, edited(TWINS[reason]), library)


def test_the_oracle_solves_every_twin(views, library):
    for view in views:
        for task in view.tasks:
            actions = solvable.Oracle(task, library).act(solvable.glosses_of(task.twin_solution["constraints"], library))
            assert solvable.grade_task(task, task.twin_solution["constraints"], actions)
            assert not solvable.grade_task(task, task.constraints, actions)
