"""All gates again, from a run's files alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from iba_bench.storage import read_json, sha256, table_files
from iba_bench.tables import TABLES
from scenarios.library import Library
from simulator.gates.failure import Failure
from simulator.gates.population import check_population
from simulator.gates.run import all_verdicts, check_view
from simulator.gates.summary import summarise
from simulator.gates.verdict import Verdict
from simulator.gates.view import view_of

Rows = dict[str, list[dict[str, Any]]]


@dataclass
class Audit:
    """What validation found."""

    altered: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.altered and not self.failures and all(verdict.passed for verdict in self.verdicts)


def altered_files(run: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield what differs from the manifest: changed, missing or added files."""
    expected: Mapping[str, str] = manifest["files"]
    for name, digest in expected.items():
        path = run / name
        if not path.exists():
            yield f"{name}: missing; the manifest lists it"
        elif sha256(path) != digest:
            yield f"{name}: altered; its sha256 is not the manifest's"
    for table in TABLES.values():
        for path in table_files(run, table.name):
            if path.relative_to(run).as_posix() not in expected:
                yield f"{path.relative_to(run).as_posix()}: not in the manifest; remove it"


def shard_rows(run: Path) -> Iterator[Rows]:
    """Yield the rows of one persona after the other, by table, reading a shard at a time."""
    for path in table_files(run, "personas"):
        number = path.stem.split("-")[-1]
        shard = {name: _shard_table(run, name, number) for name in TABLES}
        yield from _by_persona(shard)


def _shard_table(run: Path, name: str, number: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for path in sorted((run / TABLES[name].folder / name).glob(f"*-{number}.parquet")):
        table: pa.Table = pq.read_table(path)
        if not table.schema.equals(TABLES[name].schema):
            raise ValueError(f"{path}: the schema is not the one of table {name}")
        rows.extend(table.to_pylist())
    return rows


def _by_persona(shard: Rows) -> Iterator[Rows]:
    tasks = {row["task_id"]: row["persona_id"] for row in shard["tasks"]}
    places = {row["environment_id"]: row["persona_id"] for row in shard["tasks"]}
    owner = {"environments": ("environment_id", places), "solutions": ("task_id", tasks), "twins": ("task_id", tasks)}
    out: dict[str, Rows] = {row["persona_id"]: {name: [] for name in TABLES} for row in shard["personas"]}
    for name, rows in shard.items():
        column, owners = owner.get(name, ("persona_id", None))
        for row in rows:
            key = row[column] if owners is None else owners.get(row[column])
            if key in out:
                out[key][name].append(row)
            elif out:
                next(iter(out.values()))[name].append(row)
    yield from out.values()


def audit(run: Path, library: Library, advance: Callable[[int], None]) -> Audit:
    """Check hashes, run every instance gate on every persona and every population gate on all."""
    manifest, out = read_json(run / "manifest.json"), Audit()
    out.altered = list(altered_files(run, manifest))
    summaries = []
    for rows in shard_rows(run):
        try:
            view = view_of(rows)
            out.failures.extend(check_view(view, library))
            summaries.append(summarise(view, library))
        except (KeyError, IndexError, ValueError, StopIteration) as error:
            persona = rows["personas"][0]["persona_id"] if rows["personas"] else "?"
            out.failures.append(Failure(1, "rows that do not fit together", place=persona, detail=f"{type(error).__name__}: {error}"))
        advance(1)
    out.verdicts = all_verdicts(out.failures, check_population(summaries, manifest["expected"]))
    return out


def counted(failures: list[Failure]) -> list[tuple[str, int]]:
    """Return the failures by gate and reason, most frequent first."""
    return Counter(f"gate {failure.gate}: {failure.reason}" for failure in failures).most_common()
