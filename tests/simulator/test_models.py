"""Whole runs with models, in processes of their own, against the fake server: recorded, replayed, faulty, killed, out of budget, wrongly configured."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests_support import ENTRY, hashes, made

from iba_bench.fake_server import ServerConfig, running
from iba_bench.models.record import CallRecord
from simulator.stand_in import StandIn

pytestmark = pytest.mark.xdist_group("models")

KEY, VARIABLE = "planted-4f9a1c77d2e05b38", "IBA_TEST_MODEL_KEY"
KEYED = [f"model.{role}.key_variable={VARIABLE}" for role in ("persona", "assistant", "checker")]
SIZE = ("benchmark.personas=4", "benchmark.tasks=28", "history=short", "benchmark.name=four")
ONE = ("benchmark.personas=1", "benchmark.tasks=7", "history=short", "benchmark.name=one")
WRONG = "wrong-88d1f0a9c34b7e62"
FLIGHT, BUDGET = 16, 60_000


@dataclass(frozen=True)
class Run:
    """A finished run, the record of its calls, and what the server counted."""

    folder: Path
    record: Path
    stats: dict[str, Any]
    printed: str

    def files(self) -> dict[str, bytes]:
        """The bytes of data and gold by name."""
        return {str(path.relative_to(self.folder)): path.read_bytes() for part in ("data", "gold") for path in sorted((self.folder / part).rglob("*.parquet"))}


def command(base_url: str, out: Path, *arguments: str, size: tuple[str, ...] = SIZE) -> list[str]:
    model = ("model=openai_compatible", f"model.base_url={base_url}", "model.model=stand-in", f"out={out}")
    return [sys.executable, "-c", ENTRY, "generate", *size, *model, *arguments]


def environment(key: str | None) -> dict[str, str]:
    rest = {name: value for name, value in os.environ.items() if name != VARIABLE}
    return {**rest, "COLUMNS": "200", **({VARIABLE: key} if key else {})}


def run(base_url: str, out: Path, *arguments: str, key: str | None = None, size: tuple[str, ...] = SIZE) -> subprocess.CompletedProcess[str]:
    done = command(base_url, out, *arguments, size=size)
    return subprocess.run(done, capture_output=True, text=True, env=environment(key), check=False)


def whole(server: Any, out: Path, *arguments: str, key: str | None = None) -> Run:
    """Make a run and return it with what the server counted for it alone."""
    before = server.stats()
    done = run(server.base_url, out, *arguments, key=key)
    folder, after = made(done), server.stats()
    counted = {name: after[name] - before[name] for name in ("requests", "answered", "spoiled", "refused", "abandoned", "answered_again")}
    return Run(folder, out / "calls.sqlite", counted, done.stdout + done.stderr)


def on_record(path: Path) -> tuple[int, int]:
    """Return how many answers and how many failed attempts a record holds."""
    with CallRecord.open(path, readonly=True) as record:
        totals = record.totals()
    return sum(total.calls for total in totals), sum(total.failures for total in totals)


@pytest.fixture(scope="module")
def answerer() -> StandIn:
    return StandIn()


@pytest.fixture(scope="module")
def server(answerer):
    with running(ServerConfig(answerer, api_key=KEY)) as found:
        yield found


@pytest.fixture(scope="module")
def live(server, tmp_path_factory) -> Run:
    return whole(server, tmp_path_factory.mktemp("live"), "noise=low", *KEYED, key=KEY)


# --- the record -------------------------------------------------------------------------


def test_each_call_is_made_once_and_recorded(live):
    answers, failures = on_record(live.record)
    assert live.stats == {"requests": answers, "answered": answers, "spoiled": 0, "refused": 0, "abandoned": 0, "answered_again": 0}
    assert answers > 500 and failures == 0


def test_models_worded_the_talks_and_the_manifest_says_so(live):
    manifest = json.loads((live.folder / "manifest.json").read_text())
    assert manifest["passed"]
    assert manifest["words"]["try 1"] > 0.95 * sum(manifest["words"].values())
    notes = pq.read_table(live.folder / "gold/annotations").to_pylist()
    worded = {note["turn_id"] for note in notes if note["speaker"] == "llm"}
    assert len(worded) == sum(count for name, count in manifest["words"].items() if name.startswith("try "))
    assert {note["speaker"] for note in notes if note["noise_kind"]} == {"embedded"}


def test_a_replay_writes_the_same_bytes_and_sends_nothing(live, server, tmp_path):
    replay = whole(server, tmp_path, "noise=low", "model.mode=replay", f"model.record={live.record}", *KEYED)
    assert replay.files() == live.files() != {}
    assert hashes(replay.folder) == hashes(live.folder)
    assert replay.stats["requests"] == 0
    assert [path.name for path in tmp_path.iterdir()] == [replay.folder.name]


def test_another_noise_level_asks_nothing_anew(live, server, tmp_path):
    answers = on_record(live.record)
    noisier = whole(server, tmp_path, "noise=high", f"model.record={live.record}", *KEYED, key=KEY)
    assert noisier.stats["requests"] == 0
    assert on_record(live.record) == answers
    clean, other = (json.loads((r.folder / "manifest.json").read_text()) for r in (live, noisier))
    assert clean["words"] == other["words"] and clean["run_id"] != other["run_id"]


def test_a_planted_key_is_in_no_file_and_nothing_printed(live):
    out = live.record.parent
    paths = [path for path in sorted(out.rglob("*")) if path.is_file()]
    assert live.record in paths and len(paths) > 8
    assert [path for path in paths if KEY.encode() in path.read_bytes()] == []
    unpacked = [json.dumps(row, default=str) for path in paths if path.suffix == ".parquet" for row in pq.read_table(path).to_pylist()]
    with CallRecord.open(live.record, readonly=True) as record:
        unpacked += [f"{row.request} {row.reply}" for row in record.rows()]
    assert [text for text in [*unpacked, live.printed] if KEY in text or VARIABLE in text] == []


# --- faults, kills, budgets ---------------------------------------------------------------


@dataclass(frozen=True)
class Interrupted:
    """A run that a budget stopped, that went on with a higher one until it was killed, and then went on to its end.

    Attributes:
        stopped: How it ended for want of a budget.
        spent: Tokens on record then.
        kept: Answers on record, at the budget's stop and at the kill.
        at_kill: The server's counters once the killed run's requests were over.
        resumed: The run at its end.
    """

    stopped: subprocess.CompletedProcess[str]
    spent: int
    kept: tuple[int, int]
    at_kill: dict[str, Any]
    resumed: Run


@pytest.fixture(scope="module")
def interrupted(answerer, aside, tmp_path_factory) -> Interrupted:
    out = tmp_path_factory.mktemp("interrupted")
    record, arguments = out / "calls.sqlite", ("noise=low", f"model.concurrency={FLIGHT}")
    with running(ServerConfig(answerer, latency=0.01, jitter=0.02)) as slow:
        stopped = run(slow.base_url, out, *arguments, f"model.budget.tokens={BUDGET}")
        with CallRecord.open(record, readonly=True) as opened:
            spent = sum(total.prompt_tokens + total.completion_tokens for total in opened.totals())
        at_stop = on_record(record)[0]
        more = command(slow.base_url, out, *arguments, "model.budget.tokens=50000000")
        process = subprocess.Popen(more, env=environment(None), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: slow.stats()["answered"] >= at_stop + 300, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        until(lambda: slow.stats()["in_flight"] == 0)
        at_kill, kept = slow.stats(), on_record(record)[0]
        return Interrupted(stopped, spent, (at_stop, kept), at_kill, whole(slow, out, *arguments))


def until(holds, process: subprocess.Popen[bytes] | None = None) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end and (process is None or process.poll() is None)
        time.sleep(0.005)


def test_a_budget_stops_a_run_before_it_is_passed(interrupted):
    stopped = interrupted.stopped
    assert (stopped.returncode, stopped.stdout) == (1, "")
    assert f"budget.tokens of {BUDGET:,}" in stopped.stderr and "raise it and run again" in stopped.stderr and "Traceback" not in stopped.stderr
    assert BUDGET / 2 < interrupted.spent <= BUDGET and interrupted.kept[0] > 10


def test_with_a_higher_budget_a_run_goes_on_and_loses_only_what_was_in_flight_at_a_kill(interrupted):
    at_stop, kept = interrupted.kept
    lost = interrupted.at_kill["answered"] - kept
    assert at_stop + 300 - FLIGHT <= kept and 0 <= lost <= FLIGHT
    assert interrupted.at_kill["requests"] - kept <= FLIGHT
    assert interrupted.resumed.stats["answered_again"] == lost


def test_a_stopped_and_killed_run_ends_with_the_same_bytes(live, interrupted):
    assert interrupted.resumed.files() == live.files()
    answers, _ = on_record(interrupted.resumed.record)
    assert answers == on_record(live.record)[0] == interrupted.kept[1] + interrupted.resumed.stats["requests"]
    with CallRecord.open(interrupted.resumed.record, readonly=True) as record:
        assert {attempt.kind for attempt in record.attempts()} <= {"budget"}


def test_a_faulty_server_gives_the_same_bytes_and_every_request_is_accounted_for(live, aside):
    faulty = aside["faulty"].result()
    answers, failures = on_record(faulty.record)
    assert answers + failures == faulty.stats["requests"]
    assert answers == faulty.stats["answered"] and faulty.stats["answered_again"] == 0
    assert failures > 100
    assert faulty.files() == live.files()


# --- bad input ---------------------------------------------------------------------------

MISTAKES: dict[str, tuple[str, ...]] = {
    "no key": (f"the environment variable '{VARIABLE}' is not set", "export it"),
    "wrong key": ("HTTP 401", f"put a valid key into the environment variable {VARIABLE}"),
    "key wanted": ("HTTP 401", "model.ROLE.key_variable=NAME"),
    "unknown model": ("'stand-in'", "model.model=NAME"),
    "nobody there": ("http://127.0.0.1:", "model.base_url"),
    "web pages": ("http://127.0.0.1:", "model.base_url", "OpenAI-compatible endpoint"),
    "narrow": ("200 tokens", "use a model with a longer context"),
    "old record": ("old.sqlite", "version 99", "model.record=FILE"),
    "missing call": ("empty.sqlite", "holds no call", "model.mode=live", "iba calls explain KEY"),
    "no record": ("calls.sqlite", "model.record=FILE"),
    "no budget": ("budget.tokens", "0"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_one_line_that_names_the_fix(aside, mistake):
    done: subprocess.CompletedProcess[str] = aside[mistake].result()
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert (done.returncode, done.stdout, len(lines)) == (2, "", 1), done.stderr[-3000:]
    assert "Traceback" not in done.stderr and KEY not in done.stderr and WRONG not in done.stderr
    assert [word for word in MISTAKES[mistake] if word not in lines[0]] == [], lines[0]


def test_a_record_of_another_version_is_left_as_it_was(aside, old_record):
    aside["old record"].result()
    assert old_record.read_bytes() == old_record.with_suffix(".copy").read_bytes()


def test_no_call_is_sent_where_none_may_be(aside, unasked):
    for mistake in ("no key", "old record", "missing call", "no record", "no budget"):
        aside[mistake].result()
    assert unasked.stats()["requests"] == 0


@pytest.fixture(scope="module")
def unasked(answerer):
    with running(ServerConfig(answerer)) as found:
        yield found


@pytest.fixture(scope="module")
def old_record(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("old") / "old.sqlite"
    CallRecord.open(path).close()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE meta SET value = '99' WHERE name = 'version'")
    database.close()
    shutil.copy(path, path.with_suffix(".copy"))
    return path


@pytest.fixture(scope="module")
def aside(answerer, server, unasked, old_record, live, tmp_path_factory) -> Iterator[dict[str, Future[Any]]]:
    """The runs that mostly wait or end soon: the one with faults, and beside it, one after the other, those with a mistake."""
    empty = tmp_path_factory.mktemp("empty") / "empty.sqlite"
    CallRecord.open(empty).close()
    with ExitStack() as stack:
        faulty = stack.enter_context(running(ServerConfig(answerer, share=0.2, seed=7, retry_after=0.0, drip=0.05)))
        picky = stack.enter_context(running(ServerConfig(answerer, models=("other",))))
        narrow = stack.enter_context(running(ServerConfig(answerer, context_window=200)))
        pages, nobody = stack.enter_context(web_pages()), stack.enter_context(no_server())
        pool = stack.enter_context(ThreadPoolExecutor(2))

        def mistaken(name: str, base_url: str, *arguments: str, key: str | None = None) -> Future[Any]:
            return pool.submit(run, base_url, tmp_path_factory.mktemp(name.replace(" ", "_")), *arguments, key=key, size=ONE)

        yield {
            "faulty": pool.submit(whole, faulty, tmp_path_factory.mktemp("faulty"), "noise=low"),
            "no key": mistaken("no key", unasked.base_url, *KEYED),
            "wrong key": mistaken("wrong key", server.base_url, *KEYED, key=WRONG),
            "key wanted": mistaken("key wanted", server.base_url),
            "unknown model": mistaken("unknown model", picky.base_url),
            "nobody there": mistaken("nobody there", nobody),
            "web pages": mistaken("web pages", pages),
            "narrow": mistaken("narrow", narrow.base_url),
            "old record": mistaken("old record", unasked.base_url, f"model.record={old_record}"),
            "missing call": mistaken("missing call", unasked.base_url, "model.mode=replay", f"model.record={empty}"),
            "no record": mistaken("no record", unasked.base_url, "model.mode=replay"),
            "no budget": mistaken("no budget", unasked.base_url, "model.budget.tokens=0"),
        }


@contextmanager
def no_server() -> Iterator[str]:
    """Hold a port on which nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}/v1"


@contextmanager
def web_pages() -> Iterator[str]:
    """Serve a web page, whatever is asked."""

    class Page(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = b"<!doctype html><html><body><h1>It works!</h1></body></html>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    pages = HTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=pages.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{pages.server_port}/v1"
    finally:
        pages.shutdown()
        thread.join()
        pages.server_close()
