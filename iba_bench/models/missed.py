"""Requests that a replay did not find, kept beside the record so that it can be said why."""

from __future__ import annotations

import json
from pathlib import Path

from iba_bench.models.request import Request
from iba_bench.storage import write_text


def keep_missed(record: Path, request: Request) -> None:
    """Keep a request that the record does not answer."""
    folder = _folder(record)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / f"{request.key}.json", request.canonical)


def missed_requests(record: Path) -> dict[str, Request]:
    """Return the requests that replays of a record did not find, by key."""
    out = {}
    for path in sorted(_folder(record).glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        request = Request(**{**data, "messages": tuple(data["messages"]), "tools": tuple(data["tools"])})
        out[request.key] = request
    return out


def _folder(record: Path) -> Path:
    return record.with_name(record.name + ".missed")
