"""Gate 2, time: sessions and turns strictly in order, offsets of the zone, and days named in text that exist in the calendar."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from functools import lru_cache
from zoneinfo import ZoneInfo

from scenarios.library import Library
from simulator.gates.failure import Failure
from simulator.gates.view import PersonaView

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NAMED = re.compile(r"\b(" + "|".join(_DAYS) + r") the (\d{1,2})(st|nd|rd|th)\b", re.IGNORECASE)
PAST, FUTURE = 31, 13


def check(view: PersonaView, library: Library) -> Iterator[Failure]:
    """Yield what is out of order or names a day that is not."""
    del library
    zone = ZoneInfo(view.persona["timezone"])
    last = dt.datetime.min.replace(tzinfo=dt.UTC)
    for index, session in enumerate(view.sessions):
        if session["session_index"] != index:
            yield Failure(2, "session index out of order", place=session["session_id"])
        if not session["turns"] or session["started_at"] != session["turns"][0]["at"]:
            yield Failure(2, "session does not start with its first turn", place=session["session_id"])
        for turn in session["turns"]:
            at = view.at[turn["turn_id"]]
            if at <= last:
                yield Failure(2, "turn not after the one before", place=turn["turn_id"])
            if at.utcoffset() != at.astimezone(zone).utcoffset():
                yield Failure(2, "offset is not the zone's", place=turn["turn_id"], detail=turn["at"])
            last = at
            yield from _named_days(turn["content"], at.date(), turn["turn_id"], None)
    for task in view.tasks:
        yield from _named_days(task.row["instruction"], task.issued.date(), "instruction", task.task_id)
        for edit in task.twin["edits"] if task.twin else ():
            if edit["content"] is not None:
                when = view.at[edit["turn_id"]].date()
                yield from _named_days(edit["content"], when, edit["turn_id"], task.task_id)
    yield from _task_order(view)


def _named_days(text: str, said: dt.date, place: str, task_id: str | None) -> Iterator[Failure]:
    for named, weekday, day, ending in _days_in(text):
        if not _exists(weekday, day, said):
            yield Failure(2, "a day named in text does not exist", task_id, place, f"'{named}' said on {said}")
        if ending != ("th" if 10 <= day <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")):
            yield Failure(2, "a day has the wrong ending", task_id, place, named)


@lru_cache(maxsize=16384)
def _days_in(text: str) -> tuple[tuple[str, int, int, str], ...]:
    """Return the days that a text names: as written, weekday (Monday 0), day of the month, ending."""
    if "day the " not in text.lower():
        return ()
    return tuple((m.group(0), _DAYS.index(m.group(1).lower()), int(m.group(2)), m.group(3).lower()) for m in _NAMED.finditer(text))


@lru_cache(maxsize=16384)
def _exists(weekday: int, day: int, said: dt.date) -> bool:
    """Whether such a day lies near the one on which it was said."""
    days = (said + dt.timedelta(days=shift) for shift in range(-PAST, FUTURE + 1))
    return any(date.day == day and date.weekday() == weekday for date in days)


def _task_order(view: PersonaView) -> Iterator[Failure]:
    first = dt.datetime.fromisoformat(view.sessions[0]["started_at"])
    span = dt.datetime.fromisoformat(view.sessions[-1]["started_at"]) - first
    last = first
    for index, task in enumerate(view.tasks):
        if task.row["sequence_index"] != index or task.issued <= last:
            yield Failure(2, "tasks out of order", task.task_id)
        last = task.issued
    if view.tasks and view.tasks[0].issued < first + span / 4 - dt.timedelta(days=5):
        yield Failure(2, "first task before a quarter of the span", view.tasks[0].task_id)
