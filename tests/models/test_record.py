import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from iba_bench.errors import UserError
from iba_bench.models import record as module
from iba_bench.models.record import Attempt, CallRecord, Recorded, Totals
from iba_bench.models.reply import CallFailed, Reply, ToolCall, Usage
from iba_bench.models.request import Request

ANSWER = Reply("Zürich \ud83d, \u5317\u4eac", (ToolCall("c1", "book", '{"day": "1"}'),), "tool_calls", Usage(11, 7, True), "Hm.\x00")
COMMON = """
import sys, time
from pathlib import Path
from iba_bench.models.record import CallRecord
from iba_bench.models.reply import CallFailed, Reply, Usage
from iba_bench.models.request import Request
name, path = sys.argv[1], Path(sys.argv[2])
def ask(n): return Request("openai", "", "tiny", ({"role": "user", "content": f"{n}"},))
def say(*words): print(*words, flush=True)
def answer(n): return Reply(f"{n} by {name}", (), "stop", Usage(1, 1))
"""


def ask(text="Hello", model="tiny"):
    return Request("openai", "", model, ({"role": "user", "content": f"{text}"},), {"temperature": 0.7})


def plain(text, prompt=10, completion=2):
    return Reply(text, (), "stop", Usage(prompt, completion))


@pytest.fixture
def record(tmp_path):
    with CallRecord.open(tmp_path / "calls.sqlite", run="r1") as opened:
        yield opened


