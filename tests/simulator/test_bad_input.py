"""Bad input gets one clear error that names the limit and what would satisfy it, before any work, and nothing is lost."""

from __future__ import annotations

import errno
import json
import shutil

import pyarrow.parquet as pq
import pytest
from tests_support import hashes, iba

from iba_bench import storage
from iba_bench.errors import UserError
from iba_bench.tables import PERSONAS

pytestmark = pytest.mark.xdist_group("runs")


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["benchmark.personas=3", "benchmark.tasks=2799"], ["933 tasks a persona", "scenarios at most once", "at least 311 personas"]),
        (["history.tokens=3000"], ["too short", "7 tasks", "history.tokens=4480 or more"]),
        (["history.days=100"], ["history.days=100", "history.days=168 or more"]),
        (["benchmark.tasks=100", "benchmark.personas=30"], ["whole multiple of personas (30)"]),
        (["scenarios=[food_delivry]"], ["'food_delivry' does not exist", "did you mean 'food_delivery'?"]),
        (["benchmark.personas=900000", "benchmark.tasks=6300000", "history=xlong"], ["MB are needed", "MB are free", "out=FOLDER"]),
    ],
)
def test_impossible_demands_say_which_limit_binds(overrides, words, tmp_path):
    done = iba("generate", *overrides, f"out={tmp_path}")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named():
    done = iba("generate", "benchmark=tiny", "history=short", "out=/proc/nowhere")
    assert done.returncode == 2
    assert "/proc/nowhere" in done.stderr and "out=FOLDER" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_full_disk_keeps_the_last_good_state_and_says_so(tmp_path, monkeypatch):
    row = {column.name: "x" for column in PERSONAS.columns}
    path = tmp_path / "part.parquet"
    storage.write_rows(path, PERSONAS, [row])
    before = path.read_bytes()

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(storage.pq, "write_table", full)
    with pytest.raises(UserError, match="No space left on device.*what was finished before is kept"):
        storage.write_rows(path, PERSONAS, [row, row])
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["part.parquet"]


@pytest.fixture
def copied(small_run, tmp_path):
    return shutil.copytree(small_run, tmp_path / small_run.name)


def test_validate_passes_what_generate_made(small_run):
    done = iba("validate", f"run={small_run}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(small_run)


def test_validate_names_an_altered_shard(copied):
    name = next(name for name in hashes(copied) if name.startswith("gold/ledger"))
    table = pq.read_table(copied / name).slice(1)
    pq.write_table(table, copied / name)
    done = iba("validate", f"run={copied}")
    assert done.returncode == 1
    assert f"{name}: altered" in done.stderr
    assert "constraint without its entry" in done.stderr or "annotation without its entry" in done.stderr or "superseded" in done.stderr


def test_validate_names_a_missing_and_an_added_file(copied):
    name = next(name for name in hashes(copied) if name.startswith("gold/twins"))
    (copied / name).rename(copied / "gold/twins/part-99999.parquet")
    done = iba("validate", f"run={copied}")
    assert done.returncode == 1
    assert f"{name}: missing" in done.stderr
    assert "gold/twins/part-99999.parquet: not in the manifest" in done.stderr


def test_validate_names_a_broken_manifest(copied):
    (copied / "manifest.json").write_text("{")
    done = iba("validate", f"run={copied}")
    assert done.returncode == 2
    assert "manifest.json: not valid JSON" in done.stderr


def test_release_check_refuses_what_a_gate_refused(copied):
    manifest = json.loads((copied / "manifest.json").read_text())
    manifest["gates"][0] |= {"passed": False, "failures": ["a made-up refusal"]}
    (copied / "manifest.json").write_text(json.dumps(manifest))
    done = iba("release", "check", f"run={copied}")
    assert done.returncode == 1
    assert "a made-up refusal" in done.stderr


def test_release_check_refuses_a_card_that_lost_its_configs(copied):
    card = (copied / "README.md").read_text()
    (copied / "README.md").write_text(card.replace("configs:", "konfigs:"))
    done = iba("release", "check", f"run={copied}")
    assert done.returncode == 1
    assert "README.md: configs is None" in done.stderr
