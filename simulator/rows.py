"""From what was built in memory to the rows of the released tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from personas.ledger import Entry
from personas.persona import Persona
from scenarios.library import Library
from simulator.calendar import Calendar
from simulator.history import Session, Turn
from simulator.tasks import Task, canonical
from simulator.twins import Twin
from simulator.wording import Said

Row = dict[str, Any]
_NOTHING: Row = dict.fromkeys((
    "cue_id", "entry_id", "dimension", "scope", "value", "polarity", "strength", "horizon", "holder", "onset", "end",
    "cue_type", "explicitness", "noise_kind", "injector", "span_start", "span_end",
))  # fmt: skip


@dataclass
class Bundle:
    """All rows of one persona, by table; what a gate looks at.

    ``sessions`` are rows of ``histories`` in time order; ``tasks`` in time order; the others by id where they have one.
    """

    persona: Row
    sessions: list[Row]
    annotations: list[Row]
    ledger: list[Row]
    tasks: list[Row]
    environments: dict[str, Row] = field(default_factory=dict)
    solutions: dict[str, Row] = field(default_factory=dict)
    twins: dict[str, Row] = field(default_factory=dict)

    def tables(self) -> dict[str, list[Row]]:
        """Return the rows by table name."""
        return {
            "personas": [self.persona], "histories": self.sessions, "annotations": self.annotations, "ledger": self.ledger,
            "tasks": self.tasks, "environments": list(self.environments.values()),
            "solutions": list(self.solutions.values()), "twins": list(self.twins.values()),
        }  # fmt: skip


def persona_row(persona: Persona) -> Row:
    """Return the row of ``personas``."""
    background = persona.background.model_dump() | {"city": persona.city, "street": persona.street}
    return {
        "persona_id": persona.persona_id,
        "display_name": persona.display_name,
        "locale": persona.locale,
        "timezone": persona.timezone,
        "background": canonical(background),
        "traits": canonical(persona.traits),
        "voice": canonical(persona.voice.model_dump()),
        "social": canonical([relation.model_dump() for relation in persona.social]),
    }


def ledger_rows(entries: Sequence[Entry], persona_id: str, library: Library, calendar: Calendar) -> list[Row]:
    """Return the rows of ``ledger``."""
    return [
        {
            "entry_id": entry.entry_id,
            "persona_id": persona_id,
            "dimension": entry.dimension,
            "scope": entry.scope,
            "value": json.dumps(library.dimensions[entry.dimension].public(entry.value)),
            "polarity": entry.polarity,
            "strength": entry.strength,
            "horizon": entry.horizon,
            "holder": entry.holder,
            "valid_from": calendar.iso(entry.valid_from),
            "valid_to": None if entry.valid_to is None else calendar.iso(entry.valid_to),
            "known_from": None if entry.known_from is None else calendar.iso(entry.known_from),
            "cause": entry.cause,
            "supersedes": entry.supersedes,
        }
        for entry in entries
    ]


class Scribe:
    """Makes the rows of ``histories`` and ``annotations`` of one persona.

    What stands in a turn's rows is made once for the words that the turn has, for a history is written down with and without noise.
    """

    def __init__(self, persona_id: str, entries: Sequence[Entry], library: Library, calendar: Calendar) -> None:
        self.persona_id, self.entries, self.library, self.calendar = persona_id, entries, library, calendar
        self._made: dict[str, tuple[Said, Row, list[Row]]] = {}

    def history(self, sessions: Sequence[Session]) -> list[Row]:
        """Return one row a session."""
        return [
            {
                "persona_id": self.persona_id,
                "session_id": session.session_id,
                "session_index": index,
                "started_at": self.calendar.iso(session.started),
                "kind": session.kind,
                "scenario_id": session.scenario,
                "turns": [self._rows(session, turn)[1] for turn in session.turns],
            }
            for index, session in enumerate(sessions)
        ]

    def annotations(self, sessions: Sequence[Session]) -> list[Row]:
        """Return one row a turn, more where a turn ends several things."""
        return [row for session in sessions for turn in session.turns for row in self._rows(session, turn)[2]]

    def _rows(self, session: Session, turn: Turn) -> tuple[Said, Row, list[Row]]:
        made = self._made.get(turn.turn_id)
        if made is None or made[0] is not turn.said:
            row = {"turn_id": turn.turn_id, "role": turn.role, "content": turn.content, "at": self.calendar.iso(turn.at), "tokens": turn.tokens}
            made = self._made[turn.turn_id] = turn.said, row, list(self._turn(session, turn))
        return made

    def _turn(self, session: Session, turn: Turn) -> Iterator[Row]:
        span = turn.said.span or (None, None)
        row: Row = {
            "turn_id": turn.turn_id, "session_id": session.session_id, "persona_id": self.persona_id, **_NOTHING,
            "speaker": turn.speaker, "tries": turn.tries, "fallback_reason": turn.fallback,
        }  # fmt: skip
        if turn.noise_kind:
            row |= {"noise_kind": turn.noise_kind, "injector": "noise", "span_start": span[0], "span_end": span[1]}
        if turn.cue is None:
            yield row
            return
        row |= {"cue_id": turn.cue.cue_id, "cue_type": turn.said.cue_type, "span_start": span[0], "span_end": span[1]}
        row |= {"explicitness": turn.said.openness}
        if turn.cue.manner != "end":
            yield row | self._voiced(turn)
            return
        for entry in self._ended(turn.cue.entry, turn.at):
            end = None if entry.valid_to is None else self.calendar.iso(entry.valid_to)
            yield row | self._entry(entry, entry.strength) | {"end": end}

    def _ended(self, entry: Entry, at: int) -> list[Entry]:
        if entry.horizon == "long":
            return [entry]
        return [other for other in self.entries if other.cause == entry.cause and other.known(at)]

    def _entry(self, entry: Entry, strength: str | None) -> Row:
        value = json.dumps(self.library.dimensions[entry.dimension].public(entry.value))
        return {
            "entry_id": entry.entry_id, "dimension": entry.dimension, "scope": entry.scope, "value": value,
            "polarity": entry.polarity, "strength": strength, "horizon": entry.horizon, "holder": entry.holder,
        }  # fmt: skip

    def _voiced(self, turn: Turn) -> Row:
        assert turn.cue is not None
        entry = turn.cue.entry
        out = self._entry(entry, turn.said.strength)
        if entry.horizon == "short" and entry.sure_after is not None:
            out |= {"onset": self.calendar.iso(entry.valid_from), "end": self.calendar.iso(entry.sure_after)}
        return out


def task_row(task: Task, persona_id: str, number: int, split: str, calendar: Calendar) -> Row:
    """Return the row of ``tasks``."""
    return {
        "task_id": task.task_id,
        "persona_id": persona_id,
        "sequence_index": number,
        "domain": task.scenario.domain,
        "scenario_id": task.scenario.scenario,
        "action_kind": task.kind,
        "issued_at": calendar.iso(task.moment.focus.at),
        "instruction": task.instruction,
        "context": canonical(task.context),
        "tools": canonical(task.tools),
        "environment_id": task.environment_id,
        "split": split,
    }


def environment_row(task: Task) -> Row:
    """Return the row of ``environments``."""
    return {
        "environment_id": task.environment_id,
        "scenario_id": task.scenario.scenario,
        "entities": canonical(task.entities),
    }


def solution_row(task: Task, certificate: Mapping[str, Any]) -> Row:
    """Return the row of ``solutions``."""
    return {
        "task_id": task.task_id,
        "challenges": challenges_of(task),
        "n_constraints": len(task.constraints),
        "constraints": [c | {"predicate": canonical(c["predicate"])} for c in task.constraints],
        "witness": canonical(task.witness),
        "rivals": canonical({
            slot.dimension.id: {str(slot.dimension.public(key)): label for key, label in slot.named.items()}
            for slot in task.slots if slot.entry
        }),
        "explicit_instruction": task.explicit_instruction,
        "probes": canonical(task.probes),
        "disclosure": canonical(task.disclosure),
        "certificate": canonical(certificate),
    }  # fmt: skip


def challenges_of(task: Task) -> list[str]:
    """Return what decides the task: only musts decide."""
    out = {kind for slot in task.slots if slot.strength == "must" for kind in slot.challenges}
    if not task.missing and all(slot.implicit for slot in task.slots):
        out.add("implicit_only")
    return sorted(out)


def twin_row(twin: Twin) -> Row:
    """Return the row of ``twins``."""
    solution = dict(twin.solution)
    solution["challenges"] = challenges_of(twin.task)
    return {
        "twin_id": twin.twin_id,
        "task_id": twin.task.task_id,
        "entry_id": twin.entry_id,
        "edits": [{"turn_id": turn_id, "content": content} for turn_id, content in twin.edits],
        "solution": canonical(solution),
    }
