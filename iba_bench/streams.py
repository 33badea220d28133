"""Random streams addressed by content.

A stream depends on the seed and on what it is for, never on how many draws came before elsewhere. So any order of work, any number of workers and any resume
give the same bytes.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def digest(*parts: object) -> bytes:
    """Return the sha256 of the parts, unambiguously joined."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()


def stream(*parts: object) -> random.Random:
    """Return the random stream addressed by ``parts`` (seed, stage, persona, session, turn, purpose)."""
    return random.Random(digest(*parts))


def opaque_id(prefix: str, *parts: object) -> str:
    """Return an id that tells nothing: a prefix and 12 hex digits of the address' hash."""
    return f"{prefix}_{digest(prefix, *parts).hex()[:12]}"


def pick(rng: random.Random, items: Sequence[Item]) -> Item:
    """Return one of ``items``, uniformly (several times faster than ``rng.choice``)."""
    return items[int(rng.random() * len(items))]


def weighted(rng: random.Random, items: Sequence[Item], weights: Sequence[float]) -> Item:
    """Return one of ``items`` with probability proportional to ``weights``."""
    mark = rng.random() * sum(weights)
    for item, weight in zip(items, weights, strict=True):
        mark -= weight
        if mark < 0:
            return item
    return max(zip(weights, range(len(items)), items, strict=True))[2]


def shuffled(rng: random.Random, items: Sequence[Item]) -> list[Item]:
    """Return ``items`` in a random order."""
    out = list(items)
    rng.shuffle(out)
    return out
