"""Every model call on disk: one row a request, never changed once it holds an answer, and every attempt that ended badly beside it.

SQLite in WAL mode, each answer committed before anyone sees it. Against kill -9 nothing is lost: a commit is in the system's page cache, which
outlives the process. At a loss of power an answer may be missing, never half there, and is asked for again: a commit waits for the disk only where
`SYNC_EVERY` has passed since the last that did. That one syncs the whole log, whoever wrote it, so at stake are the answers of the last quarter
second of writing. To wait each time would lose none, but costs 0.2 to 4 ms an answer on a good disk, in the event loop of all calls in flight.
Processes of one machine may share a record. Writers wait for each other; a claim keeps two processes from asking the same at once.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iba_bench.errors import UserError
from iba_bench.models.reply import CallFailed, Reply, ToolCall, Usage
from iba_bench.models.request import Request

RECORD_VERSION = 1
PATIENCE, SYNC_EVERY = 60.0, 0.25  # seconds that a writer waits for others; between commits that wait for the disk
MOST_TOKENS = 1 << 40  # SQLite sums in 64 bits; a server may claim anything
_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE calls (
    number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, run TEXT NOT NULL, role TEXT NOT NULL, provider TEXT NOT NULL,
    model TEXT NOT NULL, request BLOB NOT NULL, reply TEXT NOT NULL, prompt INTEGER NOT NULL, completion INTEGER NOT NULL, counted INTEGER NOT NULL,
    seconds REAL NOT NULL
);
CREATE TABLE attempts (
    number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, run TEXT NOT NULL, role TEXT NOT NULL, model TEXT NOT NULL, attempt INTEGER NOT NULL,
    kind TEXT NOT NULL, status INTEGER, message TEXT NOT NULL, prompt INTEGER NOT NULL, completion INTEGER NOT NULL, seconds REAL NOT NULL
);
CREATE INDEX attempts_by_key ON attempts (key);
CREATE TABLE claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL, until REAL NOT NULL) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An answered call as it stands on record; ``number`` counts answers in the order in which they came."""

    number: int
    key: str
    role: str
    request: dict[str, Any]
    reply: Reply
    seconds: float


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt that brought no answer; the tokens are those that the server charged, 0 where it did not say."""

    key: str
    role: str
    attempt: int
    kind: str
    status: int | None
    message: str
    prompt_tokens: int
    completion_tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Totals:
    """What a role used of a model: answers and their tokens, attempts that failed and what they were charged."""

    role: str
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    counted_calls: int
    seconds: float
    failures: int = 0
    failed_prompt_tokens: int = 0
    failed_completion_tokens: int = 0


class CallRecord(AbstractContextManager["CallRecord"]):
    """The record in one file. Open it with `CallRecord.open`; one object a process and thread."""

    def __init__(self, path: Path, database: sqlite3.Connection, run: str) -> None:
        self.path, self._database, self.run = path, database, run
        self._synced = float("-inf")

    @classmethod
    def open(cls, path: Path, *, run: str = "", readonly: bool = False) -> CallRecord:
        """Open a record, and make it where there is none; calls asked from now on are put down to ``run``.

        Raises:
            UserError: it cannot be opened or is none, it is of another version, or there is none to read from.
        """
        if readonly and not path.is_file():
            raise UserError(f"{path}: there is no record of calls to replay; name one with model.record=FILE, or call models with model.mode=live")
        try:
            database = _connected(path, readonly)
        except (sqlite3.Error, OSError) as error:
            raise UserError(f"{path}: cannot be opened as a record of calls ({error}); name another file with model.record=FILE") from None
        return cls(path, database, run)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def find(self, key: str) -> Reply | None:
        """Return the answer to a request, or None."""
        row = self._database.execute("SELECT reply FROM calls WHERE key = ?", (key,)).fetchone()
        return None if row is None else _reply(row[0])

    def put(self, request: Request, role: str, reply: Reply, seconds: float) -> Reply:
        """Record an answer and return the one on record: the first that came, if two were asked for."""
        packed = zlib.compress(request.canonical.encode(), 1)
        prompt, completion = _tokens(reply.usage)
        row = (request.key, self.run, role, request.provider, request.model, packed, _packed(reply), prompt, completion, reply.usage.counted, seconds)
        made = self._written(f"INSERT INTO calls VALUES (NULL{', ?' * len(row)}) ON CONFLICT (key) DO NOTHING", row)
        return reply if made else self.find(request.key) or reply

    def fail(self, request: Request, role: str, failure: CallFailed, attempt: int, seconds: float) -> None:
        """Record an attempt that brought no answer."""
        message = failure.message.encode(errors="replace").decode()  # half a surrogate pair: JSON may hold it, a file may not
        prompt, completion = _tokens(failure.usage or Usage(0, 0))
        row = (request.key, self.run, role, request.model, attempt, failure.kind, failure.status, message, prompt, completion, seconds)
        self._written(f"INSERT INTO attempts VALUES (NULL{', ?' * len(row)})", row)

    def _written(self, statement: str, row: tuple[Any, ...]) -> bool:
        """Commit a row, and wait until the disk holds the log if none did so lately; return whether there was no such row."""
        waits = time.monotonic() - self._synced >= SYNC_EVERY
        if waits:
            self._database.execute("PRAGMA synchronous=FULL")
        made = self._database.execute(statement, row).rowcount
        if waits:
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._synced = time.monotonic()
        return made > 0

    def claim(self, key: str, owner: str, lease: float) -> bool:
        """Claim a request for ``lease`` seconds; False while another owner's claim holds."""
        now = time.time()  # not monotonic: a claim may outlive the machine's uptime
        taken = "ON CONFLICT (key) DO UPDATE SET owner = ?2, until = ?3 WHERE owner = ?2 OR until < ?4"
        return self._database.execute(f"INSERT INTO claims VALUES (?1, ?2, ?3) {taken}", (key, owner, now + lease, now)).rowcount == 1

    def drop_claims(self, alive: Callable[[str], bool]) -> None:
        """Give back the claims of owners that are gone."""
        for (owner,) in self._database.execute("SELECT DISTINCT owner FROM claims ORDER BY owner").fetchall():
            if not alive(owner):
                self._database.execute("DELETE FROM claims WHERE owner = ?", (owner,))

    def release(self, key: str, owner: str) -> None:
        """Give a claim back."""
        self._database.execute("DELETE FROM claims WHERE key = ? AND owner = ?", (key, owner))

    def keys(self, prefix: str = "") -> list[str]:
        """Return the keys that begin with ``prefix``, in order, of calls that were answered or only failed."""
        query = "SELECT key FROM (SELECT key FROM calls UNION SELECT key FROM attempts) WHERE key BETWEEN ?1 AND ?1 || 'g' ORDER BY key"
        return [key for (key,) in self._database.execute(query, (prefix,))]

    def rows(self, prefix: str = "") -> Iterator[Recorded]:
        """Yield the answered calls whose key begins with ``prefix``, by key."""
        columns = "number, key, role, request, reply, seconds"
        found = self._database.execute(f"SELECT {columns} FROM calls WHERE key BETWEEN ?1 AND ?1 || 'g' ORDER BY key", (prefix,))
        for number, key, role, request, reply, seconds in found:
            yield Recorded(number, key, role, json.loads(zlib.decompress(request)), _reply(reply), seconds)

    def attempts(self, prefix: str = "") -> list[Attempt]:
        """Return the failed attempts at calls whose key begins with ``prefix``, in order."""
        columns = "key, role, attempt, kind, status, message, prompt, completion, seconds"
        found = self._database.execute(f"SELECT {columns} FROM attempts WHERE key BETWEEN ?1 AND ?1 || 'g' ORDER BY number", (prefix,))
        return [Attempt(*row) for row in found]

    def totals(self, run: str | None = None) -> list[Totals]:
        """Return what was used, by role and model; by one run, or by all."""
        sums = "SELECT role, model, COUNT(*), SUM(prompt), SUM(completion), {} SUM(seconds) FROM {} WHERE run = IFNULL(?1, run) GROUP BY role, model"
        done = {row[:2]: row for row in self._database.execute(sums.format("SUM(counted),", "calls"), (run,))}
        lost = {row[:2]: row for row in self._database.execute(sums.format("", "attempts"), (run,))}
        none = 0, 0, 0, 0, 0.0
        return [Totals(*done.get(key, (*key, *none)), *lost.get(key, (*key, *none))[2:5]) for key in sorted({*done, *lost})]


