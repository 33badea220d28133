"""Gate 1, references: every id resolves, nothing is orphaned, ids tell nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scenarios.library import Library
from simulator.gates.failure import Failure
from simulator.gates.view import PersonaView

OPAQUE = re.compile(r"[a-z]_[0-9a-f]{12}")


def check(view: PersonaView, library: Library) -> Iterator[Failure]:
    """Yield what does not resolve."""
    yield from _ids(view)
    yield from _annotations(view)
    yield from _tasks(view, library)
    persona = view.persona["persona_id"]
    for rows in (view.sessions, view.annotations, view.ledger, [task.row for task in view.tasks]):
        for row in rows:
            if row["persona_id"] != persona:
                yield Failure(1, "row of another persona", place=str(row["persona_id"]))


def _ids(view: PersonaView) -> Iterator[Failure]:
    ids = [view.persona["persona_id"], *(s["session_id"] for s in view.sessions), *(e["entry_id"] for e in view.ledger)]
    ids += [turn["turn_id"] for session in view.sessions for turn in session["turns"]]
    ids += [task.task_id for task in view.tasks] + [task.row["environment_id"] for task in view.tasks]
    for key in ids:
        if not OPAQUE.fullmatch(key):
            yield Failure(1, "an id is not opaque", place=key)
    if len(set(ids)) != len(ids):
        yield Failure(1, "an id stands twice", place=max(ids, key=ids.count))


def _annotations(view: PersonaView) -> Iterator[Failure]:
    entries = {entry["entry_id"]: entry for entry in view.ledger}
    annotated = set()
    for row in view.annotations:
        annotated.add(row["turn_id"])
        session = view.session_of.get(row["turn_id"])
        if session is None or session["session_id"] != row["session_id"]:
            yield Failure(1, "annotation without its turn", place=row["turn_id"])
        elif row["entry_id"] is not None and entries.get(row["entry_id"], {}).get("dimension") != row["dimension"]:
            yield Failure(1, "annotation without its entry", place=row["turn_id"])
    for key in view.turns:
        if key not in annotated:
            yield Failure(1, "turn without annotation", place=key)
    for entry in view.ledger:
        if entry["supersedes"] is not None and entry["supersedes"] not in entries:
            yield Failure(1, "superseded entry is missing", place=entry["entry_id"])


def _tasks(view: PersonaView, library: Library) -> Iterator[Failure]:
    entries = {entry["entry_id"] for entry in view.ledger}
    for task in view.tasks:
        if task.row["scenario_id"] not in library.scenarios:
            yield Failure(1, "unknown scenario", task.task_id, task.row["scenario_id"])
        ids = [entity["id"] for entity in task.entities]
        if len(set(ids)) != len(ids):
            yield Failure(1, "entity ids repeat", task.task_id)
        if not all(OPAQUE.fullmatch(key) for key in ids):
            yield Failure(1, "an id is not opaque", task.task_id)
        for constraint in task.constraints:
            if constraint["entry_id"] not in entries:
                yield Failure(1, "constraint without its entry", task.task_id, constraint["entry_id"])
            for key in constraint["evidence"]:
                if key not in view.turns:
                    yield Failure(1, "evidence turn is missing", task.task_id, key)
        for edit in task.twin["edits"] if task.twin else ():
            if edit["turn_id"] not in view.turns:
                yield Failure(1, "edited turn is missing", task.task_id, edit["turn_id"])