@pytest.fixture
def spawn(tmp_path):
    """Start processes that share a record: ``spawn(program, name)``; those still running at the end are killed."""
    started = []

    def start(program, name="p", path=tmp_path / "calls.sqlite"):
        command = [sys.executable, "-c", COMMON + program, name, str(path)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def ended(processes):
    """Return what the processes wrote; all of them must have ended well."""
    outputs = [process.communicate(timeout=60) for process in processes]
    assert [(process.returncode, error) for process, (_, error) in zip(processes, outputs, strict=True)] == [(0, "")] * len(processes)
    return [output.split("\n")[:-1] for output, _ in outputs]


def test_an_answer_comes_back_as_it_was_put(record):
    assert record.find(ask().key) is None
    assert record.put(ask(), "user", ANSWER, 1.5) == ANSWER
    with CallRecord.open(record.path, readonly=True) as other:
        assert other.find(ask().key) == ANSWER
        assert list(other.rows()) == [Recorded(1, ask().key, "user", ask().parts(), ANSWER, 1.5)]


def test_the_first_answer_stays_whoever_asks_again(record):
    record.put(ask(), "user", plain("first"), 1.0)
    with CallRecord.open(record.path, run="r2") as other:
        assert other.put(ask(), "checker", plain("second", 99), 2.0) == plain("first")
    assert list(record.rows()) == [Recorded(1, ask().key, "user", ask().parts(), plain("first"), 1.0)]


def test_rows_come_by_key_and_are_numbered_in_the_order_of_answers(record):
    for number in range(20):
        record.put(ask(number), "user", plain(str(number)), 0.0)
    rows = list(record.rows())
    assert [row.key for row in rows] == sorted(ask(number).key for number in range(20)) == record.keys()
    assert {row.number: row.reply.content for row in rows} == {number + 1: str(number) for number in range(20)}
    assert [row.key for row in record.rows(rows[3].key[:9])] == [rows[3].key] == record.keys(rows[3].key)


def test_every_failed_attempt_is_kept_also_beside_an_answer(record):
    record.fail(ask(), "user", CallFailed("rate_limit", "slow down", 429, 3.0), 0, 0.5)
    record.fail(ask(), "user", CallFailed("truncated", "cut off", 200, usage=Usage(8, 4)), 1, 0.25)
    record.put(ask(), "user", plain("at last"), 1.0)
    record.fail(ask("other"), "checker", CallFailed("connection", "reset"), 0, 0.0)
    first = Attempt(ask().key, "user", 0, "rate_limit", 429, "slow down", 0, 0, 0.5)
    second = Attempt(ask().key, "user", 1, "truncated", 200, "cut off", 8, 4, 0.25)
    third = Attempt(ask("other").key, "checker", 0, "connection", None, "reset", 0, 0, 0.0)
    assert record.attempts() == [first, second, third]
    assert record.attempts(ask().key) == [first, second]
    assert record.keys() == sorted([ask().key, ask("other").key])


def test_totals_count_answers_and_failures_by_role_and_model_of_one_run_or_all(record):
    record.put(ask(1), "user", plain("a", 100, 10), 1.0)
    record.put(ask(2), "user", Reply("b", (), "stop", Usage(50, 5, counted=True)), 0.5)
    record.put(ask(3, "big"), "user", plain("c", 7, 3), 0.25)
    record.fail(ask(4), "checker", CallFailed("empty", "nothing", usage=Usage(30, 0)), 0, 9.0)
    record.fail(ask(1), "user", CallFailed("server", "oops", 500), 0, 9.0)
    with CallRecord.open(record.path, run="r2") as other:
        other.put(ask(5), "user", plain("d", 1, 1), 2.0)
        other.put(ask(1), "user", plain("not the first", 1, 1), 2.0)
    checker = Totals("checker", "tiny", 0, 0, 0, 0, 0.0, 1, 30, 0)
    big = Totals("user", "big", 1, 7, 3, 0, 0.25)
    assert record.totals("r1") == [checker, big, Totals("user", "tiny", 2, 150, 15, 1, 1.5, 1)]
    assert record.totals("r2") == [Totals("user", "tiny", 1, 1, 1, 0, 2.0)]
    assert record.totals() == [checker, big, Totals("user", "tiny", 3, 151, 16, 1, 3.5, 1)]
    assert record.totals("r3") == []


def test_what_a_server_makes_up_cannot_stop_the_record(record):
    absurd = Usage(10**30, -(10**30))
    for number in range(3):
        record.put(ask(number), "user", Reply("", (), "stop", absurd), 0.0)
        record.fail(ask(number), "user", CallFailed("malformed", "half a pair: \ud83d", usage=absurd), 0, 0.0)
    assert record.find(ask(0).key) == Reply("", (), "stop", absurd)
    most = 3 * module.MOST_TOKENS
    assert record.totals() == [Totals("user", "tiny", 3, most, 0, 0, 0.0, 3, most, 0)]
    assert record.attempts()[0].message == "half a pair: ?"


def test_a_process_killed_at_any_moment_loses_no_answer_that_it_was_given(spawn, tmp_path):
    program = """
with CallRecord.open(path) as record:
    for n in range(10**6):
        record.put(ask(n), "user", answer(n), 0.0); record.fail(ask(n), "user", CallFailed("server", "late"), 0, 0.0); say(ask(n).key)
"""
    process = spawn(program)
    seen = [process.stdout.readline().strip() for _ in range(500)]
    process.send_signal(signal.SIGKILL)
    seen += process.stdout.read().split("\n")[:-1]
    assert process.wait() == -signal.SIGKILL
    with CallRecord.open(tmp_path / "calls.sqlite") as record:
        assert [key for key in seen if record.find(key) is None] == []
        failed = {attempt.key for attempt in record.attempts()}
        assert [key for key in seen if key not in failed] == []
        assert len(record.keys()) - len(seen) in (0, 1)


def test_four_processes_write_at_once_without_an_error_and_agree_on_each_answer(spawn, tmp_path):
    program = """
with CallRecord.open(path, run=name) as record:
    sys.stdin.readline()
    for n in range(250):
        assert record.claim(f"{name} {n}", name, 9.0)
        record.fail(ask(n), "user", CallFailed("server", "oops", 500), 0, 0.0)
        say(record.put(ask(n), "user", answer(n), 0.0).content)
        record.release(f"{name} {n}", name)
"""
    processes = [spawn(program, f"p{number}") for number in range(4)]
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    one, *others = ended(processes)
    assert others == [one] * 3
    with CallRecord.open(tmp_path / "calls.sqlite", readonly=True) as record:
        assert sorted(row.reply.content for row in record.rows()) == sorted(one)
        assert sum(total.calls for total in record.totals()) == 250
        assert sum(total.failures for total in record.totals()) == 1000


def test_processes_that_open_a_new_record_at_once_all_get_it(spawn, tmp_path):
    program = """
for line in sys.stdin:
    with CallRecord.open(path / line.strip()) as record:
        record.put(ask(name), "user", answer(name), 0.0)
    say("done")
"""
    processes = [spawn(program, f"p{number}", tmp_path) for number in range(4)]
    for number in range(60):
        for process in processes:
            process.stdin.write(f"{number}.sqlite\n")
            process.stdin.flush()
        if [process.stdout.readline() for process in processes] != ["done\n"] * 4:
            break
    ended(processes)
    for number in range(60):
        with CallRecord.open(tmp_path / f"{number}.sqlite", readonly=True) as record:
            assert len(record.keys()) == 4


def test_a_claim_holds_until_it_is_given_back_or_its_lease_ends(record, monkeypatch):
    now = 1000.0
    monkeypatch.setattr(module.time, "time", lambda: now)
    with CallRecord.open(record.path) as other:
        assert record.claim("k", "a", 10.0)
        assert not other.claim("k", "b", 10.0)
        assert other.claim("another", "b", 10.0)
        now = 1009.0
        assert record.claim("k", "a", 10.0)  # renewed until 1019
        now = 1019.0
        assert not other.claim("k", "b", 10.0)
        now = 1019.1
        assert other.claim("k", "b", 10.0)
        assert not record.claim("k", "a", 10.0)
        record.release("k", "a")  # no longer a's to give back
        assert not record.claim("k", "a", 10.0)
        other.release("k", "b")
        assert record.claim("k", "a", 10.0)


def test_what_a_killed_process_was_asking_is_asked_by_another_and_nothing_else_twice(spawn, tmp_path):
    program = """
with CallRecord.open(path) as record:
    for n in range(30):
        key = ask(n).key
        while not record.claim(key, name, 3.0):
            time.sleep(0.01)
        if record.find(key) is None:
            say(n)
            if name == "dies" and n == 4:
                time.sleep(600)
            time.sleep(0.005)
            record.put(ask(n), "user", answer(n), 0.0)
        record.release(key, name)
"""
    dies = spawn(program, "dies")
    asked = []
    while asked[-1:] != ["4"]:
        asked.append(dies.stdout.readline().strip())
    others = [spawn(program, f"p{number}") for number in range(3)]
    dies.send_signal(signal.SIGKILL)
    dies.wait()
    asked += [number for output in ended(others) for number in output]
    assert sorted(asked, key=int) == sorted([*map(str, range(30)), "4"], key=int)
    with CallRecord.open(tmp_path / "calls.sqlite", readonly=True) as record:
        assert len(record.keys()) == 30


def test_a_commit_waits_for_the_disk_once_in_a_while(record, monkeypatch):
    now, statements = 50.0, []
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    record._database.set_trace_callback(lambda statement: statements.append(" ".join(statement.split()[:3])))
    for now in (50.0, 50.1, 50.24, 50.25, 50.3):
        record.put(ask(now), "user", plain(""), 0.0)
    insert, waiting = ["INSERT INTO calls"], ["PRAGMA synchronous=FULL", "INSERT INTO calls", "PRAGMA synchronous=NORMAL"]
    statements = [statement for statement in statements if not statement.startswith("SELECT")]
    assert statements == [*waiting, *insert, *insert, *waiting, *insert]
    assert record._database.execute("PRAGMA synchronous").fetchone() == (1,)


def test_a_record_to_replay_must_exist(tmp_path):
    path = tmp_path / "no" / "calls.sqlite"
    with pytest.raises(UserError) as error:
        CallRecord.open(path, readonly=True)
    assert str(error.value) == f"{path}: there is no record of calls to replay; name one with model.record=FILE, or call models with model.mode=live"
    assert not path.parent.exists()


@pytest.mark.parametrize("readonly", [True, False])
def test_a_record_of_another_version_is_refused(tmp_path, readonly):
    path = tmp_path / "calls.sqlite"
    CallRecord.open(path).close()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE meta SET value = '7'")
    database.close()
    with pytest.raises(UserError) as error:
        CallRecord.open(path, readonly=readonly)
    fix = "use the iba-bench that made it, or start a new record with model.record=FILE"
    assert str(error.value) == f"{path}: the record is of version 7, this iba-bench reads version 1; {fix}"


def foreign(statement):
    def make(path: Path):
        database = sqlite3.connect(path)
        database.execute(statement)
        database.commit()
        database.close()

    return make


@pytest.mark.parametrize("readonly", [True, False])
@pytest.mark.parametrize(
    "make, told",
    [
        (lambda path: path.write_text("name,value\n" * 200), "cannot be opened as a record of calls (file is not a database)"),
        (foreign("CREATE TABLE notes (words TEXT)"), "this database is no record of calls"),
        (foreign("CREATE TABLE meta (name TEXT, value TEXT)"), "this database is no record of calls"),
        (foreign("CREATE TABLE meta (other TEXT)"), "cannot be opened as a record of calls (no such column: value)"),
    ],
)
def test_a_file_that_is_no_record_is_refused_and_left_as_it_was(tmp_path, make, told, readonly):
    path = tmp_path / "calls.sqlite"
    make(path)
    before = path.read_bytes()
    with pytest.raises(UserError) as error:
        CallRecord.open(path, readonly=readonly)
    assert str(error.value) == f"{path}: {told}; name another file with model.record=FILE"
    assert (path.read_bytes(), os.listdir(tmp_path)) == (before, ["calls.sqlite"])


def test_a_file_where_no_file_can_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "calls.sqlite"):
        with pytest.raises(UserError, match=r": cannot be opened as a record of calls \(.*\); name another file with model.record=FILE$"):
            CallRecord.open(path)


