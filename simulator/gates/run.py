"""The instance gates in order, over one persona; and the verdict of every gate over a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from scenarios.library import Library
from simulator.gates import distractors, diversity, evidence, identifiable, leak, references, solvable, time, vacuous, voiced
from simulator.gates.failure import Failure
from simulator.gates.verdict import Verdict
from simulator.gates.view import PersonaView

InstanceGate = Callable[[PersonaView, Library], Iterator[Failure]]
INSTANCE_GATES: tuple[tuple[int, str, InstanceGate], ...] = (
    (1, "references", references.check),
    (2, "time", time.check),
    (3, "no leak", leak.check),
    (4, "evidence", evidence.check),
    (5, "identifiable", identifiable.check),
    (6, "voiced", voiced.check),
    (7, "solvable", solvable.check_solvable),
    (8, "not vacuous", vacuous.check),
    (9, "distractors", distractors.check),
    (10, "no duplicates, diversity", diversity.check),
    (11, "twins", solvable.check_twins),
)
NOISE_GATES = (1, 2, 4, 9)


def check_view(view: PersonaView, library: Library, only: tuple[int, ...] = ()) -> list[Failure]:
    """Return what the instance gates refuse; ``only`` narrows them."""
    gates = [gate for number, _, gate in INSTANCE_GATES if not only or number in only]
    return [failure for gate in gates for failure in gate(view, library)]


def all_verdicts(failures: Iterable[Failure], population: Sequence[Verdict]) -> list[Verdict]:
    """Return one verdict a gate: what the instance gates refused in what is released, and what the population gates say."""
    refused: dict[int, Counter[str]] = {}
    for failure in failures:
        refused.setdefault(failure.gate, Counter())[failure.reason] += 1
    out = []
    names = {number: name for number, name, _ in INSTANCE_GATES} | {verdict.gate: verdict.name for verdict in population}
    for number in sorted(names):
        counted = refused.get(number, Counter())
        found = [verdict for verdict in population if verdict.gate == number]
        measured = {"instances refused": counted.total()} if number in {gate for gate, _, _ in INSTANCE_GATES} else {}
        lines = tuple(f"{count} x {reason}" for reason, count in counted.most_common())
        out.append(Verdict(
            gate=number, name=names[number], passed=not counted and all(verdict.passed for verdict in found),
            measured=measured | {key: value for verdict in found for key, value in verdict.measured.items()},
            limits={key: value for verdict in found for key, value in verdict.limits.items()},
            failures=lines + tuple(line for verdict in found for line in verdict.failures),
        ))  # fmt: skip
    return out
