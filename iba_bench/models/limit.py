"""How many calls may be in flight at one endpoint: a limit found by experiment.

Nothing is known of the endpoint beforehand, and there is no absolute measure of "slow": answers differ in length, stages differ in their prompts. So the
limit is found by experiment. Change it, wait one round trip, and compare the latency with that before the change: a server with room answers as fast as
before, a server that queues answers later in proportion to the limit (Little's law), at no more throughput. The ratio of the logarithms is the
elasticity, 0 for room and 1 for a queue, whatever the unit. This is the gradient idea of TCP Vegas (Brakmo and Peterson 1995) with the baseline measured
next to the change instead of once and for all; refusals shrink the limit as in TCP Reno.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

FAST, UP, CUT = 2.0, 1.5, 0.7  # factors of the limit
QUEUES = 0.5  # elasticity from which on a change of the limit changed the queue and not the throughput
SLOWER = 1.5  # latency against the usual one that makes a held limit suspect
QUIET = 8  # windows between two experiments with a limit that works
TURN = 4  # every so many experiments, one looks downwards
FEWEST = 16  # answers in a window, so that the mean of very different latencies says something
INSTANT = 1e-6  # seconds


@dataclass(slots=True)
class Window:
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

    def slowdown(self, before: Window) -> float:
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

    def elasticity(self, before: Window) -> float:
        """Return the relative change of latency by that of the limit: 0 where the server has room, 1 where it queues."""
        return math.log(self.slowdown(before)) / math.log(self.limit / before.limit)


class Limit:
    """The number of calls in flight, found by experiment.

    Args:
        initial: Where to start, brought within the bounds.
        minimum: Least value.
        maximum: Greatest value.
        now: Seconds of the caller's clock.
    """

    def __init__(self, initial: int, minimum: int, maximum: int, now: float) -> None:
        self._low, self._high = minimum, maximum
        self.value = min(max(initial, self._low), self._high)
        self._fast_until: float = math.inf
        self._move: Literal["hold", "up", "down"] = "hold"
        self._before: Window | None = None
        self._top = self.value
        self._suspected = False
        self._calm, self._experiments, self._cut_at = 0, 0, -math.inf
        self.window = Window(now, self.value)

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
        self.window = Window(now + (INSTANT if self.value < self.window.limit else -INSTANT), self.value)

    def _set(self, value: int) -> None:
        self.value = min(max(value, self._low), self._high)

    def _hold(self, before: Window | None) -> None:
        self._move, self._before, self._calm = "hold", before, 0
        self._suspected = False

    def _judge(self, window: Window) -> None:
        if self._before is None:
            self._before = window
        if self._move == "hold":
            self._held(window, self._before)
        elif self._move == "up":
            self._raised(window, self._before)
        else:
            self._lowered(window, self._before)

    def _held(self, window: Window, before: Window) -> None:
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

    def _experiment(self, window: Window) -> None:
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

    def _raise(self, window: Window) -> None:
        self._move, self._before = "up", window
        self._set(math.ceil(self.value * self._step()))

    def _raised(self, window: Window, before: Window) -> None:
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

    def _lower(self, window: Window) -> None:
        if self._move != "down":
            self._top = self.value
        self._move, self._before = "down", window
        self._set(int(self.value / self._step()))
        if self.value == window.limit:
            self._settle(self.value)

    def _lowered(self, window: Window, before: Window) -> None:
        """Go on while less in flight makes answers quicker; else one step back and one more, as room for noise."""
        if window.elasticity(before) >= QUEUES:
            self._lower(window)
            return
        self._settle(min(self._top, math.ceil(before.limit * UP)))

    def _settle(self, value: int) -> None:
        self._set(value)
        self._fast_until = self.value
        self._hold(None)
