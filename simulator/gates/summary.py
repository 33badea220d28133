"""What the population gates need of one persona: small, JSON, made in the worker that made the persona.

Each gate module that looks at the whole population gives its part through ``summary(view, library)``; the parts stand
beside each other under the module's name. What all need is in ``tasks``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scenarios.library import Library
from simulator.gates import counts, diversity, leak, vacuous, voiced
from simulator.gates.shallow import slots_of
from simulator.gates.view import PersonaView, TaskView

Part = Callable[[PersonaView, Library], Any]
PARTS: dict[str, Part] = {
    "leak": leak.summary,
    "vacuous": vacuous.summary,
    "voiced": voiced.summary,
    "diversity": diversity.summary,
    "counts": counts.summary,
}


def summarise(view: PersonaView, library: Library) -> dict[str, Any]:
    """Return ``persona`` (its id), ``tasks`` (one small object a task, in time order) and one part a gate module."""
    out: dict[str, Any] = {"persona": view.persona["persona_id"], "tasks": [_task(task, library) for task in view.tasks]}
    return out | {name: part(view, library) for name, part in PARTS.items()}


def _task(task: TaskView, library: Library) -> dict[str, Any]:
    return {
        "task": task.task_id,
        "scenario": task.row["scenario_id"],
        "kind": task.row["action_kind"],
        "split": task.row["split"],
        "missing": task.missing is not None,
        "challenges": list(task.solution["challenges"]),
        "slots": slots_of(task, task.choices(library)),
    }
