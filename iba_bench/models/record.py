"""Every model call on disk: one row a request, never changed once it holds an answer, and every attempt that ended badly beside it.

SQLite in WAL mode, each answer committed before anyone sees it. Against kill -9 nothing is lost, for the system holds what was committed. At a loss of power
the last answers may be missing (``synchronous=NORMAL`` does not wait for the disk), never half there: they are asked for again. Waiting for the disk would
cost some milliseconds an answer, which at a thousand calls in flight is most of the time.

Several processes may share a record. Writers wait for each other; a claim keeps two processes from asking the same at once.
"""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iba_bench.errors import UserError
from iba_bench.models.reply import CallFailed, Reply, ToolCall, Usage
from iba_bench.models.request import Request

RECORD_VERSION = 1
PATIENCE = 60.0  # seconds that a writer waits for others
_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE calls (
    number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, run TEXT NOT NULL, role TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,
    request BLOB NOT NULL, reply TEXT NOT NULL, prompt INTEGER NOT NULL, completion INTEGER NOT NULL, counted INTEGER NOT NULL, seconds REAL NOT NULL
);
CREATE TABLE attempts (
    number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, run TEXT NOT NULL, role TEXT NOT NULL, model TEXT NOT NULL, attempt INTEGER NOT NULL, kind TEXT NOT NULL,
    status INTEGER, message TEXT NOT NULL, prompt INTEGER NOT NULL, completion INTEGER NOT NULL, seconds REAL NOT NULL
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
    """An attempt that brought no answer; the tokens are those that the server charged, as far as it said so."""

    key: str
    role: str
    attempt: int
    kind: str
    status: int | None
    message: str
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

    @classmethod
    def open(cls, path: Path, *, run: str = "", readonly: bool = False) -> CallRecord:
        """Open a record, and make it where there is none; calls asked from now on are put down to ``run``.

        Raises:
            UserError: it cannot be opened or is none, it is of another version, or there is none to read from.
        """
        if readonly and not path.is_file():
            raise UserError(f"{path}: there is no record of calls to replay; name one with model.record=FILE, or call models with model.mode=live")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            address = f"{path.absolute().as_uri()}?mode={'ro' if readonly else 'rwc'}"
            database = sqlite3.connect(address, uri=True, isolation_level=None, timeout=PATIENCE)
            if not readonly:
                database.execute("PRAGMA journal_mode=WAL")
                database.execute("PRAGMA synchronous=NORMAL")
                _prepare(database)
            _check_version(path, database)
        except (sqlite3.Error, OSError) as error:
            raise UserError(f"{path}: cannot be opened as a record of calls ({error}); name another file with model.record=FILE") from None
        return cls(path, database, run)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    # --- answers ------------------------------------------------------------------

    def find(self, key: str) -> Reply | None:
        """Return the answer to a request, or None."""
        row = self._database.execute("SELECT reply FROM calls WHERE key = ?", (key,)).fetchone()
        return None if row is None else _reply(row[0])

    def put(self, request: Request, role: str, reply: Reply, seconds: float) -> Reply:
        """Record an answer and return the one on record: the first that came, if two were asked for."""
        packed = zlib.compress(request.canonical.encode(), 1)
        key, usage = request.key, reply.usage
        row = (key, self.run, role, request.provider, request.model, packed, _packed(reply), usage.prompt, usage.completion, usage.counted, seconds)
        made = self._database.execute(f"INSERT OR IGNORE INTO calls VALUES (NULL{', ?' * len(row)})", row)
        if made.rowcount:
            return reply
        first = self.find(key)
        assert first is not None
        return first

    def fail(self, request: Request, role: str, failure: CallFailed, attempt: int, seconds: float) -> None:
        """Record an attempt that brought no answer."""
        used = failure.usage or Usage(0, 0)
        row = (request.key, self.run, role, request.model, attempt, failure.kind, failure.status, failure.message, used.prompt, used.completion, seconds)
        self._database.execute(f"INSERT INTO attempts VALUES (NULL{', ?' * len(row)})", row)

    # --- who is asking ------------------------------------------------------------

    def claim(self, key: str, owner: str, lease: float) -> bool:
        """Claim a request for ``lease`` seconds; False while another owner's claim holds."""
        now = time.time()
        self._database.execute(
            "INSERT INTO claims VALUES (?1, ?2, ?3) ON CONFLICT (key) DO UPDATE SET owner = ?2, until = ?3 WHERE owner = ?2 OR until < ?4",
            (key, owner, now + lease, now),
        )
        row = self._database.execute("SELECT owner FROM claims WHERE key = ?", (key,)).fetchone()
        return row is not None and row[0] == owner

    def release(self, key: str, owner: str) -> None:
        """Give a claim back."""
        self._database.execute("DELETE FROM claims WHERE key = ? AND owner = ?", (key, owner))

    # --- reading ------------------------------------------------------------------

    def rows(self, prefix: str = "") -> Iterator[Recorded]:
        """Yield the answered calls whose key begins with ``prefix``, by key."""
        found = self._database.execute(
            "SELECT number, key, role, request, reply, seconds FROM calls WHERE substr(key, 1, ?) = ? ORDER BY key", (len(prefix), prefix)
        )
        for number, key, role, request, reply, seconds in found:
            yield Recorded(number, key, role, json.loads(zlib.decompress(request)), _reply(reply), seconds)

    def attempts(self, prefix: str = "") -> list[Attempt]:
        """Return the failed attempts at calls whose key begins with ``prefix``, in order."""
        columns = "key, role, attempt, kind, status, message, seconds"
        found = self._database.execute(f"SELECT {columns} FROM attempts WHERE substr(key, 1, ?) = ? ORDER BY number", (len(prefix), prefix))
        return [Attempt(*row) for row in found]

    def totals(self, run: str | None = None) -> list[Totals]:
        """Return what was used, by role and model; by one run, or by all."""
        query = "SELECT role, model, COUNT(*), SUM(prompt), SUM(completion), {} SUM(seconds) FROM {} WHERE run = ?1 OR ?1 IS NULL GROUP BY role, model"
        done = {row[:2]: row for row in self._database.execute(query.format("SUM(counted),", "calls"), (run,))}
        lost = {row[:2]: row for row in self._database.execute(query.format("", "attempts"), (run,))}
        out = []
        for key in sorted({*done, *lost}):
            calls = done.get(key, (*key, 0, 0, 0, 0, 0.0))
            out.append(Totals(*calls, *lost.get(key, (*key, 0, 0, 0, 0.0))[2:5]))
        return out


def _prepare(database: sqlite3.Connection) -> None:
    """Make the tables in an empty file; of several processes one does."""
    database.execute("BEGIN IMMEDIATE")
    try:
        if not database.execute("SELECT 1 FROM sqlite_master").fetchone():
            for statement in filter(str.strip, _SCHEMA.split(";")):
                database.execute(statement)
            database.execute("INSERT INTO meta VALUES ('version', ?)", (str(RECORD_VERSION),))
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise


def _check_version(path: Path, database: sqlite3.Connection) -> None:
    try:
        found = database.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()
    except sqlite3.OperationalError:
        found = None
    if found is None:
        raise UserError(f"{path}: this database is no record of calls; name another file with model.record=FILE")
    if found[0] != str(RECORD_VERSION):
        raise UserError(
            f"{path}: the record is of version {found[0]}, this iba-bench reads version {RECORD_VERSION}; "
            "use the iba-bench that made it, or start a new record with model.record=FILE"
        )


def _packed(reply: Reply) -> str:
    calls = [[call.id, call.name, call.arguments] for call in reply.tool_calls]
    return json.dumps([reply.content, calls, reply.finish, [reply.usage.prompt, reply.usage.completion, reply.usage.counted], reply.thought])


def _reply(text: str) -> Reply:
    content, calls, finish, usage, thought = json.loads(text)
    return Reply(content, tuple(ToolCall(*call) for call in calls), finish, Usage(*usage), thought)
