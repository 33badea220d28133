"""Twins: the same task over a history in which one decisive entry is flipped, so that the right answer changes."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

from iba_bench.streams import opaque_id, shuffled, stream
from scenarios.writer import brief_of
from simulator.history import Turn
from simulator.slots import Slot
from simulator.tasks import Task, constraint_of, probes_of, style_of, witness_of
from simulator.wording import Wording


@dataclass
class Twin:
    """A twin: the edits to the history and the gold that follows."""

    twin_id: str
    task: Task
    entry_id: str
    value: str
    edits: list[tuple[str, str | None]]
    annotations: dict[str, str]
    solution: dict[str, Any]


def make_twin(task: Task, wording: Wording, address: tuple[object, ...]) -> Twin | None:
    """Return the task's twin, or None for a task that lacks a slot or whose entries cannot be flipped unnoticed."""
    if task.missing:
        return None
    rng = stream(*address, "twin", task.task_id)
    musts = [slot for slot in task.slots if slot.strength == "must" and slot.entry and not _always_kept(slot)]
    for slot in sorted(shuffled(rng, musts), key=lambda s: not s.challenges):
        for value in shuffled(rng, _flips(task, slot)):
            edits = None if _conflicts(task, slot, value) else _edits(task, slot, value, wording)
            if edits is not None:
                return _twin(task, slot, value, edits, wording, address, rng)
    return None


def _always_kept(slot: Slot) -> bool:
    """Whether any good text keeps to the slot, whatever its value: a word to avoid decides nothing in a twin."""
    return slot.dimension.slot == "text" and slot.dimension.polarity == "dislikes"


def _flips(task: Task, slot: Slot) -> list[str]:
    """Return the values that an entry can be flipped to: other levels, but none whose end is voiced (that end would end the flipped value too)."""
    assert slot.entry is not None
    if slot.dimension.polarity == "dislikes":
        return [slot.truth]
    ending = {
        entry.value
        for entry in task.moment.entries
        if entry.dimension == slot.dimension.id and (entry.horizon == "short" or entry.cause == "drift:expiry")
    }
    return [level for level in slot.levels if level != slot.truth and level not in ending]


def _conflicts(task: Task, slot: Slot, value: str) -> bool:
    """Whether no text could show the flipped value beside the others."""
    if task.kind != "text":
        return False
    style = {**style_of(task.slots), slot.dimension.id: value}
    return brief_of(task.scenario.scenario).conflict_of(style) is not None


def _edits(task: Task, slot: Slot, value: str, wording: Wording) -> list[tuple[str, str | None]] | None:
    """Re-voice every turn of the entry before the task; None if a session would give the value away."""
    assert slot.entry is not None
    names = wording.library.names(slot.dimension.id, value)
    out: list[tuple[str, str | None]] = []
    for session, turn in slot.evidence:
        said = _revoiced(turn, value, wording)
        if said is None:
            return None
        if turn.said.openness == "implicit":
            text = "\n".join(said if other is turn else other.content for other in session.turns)
            if names.search(text):
                return None
        out.append((turn.turn_id, said))
    return out


def _revoiced(turn: Turn, value: str, wording: Wording) -> str | None:
    assert turn.cue is not None
    if turn.cue.manner == "log":
        return wording.log_turn(turn.cue, value).text
    return wording.voiced(turn.cue, turn.said.wording, value).text if turn.said.wording else None


def _twin(task: Task, slot: Slot, value: str, edits: list[tuple[str, str | None]], wording: Wording,
          address: tuple[object, ...], rng: random.Random) -> Twin:  # fmt: skip
    entry = slot.entry
    assert entry is not None
    flipped = replace(entry, value=value)
    truth = entry.value if slot.dimension.polarity == "dislikes" else value
    slots = [_flipped(other, flipped, truth) if other is slot else other for other in task.slots]
    witness = witness_of(task.kind, task.scenario, slots, task.entities, task.context, (*address, "twin", task.task_id))
    solution = {
        "constraints": [constraint_of(other, task.task_id) for other in slots],
        "witness": witness,
        "probes": probes_of(slots, task.task_id, rng),
    }
    annotated = {turn_id: value for turn_id, content in edits if content is not None}
    return Twin(opaque_id("w", task.task_id), task, entry.entry_id, value, edits, annotated, solution)


def _flipped(slot: Slot, entry: Any, truth: str) -> Slot:
    return Slot(slot.dimension, slot.holder, entry, truth, slot.named, slot.evidence, slot.challenges, slot.levels)
