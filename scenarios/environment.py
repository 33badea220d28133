"""The sandbox that an agent's tools act on: search, details and write actions over an environment's entities.

Reads are free. A write with valid arguments is recorded; what was written is what grading looks at. Errors read like a provider's.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator

from iba_bench.streams import pick
from scenarios.line import LineParts
from scenarios.models import Scenario

RESULT_LIMIT = 50


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool call gave: a payload, or an error with an HTTP-like code."""

    ok: bool
    payload: Any
    code: int = 200


@dataclass
class Sandbox:
    """One episode's state.

    Attributes:
        tools: The task's tool definitions by name.
        entities: The environment's entities by id.
        writes: Accepted writes in order: tool name and arguments (defaults filled in).
    """

    tools: Mapping[str, Mapping[str, Any]]
    entities: Mapping[str, Mapping[str, Any]]
    writes: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, tools: Sequence[Mapping[str, Any]], entities: Sequence[Mapping[str, Any]]) -> Sandbox:
        """Return a fresh sandbox."""
        return cls({tool["name"]: tool for tool in tools}, {entity["id"]: entity for entity in entities})

    def call(self, name: str, arguments: Any) -> ToolResult:
        """Run one tool call."""
        tool = self.tools.get(name) if isinstance(name, str) else None
        if tool is None:
            return ToolResult(False, f"no tool {str(name)[:60]!r}; there are: {', '.join(self.tools)}", 404)
        problem = argument_problem(tool, arguments)
        if problem:
            return ToolResult(False, problem, 422)
        if tool["kind"] == "search":
            return ToolResult(True, self._search(arguments))
        if tool["kind"] == "details":
            return self._details(arguments["id"])
        return self._write(tool, arguments)

    def _search(self, arguments: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        limit = int(arguments.get("limit", RESULT_LIMIT))
        wanted = {key: value for key, value in arguments.items() if key != "limit"}
        return [entity for entity in self.entities.values() if all(_fits(entity, *item) for item in wanted.items())][:limit]

    def _details(self, key: str) -> ToolResult:
        if key not in self.entities:
            return ToolResult(False, f"nothing has the id {key[:60]!r}; take one from the search", 404)
        return ToolResult(True, self.entities[key])

    def _write(self, tool: Mapping[str, Any], arguments: Mapping[str, Any]) -> ToolResult:
        chooses = tool.get("chooses")
        if chooses and arguments.get(chooses) not in self.entities:
            return ToolResult(False, f"{chooses}: nothing has the id {str(arguments.get(chooses))[:60]!r}", 404)
        properties = tool["parameters"].get("properties", {})
        defaults = {key: spec["default"] for key, spec in properties.items() if "default" in spec}
        self.writes.append({"tool": tool["name"], "arguments": {**defaults, **arguments}})
        return ToolResult(True, {"status": "confirmed", "number": len(self.writes)})


def _fits(entity: Mapping[str, Any], key: str, value: Any) -> bool:
    side, _, name = key.partition("_")
    if side in ("min", "max") and name in entity:
        found = entity[name]
        return bool(found >= value if side == "min" else found <= value)
    return bool(entity.get(key) == value)


@lru_cache(maxsize=8192)
def _validator(schema: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads(schema))


def argument_problem(tool: Mapping[str, Any], arguments: Any) -> str | None:
    """Return what is wrong with the arguments, as a provider would say it, or None."""
    if not isinstance(arguments, Mapping):
        return f"arguments must be an object, got {type(arguments).__name__}"
    for error in _validator(json.dumps(tool["parameters"], sort_keys=True)).iter_errors(dict(arguments)):
        place = ".".join(map(str, error.absolute_path)) or "arguments"
        return f"{place}: {error.message[:200]}"
    return None


@lru_cache(maxsize=4096)
def _parts(pattern: str) -> LineParts:
    return LineParts(pattern)


def subject_of(scenario: Scenario, rng: random.Random) -> dict[str, str]:
    """Draw what a conversation or a task is about: one value for each fill of the scenario's subject."""
    return {name: pick(rng, scenario.fills[name]) for name in scenario.subject}


def entity_name(scenario: Scenario, rng: random.Random, about: Mapping[str, str]) -> str:
    """Draw the name of something one could choose in a scenario, when it is about something."""
    if scenario.entity:
        return _parts(pick(rng, scenario.entity.names)).draw(rng, lambda name: about.get(name) or pick(rng, scenario.fills[name]))
    pool = next((scenario.fills[name] for name in ("option", "draft") if name in scenario.fills), None)
    return pick(rng, pool or next(iter(scenario.fills.values())))
