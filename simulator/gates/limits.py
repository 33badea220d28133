"""When a measured share breaks a limit.

Limits of 0 and 1 are exact at any size. Others are judged by the point estimate from `ENOUGH` cases on; below that
only when even the one-sided 99 % lower bound (Clopper and Pearson 1934) lies beyond the limit, so that a small run is
refused for what it shows and not for its size.

The bound is beyond the limit exactly if the limit's own binomial tail gives the count less than 1 %, which is how
`exceeds` decides. Where cases differ in their chance (a Poisson binomial), the binomial of the mean has the larger
variance (Hoeffding 1956), so the decision errs towards letting pass.
"""

from __future__ import annotations

import math

ENOUGH = 200
ALPHA = 0.01


def exceeds(hits: float, n: int, limit: float) -> bool:
    """Whether ``hits`` of ``n`` cases are more than ``limit`` (a share from 0 to 1) allows.

    ``hits`` may be fractional where ties are averaged; below `ENOUGH` cases it is rounded down.
    """
    _require(hits, n, limit)
    if n == 0 or limit >= 1:
        return False
    if limit <= 0:
        return hits > 0
    if n >= ENOUGH:
        return hits / n > limit
    return binomial_tail(math.floor(hits), n, limit) < ALPHA


def falls_short(hits: float, n: int, limit: float) -> bool:
    """Whether ``hits`` of ``n`` cases are fewer than ``limit`` (a share up to 1) asks for; the mirror of `exceeds`."""
    _require(hits, n, limit)
    if n == 0 or limit <= 0:
        return False
    if limit >= 1:
        return hits < n
    if n >= ENOUGH:
        return hits / n < limit
    return binomial_tail(math.floor(n - hits), n, 1 - limit) < ALPHA


def lower_bound(hits: float, n: int, alpha: float = ALPHA) -> float:
    """Return the one-sided lower bound of a share (Clopper and Pearson), by bisection to 1e-9."""
    count = math.floor(hits)
    if n == 0 or count <= 0:
        return 0.0
    low, high = 0.0, count / n
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if binomial_tail(count, n, middle) < alpha else (low, middle)
    return low


def binomial_tail(count: int, n: int, share: float) -> float:
    """Return the probability of ``count`` or more hits in ``n`` cases of probability ``share``."""
    if count <= 0:
        return 1.0
    if count > n or share <= 0:
        return 0.0
    if share >= 1:
        return 1.0
    up, down = math.log(share), math.log1p(-share)
    terms = (math.exp(_log_choose(n, k) + k * up + (n - k) * down) for k in range(count, n + 1))
    return min(math.fsum(terms), 1.0)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def chi_square_tail(value: float, freedom: int) -> float:
    """Return the probability that a chi-square of ``freedom`` degrees is at least ``value``.

    By the recurrence Q(x, k + 2) = Q(x, k) + (x / 2)^(k / 2) exp(-x / 2) / gamma(k / 2 + 1) (Abramowitz and Stegun, 26.4.8).
    """
    if value <= 0:
        return 1.0
    half, degrees = value / 2, 1 + (freedom + 1) % 2
    tail = math.erfc(math.sqrt(half)) if degrees == 1 else math.exp(-half)
    while degrees < freedom:
        tail += math.exp(degrees / 2 * math.log(half) - half - math.lgamma(degrees / 2 + 1))
        degrees += 2
    return min(tail, 1.0)


def _require(hits: float, n: int, limit: float) -> None:
    if n < 0 or not 0 <= hits <= n + 1e-9:
        raise ValueError(f"hits must be from 0 to n, got {hits} of {n}")
    if math.isnan(limit) or limit < 0:
        raise ValueError(f"limit must be a share from 0, got {limit}")
