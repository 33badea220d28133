"""Noise is a nested layer: clean turns, ids and times are byte-identical at every level, low is part of medium, gold is equal."""

from __future__ import annotations

import json

import pytest
from tests_support import iba, made

from iba_bench.storage import read_rows, table_files

LEVELS = {"none": 0.0, "low": 0.15, "medium": 0.35, "high": 0.6, "extreme": 0.85}
TINY = ("benchmark.personas=4", "benchmark.tasks=28", "history=short")
pytestmark = pytest.mark.xdist_group("noise")


def rows(run, table):
    return [row for path in table_files(run, table) for row in read_rows(path)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    out = tmp_path_factory.mktemp("noise")
    done = iba("generate", "-m", *TINY, "noise=" + ",".join(LEVELS), f"out={out}")
    assert done.returncode == 0, done.stderr[-3000:]
    from pathlib import Path

    return dict(zip(LEVELS, map(Path, done.stdout.split()), strict=True))


def turns(run, noise):
    kinds = {row["turn_id"]: row["noise_kind"] for row in rows(run, "annotations")}
    return {
        turn["turn_id"]: (session["session_id"], turn["role"], turn["content"], turn["at"], turn["tokens"])
        for session in rows(run, "histories")
        for turn in session["turns"]
        if (kinds[turn["turn_id"]] is not None) == noise
    }


def test_clean_turns_are_the_same_at_every_level(runs):
    clean = turns(runs["none"], noise=False)
    assert clean and turns(runs["none"], noise=True) == {}
    for run in runs.values():
        assert turns(run, noise=False) == clean


def test_levels_are_nested(runs):
    layers = [set(turns(run, noise=True).items()) for run in runs.values()]
    for small, large in zip(layers, layers[1:], strict=False):
        assert small < large


def test_tasks_and_gold_are_equal_at_all_levels(runs):
    for table in ("tasks", "environments", "solutions", "twins", "ledger"):
        reference = rows(runs["none"], table)
        for run in runs.values():
            assert rows(run, table) == reference


def test_variants_share_their_clean_id(runs):
    ids = {json.loads((run / "manifest.json").read_text())["clean_id"] for run in runs.values()}
    assert len(ids) == 1


@pytest.mark.parametrize("level", LEVELS)
def test_the_measured_share_is_the_level(runs, level):
    noise = sum(turn[4] for turn in turns(runs[level], noise=True).values())
    clean = sum(turn[4] for turn in turns(runs[level], noise=False).values())
    assert noise / (noise + clean) == pytest.approx(LEVELS[level], abs=0.03)


def test_made_folder_is_printed_alone(tmp_path):
    assert made(iba("generate", *TINY, "noise=none", f"out={tmp_path}")).parent == tmp_path
