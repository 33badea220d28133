"""Gate 6, voiced: the text says what the annotation claims.

Of each clean turn that voices something, the words are held against the catalog: the decisive clause of some line of that value is
there (for a twin's edit, of the flipped value), in the split, strength and manner that the annotation claims, and the span covers
it; a limited preference has its condition, a temporary one its event, an end its end. For a whole run: every line of the catalogs
was read right by somebody who did not write it (``scenarios/decoded``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from personas.life_events import load_life_events
from scenarios.decoding_items import library_items
from scenarios.decoding_record import LEAST_RIGHT, read_record, review
from scenarios.library import Library, load_library
from scenarios.line import CueLine, Line
from scenarios.models import Dimension, Value
from simulator.gates.clauses import heard_of, plain, plain_words, slip_match, with_phrase
from simulator.gates.evidence import value_id
from simulator.gates.failure import Failure
from simulator.gates.verdict import Findings, Verdict
from simulator.gates.view import PersonaView, Row, TaskView, wanted_value

SHOWN = 20


class Listener:
    """Holds one persona's turns against the catalog."""

    def __init__(self, view: PersonaView, library: Library) -> None:
        self.view, self.library = view, library
        self.split = view.tasks[0].row["split"] if view.tasks else None
        self.causes = {entry["entry_id"]: str(entry["cause"]) for entry in view.ledger}

    def reason(self, row: Row, value: Value, content: str, span: tuple[int, int] | None) -> str | None:
        """Return why ``content`` does not voice ``value`` as ``row`` says, or None if it does.

        ``span`` is None for a twin's edit, whose line may be of another type.
        """
        dimension = self.library.dimensions[row["dimension"]]
        if row["cue_type"] == "behaviour":
            return self._log_reason(row, value, content)
        core = content if span is None else content[span[0] : span[1]]
        banks, text = banks_of(row, dimension, value, self.library), plain(core)
        heard = _heard(banks, with_phrase(text, value.phrase))
        if not heard:
            covered = not _heard(banks, with_phrase(plain(content), value.phrase))
            return "the decisive clause is missing" if covered else "the span does not cover the decisive clause"
        if row["holder"] != "self" and plain_words(row["holder"]) not in text:
            return "the holder is not named"
        return self._line_reason(row, heard, span is not None) or self._scope_reason(row, text) or self._state_reason(row, content)

    def _log_reason(self, row: Row, value: Value, content: str) -> str | None:
        event, _, rest = content.partition(": ")
        text = plain(rest)
        heard = [line for line in heard_of(value.logs, text) if line.event == event]
        if not heard:
            return "the decisive clause is missing"
        if row["strength"] != "prefer":
            return "a behaviour log voices a must"
        return None if self._own(heard) else "the line is of the other split"

    def _own(self, lines: Sequence[Line]) -> bool:
        return self.split is None or any(line.split == self.split for line in lines)

    def _line_reason(self, row: Row, heard: Sequence[CueLine], typed: bool) -> str | None:
        fitting = [line for line in heard if line.strength == row["strength"]]
        if not fitting:
            return "the line is of another strength"
        if not self._own(fitting):
            return "the line is of the other split"
        if typed and all(line.type != row["cue_type"] for line in fitting):
            return "the line is of another cue type"
        return None

    def _scope_reason(self, row: Row, text: str) -> str | None:
        for scope, bank in self.library.scopes.scopes.items():
            heard = heard_of(bank.clauses, text)
            if scope == row["scope"] and not (heard and self._own(heard)):
                return "the scope's clause is missing"
            if heard and row["scope"] == "always":
                return "a scope is voiced that is not annotated"
        return None

    def _state_reason(self, row: Row, content: str) -> str | None:
        if row["horizon"] != "short":
            return None
        return None if self._tells(row, content, "mentions") else "the life event is not mentioned"

    def _tells(self, row: Row, content: str, field: str) -> bool:
        event = load_life_events().get(self.causes.get(row["entry_id"], "").partition("event:")[2])
        if event is None:
            return False
        lines: tuple[Line, ...] = getattr(event, field)
        text = plain(content)
        heard = heard_of(lines, text) or [line for line in lines if slip_match(line.say, text)]
        return bool(heard) and self._own(heard)

    def end_reason(self, row: Row, content: str) -> str | None:
        """Return why ``content`` does not end what ``row`` says that it ends, or None if it does."""
        span = (row["span_start"], row["span_end"])
        if None in span:
            return "the turn has no span"
        core = content[span[0] : span[1]]
        if row["horizon"] == "short":
            return None if self._tells(row, core, "ends") else "the end of the life event is not said"
        text, topic = plain(core), plain(self.library.dimensions[row["dimension"]].label)
        heard = heard_of(self.library.plain.expiry, text)
        if not heard or topic not in text:
            return "the end of the preference is not said"
        return None if self._own(heard) else "the line is of the other split"


