"""The task compiler: from slots to an environment, tools, an instruction, gold and a certificate."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from iba_bench.errors import InstanceRefused
from iba_bench.streams import opaque_id, pick, shuffled
from personas.ledger import SELF
from personas.voice import render
from scenarios.environment import entity_name
from scenarios.models import Attribute, Scenario
from scenarios.text.dimensions import dimension_spec
from scenarios.writer import topics_of, write
from simulator.calendar import DAY, Calendar
from simulator.slots import Moment, Slot
from simulator.wording import Wording


@dataclass
class Task:
    """A compiled task with its gold, before it becomes rows."""

    task_id: str
    moment: Moment
    kind: str
    instruction: str
    context: dict[str, Any]
    tools: list[dict[str, Any]]
    environment_id: str
    entities: list[dict[str, Any]]
    slots: list[Slot]
    constraints: list[dict[str, Any]]
    witness: list[dict[str, Any]]
    missing: str | None
    explicit_instruction: str
    probes: list[dict[str, Any]]
    disclosure: dict[str, str]

    @property
    def scenario(self) -> Scenario:
        """The kind of job."""
        return self.moment.library.scenarios[self.moment.focus.scenario]


def canonical(data: object) -> str:
    """Return JSON with sorted keys and no spaces."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


# --- environment -----------------------------------------------------------------


def entities_of(scenario: Scenario, slots: Sequence[Slot], rng: random.Random, address: tuple[object, ...], about: Mapping[str, str]
                ) -> list[dict[str, Any]]:  # fmt: skip
    """Return the full product of the entity slots' levels, each with a name (about what the task is about) and neutral attributes."""
    assert scenario.entity is not None
    inner = [slot for slot in slots if slot.dimension.slot == "entity"]
    combos = list(itertools.product(*(slot.levels for slot in inner)))
    neutral = _neutral(scenario, len(combos), rng)
    out, names = [], set()
    for number, combo in enumerate(combos):
        name = entity_name(scenario, rng, about)
        while name in names:
            name = entity_name(scenario, rng, about)
        names.add(name)
        entity: dict[str, Any] = {"id": opaque_id("x", *address, number), "name": name}
        entity |= {slot.dimension.parameter: slot.dimension.public(level) for slot, level in zip(inner, combo, strict=True)}
        out.append(entity | {key: column[number] for key, column in neutral.items()})
    return shuffled(rng, out)


def _neutral(scenario: Scenario, count: int, rng: random.Random) -> dict[str, list[Any]]:
    """Draw the neutral attributes; price and rating rise together, so that nothing dominates anything."""
    assert scenario.entity is not None
    out: dict[str, list[Any]] = {}
    order = shuffled(rng, range(count))
    for key, attribute in scenario.entity.attributes.items():
        if attribute.type == "text":
            out[key] = [pick(rng, scenario.fills[str(attribute.pool)]) for _ in range(count)]
        else:
            column = _numbers(attribute, count, rng)
            ranked = key in ("price", "rating", "fee", "fare")
            out[key] = [sorted(column)[place] for place in order] if ranked else column
    return out


def _numbers(attribute: Attribute, count: int, rng: random.Random) -> list[float | int]:
    assert attribute.low is not None and attribute.high is not None and attribute.step is not None
    steps = int((attribute.high - attribute.low) / attribute.step)
    if attribute.type == "integer":
        return [int(attribute.low + attribute.step * int(rng.random() * (steps + 1))) for _ in range(count)]
    width = (attribute.high - attribute.low) / count
    return [round(attribute.low + width * (place + 0.05 + 0.9 * rng.random()), 2) for place in shuffled(rng, range(count))]


# --- tools -----------------------------------------------------------------------


def _parameter(slot: Slot) -> dict[str, Any]:
    dimension = slot.dimension
    glosses = "; ".join(f"{dimension.public(key)}: {dimension.values[key].gloss}" for key in slot.levels)
    unit = f" In {dimension.unit}." if dimension.unit else ""
    return {
        "type": "string" if dimension.type != "numeric" else "number",
        "enum": [dimension.public(key) for key in slot.levels],
        "description": f"{dimension.description}{unit} {glosses}",
    }