def test_a_record_whose_name_means_something_in_an_address_is_opened_as_named(tmp_path):
    path = tmp_path / "a?mode=ro#b%20.sqlite"
    with CallRecord.open(path) as record:
        record.put(ask(), "user", plain("x"), 0.0)
    assert os.listdir(tmp_path) == [path.name]


def test_a_record_to_replay_is_not_written_to(record):
    record.put(ask(), "user", plain("x"), 0.0)
    with CallRecord.open(record.path, readonly=True) as reader:
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader.put(ask("more"), "user", plain("y"), 0.0)
        assert reader.keys() == [ask().key]


def test_a_record_in_a_folder_that_nobody_can_write_to_is_read(tmp_path, monkeypatch):
    path = tmp_path / "calls.sqlite"
    with CallRecord.open(path) as record:
        record.put(ask(), "user", plain("x"), 0.0)
    monkeypatch.setattr(module.os, "access", lambda *_: False)  # whoever runs the tests may be allowed everything
    with CallRecord.open(path, readonly=True) as record:
        assert record.find(ask().key) == plain("x")
        assert os.listdir(tmp_path) == ["calls.sqlite"]


def test_claims_of_owners_that_are_gone_are_given_back_and_others_hold(tmp_path):
    with CallRecord.open(tmp_path / "calls.sqlite") as record:
        assert record.claim("a", "11", 300) and record.claim("b", "12", 300)
        record.drop_claims(lambda owner: owner == "12")
        assert record.claim("a", "13", 300)
        assert not record.claim("b", "13", 300)
