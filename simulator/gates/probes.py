"""Probes: small policies that know nothing of the user, or read the history wrongly in one named way.

Gate 8 demands that they fail; an evaluation can run them as agents. All have one shape: a `Probe` takes what may be
seen of a task (`Situation`) and a random stream and returns actions. Most decide slot by slot: they give a *vector*
(dimension id -> value id), which `realise` turns into actions. What a slot offers is read off the task itself: the
values that entities carry, the options of the write's parameters, for a text all values of the dimension.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from iba_bench.streams import pick
from scenarios.library import Library
from scenarios.models import Dimension
from scenarios.writer import brief_of, topic_by_id, write

Action = dict[str, Any]
Vector = Mapping[str, str]
REFUSAL = "I am sorry, but I cannot help with that."
_WORD = re.compile(r"[a-z]{4,}")


@dataclass(frozen=True, slots=True)
class Choice:
    """One slot to decide.

    Attributes:
        dimension: What is decided.
        place: Where: an attribute of the entity chosen, a parameter of the write, or the text.
        levels: Value ids on offer, the most popular of the population table first.
    """

    dimension: Dimension
    place: Literal["entity", "argument", "text"]
    levels: tuple[str, ...]

    def settle(self, value: str | None) -> str:
        """Return the value if it is on offer, else the most popular one that is."""
        return value if value in self.levels else self.levels[0]


@dataclass(frozen=True, slots=True)
class Situation:
    """What a probe may see.

    Attributes:
        task: Row of ``tasks`` with ``tools`` and ``context`` parsed.
        entities: The environment's entities.
        choices: The slots that the action exposes.
        words: How often each word occurs in the user's turns so far.
    """

    task: Mapping[str, Any]
    entities: Sequence[Mapping[str, Any]]
    choices: tuple[Choice, ...]
    words: Mapping[str, int] = field(default_factory=dict)

    @property
    def job(self) -> Mapping[str, Any]:
        """The write that does the job (api)."""
        tool: Mapping[str, Any] = next(tool for tool in self.task["tools"] if tool["kind"] == "write")
        return tool

    def vector(self, values: Vector) -> dict[str, str]:
        """Return a value on offer for every slot: the given one, else the most popular."""
        return {choice.dimension.id: choice.settle(values.get(choice.dimension.id)) for choice in self.choices}


Probe = Callable[[Situation, random.Random], list[Action]]


# --- what is on offer --------------------------------------------------------------


def choices_of(task: Mapping[str, Any], entities: Sequence[Mapping[str, Any]], library: Library) -> tuple[Choice, ...]:
    """Return the slots that a task exposes, read off its tools and entities (for text: off the scenario)."""
    dimensions = [library.dimensions[key] for key in library.exposed[task["scenario_id"]]]
    if task["action_kind"] == "text":
        known = brief_of(task["scenario_id"]).dimensions
        return tuple(Choice(d, "text", by_popularity(d, d.values)) for d in dimensions if d.id in known)
    job = next((tool for tool in task["tools"] if tool["kind"] == "write"), None)
    options = job["parameters"]["properties"] if job else {}
    out = []
    for dimension in dimensions:
        if dimension.slot == "entity":
            shown = [entity[dimension.parameter] for entity in entities if dimension.parameter in entity]
        else:
            shown = options.get(dimension.parameter, {}).get("enum", [])
        levels = [key for key in dimension.values if dimension.public(key) in shown]
        if levels and dimension.slot != "text":
            out.append(Choice(dimension, dimension.slot, by_popularity(dimension, levels)))
    return tuple(out)


def by_popularity(dimension: Dimension, levels: Iterable[str]) -> tuple[str, ...]:
    """Return value ids, the most popular of the population table first, ties in the catalog's order."""
    return tuple(sorted(levels, key=lambda key: -dimension.values[key].weight))


