"""Gates 7 and 11: an oracle that gets effective values as public glosses solves everything through the tools; every predicate notices a
flipped value; a twin's gold and the task's gold exclude each other.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scenarios.constraints import Outcome, parse_predicate
from scenarios.environment import Sandbox
from scenarios.grading import grade
from scenarios.library import Library
from scenarios.models import Dimension
from scenarios.writer import topics_of, write
from simulator.gates.failure import Failure
from simulator.gates.view import PersonaView, TaskView, wanted_value

Glosses = dict[str, str]


def glosses_of(constraints: Sequence[Mapping[str, Any]], library: Library) -> Glosses:
    """Return what the oracle is told: dimension -> public gloss of the effective value."""
    out = {}
    for constraint in constraints:
        dimension = library.dimensions[constraint["dimension"]]
        value = value_of(constraint, dimension)
        out[dimension.id] = dimension.values[value].gloss
    return out


def value_of(constraint: Mapping[str, Any], dimension: Dimension) -> str:
    """Return the value id that a constraint speaks of."""
    public = wanted_value(constraint, dimension)
    return next(key for key in dimension.values if dimension.public(key) == public)


class Oracle:
    """Plans with the task's own tool schemas; knows glosses, never gold or the environment's making."""

    def __init__(self, task: TaskView, library: Library) -> None:
        self.task, self.library = task, library
        self.dimensions = {dimension.id: dimension for dimension in task.exposed(library)}

    def act(self, glosses: Glosses) -> list[dict[str, Any]]:
        """Return the actions that follow from the glosses."""
        if self.task.missing:
            unknown = [key for key in self.dimensions if key not in glosses]
            return [{"ask": key} for key in unknown]
        if self.task.row["action_kind"] == "text":
            return [{"text": self._text(glosses)}]
        if self.task.row["action_kind"] == "rank":
            return [{"ranking": self._ranking(glosses)}]
        return [self._write(glosses)]

    def _keeps(self, entity: Mapping[str, Any], glosses: Glosses) -> bool:
        for key, gloss in glosses.items():
            dimension = self.dimensions[key]
            if dimension.slot == "entity" and not self._allows(dimension, gloss, entity[dimension.parameter]):
                return False
        return True

    @staticmethod
    def _allows(dimension: Dimension, gloss: str, public: Any) -> bool:
        shown = next((v.gloss for key, v in dimension.values.items() if dimension.public(key) == public), None)
        return (shown != gloss) if dimension.polarity == "dislikes" else (shown == gloss)

    def _ranking(self, glosses: Glosses) -> list[str]:
        entities = {entity["id"]: entity for entity in self.task.entities}
        return sorted(self.task.context["viewed"], key=lambda key: not self._keeps(entities[key], glosses))

    def _write(self, glosses: Glosses) -> dict[str, Any]:
        job = next(tool for tool in self.task.tools if tool["kind"] == "write")
        schema = job["parameters"]["properties"]
        arguments: dict[str, Any] = {}
        for key, gloss in glosses.items():
            dimension = self.dimensions[key]
            if dimension.slot == "argument":
                options = schema[dimension.parameter]["enum"]
                arguments[dimension.parameter] = next(o for o in options if self._allows(dimension, gloss, o))
        if job.get("chooses"):
            found = Sandbox.of(self.task.tools, self.task.entities).call(self._search_tool(), {})
            arguments[job["chooses"]] = next(e["id"] for e in found.payload if self._keeps(e, glosses))
        for key in job["parameters"]["required"]:
            arguments.setdefault(key, plain_argument(schema[key]))
        return {"tool": job["name"], "arguments": arguments}

    def _search_tool(self) -> str:
        return str(next(tool["name"] for tool in self.task.tools if tool["kind"] == "search"))

    def _text(self, glosses: Glosses) -> str:
        style = {}
        for key, gloss in glosses.items():
            style[key] = next(k for k, value in self.dimensions[key].values.items() if value.gloss == gloss)
        scenario, topic_id = self.task.row["scenario_id"], self.task.entities[0]["topic"]
        topic = next(topic for topic in topics_of(scenario) if topic.id == topic_id)
        return write(scenario, topic, style, random.Random(self.task.task_id))


def plain_argument(schema: Mapping[str, Any]) -> Any:
    """Return the plainest valid value for a neutral parameter."""
    if "enum" in schema:
        return schema["enum"][0]
    kinds = {"integer": schema.get("minimum", 1), "number": schema.get("minimum", 1), "boolean": False, "array": []}
    return kinds.get(str(schema.get("type")), "as discussed")


def grade_task(task: TaskView, constraints: Sequence[Mapping[str, Any]], actions: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the actions succeed under the constraints."""
    return grade(task.graded, {"entities": task.entities}, constraints, actions, task.missing).success


