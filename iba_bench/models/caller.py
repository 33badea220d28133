"""The way of a call: record, single flight, budget, pace, transport, retries. The outcome is on record before anyone sees it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

from iba_bench.models.budget import Budget
from iba_bench.models.missed import keep_missed
from iba_bench.models.pace import Pace
from iba_bench.models.record import CallRecord
from iba_bench.models.reply import RETRIED, CallFailed, Reply, Usage
from iba_bench.models.request import Request
from iba_bench.streams import stream
from iba_bench.tokens import count

CUT_OFF_ATTEMPTS = 3  # a longer answer would be cut off again; a server that cuts at random would not
FIRST_ATTEMPTS = 3  # before an endpoint has ever answered, it is more likely to be the wrong one than to be busy
LEASE, LOOK_AGAIN = 300.0, 0.25  # seconds


class Transport(Protocol):
    """Sends one request and returns the model's answer."""

    async def send(self, request: Request, timeout: float) -> Reply:
        """Send; raises `CallFailed` for everything that is no usable answer."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class Caller:
    """Calls one endpoint for one process.

    Args:
        transport: How to reach it; None to answer from the record alone.
        record: The calls made so far, shared with other processes.
        pace: How many calls may be in flight.
        budget: What may be used.
        attempts: Attempts at one call.
        owner: Name of this process, unique among those that share the record.
        alone: Whether no other process uses the record, so that calls need not be claimed.
        clock: Seconds that only grow.
    """

    def __init__(
        self, transport: Transport | None, record: CallRecord, pace: Pace, budget: Budget, *, attempts: int, owner: str, alone: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.transport, self.record, self.pace, self.budget = transport, record, pace, budget
        self.attempts, self.owner, self.alone, self.clock = attempts, owner, alone, clock
        self._flights: dict[str, asyncio.Task[Reply]] = {}
        self._sending: set[asyncio.Task[Reply] | None] = set()
        self._closed = self._met = False

    async def call(self, role: str, request: Request) -> Reply:
        """Return the answer to a request: the recorded one, or the one that a single call brings.

        Raises:
            CallFailed: no attempt brought an answer; every attempt is on record.
        """
        key = request.key
        found = self.record.find(key)
        if found is not None:
            return found
        if self.transport is None:
            keep_missed(self.record.path, request)
            raise CallFailed("not_recorded", f"{self.record.path}: the record holds no call {key[:16]} of role {role}")
        if self._closed:
            raise CallFailed("connection", "the run is ending")
        if key not in self._flights:
            flight = self._flights[key] = asyncio.ensure_future(self._claimed(key, role, request))
            flight.add_done_callback(lambda _: self._flights.pop(key, None))
        return await asyncio.shield(self._flights[key])

    async def finish(self) -> None:
        """Wait for the answers that are under way, which are paid for, and give up the calls that are not sent yet; then let go of connections."""
        self._closed = True
        for flight in list(self._flights.values()):
            if flight not in self._sending:
                flight.cancel()
        await asyncio.gather(*self._flights.values(), return_exceptions=True)
        self._closed = False
        if self.transport is not None:
            await self.transport.close()

    async def _claimed(self, key: str, role: str, request: Request) -> Reply:
        if self.alone:
            return await self._attempt(role, request)
        while not self.record.claim(key, self.owner, LEASE):
            await asyncio.sleep(LOOK_AGAIN)
            if (found := self.record.find(key)) is not None:
                return found
        try:
            return self.record.find(key) or await self._attempt(role, request)
        finally:
            self.record.release(key, self.owner)

    async def _attempt(self, role: str, request: Request) -> Reply:
        """Try until an answer comes, the failure is one that would come again, or the attempts are used up."""
        rng, timed_out, cut_off = stream("back off", self.owner, request.key), 0, 0
        for attempt in range(self.attempts):
            started = self.clock()
            try:
                return await self._once(role, request, timed_out)
            except CallFailed as failure:
                if failure.kind == "budget":  # nothing was sent
                    raise
                self.record.fail(request, role, failure, attempt, self.clock() - started)
                timed_out += failure.kind == "timeout"
                cut_off += failure.kind == "truncated"
                if not self._again(failure, attempt, cut_off):
                    if failure.kind == "connection" and not self._met:
                        raise CallFailed("unreachable", failure.message) from None
                    raise
                wait = self.pace.back_off(attempt, rng) if failure.retry_after is None else 0.0
            if not self.alone:
                self.record.claim(request.key, self.owner, LEASE)
            await asyncio.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _again(self, failure: CallFailed, attempt: int, cut_off: int) -> bool:
        most = self.attempts
        if failure.kind == "truncated" and cut_off >= CUT_OFF_ATTEMPTS:
            return False
        if failure.kind in ("connection", "malformed") and not self._met:
            most = min(self.attempts, FIRST_ATTEMPTS)
        return (failure.kind in RETRIED or failure.kind == "truncated") and attempt + 1 < most

    async def _once(self, role: str, request: Request, timed_out: int) -> Reply:
        assert self.transport is not None
        room = self.budget.reserve(request, expected(request)) if self.budget.limited else None
        used: Usage | None = None
        try:
            async with self.pace.slot():
                started = self.clock()
                self._sending.add(asyncio.current_task())
                try:
                    reply = await self.transport.send(request, self.pace.time_out(timed_out))
                except CallFailed as failure:
                    self._felt(failure)
                    used = failure.usage
                    raise
                finally:
                    self._sending.discard(asyncio.current_task())
                seconds = self.clock() - started
                self._met = True
                self.pace.answered(seconds, reply.usage.completion)
            used = reply.usage
            return self.record.put(request, role, reply, seconds)
        finally:
            if room is not None:
                self.budget.settle(room, used)

    def _felt(self, failure: CallFailed) -> None:
        if failure.kind == "rate_limit" or failure.status == 503:
            self.pace.refused(failure.retry_after)
        elif failure.kind in ("timeout", "connection", "server"):
            self.pace.failed()


def expected(request: Request) -> Usage:
    """Return the most that a call can use: its prompt, and as many tokens as it may answer with."""
    prompt = sum(count(str(message.get("content") or "")) + 4 for message in request.messages)
    return Usage(prompt, int(request.sampling.get("max_tokens", 0)), counted=True)
