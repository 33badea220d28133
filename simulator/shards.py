"""Shards: fixed ranges of ten personas, written whole or not at all. A shard's record is written last; it marks the shard as done."""

from __future__ import annotations

import asyncio
import gc
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iba_bench.errors import InstanceRefused
from iba_bench.models.reply import CallFailed
from iba_bench.storage import read_json, write_rows, write_text
from iba_bench.tables import TABLES
from iba_bench.together import together
from simulator.config import GenerateConfig
from simulator.factory import Made, Materials, PersonaFactory
from simulator.gates.summary import summarise

if TYPE_CHECKING:
    from iba_bench.models.service import Models

SHARD = 10
WORK = ".work"
_state: dict[str, Any] = {}


def shard_numbers(personas: int) -> list[int]:
    """Return the first persona index of every shard."""
    return list(range(0, personas, SHARD))


def set_up(config: GenerateConfig, folder: str, workers: int) -> None:
    """Read the catalogs once per process; they are never garbage, so the collector need not look at them. It runs after each shard, over what that shard left."""
    _state["models"] = _models(config, Path(folder), workers) if config.model.roles else None
    clients = _state["models"].clients if config.model.roles else {}
    _state["factory"] = PersonaFactory(config, Materials.load(), clients)
    _state["loop"] = asyncio.new_event_loop()
    gc.collect()
    gc.freeze()
    gc.disable()
    _state["folder"] = Path(folder)
    _state["config"] = config


def _models(config: GenerateConfig, folder: Path, workers: int) -> Models:
    from iba_bench.models.service import budget_of, open_models

    record = config.model.record_path(folder.parent)
    budget = budget_of(config.model, record, folder.name).share(workers)[-1]
    return open_models(config.model, record, folder.name, budget, workers)


def make_shard(first: int) -> dict[str, Any]:
    """Make, gate and write the shard that begins at persona ``first``; return its record.

    Raises:
        UserError: a model's endpoint cannot be used as configured.
        CheckFailed: it does not answer, or the budget is spent.
    """
    config = _state["config"]
    indices = range(first, min(first + SHARD, config.benchmark.personas))
    results: list[Made | dict[str, Any]] = []
    try:
        _state["loop"].run_until_complete(_make(indices, results))
    except KeyboardInterrupt:
        if _state["models"] is not None:
            _state["loop"].run_until_complete(_state["models"].rest())
        raise
    return _written(first, results)


async def _make(indices: Iterable[int], results: list[Made | dict[str, Any]]) -> None:
    """Make personas: one after the other, or, where models must be waited for, all at the same time.

    The results go into a list, and the loop is our own: `asyncio.run` sets a signal handler, whose `repr` would show all of a coroutine's results.
    """
    models: Models | None = _state["models"]
    if models is None:
        for index in indices:
            results.append(await _one(index))
        return
    from iba_bench.models.service import told

    try:
        results.extend(await together(_one(index) for index in indices))
        return
    except CallFailed as failure:
        problem = told(failure, _state["config"].model)
    finally:
        await models.rest()
    raise problem


async def _one(index: int) -> Made | dict[str, Any]:
    """Make a persona; one that cannot be made fairly is said so, with the reason."""
    try:
        made: Made = await _state["factory"].make(index)
    except InstanceRefused as error:
        return {"index": index, "reason": error.reason}
    return made


def _written(first: int, results: Sequence[Made | dict[str, Any]]) -> dict[str, Any]:
    folder, library = _state["folder"], _state["factory"].materials.library
    rows: dict[str, list[Mapping[str, Any]]] = {name: [] for name in TABLES}
    tallies, summaries = [], []
    for made in results:
        if isinstance(made, Made):
            for name, found in made.bundle.tables().items():
                rows[name].extend(found)
            tallies.append(made.tally)
            summaries.append(summarise(made.view, library))
    record = {
        "first": first,
        "personas": len(tallies),
        "failed": [made for made in results if not isinstance(made, Made)],
        "refused": dict(sum((tally.refused for tally in tallies), Counter())),
        "tokens": {
            "clean": sum(tally.clean_tokens for tally in tallies),
            "noise": sum(tally.noise_tokens for tally in tallies),
            "adversarial": sum(tally.adversarial_tokens for tally in tallies),
        },
        "words": dict(sum((tally.words for tally in tallies), Counter())),
        "files": _write(folder, first, rows),
        "rows": {name: len(found) for name, found in rows.items()},
    }
    write_text(summary_path(folder, first), json.dumps(summaries))
    write_text(record_path(folder, first), json.dumps(record, sort_keys=True))
    gc.collect()
    gc.freeze()
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