def _connected(path: Path, readonly: bool) -> sqlite3.Connection:
    """Return a connection to a record; a file that is none stays as it was."""
    if not readonly:
        path.parent.mkdir(parents=True, exist_ok=True)
    # Where nobody can write, there is nobody to look out for, nor a place for the files by which processes do so.
    still = readonly and not os.access(path.parent, os.W_OK) and not path.with_name(path.name + "-wal").exists()
    mode = f"ro&immutable={still:d}" if readonly else "rwc"
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=PATIENCE)
    try:
        if not readonly:
            _prepare(database)
        _check_version(path, database)
        if not readonly:
            _use_log(database)
    except BaseException:
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection) -> None:
    """Make the tables in an empty file; of several processes one does."""
    with database:
        database.execute("BEGIN IMMEDIATE")
        if not database.execute("SELECT 1 FROM sqlite_master").fetchone():
            for statement in filter(str.strip, _SCHEMA.split(";")):
                database.execute(statement)
            database.execute("INSERT INTO meta VALUES ('version', ?)", (str(RECORD_VERSION),))


def _use_log(database: sqlite3.Connection) -> None:
    """Switch to WAL, for which SQLite gives up at once where others open the file too."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            database.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(0.005)


def _check_version(path: Path, database: sqlite3.Connection) -> None:
    told = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone()
    found = told and database.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()
    if not found:
        raise UserError(f"{path}: this database is no record of calls; name another file with model.record=FILE")
    if found[0] != str(RECORD_VERSION):
        fix = "use the iba-bench that made it, or start a new record with model.record=FILE"
        raise UserError(f"{path}: the record is of version {found[0]}, this iba-bench reads version {RECORD_VERSION}; {fix}")


def _tokens(usage: Usage) -> tuple[int, int]:
    return max(0, min(usage.prompt, MOST_TOKENS)), max(0, min(usage.completion, MOST_TOKENS))


def _packed(reply: Reply) -> str:
    calls = [[call.id, call.name, call.arguments] for call in reply.tool_calls]
    return json.dumps([reply.content, calls, reply.finish, [reply.usage.prompt, reply.usage.completion, reply.usage.counted], reply.thought])


def _reply(text: str) -> Reply:
    content, calls, finish, usage, thought = json.loads(text)
    return Reply(content, tuple(ToolCall(*call) for call in calls), finish, Usage(*usage), thought)