def tools_of(scenario: Scenario, slots: Sequence[Slot]) -> list[dict[str, Any]]:
    """Return the task's tool definitions: the scenario's, with the exposed dimensions as filters and parameters."""
    tools, out = scenario.tools, []
    assert tools is not None
    if scenario.entity and tools.search and tools.details:
        filters = {slot.dimension.parameter: _parameter(slot) for slot in slots if slot.dimension.slot == "entity"}
        for key, attribute in scenario.entity.attributes.items():
            if attribute.type != "text":
                filters |= {f"{side}_{key}": {"type": "number", "description": f"{attribute.description} ({side}imum)"} for side in ("min", "max")}
        filters["limit"] = {"type": "integer", "minimum": 1, "maximum": 50}
        out.append(_tool(tools.search, "search", filters, ()))
        out.append(_tool(tools.details, "details", {"id": {"type": "string", "description": "id from the search"}}, ("id",)))
    for number, tool in enumerate(tools.writes):
        properties = dict(tool.parameters)
        required = [key for key, spec in properties.items() if "default" not in spec]
        if number == 0:
            arguments = {slot.dimension.parameter: _parameter(slot) for slot in slots if slot.dimension.slot == "argument"}
            if tool.chooses:
                properties[tool.chooses] = {"type": "string", "description": "id of what is chosen"}
                required.insert(0, tool.chooses)
            properties |= arguments
            required += list(arguments)
        definition = _tool(tool, "write", properties, required)
        if tool.chooses:
            definition["chooses"] = tool.chooses
        out.append(definition)
    return out


