"""Why a model call hit or missed the record: what is on record under its key, and how the nearest other call differs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from iba_bench.errors import UserError
from iba_bench.models.record import Attempt, CallRecord, Recorded
from iba_bench.models.request import Request

SHORTEST, SHOWN, AROUND, TOLD = 6, 400, 40, 12
ABSENT = object()
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
    digits = key.lower()
    if len(digits) < SHORTEST or set(digits) - set("0123456789abcdef"):
        raise UserError(f"'{key}' is no request key; give {SHORTEST} or more of its hex digits")
    keys = sorted({*record.keys(digits), *(lost for lost in missed if lost.startswith(digits))})
    if len(keys) > 1:
        raise UserError(f"'{key}' begins the keys of several calls ({_listed(keys, len(digits))}); give more digits")
    if not keys:
        near = _near(digits, [*record.keys(), *missed])
        hint = f"; near it: {_listed(near, len(digits))}" if near else "; give the key that an error of a replay names"
        raise UserError(f"{record.path}: no call's key begins with '{key}'{hint}")
    if row := next(record.rows(keys[0]), None):
        return _hit(record, row)
    if keys[0] in missed:
        return explain_request(record, missed[keys[0]])
    attempts = record.attempts(keys[0])
    end = f"role {attempts[-1].role} asked, and no attempt brought an answer ({len(attempts)} failed)"
    return "\n".join([f"miss: {keys[0]}", end, *map(_attempt, attempts)])


def explain_request(record: CallRecord, request: Request) -> str:
    """Return why a request hits or misses: the answer on record, or how the nearest call on record differs from it."""
    if row := next(record.rows(request.key), None):
        return _hit(record, row)
    lines = [
        f"miss: {request.key}",
        f"model {request.model} at {request.base_url or request.provider} was asked this, and the record holds no answer",
        *map(_attempt, record.attempts(request.key)),
    ]
    return "\n".join([*lines, *_nearest(record, None, json.loads(request.canonical), request.key)])


def _listed(keys: list[str], length: int) -> str:
    shown = [key[: max(16, length + 4)] for key in keys[:TOLD]]
    return ", ".join(shown) + (f" and {len(keys) - TOLD} more" if len(keys) > TOLD else "")


def _near(digits: str, keys: list[str]) -> list[str]:
    """Return up to five keys that a slip of one or two digits leads to, and those that begin alike."""
    alike = {key: sum(one == other for one, other in zip(digits, key, strict=False)) for key in keys}
    close = [key for key in alike if alike[key] >= len(digits) - 2 or key.startswith(digits[: SHORTEST - 2])]
    return sorted(close, key=lambda key: (-alike[key], key))[:5]


def _hit(record: CallRecord, row: Recorded) -> str:
    usage, endpoint = row.reply.usage, row.request["base_url"] or row.request["provider"]
    counted = ", counted by us, for the server did not say" if usage.counted else ""
    answer = [row.reply.content, *(f"{call.name}({call.arguments})" for call in row.reply.tool_calls)]
    lines = [
        f"hit: {row.key}",
        f"answer number {row.number} on record, role {row.role}, model {row.request['model']} at {endpoint}",
        f"{usage.prompt:,} prompt and {usage.completion:,} completion tokens{counted}; {row.seconds:.2f} s",
        *map(_attempt, record.attempts(row.key)),
        f"answer: {_shown(' '.join(filter(None, answer)))}",
    ]
    return "\n".join([*lines, *_nearest(record, row.role, row.request, row.key)])


def _attempt(attempt: Attempt) -> str:
    status = f" (HTTP {attempt.status})" if attempt.status else ""
    used = attempt.prompt_tokens + attempt.completion_tokens
    charged = f"; {attempt.prompt_tokens:,} prompt and {attempt.completion_tokens:,} completion tokens" if used else ""
    return f"attempt {attempt.attempt + 1} failed: {attempt.kind}{status}: {_shown(attempt.message)}{charged}"


def _nearest(record: CallRecord, role: str | None, parts: Mapping[str, Any], key: str) -> list[str]:
    """Return how the nearest other call differs: the one with fewest differing parts, then the one with the longest common beginning."""
    best: tuple[int, int] | None = None
    told: list[Difference] = []
    nearest = ""
    for row in record.rows():
        if row.key == key or (role is not None and row.role != role):
            continue
        differences = list(_differences(row.request, parts, ""))
        rank = len(differences), -_common(row.request["messages"], parts["messages"])
        if best is None or rank < best:
            best, told, nearest = rank, differences, row.key
    if best is None:
        return [f"there is no other call {'of this role ' if role else ''}on record to compare it with"]
    more = [f"  and {len(told) - TOLD} more"] if len(told) > TOLD else []
    return [f"nearest other call on record: {nearest[:16]}; it differs in", *(f"  {place}: {what}" for place, what in told[:TOLD]), *more]


def _differences(recorded: Any, asked: Any, place: str) -> Iterator[Difference]:
    """Yield where two JSON values differ as text, for that is what a key covers: 1 is not 1.0, and null not nothing."""
    if isinstance(recorded, dict) and isinstance(asked, dict):
        for name in sorted({*recorded, *asked}):
            yield from _differences(recorded.get(name, ABSENT), asked.get(name, ABSENT), f"{place}.{name}" if place else str(name))
    elif isinstance(recorded, list) and isinstance(asked, list):
        for number, (one, other) in enumerate(zip(recorded, asked, strict=False)):
            yield from _differences(one, other, f"{place}[{number}]")
        if len(recorded) != len(asked):
            yield place, f"{len(recorded)} on record, {len(asked)} asked"
    elif isinstance(recorded, str) and isinstance(asked, str) and max(len(recorded), len(asked)) > 2 * AROUND:
        if recorded != asked:
            at = _common(recorded, asked)
            cut = slice(max(0, at - 10), at + AROUND)
            yield place, f"from character {at}: on record {recorded[cut]!r}, asked {asked[cut]!r}"
    elif type(recorded) is not type(asked) or repr(recorded) != repr(asked):
        yield place, f"on record {_value(recorded)}, asked {_value(asked)}"


def _common(recorded: Any, asked: Any) -> int:
    """Return how many items or characters two sequences have in common from the front."""
    pairs = enumerate(zip(recorded, asked, strict=False))
    return next((n for n, (one, other) in pairs if one != other), min(len(recorded), len(asked)))


def _value(value: Any) -> str:
    if value is ABSENT:
        return "nothing"
    # Only Python's notation shows blanks and marks that look alike.
    return _cut(repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _shown(text: str) -> str:
    return _cut(" ".join(text.split()))


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "\u2026"
