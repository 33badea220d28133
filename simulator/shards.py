"""Shards: fixed ranges of ten personas, written whole or not at all. A shard's record is written last; it marks the shard as done."""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from iba_bench.errors import InstanceRefused
from iba_bench.storage import read_json, write_rows, write_text
from iba_bench.tables import TABLES
from simulator.config import GenerateConfig
from simulator.factory import Materials, PersonaFactory
from simulator.gates.summary import summarise

SHARD = 10
WORK = ".work"
_state: dict[str, Any] = {}


def shard_numbers(personas: int) -> list[int]:
    """Return the first persona index of every shard."""
    return list(range(0, personas, SHARD))


def set_up(config: GenerateConfig, folder: str) -> None:
    """Read the catalogs once per process; they are never garbage, so the collector need not look at them. It runs after each shard."""
    _state["factory"] = PersonaFactory(config, Materials.load())
    gc.collect()
    gc.freeze()
    gc.disable()
    _state["folder"] = Path(folder)
    _state["config"] = config


def make_shard(first: int) -> dict[str, Any]:
    """Make, gate and write the shard that begins at persona ``first``; return its record."""
    config, folder, factory = _state["config"], _state["folder"], _state["factory"]
    rows: dict[str, list[Mapping[str, Any]]] = {name: [] for name in TABLES}
    tallies, summaries, failed = [], [], []
    for index in range(first, min(first + SHARD, config.benchmark.personas)):
        try:
            made = factory.make(index)
        except InstanceRefused as error:
            failed.append({"index": index, "reason": error.reason})
            continue
        for name, found in made.bundle.tables().items():
            rows[name].extend(found)
        tallies.append(made.tally)
        summaries.append(summarise(made.view, factory.materials.library))
    record = {
        "first": first,
        "personas": len(tallies),
        "failed": failed,
        "refused": dict(sum((tally.refused for tally in tallies), Counter())),
        "tokens": {
            "clean": sum(tally.clean_tokens for tally in tallies),
            "noise": sum(tally.noise_tokens for tally in tallies),
            "adversarial": sum(tally.adversarial_tokens for tally in tallies),
        },
        "files": _write(folder, first, rows),
        "rows": {name: len(found) for name, found in rows.items()},
    }
    write_text(summary_path(folder, first), json.dumps(summaries))
    write_text(record_path(folder, first), json.dumps(record, sort_keys=True))
    gc.collect()
    return record


def _write(folder: Path, first: int, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, str]:
    out = {}
    for name, table in TABLES.items():
        groups = {f"part-{first:05}": rows[name]}
        if name == "tasks":
            groups = {f"{split}-{first:05}": [row for row in rows[name] if row["split"] == split] for split in ("dev", "test")}
        for stem, found in groups.items():
            if found:
                path = Path(table.folder) / name / f"{stem}.parquet"
                out[path.as_posix()] = write_rows(folder / path, table, found)
    return out


def record_path(folder: Path, first: int) -> Path:
    """Return where a shard's record lies."""
    return folder / WORK / f"{first:05}.json"


def summary_path(folder: Path, first: int) -> Path:
    """Return where a shard's summaries for the population gates lie."""
    return folder / WORK / f"{first:05}.summary.json"


def done_record(folder: Path, first: int) -> dict[str, Any] | None:
    """Return the record of a finished shard whose files are all there, or None."""
    path = record_path(folder, first)
    if not path.exists() or not summary_path(folder, first).exists():
        return None
    record: dict[str, Any] = read_json(path)
    return record if all((folder / name).exists() for name in record["files"]) else None