def _tool(tool: Any, kind: str, properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    schema = {"type": "object", "properties": dict(properties), "required": list(required), "additionalProperties": False}
    out = {"name": tool.name, "kind": kind, "description": tool.description, "parameters": schema}
    return out | ({"errors": dict(tool.errors)} if tool.errors else {})


# --- gold -------------------------------------------------------------------------


def predicate_of(slot: Slot) -> dict[str, Any]:
    """Return the slot's predicate as JSON data."""
    dimension, entry = slot.dimension, slot.entry
    assert entry is not None
    if dimension.slot == "text":
        spec = dimension_spec(dimension.id, entry.value)
        return {"op": "text", "spec": spec.model_dump(mode="json", exclude_none=True)}
    out = {
        "op": "differs" if dimension.polarity == "dislikes" else "equals",
        "on": dimension.slot,
        "field": dimension.parameter,
        "value": dimension.public(entry.value),
    }
    return out | ({"unit": dimension.unit} if dimension.unit else {})


def constraint_of(slot: Slot, task_id: str) -> dict[str, Any]:
    """Return the constraint of a slot."""
    entry = slot.entry
    assert entry is not None
    return {
        "constraint_id": opaque_id("k", task_id, slot.dimension.id),
        "dimension": slot.dimension.id,
        "scope": entry.scope,
        "holder": entry.holder,
        "predicate": predicate_of(slot),
        "strength": entry.strength,
        "horizon": entry.horizon,
        "entry_id": entry.entry_id,
        "evidence": [turn.turn_id for _, turn in slot.evidence],
    }


def witness_of(task_kind: str, scenario: Scenario, slots: Sequence[Slot], entities: Sequence[Mapping[str, Any]],
               context: Mapping[str, Any], address: tuple[object, ...]) -> list[dict[str, Any]]:  # fmt: skip
    """Return actions that satisfy every constraint."""
    if task_kind == "text":
        return [{"text": write_text(scenario, entities[0]["topic"], style_of(slots), address)}]
    fits = [e for e in entities if all(_right(slot, e) for slot in slots if slot.dimension.slot == "entity")]
    if task_kind == "rank":
        first = fits[0]["id"]
        return [{"ranking": [first, *[key for key in context["viewed"] if key != first]]}]
    assert scenario.tools is not None
    tool = scenario.tools.writes[0]
    arguments = {slot.dimension.parameter: slot.dimension.public(slot.truth) for slot in slots if slot.dimension.slot == "argument"}
    if tool.chooses:
        arguments[tool.chooses] = fits[0]["id"]
    return [{"tool": tool.name, "arguments": arguments | _required_neutral(tool.parameters)}]


def _right(slot: Slot, entity: Mapping[str, Any]) -> bool:
    return bool(entity[slot.dimension.parameter] == slot.dimension.public(slot.truth))


def _required_neutral(parameters: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Fill a write's neutral parameters that have no default with the plainest valid value."""
    out: dict[str, Any] = {}
    for key, spec in parameters.items():
        if "default" in spec:
            continue
        if "enum" in spec:
            out[key] = spec["enum"][0]
        elif spec.get("type") in ("integer", "number"):
            out[key] = spec.get("minimum", 1)
        elif spec.get("type") == "boolean":
            out[key] = False
        elif spec.get("type") == "array":
            out[key] = []
        else:
            out[key] = "as discussed"
    return out


def style_of(slots: Sequence[Slot]) -> dict[str, str]:
    """Return the style that the slots ask of a text: dimension -> value."""
    return {slot.dimension.id: slot.entry.value for slot in slots if slot.entry}


def write_text(scenario: Scenario, topic_id: str, style: Mapping[str, str], address: tuple[object, ...]) -> str:
    """Return a text about the topic in the given style."""
    topic = next(topic for topic in topics_of(scenario.scenario) if topic.id == topic_id)
    return write(scenario.scenario, topic, style, random.Random(opaque_id("w", *address)))


# --- words ------------------------------------------------------------------------


def instruction_of(wording: Wording, moment: Moment, kind: str, rng: random.Random, about: Mapping[str, str]) -> str:
    """Return the underspecified instruction, with what the user must say about the situation; ``about`` are fills that are settled."""
    scenario, focus = wording.library.scenarios[moment.focus.scenario], moment.focus
    lines = [line for line in scenario.tasks if line.rank == (kind == "rank") and line.serves == (focus.served is not None)]
    if not lines:
        raise InstanceRefused("no_instruction")
    given = {**about, "soon": alike_day(wording.calendar, focus.at, rng)}
    if focus.served:
        given["person"] = focus.served.mention
    text = wording.plain(f"{scenario.scenario}.task.{kind}.{bool(focus.served)}", lines, rng, scenario.fills, focus.at, **given)
    if focus.scope is not None and focus.told:
        bank = wording.library.scopes.scopes[focus.scope]
        side = bank.on if focus.scope_on else bank.off
        pools = wording.library.scopes.fills
        text += " " + wording.plain(f"scope.{focus.scope}.{focus.scope_on}", side, rng, pools, focus.at)
    return render(wording.persona.voice, text, rng, decisive=(0, len(text)))[0]


def alike_day(calendar: Calendar, at: int, rng: random.Random) -> str:
    """Return a coming day that brings the same conditions as today, so that a job for that day leaves no doubt which scope holds."""
    alike = [day for day in range(1, 13) if calendar.scopes(at + day * DAY) == calendar.scopes(at)]
    return calendar.words(at + pick(rng, alike or [0]) * DAY)


def explicit_of(instruction: str, slots: Sequence[Slot]) -> str:
    """Return the instruction with every constraint said outright."""
    parts = []
    for slot in slots:
        if slot.entry is None:
            continue
        whose = "" if slot.holder == SELF else f" (for {slot.holder})"
        verb = "must not be" if slot.dimension.polarity == "dislikes" else "must be"
        if slot.strength == "prefer":
            verb = "should if possible be"
        value = slot.dimension.values[slot.entry.value]
        parts.append(f"{slot.dimension.label}{whose} {verb}: {value.label} ({value.gloss})")
    return f"{instruction} Requirements: " + "; ".join(parts) + "."


def probes_of(slots: Sequence[Slot], task_id: str, rng: random.Random) -> list[dict[str, Any]]:
    """Return one knowledge question per constraint, options in random order."""
    out = []
    for slot in slots:
        if slot.entry is None:
            continue
        dimension = slot.dimension
        keys = shuffled(rng, [key for key in dimension.values if key in slot.levels or key == slot.entry.value])
        out.append({
            "constraint_id": opaque_id("k", task_id, dimension.id),
            "question": _question(slot),
            "options": [dimension.values[key].gloss for key in keys],
            "answer": keys.index(slot.entry.value),
        })  # fmt: skip
    return out


def _question(slot: Slot) -> str:
    whose = "the user" if slot.holder == SELF else slot.holder
    verb = f"must {whose} keep away from" if slot.dimension.polarity == "dislikes" else f"does {whose} want"
    return f"As things stand, what {verb} here ({slot.dimension.label})?"


def disclosure_of(slots: Sequence[Slot]) -> dict[str, str]:
    """Return what the user says when asked about a slot."""
    out = {}
    for slot in slots:
        value = slot.dimension.values[slot.entry.value if slot.entry else slot.truth]
        avoid = slot.entry is not None and slot.dimension.polarity == "dislikes"
        out[slot.dimension.id] = f"No {value.phrase}, please." if avoid else f"{value.phrase[:1].upper()}{value.phrase[1:]}, please."
    return out
