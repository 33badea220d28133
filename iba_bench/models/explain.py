"""Why a model call hit or missed the record: what is on record under its key, and how the nearest other call differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from iba_bench.errors import UserError
from iba_bench.models.record import CallRecord, Recorded
from iba_bench.models.request import Request

SHORTEST, SHOWN, AROUND = 6, 400, 40
Difference = tuple[str, str]


def explain(record: CallRecord, key: str, missed: Mapping[str, Request]) -> str:
    """Return the story of a call.

    Args:
        record: The record.
        key: A request key, or six or more of its first digits.
        missed: Requests by key that a replay did not find.

    Raises:
        UserError: the key is too short, unknown, or that of several calls.
    """
    if len(key) < SHORTEST or set(key) - set("0123456789abcdef"):
        raise UserError(f"'{key}' is no request key; give {SHORTEST} or more of its hex digits")
    found = list(record.rows(key))
    lost = [request for other, request in missed.items() if other.startswith(key)]
    if len(found) + len(lost) > 1:
        keys = ", ".join([row.key[:16] for row in found] + [request.key[:16] for request in lost])
        raise UserError(f"'{key}' begins the keys of several calls ({keys}); give more digits")
    if found:
        return _hit(record, found[0])
    if lost:
        return _miss(record, lost[0])
    attempts = record.attempts(key)
    if attempts:
        return "\n".join([f"{attempts[0].key}: no answer on record; {len(attempts)} attempts failed", *_attempts(record, key)])
    near = sorted({row.key[:12] for row in record.rows(key[:3])})[:5]
    raise UserError(f"{record.path}: no call's key begins with '{key}'; {'near it: ' + ', '.join(near) if near else 'list keys with a shorter prefix'}")


def _hit(record: CallRecord, row: Recorded) -> str:
    usage = row.reply.usage
    counted = ", counted by us, for the server did not say" if usage.counted else ""
    lines = [
        f"hit: {row.key}",
        f"answer number {row.number} on record, role {row.role}, model {row.request['model']} at {row.request['base_url'] or row.request['provider']}",
        f"{usage.prompt:,} prompt and {usage.completion:,} completion tokens{counted}; {row.seconds:.2f} s",
        *_attempts(record, row.key),
        f"answer: {_shown(row.reply.content) if row.reply.content else ', '.join(call.name for call in row.reply.tool_calls)}",
    ]
    return "\n".join([*lines, *_nearest(record, row.role, row.request, row.key)])


def _attempts(record: CallRecord, key: str) -> Iterator[str]:
    for attempt in record.attempts(key):
        status = f" (HTTP {attempt.status})" if attempt.status else ""
        yield f"attempt {attempt.attempt + 1} failed: {attempt.kind}{status}: {_shown(attempt.message)}"


def _miss(record: CallRecord, request: Request) -> str:
    lines = [f"miss: {request.key}", f"model {request.model} at {request.base_url or request.provider} was asked this, and the record holds no answer"]
    return "\n".join([*lines, *_nearest(record, None, request.parts(), request.key)])


def _nearest(record: CallRecord, role: str | None, parts: Mapping[str, Any], key: str) -> list[str]:
    """Return how the nearest other call on record differs: the one with fewest differing parts, then the latest difference."""
    best: tuple[int, int] | None = None
    told: list[Difference] = []
    nearest = ""
    for row in record.rows():
        if row.key == key or (role is not None and row.role != role):
            continue
        differences = list(_differences(row.request, parts, ""))
        rank = len(differences), -_common(row.request, parts)
        if best is None or rank < best:
            best, told, nearest = rank, differences, row.key
    if best is None:
        return ["there is no other call on record to compare it with"]
    return [f"nearest other call on record: {nearest[:16]}; it differs in", *(f"  {place}: {what}" for place, what in told[:12])]


def _differences(recorded: Any, asked: Any, place: str) -> Iterator[Difference]:
    if isinstance(recorded, Mapping) and isinstance(asked, Mapping):
        for name in sorted({*recorded, *asked}):
            yield from _differences(recorded.get(name), asked.get(name), f"{place}.{name}" if place else str(name))
    elif isinstance(recorded, list | tuple) and isinstance(asked, list | tuple):
        for number in range(min(len(recorded), len(asked))):
            yield from _differences(recorded[number], asked[number], f"{place}[{number}]")
        if len(recorded) != len(asked):
            yield place, f"{len(recorded)} on record, {len(asked)} asked"
    elif isinstance(recorded, str) and isinstance(asked, str) and recorded != asked and max(len(recorded), len(asked)) > 2 * AROUND:
        at = next((n for n, (a, b) in enumerate(zip(recorded, asked, strict=False)) if a != b), min(len(recorded), len(asked)))
        cut = slice(max(0, at - 10), at + AROUND)
        yield place, f"from character {at}: on record {recorded[cut]!r}, asked {asked[cut]!r}"
    elif recorded != asked:
        yield place, f"on record {recorded!r}, asked {asked!r}"


def _common(recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> int:
    """Return how many messages two requests have in common from the front."""
    pairs = zip(recorded["messages"], asked["messages"], strict=False)
    return next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(recorded["messages"]), len(asked["messages"])))


def _shown(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "\u2026"