def check_solvable(view: PersonaView, library: Library) -> Iterator[Failure]:
    """Gate 7."""
    for task in view.tasks:
        oracle, glosses = Oracle(task, library), glosses_of(task.constraints, library)
        try:
            solved = grade_task(task, task.constraints, oracle.act(glosses))
        except (StopIteration, KeyError):
            solved = False
        if not solved:
            yield Failure(7, "the oracle fails", task.task_id)
        if not grade_task(task, task.constraints, task.witness):
            yield Failure(7, "the witness fails", task.task_id)
        if not task.missing:
            yield from _mutations(task, oracle, glosses, library)


def _mutations(task: TaskView, oracle: Oracle, glosses: Glosses, library: Library) -> Iterator[Failure]:
    """A predicate must fail once its own value is flipped and everything else is kept."""
    for constraint in task.constraints:
        dimension = library.dimensions[constraint["dimension"]]
        predicate = parse_predicate(constraint["predicate"])
        right = value_of(constraint, dimension)
        other = next(key for key in dimension.values if key != right)
        if dimension.slot == "text":
            if dimension.polarity == "dislikes":
                text = f"{task.witness[0]['text']}\n\nA word on {right}s: every {right} counts."
            else:
                text = oracle.act({**glosses, dimension.id: dimension.values[other].gloss})[0]["text"]
            outcome = Outcome(text=text)
        else:
            wrong = right if dimension.polarity == "dislikes" else other
            data = {dimension.parameter: dimension.public(wrong)}
            outcome = Outcome(entity=data, arguments=data)
        if predicate.verdict(outcome).holds:
            yield Failure(7, "a predicate misses a flipped value", task.task_id, dimension.id, other)


def check_twins(view: PersonaView, library: Library) -> Iterator[Failure]:
    """Gate 11."""
    for task in view.tasks:
        if task.missing:
            continue
        if not task.twin or not task.twin_solution:
            yield Failure(11, "no twin", task.task_id)
            continue
        constraints, witness = task.twin_solution["constraints"], task.twin_solution["witness"]
        if grade_task(task, constraints, task.witness):
            yield Failure(11, "the old gold passes the twin", task.task_id)
        if grade_task(task, task.constraints, witness):
            yield Failure(11, "the twin's gold passes the task", task.task_id)
        if not grade_task(task, constraints, witness):
            yield Failure(11, "the twin's gold fails", task.task_id)
        solved = grade_task(task, constraints, Oracle(task, library).act(glosses_of(constraints, library)))
        if not solved:
            yield Failure(11, "the oracle fails on the twin", task.task_id)
        edited = {edit["turn_id"] for edit in task.twin["edits"]}
        for row in view.voiced:
            voices = row["entry_id"] == task.twin["entry_id"] and row["cue_type"] != "end"
            if voices and view.at[row["turn_id"]] < task.issued and row["turn_id"] not in edited:
                yield Failure(11, "a turn of the flipped entry is not edited", task.task_id, row["turn_id"])
