"""A release loads with `datasets`, and a push merges the card, resumes, tags and refuses, against a local fake of the Hub."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import yaml
from fake_hub import fake_hub
from tests_support import ENTRY, hashes

from iba_bench.tables import TABLES
from simulator.release.check import read_front_matter

pytestmark = pytest.mark.xdist_group("runs")


def push(hub, run, *arguments, token="right-token", home="/tmp"):
    env = {**os.environ, "HF_ENDPOINT": hub.url, "HF_TOKEN": token, "HF_HUB_DISABLE_XET": "1", "HF_HOME": str(home), "NO_PROXY": "*"}
    command = [sys.executable, "-c", ENTRY, "release", "push", f"run={run}", "repo_id=someone/bench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("table", TABLES)
def test_every_table_loads_offline(small_run, table, streaming, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    loaded = datasets.load_dataset(str(small_run), table, streaming=streaming, cache_dir=str(tmp_path))
    assert set(loaded) == ({"dev", "test"} if table == "tasks" else {"train"})
    columns = [column.name for column in TABLES[table].columns]
    for split in loaded.values():
        assert list(next(iter(split))) == columns
    if not streaming:
        rows = json.loads((small_run / "manifest.json").read_text())["counts"][table]
        assert sum(len(split) for split in loaded.values()) == rows


def test_a_push_sends_everything_and_tags_the_run(small_run, tmp_path):
    with fake_hub() as hub:
        done = push(hub, small_run, home=tmp_path)
        assert done.returncode == 0, done.stderr
        files = hub.repos["someone/bench"]
        assert set(files) == {*hashes(small_run), "manifest.json"}
        for name in hashes(small_run):
            if name != "README.md":
                assert files[name] == (small_run / name).read_bytes()
        assert hub.tags["someone/bench"] == [small_run.name]
        uploads = hub.uploads
        again = push(hub, small_run, home=tmp_path)
        assert again.returncode == 0 and "send 0 file(s)" in again.stderr
        assert hub.uploads == uploads


def test_a_card_is_merged_not_overwritten(small_run, tmp_path):
    theirs = "---\nlicense: mit\ntags: [mine]\ndoi: 10.1/x\nconfigs:\n- config_name: extra\n  data_files: extra.csv\n---\n\n# My words\n\nKeep me.\n"
    with fake_hub() as hub:
        hub.repos["someone/bench"] = {"README.md": theirs.encode(), "extra.csv": b"a\n", "data/tasks/old-00000.parquet": b"old"}
        assert push(hub, small_run, home=tmp_path).returncode == 0
        text = hub.repos["someone/bench"]["README.md"].decode()
        head = read_front_matter(text)
        assert head["doi"] == "10.1/x" and "mine" in head["tags"] and "personalization" in head["tags"]
        assert head["license"] == "cc-by-4.0"
        assert [c["config_name"] for c in head["configs"]][-1] == "extra" and len(head["configs"]) == len(TABLES) + 1
        assert "Keep me." in text and text.count("iba-bench: generated") == 1
        assert push(hub, small_run, home=tmp_path).returncode == 0
        assert hub.repos["someone/bench"]["README.md"].decode() == text
        assert "extra.csv" in hub.repos["someone/bench"] and "data/tasks/old-00000.parquet" not in hub.repos["someone/bench"]


def test_a_broken_push_goes_on_where_it_was(small_run, tmp_path):
    with fake_hub() as hub:
        hub.fail_after_commits = 0
        done = push(hub, small_run, home=tmp_path)
        assert done.returncode == 2 and "the Hub answered 500" in done.stderr and "Traceback" not in done.stderr
        hub.fail_after_commits = None
        assert push(hub, small_run, home=tmp_path).returncode == 0
        assert set(hub.repos["someone/bench"]) == {*hashes(small_run), "manifest.json"}


def test_a_dry_run_sends_nothing(small_run, tmp_path):
    with fake_hub() as hub:
        done = push(hub, small_run, "dry_run=true", home=tmp_path)
        assert done.returncode == 0 and "would someone/bench: send" in done.stderr
        assert hub.repos == {} and hub.uploads == 0


def test_a_wrong_token_and_a_missing_hub_say_what_to_do(small_run, tmp_path):
    with fake_hub() as hub:
        done = push(hub, small_run, token="wrong", home=tmp_path)
        assert done.returncode == 2 and "401" in done.stderr and "HF_TOKEN" in done.stderr and "wrong" not in done.stderr
        closed = hub
    done = push(closed, small_run, home=tmp_path)
    assert done.returncode == 2 and "cannot be reached" in done.stderr and "Traceback" not in done.stderr


def test_the_card_on_disk_is_what_the_hub_reads(small_run):
    head = read_front_matter((small_run / "README.md").read_text())
    assert yaml.safe_load(yaml.safe_dump(head)) == head
    assert head["configs"][0]["config_name"] == "tasks" and head["configs"][0]["default"] is True
