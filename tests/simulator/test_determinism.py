"""Same config, same bytes: any number of workers, any hash seed, after any kill; and the first personas stay when more are asked for."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from tests_support import ENTRY, SMALL, hashes, iba, made

pytestmark = pytest.mark.xdist_group("runs")


def test_two_workers_write_what_one_does(small_run, tmp_path):
    assert hashes(made(iba("generate", *SMALL, f"out={tmp_path}", "executor.workers=2"))) == hashes(small_run)


def test_the_hash_seed_changes_nothing(small_run, tmp_path):
    assert hashes(made(iba("generate", *SMALL, f"out={tmp_path}", hash_seed="4711"))) == hashes(small_run)


@pytest.mark.parametrize(("moment", "group"), [(1.5, False), (3.0, True), (4.0, False), (5.0, True), (6.5, True)])
def test_a_killed_run_goes_on_to_the_same_bytes_and_leaves_no_worker(small_run, tmp_path, moment, group):
    command = [sys.executable, "-c", ENTRY, "generate", *SMALL, f"out={tmp_path}", "executor.workers=2"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(moment)
    children = [] if process.poll() is not None else psutil.Process(process.pid).children(recursive=True)
    if group:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
    _, alive = psutil.wait_procs(children, timeout=10)
    assert [child for child in alive if child.status() != psutil.STATUS_ZOMBIE] == []
    assert hashes(made(iba("generate", *SMALL, f"out={tmp_path}"))) == hashes(small_run)


def test_a_finished_run_is_not_done_again(small_run):
    before = {path: path.stat().st_mtime_ns for path in small_run.rglob("*") if path.is_file()}
    done = iba("generate", *SMALL, f"out={small_run.parent}")
    assert made(done) == small_run
    assert "finished already" in done.stderr
    assert {path: path.stat().st_mtime_ns for path in small_run.rglob("*") if path.is_file()} == before


def test_more_personas_keep_the_first_ones(small_run, tmp_path):
    larger = made(iba("generate", "benchmark.personas=40", "benchmark.tasks=280", "history=short", f"out={tmp_path}"))
    first, both = hashes(small_run), hashes(larger)
    data = {name: digest for name, digest in first.items() if name.endswith(".parquet")}
    assert data and {name: both[name] for name in data} == data


def test_a_run_id_knows_config_but_not_place_or_workers(small_run, tmp_path):
    manifest = json.loads((small_run / "manifest.json").read_text())
    assert manifest["run_id"] == small_run.name
    assert "out" not in manifest["config"] and "executor" not in manifest["config"]
    done = iba("generate", *SMALL, "estimate=true", f"out={tmp_path}", "executor.workers=7")
    assert done.stdout.strip() == small_run.name
    other = iba("generate", *SMALL, "estimate=true", "seed=1")
    assert other.stdout.strip() != small_run.name
    assert list(tmp_path.iterdir()) == []
