"""Whether a run is fit to be published: gates passed, files as the manifest says, schemas, sizes, and a card that the Hub can read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from iba_bench.storage import read_json, table_files
from iba_bench.tables import SCHEMA_VERSION, TABLES
from simulator.audit import altered_files
from simulator.release.card import CANARY, front_matter

MAX_FILES = 10_000
MAX_ROW_BYTES = 2_000_000


def release_problems(run: Path) -> Iterator[str]:
    """Yield everything that forbids publishing, each with its place."""
    manifest = read_json(run / "manifest.json")
    if manifest.get("schema_version") != SCHEMA_VERSION:
        yield f"manifest.json: schema_version {manifest.get('schema_version')}, this version writes {SCHEMA_VERSION}; generate again"
        return
    for gate in manifest["gates"]:
        if not gate["passed"]:
            yield f"gate {gate['gate']} ({gate['name']}) refused the run: {'; '.join(gate['failures'][:2])}"
    if not manifest["gates"]:
        yield "manifest.json: no gate verdicts; generate again"
    yield from altered_files(run, manifest)
    yield from _tables(run, manifest)
    yield from _card(run, manifest)


def _tables(run: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    for table in TABLES.values():
        files = table_files(run, table.name)
        if not files:
            yield f"{table.folder}/{table.name}: no files"
        if len(files) > MAX_FILES:
            yield f"{table.folder}/{table.name}: {len(files)} files in a folder, at most {MAX_FILES}"
        rows = 0
        for path in files:
            found = pq.ParquetFile(path)
            rows += found.metadata.num_rows
            if not found.schema_arrow.equals(table.schema):
                yield f"{path.relative_to(run).as_posix()}: its schema is not that of table {table.name}"
            for group in range(found.metadata.num_row_groups):
                part = found.metadata.row_group(group)
                if part.num_rows and part.total_byte_size / part.num_rows > MAX_ROW_BYTES:
                    yield f"{path.relative_to(run).as_posix()}: rows of more than {MAX_ROW_BYTES:,} bytes"
        if rows != manifest["counts"].get(table.name, 0):
            yield f"{table.name}: {rows} rows, the manifest counts {manifest['counts'].get(table.name, 0)}"


def read_front_matter(text: str) -> dict[str, Any]:
    """Return the YAML at the head of a card; an empty mapping if there is none."""
    if not text.startswith("---\n") or "\n---" not in text[4:]:
        return {}
    data = yaml.safe_load(text[4 : text.index("\n---", 4)])
    return data if isinstance(data, dict) else {}


def _card(run: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    path = run / "README.md"
    if not path.exists():
        yield "README.md: no dataset card"
        return
    text = path.read_text(encoding="utf-8")
    found, wanted = read_front_matter(text), front_matter(manifest)
    for key in ("license", "configs", "size_categories"):
        if found.get(key) != wanted[key]:
            yield f"README.md: {key} is {found.get(key)!r}, the data say {wanted[key]!r}"
    if CANARY not in text:
        yield "README.md: the canary string is missing"
    for config in found.get("configs") or ():
        for item in config.get("data_files", ()):
            if not list(run.glob(item["path"])):
                yield f"README.md: config {config.get('config_name')}: no file matches {item['path']}"
