"""The instance gates in order, over one persona."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scenarios.library import Library
from simulator.gates import evidence, identifiable, references, solvable, time
from simulator.gates.failure import Failure
from simulator.gates.view import PersonaView, view_of
from simulator.rows import Bundle

InstanceGate = Callable[[PersonaView, Library], Iterator[Failure]]
INSTANCE_GATES: tuple[tuple[int, str, InstanceGate], ...] = (
    (1, "references", references.check),
    (2, "time", time.check),
    (4, "evidence", evidence.check),
    (5, "identifiable", identifiable.check),
    (7, "solvable", solvable.check_solvable),
    (11, "twins", solvable.check_twins),
)


NOISE_GATES = (1, 2, 4, 9)


def check_view(view: PersonaView, library: Library, only: tuple[int, ...] = ()) -> list[Failure]:
    """Return what the instance gates refuse; ``only`` narrows them."""
    gates = [gate for number, _, gate in INSTANCE_GATES if not only or number in only]
    return [failure for gate in gates for failure in gate(view, library)]


def check_persona(bundle: Bundle, library: Library, only: tuple[int, ...] = ()) -> list[Failure]:
    """Return what the instance gates refuse in rows still in memory."""
    return check_view(view_of(bundle.tables()), library, only)