def situation_of(task: Mapping[str, Any], entities: Sequence[Mapping[str, Any]], library: Library,
                 words: Mapping[str, int] | None = None) -> Situation:  # fmt: skip
    """Return what a probe sees of a task (row with ``tools`` and ``context`` parsed)."""
    return Situation(task, entities, choices_of(task, entities, library), words or {})


def words_in(text: str) -> list[str]:
    """Return the words of four letters or more, in lower case."""
    return _WORD.findall(text.lower())


def user_words(sessions: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Count the words of the user's turns."""
    return Counter(word for session in sessions for turn in session["turns"] if turn["role"] == "user" for word in words_in(turn["content"]))


# --- from values to actions ----------------------------------------------------------


def realise(situation: Situation, vector: Vector, rng: random.Random) -> list[Action]:
    """Return the actions that show the given values; slots that the vector leaves open are drawn."""
    values = {choice.dimension.id: vector.get(choice.dimension.id) or pick(rng, choice.levels) for choice in situation.choices}
    kind = situation.task["action_kind"]
    if kind == "text":
        return [{"text": written(situation, values, rng)}]
    if kind == "rank":
        entities = {entity["id"]: entity for entity in situation.entities}
        return [{"ranking": sorted(situation.task["context"]["viewed"], key=lambda key: -_agreement(situation, entities[key], values))}]
    job, arguments = situation.job, {}
    for choice in situation.choices:
        if choice.place == "argument":
            arguments[choice.dimension.parameter] = choice.dimension.public(choice.settle(values[choice.dimension.id]))
    if job.get("chooses"):
        arguments[job["chooses"]] = max(situation.entities, key=lambda entity: _agreement(situation, entity, values))["id"]
    return [_call(job, arguments)]


def written(situation: Situation, style: Vector, rng: random.Random) -> str:
    """Return a text on the task's topic in a style."""
    scenario = situation.task["scenario_id"]
    return write(scenario, topic_by_id(scenario, situation.entities[0]["topic"]), dict(style), rng)


def _agreement(situation: Situation, entity: Mapping[str, Any], values: Vector) -> int:
    inner = (choice.dimension for choice in situation.choices if choice.place == "entity")
    return sum(entity.get(d.parameter) == d.public(values[d.id]) for d in inner)


def _call(tool: Mapping[str, Any], arguments: Mapping[str, Any]) -> Action:
    schema = tool["parameters"]
    rest = {key: plain_value(schema["properties"][key]) for key in schema["required"] if key not in arguments}
    return {"tool": tool["name"], "arguments": {**arguments, **rest}}


def plain_value(schema: Mapping[str, Any]) -> Any:
    """Return the plainest valid value of a parameter."""
    if "enum" in schema:
        return schema["enum"][0]
    least = schema.get("minimum", 1)
    plain = {"integer": least, "number": least, "boolean": False, "array": []}
    return plain.get(str(schema.get("type")), "as discussed")


# --- the probes -----------------------------------------------------------------------


def noop(situation: Situation, rng: random.Random) -> list[Action]:
    """Do nothing."""
    return []


def refuse(situation: Situation, rng: random.Random) -> list[Action]:
    """Say that it cannot be done."""
    return [{"text": REFUSAL}]


def always_ask(situation: Situation, rng: random.Random) -> list[Action]:
    """Ask about everything, do nothing."""
    return [{"ask": choice.dimension.id} for choice in situation.choices]


def ask_one(situation: Situation, rng: random.Random) -> list[Action]:
    """Ask about one slot, whichever, and do nothing."""
    return [{"ask": pick(rng, situation.choices).dimension.id}] if situation.choices else []


def at_random(situation: Situation, rng: random.Random) -> list[Action]:
    """Draw every value."""
    return realise(situation, {choice.dimension.id: pick(rng, choice.levels) for choice in situation.choices}, rng)


def first(situation: Situation, rng: random.Random) -> list[Action]:
    """Take what is listed first: entity, options, order; for text the first value of each dimension."""
    kind = situation.task["action_kind"]
    if kind == "text":
        return [{"text": written(situation, {c.dimension.id: next(iter(c.dimension.values)) for c in situation.choices}, rng)}]
    if kind == "rank":
        return [{"ranking": list(situation.task["context"]["viewed"])}]
    return [_plain_call(situation, situation.job, 0)]


def kitchen_sink(situation: Situation, rng: random.Random) -> list[Action]:
    """Do everything that can be done: every write, everything there is to choose; for text the stored text for anybody."""
    kind = situation.task["action_kind"]
    if kind == "text":
        defaults = brief_of(situation.task["scenario_id"]).defaults
        topic = situation.entities[0]["topic"]
        return [{"text": next((default.text for default in defaults if default.topic == topic), defaults[0].text)}]
    if kind == "rank":
        viewed = list(situation.task["context"]["viewed"])
        return [{"ranking": viewed}, {"ranking": viewed[::-1]}]
    writes = [tool for tool in situation.task["tools"] if tool["kind"] == "write"]
    calls = []
    for tool in writes:
        count = len(situation.entities) if tool.get("chooses") else 1
        calls += [_plain_call(situation, tool, number) for number in range(count)]
    return calls


def _plain_call(situation: Situation, tool: Mapping[str, Any], number: int) -> Action:
    chosen = {tool["chooses"]: situation.entities[number]["id"]} if tool.get("chooses") else {}
    return _call(tool, chosen)


def popular_default(situation: Situation, rng: random.Random) -> list[Action]:
    """Take what most people want."""
    return realise(situation, situation.vector({c.dimension.id: c.dimension.popular for c in situation.choices}), rng)


def lexical_overlap(situation: Situation, rng: random.Random) -> list[Action]:
    """Take for every slot the value whose label and gloss share most words with what the user said."""
    return realise(situation, {c.dimension.id: _most_said(c, situation.words) for c in situation.choices}, rng)


def _most_said(choice: Choice, words: Mapping[str, int]) -> str:
    named = _distinctive(tuple((key, f"{' '.join(value.names)} {value.gloss}") for key, value in choice.dimension.values.items()))
    return max(choice.levels, key=lambda level: sum(math.log1p(words.get(word, 0)) for word in named[level]))


@lru_cache(maxsize=4096)
def _distinctive(texts: tuple[tuple[str, str], ...]) -> dict[str, tuple[str, ...]]:
    """Return the words of each value's text (label, synonyms, gloss) that are not those of all values."""
    words = {key: set(words_in(text)) for key, text in texts}
    common = set.intersection(*words.values())
    return {key: tuple(sorted(found - common)) for key, found in words.items()}


def constant(vector: Vector) -> Probe:
    """Return the probe that shows the same values in every task (another user's, or the best for a scenario)."""

    def act(situation: Situation, rng: random.Random) -> list[Action]:
        return realise(situation, situation.vector(vector), rng)

    return act


def misread(right: Vector, rivals: Mapping[str, Mapping[str, str]], label: str) -> dict[str, str] | None:
    """Return the right values with those of one wrong reading put in, or None if no slot has such a rival.

    Args:
        right: The right value ids.
        rivals: The task's rivals, values by id.
        label: The wrong reading, such as ``stale``.
    """
    wrong = {key: value for key, values in rivals.items() for value, name in values.items() if name == label}
    return {**right, **wrong} if wrong else None


PROBES: dict[str, Probe] = {
    "noop": noop,
    "refuse": refuse,
    "always_ask": always_ask,
    "ask_one": ask_one,
    "random": at_random,
    "first": first,
    "kitchen_sink": kitchen_sink,
    "popular_default": popular_default,
    "lexical_overlap": lexical_overlap,
}
MISREADINGS = {"stale": "stale", "ignore_state": "ignored_state", "wrong_scope": "wrong_scope", "third_party": "third_party"}
