from pathlib import Path

import pyarrow as pa
import pytest

from iba_bench.storage import read_rows, to_arrow, write_rows
from iba_bench.tables import CERTIFICATE, HISTORIES, TABLES, describe

ROOT = Path(__file__).parents[2]


def test_the_documentation_is_what_the_schemas_say():
    assert (ROOT / "docs/dataset.md").read_text() == describe() + "\n"


def test_the_contracts_columns_are_there():
    assert [column.name for column in TABLES["tasks"].columns] == (
        "task_id persona_id sequence_index domain scenario_id action_kind issued_at instruction context tools environment_id split".split()
    )
    assert [column.name for column in TABLES["ledger"].columns] == (
        "entry_id persona_id dimension scope value polarity strength horizon holder valid_from valid_to known_from cause supersedes".split()
    )


def test_the_certificate_is_documented_whole(small_solution):
    assert set(small_solution) == set(CERTIFICATE)


@pytest.fixture
def small_solution():
    import inspect

    from simulator import certificate

    keys = inspect.getsource(certificate.certificate_of).split("return {")[1]
    return [line.split('"')[1] for line in keys.splitlines() if line.startswith('        "')]


def test_nested_rows_survive_a_file_and_bytes_repeat(tmp_path):
    turn = {"turn_id": "t", "role": "user", "content": "é", "at": "x", "tokens": 3}
    rows = [
        {"persona_id": "p", "session_id": "s", "session_index": 0, "started_at": "x", "kind": "dialogue", "scenario_id": None, "turns": [turn, turn]},
        {"persona_id": "p", "session_id": "r", "session_index": 1, "started_at": "x", "kind": "dialogue", "scenario_id": "y", "turns": []},
    ]
    first = write_rows(tmp_path / "a.parquet", HISTORIES, rows)
    assert write_rows(tmp_path / "b.parquet", HISTORIES, rows) == first
    assert read_rows(tmp_path / "a.parquet") == rows
    assert to_arrow(HISTORIES, rows).equals(pa.Table.from_pylist(rows, HISTORIES.schema))
