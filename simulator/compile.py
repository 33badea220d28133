"""Compiles a persona's tasks from its ledger and clean history."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from iba_bench.errors import InstanceRefused
from iba_bench.streams import opaque_id, pick, shuffled, stream
from personas.ledger import SELF, Entry, with_known_from
from scenarios.environment import subject_of
from scenarios.models import Dimension
from scenarios.writer import Topic, brief_of, topics_of
from simulator.factorial import choose
from simulator.history import History
from simulator.life import Design, Focus
from simulator.slots import Moment, Slot
from simulator.tasks import (
    Task,
    constraint_of,
    disclosure_of,
    entities_of,
    explicit_of,
    instruction_of,
    probes_of,
    style_of,
    tools_of,
    witness_of,
)  # fmt: skip
from simulator.wording import Wording

JOINT_LIMIT = 0.08


class Compiler:
    """Compiles the tasks of one persona."""

    def __init__(self, wording: Wording, design: Design, history: History, address: tuple[object, ...]) -> None:
        self.wording, self.design, self.history, self.address = wording, design, history, address
        self.evidence = history.evidence()
        first = {entry_id: pairs[0][1].at for entry_id, pairs in self.evidence.items()}
        self.entries: list[Entry] = with_known_from(design.entries, first)
        self.ends = self._ends()

    def _ends(self) -> dict[str, int]:
        """Return when an end was voiced: by cause for events, by entry id for the rest."""
        out = {}
        for _, turn in self.history.turns():
            if turn.cue and turn.cue.manner == "end":
                entry = turn.cue.entry
                out[entry.cause if entry.horizon == "short" else entry.entry_id] = turn.at
        return out

    def compile(self, attempts: int = 8) -> list[Task]:
        """Return all tasks in time order; a task that no attempt can build refuses the persona."""
        foci = sorted((f for f in self.design.foci if f.task is not None), key=lambda f: f.at)
        return [self._task(focus, attempts) for focus in foci]

    def _task(self, focus: Focus, attempts: int) -> Task:
        refusal = InstanceRefused("no_attempt")
        for attempt in range(attempts):
            try:
                return self.build(focus, attempt)
            except InstanceRefused as error:
                refusal = error
        raise refusal

    def build(self, focus: Focus, attempt: int) -> Task:
        """Build the task of a focus.

        Raises:
            InstanceRefused: if it would not be fair; the reason is counted.
        """
        address = (*self.address, "task", focus.task, attempt)
        rng = stream(*address)
        library = self.wording.library
        moment = Moment(focus, self.entries, self.history, self.evidence, library, self.wording.calendar, self.ends)
        scenario = library.scenarios[focus.scenario]
        dimensions = [library.dimensions[key] for key in library.exposed[focus.scenario]]
        task_id = opaque_id("q", *address)
        context: dict[str, Any] = {"now": self.wording.calendar.iso(focus.at), "city": self.wording.persona.city}
        if focus.kind == "text":
            slots = text_slots(moment, dimensions, rng)
            topic = pick(rng, topics_of(focus.scenario))
            about, entities = {"subject": topic.subject}, [topic_entity(topic, task_id)]
        else:
            slots, about = api_slots(moment, dimensions, rng), subject_of(scenario, rng)
            entities = entities_of(scenario, slots, rng, address, about) if scenario.entity else []
            if focus.kind == "rank":
                context["viewed"] = shuffled(rng, [entity["id"] for entity in entities])
        missing = next((slot.dimension.id for slot in slots if slot.entry is None), None)
        instruction = instruction_of(self.wording, moment, focus.kind, rng, about)
        return Task(
            task_id=task_id, moment=moment, kind=focus.kind, instruction=instruction, context=context,
            tools=tools_of(scenario, slots) if focus.kind == "api" else [],
            environment_id=opaque_id("v", *address), entities=entities, slots=slots,
            constraints=[constraint_of(slot, task_id) for slot in slots if slot.entry],
            witness=[{"ask": missing}] if missing else witness_of(focus.kind, scenario, slots, entities, context, address),
            missing=missing, explicit_instruction=explicit_of(instruction, slots),
            probes=probes_of(slots, task_id, rng), disclosure=disclosure_of(slots),
        )  # fmt: skip


def api_slots(moment: Moment, dimensions: Sequence[Dimension], rng: random.Random) -> list[Slot]:
    """Choose the slots of an api or rank task."""
    if moment.focus.kind == "rank":
        dimensions = [dimension for dimension in dimensions if dimension.slot == "entity"]
    slots = [slot for dimension in dimensions if (slot := moment.slot(dimension, rng))]
    return choose(slots, rng, missing_slot(moment, dimensions, rng) if moment.focus.missing else None)


def missing_slot(moment: Moment, dimensions: Sequence[Dimension], rng: random.Random) -> Slot:
    """Return a slot about which nothing is ever voiced."""
    free = [d for d in dimensions if not moment.evidenced(d) and d.polarity == "likes" and len(d.values) > 2]
    if not free:
        raise InstanceRefused("nothing_unevidenced")
    dimension = pick(rng, free)
    return Slot(dimension, SELF, None, pick(rng, list(dimension.values)), {}, [], frozenset({"missing_info"}))


def text_slots(moment: Moment, dimensions: Sequence[Dimension], rng: random.Random) -> list[Slot]:
    """Return the slots of a text task: all that is evidenced, since a text hides nothing."""
    slots = []
    for dimension in dimensions:
        if not moment.determinate(dimension, SELF):
            raise InstanceRefused("text_doubtful")
        slot = moment.slot(dimension, rng)
        if slot:
            slot.levels = tuple(dimension.values)
            slot.named |= {
                key: "popular_default" if key == dimension.popular else "other"
                for key in dimension.values
                if key != slot.truth and key not in slot.named and dimension.polarity == "likes"
            }
            slots.append(slot)
    musts = [slot for slot in slots if slot.strength == "must"]
    if not 2 <= len(musts) <= 5 or len(slots) > 5 or len(slots) - len(musts) > 1:
        raise InstanceRefused("text_count")
    if brief_of(moment.focus.scenario).conflict_of(style_of(slots)):
        raise InstanceRefused("text_conflict")
    if joint_probability(musts) > JOINT_LIMIT:
        raise InstanceRefused("text_guessable")
    if len({turn.turn_id for slot in slots for _, turn in slot.evidence}) < 5:
        raise InstanceRefused("thin_evidence")
    return slots


def joint_probability(slots: Sequence[Slot]) -> float:
    """Return the chance that a text without knowledge has all these values, by the population table.

    Dimensions that follow from the locale (lifted by it) count as one: the rarest of them.
    """
    chances: list[float] = []
    local: list[float] = []
    for slot in slots:
        values, value = slot.dimension.values, slot.entry.value if slot.entry else slot.truth
        chance = values[value].weight / sum(v.weight for v in values.values())
        if slot.dimension.polarity == "dislikes":
            continue
        by_locale = any(lift.startswith("locale=") for v in values.values() for lift in v.lifts)
        (local if by_locale else chances).append(chance)
    out = min(local, default=1.0)
    for chance in chances:
        out *= chance
    return out


def topic_entity(topic: Topic, task_id: str) -> dict[str, Any]:
    """Return what an agent may read about a text task's topic."""
    facts = [{"id": fact.id, "statement": fact.statement} for fact in topic.facts]
    background = list(topic.background)
    return {"id": opaque_id("x", task_id), "topic": topic.id, "subject": topic.subject, "facts": facts, "background": background}
