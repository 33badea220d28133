"""Gate 5, identifiable: an ideal observer derives every gold value from what the turns voice, without the ledger.

The observer reads annotations (never ``entry_id``), turn times, the task's own words and the calendar. It is written from the rules in the documentation, not from the ledger's code.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from personas.voice import normalise
from scenarios.library import Library
from scenarios.line import LineParts
from scenarios.models import Dimension
from simulator.gates.evidence import value_id
from simulator.gates.failure import Failure
from simulator.gates.view import PersonaView, TaskView, wanted_value


@dataclass(frozen=True, slots=True)
class Voice:
    """What one turn voices, as the observer sees it."""

    turn: str
    at: dt.datetime
    dimension: str
    holder: str
    scope: str
    value: str
    strength: str
    short: bool
    onset: dt.datetime | None
    end: dt.datetime | None
    ends: bool


@dataclass(frozen=True, slots=True)
class Belief:
    """What the observer concludes about a dimension."""

    value: str
    strength: str
    short: bool


def voices_of(view: PersonaView) -> list[Voice]:
    """Return everything voiced, in time order."""
    out = [
        Voice(
            turn=row["turn_id"], at=view.at[row["turn_id"]], dimension=row["dimension"], holder=row["holder"], scope=row["scope"],
            value=value_id(row["value"]), strength=row["strength"], short=row["horizon"] == "short",
            onset=_time(row["onset"]), end=_time(row["end"]), ends=row["cue_type"] == "end",
        )
        for row in view.voiced
    ]  # fmt: skip
    return sorted(out, key=lambda voice: voice.at)


def flipped(voices: Sequence[Voice], flips: Mapping[str, str]) -> list[Voice]:
    """Return the voices of a twin: edited turns voice another value, or nothing more (``""``)."""
    out = [voice if voice.ends or voice.turn not in flips else replace(voice, value=flips[voice.turn]) for voice in voices]
    return [voice for voice in out if voice.value]


def _time(text: str | None) -> dt.datetime | None:
    return dt.datetime.fromisoformat(text) if text else None


@lru_cache(maxsize=4096)
def line_pattern(say: str) -> re.Pattern[str]:
    """Return a pattern that finds a drawn and voiced line in normalised text."""
    out = []
    for part in LineParts(say).parts:
        if part is None:
            out.append(r".{1,60}?")
        elif isinstance(part, tuple):
            out.append("(?:" + "|".join(_loose(option) for option in part) + ")")
        else:
            out.append(_loose(part))
    return re.compile(r"\W*".join(out))


def _loose(text: str) -> str:
    return r"\W+".join(re.escape(word) for word in re.findall(r"\w+", normalise(text)))


def situation(task: TaskView, library: Library) -> set[str]:
    """Return the conditions that hold, by the task's date and words."""
    date = task.issued.date()
    out = {"weekend" if date.isoweekday() > 5 else "weekday"}
    if date.isoweekday() == 5:
        out.add("fridays")
    if date.day <= 7:
        out.add("start_of_month")
    words = normalise(task.row["instruction"])
    for name, bank in library.scopes.scopes.items():
        if any(line_pattern(line.say).search(words) for line in bank.on):
            out.add(name)
    return out


def served(task: TaskView, voices: Sequence[Voice]) -> str:
    """Return whom the job is for: a person whose tastes were voiced and whom the instruction names, else the user."""
    words = normalise(task.row["instruction"])
    for holder in sorted({voice.holder for voice in voices} - {"self"}):
        if normalise(holder) in words:
            return holder
    return "self"


