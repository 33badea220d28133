"""Gate (begun)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from scenarios.library import Library
from simulator.gates.failure import Failure
from simulator.gates.verdict import Verdict
from simulator.gates.view import PersonaView


def check(view: PersonaView, library: Library) -> Iterator[Failure]:
    """Yield nothing yet."""
    yield from ()


def summary(view: PersonaView, library: Library) -> list[dict[str, Any]]:
    """Return nothing yet."""
    return []


def population(summaries: Sequence[Mapping[str, Any]], expected: Mapping[str, Any]) -> Iterable[Verdict]:
    """Return nothing yet."""
    return []
