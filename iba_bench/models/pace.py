"""When calls to one endpoint may start, how long to wait, when to give up on an answer; how many may be in flight is for ``limit`` to find."""

from __future__ import annotations

import asyncio
import math
import random
import time
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from iba_bench.errors import UserError
from iba_bench.models.limit import FEWEST, Limit

KNOWN = 20  # answers from which on the time-out follows what was observed
REMEMBERED = 512
MARGIN, FIRST_WAIT = 1.0, 1.0  # seconds


@dataclass(frozen=True, slots=True)
class PaceConfig:
    """Bounds of the pace at one endpoint.

    Attributes:
        initial: Calls in flight at the start; at most ``maximum``.
        minimum: Fewest calls in flight, at least 1.
        maximum: Most calls in flight.
        max_wait: Longest wait before a retry or after Retry-After, in seconds.
        first: Time-out in seconds until enough answers were seen.
        floor: Shortest time-out in seconds.

    Raises:
        UserError: A bound is not positive, or ``minimum`` exceeds ``maximum``.
    """

    initial: int = 32
    minimum: int = 1
    maximum: int = 256
    max_wait: float = 120.0
    first: float = 120.0
    floor: float = 5.0

    def __post_init__(self) -> None:
        for name in ("initial", "minimum", "maximum", "max_wait", "first", "floor"):
            if not 0 < getattr(self, name) < math.inf:
                raise UserError(f"pace.{name}: must be a positive number, got {getattr(self, name)}; raise it")
        if self.minimum > self.maximum:
            raise UserError(f"pace.minimum: {self.minimum} is more than pace.maximum {self.maximum}; lower one or raise the other")


class Pace(AbstractAsyncContextManager[None]):
    """The pace of calls to one endpoint; for use within one event loop.

    Args:
        config: Bounds.
        clock: Seconds that only grow; a test may pass its own.
    """

    def __init__(self, config: PaceConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self.config, self._clock = config, clock
        self._limit = Limit(config.initial, config.minimum, config.maximum, clock())
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._paused_until, self._timer = -math.inf, False
        self._recent: deque[float] = deque()
        self._sorted: list[float] = []
        self._answers = 0
        self.in_flight = 0

    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        return self._limit.value

    def slot(self) -> AbstractAsyncContextManager[None]:
        """Return a context that is entered, first come first served, once the endpoint has room."""
        return self

    async def __aenter__(self) -> None:
        if not self._waiting and self.in_flight < self._limit.value and self._clock() >= self._paused_until:
            self._start()
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        self.in_flight -= 1
        if self._waiting:
            self._admit()

    def _start(self) -> None:
        self.in_flight += 1
        if self.in_flight >= self._limit.value:
            self._limit.window.full = True

    def _admit(self) -> None:
        remaining = self._paused_until - self._clock()
        if remaining > 0:
            self._wake_in(remaining)
            return
        while self._waiting and self.in_flight < self._limit.value:
            turn = self._waiting.popleft()
            if not turn.done():
                self._start()
                turn.set_result(None)
        if self._waiting:
            self._limit.window.full = True

    def _wake_in(self, seconds: float) -> None:
        if not self._timer:
            self._timer = True
            asyncio.get_running_loop().call_later(seconds, self._woken)

    def _woken(self) -> None:
        self._timer = False
        self._admit()

    def answered(self, seconds: float, completion_tokens: int) -> None:
        """Take note of an answer, ``seconds`` after its call got its slot."""
        self._answers += 1
        self._remember(seconds)
        if self._limit.answered(self._clock(), seconds, completion_tokens):
            self._admit()

    def refused(self, retry_after: float | None) -> None:
        """Take note of 429 or 503; nobody starts before ``retry_after`` seconds (at most ``max_wait``) have passed."""
        now = self._clock()
        if retry_after is not None and retry_after > 0:
            self._paused_until = max(self._paused_until, now + min(retry_after, self.config.max_wait))
        self._limit.cut(now, self._round_trip(), refused=True)

    def failed(self) -> None:
        """Take note of a call without an answer; the limit shrinks when failures outnumber answers."""
        window = self._limit.window
        window.failures += 1
        if window.failures > max(window.answers, FEWEST):
            self._limit.cut(self._clock(), self._round_trip(), refused=False)

    def time_out(self, attempt: int = 0) -> float:
        """Return the seconds after which to give up: four times the 99th percentile of late, doubled for each ``attempt`` that timed out before."""
        if self._answers < KNOWN:
            usual = self.config.first
        else:
            usual = 4 * self._quantile(0.99) + MARGIN
        return max(self.config.floor, usual) * 2.0 ** min(attempt, 10)

    def back_off(self, attempt: int, rng: random.Random) -> float:
        """Return the seconds to wait before retry number ``attempt`` (0 is the first): exponential with full jitter, at most ``max_wait``."""
        return rng.random() * min(self.config.max_wait, FIRST_WAIT * 2.0 ** min(attempt, 30))

    def _round_trip(self) -> float:
        return self._quantile(0.5) if self._sorted else FIRST_WAIT

    def _quantile(self, share: float) -> float:
        return self._sorted[math.ceil(share * len(self._sorted)) - 1]

    def _remember(self, seconds: float) -> None:
        self._recent.append(seconds)
        insort(self._sorted, seconds)
        if len(self._recent) > REMEMBERED:
            del self._sorted[bisect_left(self._sorted, self._recent.popleft())]