def banks_of(row: Row, dimension: Dimension, value: Value, library: Library) -> list[tuple[CueLine, ...]]:
    """Return the lines that can voice a value as the annotation says: its own, and the frames where it is named."""
    served = row["holder"] != "self"
    own = value.served if served else value.cues
    if row["explicitness"] == "implicit":
        return [own]
    frames, dislikes = library.frames, dimension.polarity == "dislikes"
    if served:
        return [own, frames.served_dislikes if dislikes else frames.served]
    if dislikes:
        return [own, frames.explicit_dislikes, frames.hinted_dislikes]
    return [own, frames.explicit, frames.hinted]


def _heard(banks: Sequence[tuple[CueLine, ...]], text: str) -> list[CueLine]:
    return [line for bank in banks for line in heard_of(bank, text)]


def line_of(row: Row, view: PersonaView, library: Library) -> Line | None:
    """Return the catalog line that a turn was made of, or None."""
    content = str(view.turns[row["turn_id"]]["content"])
    dimension = library.dimensions[row["dimension"]]
    value = dimension.values[value_id(row["value"])]
    if row["cue_type"] == "behaviour":
        event, _, rest = content.partition(": ")
        text = plain(rest)
        return next((log for log in heard_of(value.logs, text) if log.event == event), None)
    marked = with_phrase(plain(content[row["span_start"] : row["span_end"]]), value.phrase)
    return next((line for line in _heard(banks_of(row, dimension, value, library), marked) if line.strength == row["strength"]), None)


def check(view: PersonaView, library: Library) -> Iterator[Failure]:
    """Yield every turn whose text does not say what its annotation claims."""
    listener = Listener(view, library)
    for row in view.voiced:
        reason = _turn_reason(row, view, library, listener)
        if reason:
            value = f"{row['dimension']}={row['value']}"
            yield Failure(6, reason, place=row["turn_id"], detail=f"{value}: {view.turns[row['turn_id']]['content']!r}")
    for task in view.tasks:
        if task.twin and task.twin_solution:
            yield from _twin(view, library, listener, task)


def _turn_reason(row: Row, view: PersonaView, library: Library, listener: Listener) -> str | None:
    turn = view.turns[row["turn_id"]]
    if row["noise_kind"] is not None:
        return "a noise turn is annotated as voicing something"
    if row["cue_type"] == "end":
        return listener.end_reason(row, turn["content"])
    if turn["role"] != ("event" if row["cue_type"] == "behaviour" else "user"):
        return "the turn is somebody else's"
    span = (row["span_start"], row["span_end"])
    if None in span or not 0 <= span[0] < span[1] <= len(turn["content"]):
        return "the turn has no span"
    dimension = library.dimensions.get(row["dimension"])
    value = dimension.values.get(value_id(row["value"])) if dimension else None
    return listener.reason(row, value, turn["content"], span) if value else "no such value"


def _twin(view: PersonaView, library: Library, listener: Listener, task: TaskView) -> Iterator[Failure]:
    assert task.twin and task.twin_solution
    edits = {edit["turn_id"]: edit["content"] for edit in task.twin["edits"] if edit["content"] is not None}
    voiced = [row for row in view.voiced if row["turn_id"] in edits and row["entry_id"] == task.twin["entry_id"]]
    value = _flipped(task, library) if voiced else None
    for row in voiced:
        if row["cue_type"] == "end":
            continue
        reason = listener.reason(row, value, edits[row["turn_id"]], None) if value else "a twin's edit has no value in its gold"
        if reason:
            yield Failure(6, f"twin: {reason}", task.task_id, row["turn_id"], repr(edits[row["turn_id"]]))


def _flipped(task: TaskView, library: Library) -> Value | None:
    assert task.twin and task.twin_solution
    for constraint in task.twin_solution["constraints"]:
        if constraint["entry_id"] == task.twin["entry_id"]:
            dimension = library.dimensions[constraint["dimension"]]
            public = wanted_value(constraint, dimension)
            return next((v for key, v in dimension.values.items() if dimension.public(key) == public), None)
    return None


# --- the whole run -------------------------------------------------------------------


def summary(view: PersonaView, library: Library) -> dict[str, int]:
    """Return how many turns voice something; whether they say it is the instance part's word."""
    del library
    return {"voiced": len(view.voiced)}


def population(summaries: Sequence[Mapping[str, Any]], expected: Mapping[str, Any]) -> Iterable[Verdict]:
    """Return whether turns voice anything at all, and whether every line of the catalogs was read right."""
    del expected
    out = Findings()
    parts = [summary["voiced"] for summary in summaries if "voiced" in summary]
    turns = sum(part["voiced"] for part in parts)
    out.measured |= {"turns": turns}
    if not turns:
        out.failures.append("no turn voices anything")
    read = review(library_items(load_library()), read_record())
    out.measured |= {"lines": read.lines, "lines_right": read.right, "share_right": read.share, "share_right_at_first": read.first_share}
    out.limits |= {"share_right": LEAST_RIGHT, "lines_right": float(read.lines)}
    out.failures += read.problems[:SHOWN]
    if len(read.problems) > SHOWN:
        out.failures.append(f"... and {len(read.problems) - SHOWN} lines more; `python -m scenarios.decoding check` names them")
    return [out.verdict(6, "voiced")]
