"""A persona's rows, parsed once for all gates. Nothing here comes from the code that made them."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from scenarios.library import Library
from scenarios.models import Dimension, Scenario
from scenarios.text.dimensions import dimension_spec
from simulator.gates.probes import Choice, choices_of

Row = Mapping[str, Any]


@dataclass
class PersonaView:
    """Rows of one persona with parsed times and JSON.

    Attributes:
        persona: Row of ``personas``.
        sessions: Rows of ``histories`` in time order.
        annotations: Rows of ``annotations``.
        ledger: Rows of ``ledger``.
        tasks: One `TaskView` a task, in time order.
    """

    persona: Row
    sessions: Sequence[Row]
    annotations: Sequence[Row]
    ledger: Sequence[Row]
    tasks: list[TaskView] = field(default_factory=list)

    @cached_property
    def turns(self) -> dict[str, Row]:
        """All turns by id."""
        return {turn["turn_id"]: turn for session in self.sessions for turn in session["turns"]}

    @cached_property
    def session_of(self) -> dict[str, Row]:
        """The session of each turn."""
        return {turn["turn_id"]: session for session in self.sessions for turn in session["turns"]}

    @cached_property
    def at(self) -> dict[str, dt.datetime]:
        """The time of each turn."""
        return {key: dt.datetime.fromisoformat(turn["at"]) for key, turn in self.turns.items()}

    def over(self, sessions: Sequence[Row], annotations: Sequence[Row]) -> PersonaView:
        """Return the view of the same tasks over another history, such as one with noise."""
        return replace(self, sessions=sessions, annotations=annotations)

    @cached_property
    def voiced(self) -> list[Row]:
        """Annotations that voice something."""
        return [row for row in self.annotations if row["dimension"] is not None]


@dataclass
class TaskView:
    """One task with its environment, gold and twin, JSON parsed."""

    row: Row
    context: Mapping[str, Any]
    tools: list[dict[str, Any]]
    entities: list[dict[str, Any]]
    solution: Row
    constraints: list[dict[str, Any]]
    witness: list[dict[str, Any]]
    certificate: Mapping[str, Any]
    rivals: Mapping[str, Mapping[str, str]]
    twin: Row | None
    twin_solution: Mapping[str, Any] | None
    memo: dict[str, Any] = field(default_factory=dict, init=False)

    def choices(self, library: Library) -> tuple[Choice, ...]:
        """Return the slots that the action exposes (read off once, for several gates)."""
        if "choices" not in self.memo:
            self.memo["choices"] = choices_of(self.graded, self.entities, library)
        found: tuple[Choice, ...] = self.memo["choices"]
        return found

    @property
    def task_id(self) -> str:
        """The task's id."""
        return str(self.row["task_id"])

    @cached_property
    def issued(self) -> dt.datetime:
        """When it was issued."""
        return dt.datetime.fromisoformat(self.row["issued_at"])

    @property
    def missing(self) -> str | None:
        """The slot to ask about, in a task that lacks one."""
        return self.witness[0].get("ask") if self.witness else None

    @cached_property
    def graded(self) -> dict[str, Any]:
        """The task row as grading takes it."""
        return {**self.row, "tools": self.tools, "context": self.context}

    def exposed(self, library: Library) -> list[Dimension]:
        """Return the dimensions that the action exposes, read off tools, entities and (for text) the scenario."""
        scenario: Scenario = library.scenarios[self.row["scenario_id"]]
        dimensions = [library.dimensions[key] for key in library.exposed[scenario.scenario]]
        if scenario.kind == "text":
            return dimensions
        fields = {key for entity in self.entities for key in entity}
        for tool in self.tools:
            fields |= set(tool["parameters"]["properties"])
        return [dimension for dimension in dimensions if dimension.parameter in fields]


def view_of(tables: Mapping[str, Sequence[Row]]) -> PersonaView:
    """Return the view of one persona's rows, given by table name."""
    environments = {row["environment_id"]: row for row in tables["environments"]}
    solutions = {row["task_id"]: row for row in tables["solutions"]}
    twins = {row["task_id"]: row for row in tables["twins"]}
    out = PersonaView(tables["personas"][0], tables["histories"], tables["annotations"], tables["ledger"])
    for row in sorted(tables["tasks"], key=lambda item: item["sequence_index"]):
        out.tasks.append(_task(row, environments, solutions[row["task_id"]], twins.get(row["task_id"])))
    return out


def _task(row: Row, environments: Mapping[str, Row], solution: Row, twin: Row | None) -> TaskView:
    environment = environments.get(row["environment_id"])
    return TaskView(
        row=row,
        context=json.loads(row["context"]),
        tools=json.loads(row["tools"]),
        entities=json.loads(environment["entities"]) if environment else [],
        solution=solution,
        constraints=[{**c, "predicate": json.loads(c["predicate"])} for c in solution["constraints"]],
        witness=json.loads(solution["witness"]),
        certificate=json.loads(solution["certificate"]),
        rivals=json.loads(solution["rivals"]),
        twin=twin,
        twin_solution=json.loads(twin["solution"]) if twin else None,
    )


@lru_cache(maxsize=4096)
def text_values(dimension: str, values: tuple[str, ...]) -> dict[str, str]:
    """Return the value of each spec of a text dimension, specs as canonical JSON."""
    out = {}
    for key in values:
        spec = dimension_spec(dimension, key).model_dump(mode="json", exclude_none=True)
        out[json.dumps(spec, sort_keys=True)] = key
    return out


def wanted_value(constraint: Mapping[str, Any], dimension: Dimension) -> Any:
    """Return the public value that a constraint's predicate speaks of."""
    predicate = constraint["predicate"]
    if predicate["op"] == "text":
        return text_values(dimension.id, tuple(dimension.values)).get(json.dumps(predicate["spec"], sort_keys=True))
    return predicate["value"]
