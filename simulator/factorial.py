"""The factorial design: which slots a task has, and how many levels each, so that chance is at most one in sixteen."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from functools import lru_cache

from iba_bench.errors import InstanceRefused
from iba_bench.streams import pick, shuffled, weighted
from simulator.slots import Slot, widest, with_levels

LEAST, MOST = 16, 36
MUSTS = {5: 0.1, 4: 0.5, 3: 0.36, 2: 0.04}
HARD = ("state", "drift", "scope", "third_party", "conflict", "cross_domain")


@lru_cache(maxsize=512)
def designs(widths: tuple[int, ...], least: tuple[int, ...], prefer: bool) -> tuple[tuple[int, ...], ...]:
    """Return all level counts of the must slots whose product fits, given each slot's most and least levels."""
    most = MOST // 2 if prefer else MOST
    ranges = [range(low, min(width, 6) + 1) for low, width in zip(least, widths, strict=True)]
    out = []
    for sizes in itertools.product(*ranges):
        product = 1
        for size in sizes:
            product *= size
        if LEAST <= product <= most:
            out.append(sizes)
    return tuple(out)


def choose(slots: Sequence[Slot], rng: random.Random, missing: Slot | None = None) -> list[Slot]:
    """Choose slots and levels for a task.

    Raises:
        InstanceRefused: if no design fits the slots.
    """
    musts = [slot for slot in slots if slot.strength == "must"]
    prefers = [slot for slot in slots if slot.strength == "prefer"]
    for _ in range(24):
        chosen = _musts(musts, rng, missing)
        prefer = pick(rng, prefers) if prefers and len(chosen) < 5 and rng.random() < 0.55 else None
        widths = tuple(widest(slot) for slot in chosen)
        least = tuple(min(2 + (len(slot.named) > 1), widest(slot)) for slot in chosen)
        fitting = designs(widths, least, prefer is not None) or designs(widths, (2,) * len(widths), prefer is not None)
        if not fitting:
            continue
        sizes = pick(rng, fitting)
        out = [with_levels(slot, size, rng) for slot, size in zip(chosen, sizes, strict=True)]
        if prefer:
            out.append(with_levels(prefer, 2, rng))
        if _fair(out, rng):
            return out
    raise InstanceRefused("no_design")


def _musts(musts: Sequence[Slot], rng: random.Random, missing: Slot | None) -> list[Slot]:
    given = [missing] if missing else []
    counts = {n: weight for n, weight in MUSTS.items() if 2 <= n - len(given) <= len(musts)}
    if not counts:
        raise InstanceRefused("too_few_musts")
    number = weighted(rng, list(counts), list(counts.values())) - len(given)
    order = sorted(shuffled(rng, musts), key=lambda slot: -_weight(slot, rng))
    return given + order[:number]


def _weight(slot: Slot, rng: random.Random) -> float:
    return rng.random() + sum(0.45 for kind in HARD if kind in slot.challenges)


def _fair(slots: Sequence[Slot], rng: random.Random) -> bool:
    """Reject a task whose evidence is thin, or (nearly always) one where every must is the popular value."""
    if len({turn.turn_id for slot in slots for _, turn in slot.evidence}) < 5:
        return False
    musts = [slot for slot in slots if slot.strength == "must"]
    if all(slot.truth == slot.dimension.popular for slot in musts):
        entities = 1
        for slot in slots:
            entities *= len(slot.levels)
        return rng.random() < 1 / entities
    return True
