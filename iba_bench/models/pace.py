"""How many calls may be in flight at one endpoint, how long to wait, when to give up on an answer.

Nothing is known of the endpoint beforehand, and there is no absolute measure of "slow": answers differ in length, stages differ in their prompts. So the
limit is found by experiment. Change it, wait one round trip, and compare the latency with that before the change: a server with room answers as fast as
before, a server that queues answers later in proportion to the limit (Little's law), at no more throughput. The ratio of the logarithms is the
elasticity, 0 for room and 1 for a queue, whatever the unit. This is the gradient idea of TCP Vegas (Brakmo and Peterson 1995) with the baseline measured
next to the change instead of once and for all; refusals shrink the limit as in TCP Reno.
"""

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
from typing import Literal

from iba_bench.errors import UserError

FAST, UP, CUT = 2.0, 1.5, 0.7  # factors of the limit
QUEUES = 0.5  # elasticity from which on a change of the limit changed the queue and not the throughput
SLOWER = 1.5  # latency against the usual one that makes a held limit suspect
QUIET = 8  # windows between two experiments with a limit that works
TURN = 4  # every so many experiments, one looks downwards
FEWEST = 16  # answers in a window, so that the mean of very different latencies says something
KNOWN = 20  # answers from which on the time-out follows what was observed
REMEMBERED = 512
INSTANT = 1e-6  # seconds
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


@dataclass(slots=True)
class _Window:
    """Sums over the answers to calls that started since ``since``; ``full`` if the limit was reached meanwhile."""

    since: float
    limit: int
    answers: int = 0
    seconds: float = 0.0
    tokens: int = 0
    products: float = 0.0
    squares: int = 0
    failures: int = 0
    full: bool = False

    def add(self, seconds: float, tokens: int) -> None:
        """Take an answer in."""
        self.answers += 1
        self.seconds += seconds
        self.tokens += tokens
        self.products += seconds * tokens
        self.squares += tokens * tokens

    def slowdown(self, before: _Window) -> float:
        """Return mean latency by that of another window for completions as long as here.

        Latency follows the length of the completion at one server and not at the next, so the seconds a token are what both windows show within
        themselves (the common slope of an analysis of covariance).
        """
        spread = self._centred(self.squares, self.tokens) + before._centred(before.squares, before.tokens)
        common = self._centred(self.products, self.seconds) + before._centred(before.products, before.seconds)
        a_token = max(0.0, common / spread) if spread > 0 else 0.0
        usual = before.seconds / before.answers
        longer = self.tokens / self.answers - before.tokens / before.answers
        return (self.seconds / self.answers) / max(usual + a_token * longer, usual / 100)

    def _centred(self, products: float, other: float) -> float:
        return products - self.tokens * other / self.answers

    def elasticity(self, before: _Window) -> float:
        """Return the relative change of latency by that of the limit: 0 where the server has room, 1 where it queues."""
        return math.log(self.slowdown(before)) / math.log(self.limit / before.limit)


class _Limit:
    """The number of calls in flight, found by experiment."""

    def __init__(self, config: PaceConfig, now: float) -> None:
        self._low, self._high = config.minimum, config.maximum
        self.value = min(max(config.initial, self._low), self._high)
        self._fast_until: float = math.inf
        self._move: Literal["hold", "up", "down"] = "hold"
        self._before: _Window | None = None
        self._top = self.value
        self._suspected = False
        self._calm, self._experiments, self._cut_at = 0, 0, -math.inf
        self.window = _Window(now, self.value)

    def answered(self, now: float, seconds: float, completion_tokens: int) -> bool:
        """Take note of an answer; return whether the limit may have changed."""
        window = self.window
        if now - seconds < window.since:
            return False
        window.add(max(seconds, INSTANT), completion_tokens)
        if window.answers < max(self.value, FEWEST):
            return False
        if window.full:
            self._judge(window)
        self._open(now)
        return True

    def cut(self, now: float, round_trip: float, refused: bool) -> None:
        """Shrink, at most once per round trip; after a refusal grow slowly from here on."""
        if now - self._cut_at < round_trip:
            return
        self._set(int(self.value * CUT))
        self._cut_at = now
        if refused:
            self._fast_until = self.value
        self._hold(None)
        self._open(now)

    def _open(self, now: float) -> None:
        """Begin a window; calls of this very instant started after a rise of the limit and before a fall."""
        self.window = _Window(now + (INSTANT if self.value < self.window.limit else -INSTANT), self.value)

    def _set(self, value: int) -> None:
        self.value = min(max(value, self._low), self._high)

    def _hold(self, before: _Window | None) -> None:
        self._move, self._before, self._calm = "hold", before, 0
        self._suspected = False

    def _judge(self, window: _Window) -> None:
        if self._before is None:
            self._before = window
        if self._move == "hold":
            self._held(window, self._before)
        elif self._move == "up":
            self._raised(window, self._before)
        else:
            self._lowered(window, self._before)

    def _held(self, window: _Window, before: _Window) -> None:
        """Grow or look around now and then; go down where two windows in turn are slow, as the first shows the change and not the new state."""
        self._calm += 1
        slow, suspected = window.slowdown(before) > SLOWER, self._suspected
        self._suspected = slow
        if slow and suspected:
            self._lower(window)
        elif slow:
            return
        elif self.value < self._high and self._step() == FAST:
            self._raise(window)
        elif self._calm >= QUIET:
            self._experiment(window)

    def _experiment(self, window: _Window) -> None:
        """Look mostly upwards; a limit at its maximum is left alone until answers slow down."""
        self._calm = 0
        if self.value >= self._high:
            return
        self._experiments += 1
        if self._experiments % TURN:
            self._raise(window)
        else:
            self._lower(window)

    def _step(self) -> float:
        return FAST if self.value * FAST <= self._fast_until else UP

    def _raise(self, window: _Window) -> None:
        self._move, self._before = "up", window
        self._set(math.ceil(self.value * self._step()))

    def _raised(self, window: _Window, before: _Window) -> None:
        """Go on while more in flight makes answers no slower; the first time that it does, the limit before may have been far too high as well."""
        if window.elasticity(before) < QUEUES:
            if self.value < self._high:
                self._raise(window)
            else:
                self._hold(window)
            return
        self._set(before.limit)
        if self._fast_until == math.inf:
            self._lower(window)
        else:
            self._hold(None)

    def _lower(self, window: _Window) -> None:
        if self._move != "down":
            self._top = self.value
        self._move, self._before = "down", window
        self._set(int(self.value / self._step()))
        if self.value == window.limit:
            self._settle(self.value)

    def _lowered(self, window: _Window, before: _Window) -> None:
        """Go on while less in flight makes answers quicker; else one step back and one more, as room for noise."""
        if window.elasticity(before) >= QUEUES:
            self._lower(window)
            return
        self._settle(min(self._top, math.ceil(before.limit * UP)))

    def _settle(self, value: int) -> None:
        self._set(value)
        self._fast_until = self.value
        self._hold(None)


class Pace(AbstractAsyncContextManager[None]):
    """The pace of calls to one endpoint; for use within one event loop.

    Args:
        config: Bounds.
        clock: Seconds that only grow; a test may pass its own.
    """

    def __init__(self, config: PaceConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self.config, self._clock = config, clock
        self._limit = _Limit(config, clock())
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
