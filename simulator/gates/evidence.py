"""Gate 4, evidence: every constraint was evidenced before the task, and implicit sessions name no value."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from scenarios.check import NamePattern
from scenarios.library import Library
from simulator.gates.failure import Failure
from simulator.gates.view import PersonaView, TaskView

LEAST_EVIDENCE = 5


@lru_cache(maxsize=4096)
def _pattern(names: tuple[str, ...]) -> NamePattern:
    return NamePattern(names)


def check(view: PersonaView, library: Library) -> Iterator[Failure]:
    """Yield missing evidence and named values."""
    yield from _implicit_sessions(view, library)
    for task in view.tasks:
        yield from _evidence(view, task, task.constraints)
        if task.twin and task.twin_solution:
            yield from _twin(view, library, task, task.twin, task.twin_solution)


@lru_cache(maxsize=4096)
def value_id(value: str) -> str:
    """Return the catalog's value id of a released JSON value."""
    data = json.loads(value)
    return data if isinstance(data, str) else f"{data:g}"


def _implicit_sessions(view: PersonaView, library: Library) -> Iterator[Failure]:
    texts = {s["session_id"]: "\n".join(turn["content"] for turn in s["turns"]) for s in view.sessions}
    for row in view.voiced:
        if row["explicitness"] != "implicit" or row["cue_type"] == "end":
            continue
        value = library.dimensions[row["dimension"]].values[value_id(row["value"])]
        found = _pattern(value.names).search(texts[row["session_id"]])
        if found:
            yield Failure(4, "implicit session names the value", place=row["turn_id"], detail=f"'{found.group(0)}'")


def _evidence(view: PersonaView, task: TaskView, constraints: list[dict[str, Any]]) -> Iterator[Failure]:
    voiced = {(row["turn_id"], row["dimension"], row["holder"]) for row in view.voiced if row["cue_type"] != "end"}
    turns: set[str] = set()
    for constraint in constraints:
        if not constraint["evidence"]:
            yield Failure(4, "constraint without evidence", task.task_id, constraint["constraint_id"])
        for key in constraint["evidence"]:
            turns.add(key)
            if (key, constraint["dimension"], constraint["holder"]) not in voiced:
                yield Failure(4, "evidence turn voices something else", task.task_id, key)
            elif view.at[key] >= task.issued:
                yield Failure(4, "evidence after the task", task.task_id, key)
    if len(turns) < LEAST_EVIDENCE and task.missing is None:
        yield Failure(4, "fewer than five evidence items", task.task_id, detail=str(len(turns)))


def _twin(view: PersonaView, library: Library, task: TaskView, twin: Mapping[str, Any], solution: Mapping[str, Any]
          ) -> Iterator[Failure]:  # fmt: skip
    """An edited turn of an implicit session must not name the new value, nor may the session around it."""
    from simulator.gates.view import wanted_value

    edits = {edit["turn_id"]: edit["content"] for edit in twin["edits"]}
    flipped = next((c for c in solution["constraints"] if c["entry_id"] == twin["entry_id"]), None)
    if flipped is None:
        return
    dimension = library.dimensions[flipped["dimension"]]
    public = wanted_value(flipped, dimension)
    names = next((v.names for key, v in dimension.values.items() if dimension.public(key) == public), ())
    for row in view.voiced:
        if row["turn_id"] in edits and row["explicitness"] == "implicit" and row["entry_id"] == twin["entry_id"]:
            session = view.session_of[row["turn_id"]]
            text = "\n".join(edits.get(t["turn_id"], t["content"]) or "" for t in session["turns"])
            found = _pattern(names).search(text)
            if found:
                yield Failure(4, "twin's implicit session names the value", task.task_id, row["turn_id"], found.group(0))
