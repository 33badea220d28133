"""Files: explicit schemas, a temporary name unique to the process, then a rename. What has its final name is whole."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from iba_bench.errors import UserError
from iba_bench.tables import TABLES, Table

ROWS_A_GROUP = {"histories": 64, "annotations": 20_000, "environments": 32, "ledger": 5_000, "twins": 32}


def to_arrow(table: Table, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return the rows as an Arrow table, built column by column (several times faster than ``from_pylist``)."""
    arrays = [_array([row[column.name] for row in rows], column.type) for column in table.columns]
    return pa.Table.from_arrays(arrays, schema=table.schema)


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if not pa.types.is_list(kind):
        return pa.array(values, type=kind)
    offsets, flat = [0], []
    for value in values:
        flat.extend(value)
        offsets.append(len(flat))
    inner = kind.value_type
    if pa.types.is_struct(inner):
        fields = [inner.field(index) for index in range(inner.num_fields)]
        columns = [_array([item[field.name] for item in flat], field.type) for field in fields]
        items: pa.Array = pa.StructArray.from_arrays(columns, fields=fields)
    else:
        items = pa.array(flat, type=inner)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items, type=kind)


def write_rows(path: Path, table: Table, rows: Sequence[Mapping[str, Any]]) -> str:
    """Write a Parquet file atomically and return its sha256."""
    arrow = to_arrow(table, rows)

    def write(target: Path) -> None:
        pq.write_table(arrow, target, compression="zstd", row_group_size=ROWS_A_GROUP.get(table.name, 1_000), write_page_index=True)

    return _atomically(path, write)


def write_text(path: Path, text: str) -> str:
    """Write a text file atomically and return its sha256."""
    return _atomically(path, lambda target: target.write_text(text, encoding="utf-8"))


def _atomically(path: Path, write: Any) -> str:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        found = sha256(temporary)
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UserError(
            f"{path}: cannot be written ({error.strerror or error}); what was finished before is kept. "
            "Make room or choose another folder with out=FOLDER, then run the same command to go on"
        ) from None
    return found


def sha256(path: Path) -> str:
    """Return the sha256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read a Parquet file as rows."""
    return pq.read_table(path).to_pylist()  # type: ignore[no-any-return]


def table_files(run: Path, name: str) -> list[Path]:
    """Return a table's files in order."""
    return sorted((run / TABLES[name].folder / name).glob("*.parquet"))


def read_json(path: Path) -> Any:
    """Read a JSON file; a broken one is named."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: does not exist; name a run's folder") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not valid JSON ({error}); restore it or generate the run again") from None