class Observer:
    """Reads one task's moment from what was voiced before it."""

    def __init__(self, voices: Sequence[Voice], task: TaskView, library: Library) -> None:
        self.task, self.library = task, library
        self.voices = [voice for voice in voices if voice.at < task.issued]
        self.scopes = situation(task, library)
        self.served = served(task, voices)

    def holder(self, dimension: Dimension) -> str:
        """Return whose preference counts."""
        return self.served if dimension.servable else "self"

    def _standing(self, dimension: str, holder: str) -> list[Voice]:
        """Return the voices that no later turn ended, in time order."""
        out: list[Voice] = []
        for voice in self.voices:
            if voice.dimension != dimension or voice.holder != holder:
                continue
            if voice.ends:
                out = [v for v in out if (v.value, v.scope, v.short) != (voice.value, voice.scope, voice.short)]
            else:
                out.append(voice)
        return out

    def avoided(self, dimension: Dimension) -> set[str]:
        """Return all values of an accumulating dimension that must be kept away from."""
        return {voice.value for voice in self._standing(dimension.id, self.holder(dimension))}

    def believes(self, dimension: Dimension) -> Belief | None:
        """Return what holds for a single-valued dimension, or None if nothing does or it cannot be told."""
        standing = [v for v in self._standing(dimension.id, self.holder(dimension)) if self._applies(v)]
        states = [v for v in standing if v.short]
        if states:
            return self._settled(states, {v.value for v in states})
        long = [v for v in standing if not v.short]
        narrow = [v for v in long if v.scope != "always"]
        if narrow and len({v.scope for v in narrow}) > 1 and len({v.value for v in narrow}) > 1:
            return None
        return self._latest(narrow or long)

    def _applies(self, voice: Voice) -> bool:
        if voice.scope != "always" and voice.scope not in self.scopes:
            return False
        if not voice.short:
            return True
        begun = voice.onset is None or voice.onset <= self.task.issued
        return begun and (voice.end is None or self.task.issued < voice.end)

    def _latest(self, voices: Sequence[Voice]) -> Belief | None:
        if not voices:
            return None
        value = voices[-1].value
        run = []
        for voice in reversed(voices):
            if voice.value != value:
                break
            run.append(voice)
        return self._settled(run, {value})

    @staticmethod
    def _settled(voices: Sequence[Voice], values: set[str]) -> Belief | None:
        if len(values) != 1:
            return None
        strength = "must" if any(voice.strength == "must" for voice in voices) else "prefer"
        return Belief(values.pop(), strength, voices[0].short)


def check(view: PersonaView, library: Library) -> Iterator[Failure]:
    """Yield every gold value that the observer does not derive."""
    voices = voices_of(view)
    for task in view.tasks:
        yield from _compare(Observer(voices, task, library), task, task.constraints, library, "")
        if task.twin and task.twin_solution:
            twin_voices = flipped(voices, _flips(task, library))
            yield from _compare(Observer(twin_voices, task, library), task, task.twin_solution["constraints"], library, "twin: ")


def _flips(task: TaskView, library: Library) -> dict[str, str]:
    assert task.twin and task.twin_solution
    flipped = next((c for c in task.twin_solution["constraints"] if c["entry_id"] == task.twin["entry_id"]), None)
    value = ""
    if flipped:
        dimension = library.dimensions[flipped["dimension"]]
        public = wanted_value(flipped, dimension)
        value = next((key for key in dimension.values if dimension.public(key) == public), "")
    return {edit["turn_id"]: value if edit["content"] is not None else "" for edit in task.twin["edits"]}


def _compare(observer: Observer, task: TaskView, constraints: Sequence[Mapping[str, Any]], library: Library, mark: str
             ) -> Iterator[Failure]:  # fmt: skip
    gold = {constraint["dimension"]: constraint for constraint in constraints}
    for dimension in task.exposed(library):
        constraint = gold.pop(dimension.id, None)
        if dimension.polarity == "dislikes":
            yield from _compare_avoided(observer, task, dimension, constraint, mark)
            continue
        belief = observer.believes(dimension)
        if constraint is None:
            if belief is not None:
                detail = f"{dimension.id}={belief.value}"
                yield Failure(5, f"{mark}exposed and evidenced, but no constraint", task.task_id, detail=detail)
            continue
        public = wanted_value(constraint, dimension)
        if belief is None or dimension.public(belief.value) != public:
            found = belief.value if belief else "unknown"
            yield Failure(5, f"{mark}observer derives another value", task.task_id, dimension.id, f"{found}, gold {public}")
        elif belief.strength != constraint["strength"]:
            yield Failure(5, f"{mark}observer derives another strength", task.task_id, dimension.id, belief.strength)
        elif belief.short != (constraint["horizon"] == "short"):
            yield Failure(5, f"{mark}observer derives another horizon", task.task_id, dimension.id)
    for left in gold:
        yield Failure(5, f"{mark}constraint on a dimension that is not exposed", task.task_id, left)
    if task.missing and observer.believes(library.dimensions[task.missing]) is not None:
        yield Failure(5, "the missing slot can be known", task.task_id, task.missing)


def _compare_avoided(observer: Observer, task: TaskView, dimension: Dimension, constraint: Mapping[str, Any] | None,
                     mark: str) -> Iterator[Failure]:  # fmt: skip
    avoided = {dimension.public(value) for value in observer.avoided(dimension)}
    wanted = {wanted_value(constraint, dimension)} if constraint else set()
    if avoided != wanted:
        yield Failure(5, f"{mark}observer avoids other things", task.task_id, dimension.id, f"{avoided}, gold {wanted}")
