import subprocess
import sys

import pytest

from iba_bench.streams import opaque_id, pick, shuffled, stream, weighted


def test_a_stream_depends_on_its_address_only():
    first = stream(0, "persona", "p_1").random()
    stream(0, "other").random()
    assert stream(0, "persona", "p_1").random() == first
    assert stream(0, "persona", "p_2").random() != first


def test_parts_of_an_address_do_not_run_together():
    assert stream("ab", "c").random() != stream("a", "bc").random()


def test_ids_are_opaque_and_stable():
    assert opaque_id("t", 0, "x") == opaque_id("t", 0, "x")
    assert opaque_id("t", 0, "x") != opaque_id("s", 0, "x")
    assert len(opaque_id("t", "gold")) == 14


def test_weighted_keeps_to_the_weights():
    rng = stream("weights")
    counts = {"a": 0, "b": 0, "never": 0}
    for _ in range(4000):
        counts[weighted(rng, ["a", "b", "never"], [3, 1, 0])] += 1
    assert counts["never"] == 0
    assert counts["a"] / 4000 == pytest.approx(0.75, abs=0.03)


def test_pick_and_shuffled_reach_everything():
    rng = stream("all")
    assert {pick(rng, "abc") for _ in range(60)} == set("abc")
    assert sorted(shuffled(rng, range(9))) == list(range(9))


def test_streams_do_not_depend_on_the_hash_seed():
    code = "from iba_bench.streams import stream, opaque_id; print(stream(1, 'a').random(), opaque_id('t', 2))"
    outputs = {
        subprocess.run([sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
