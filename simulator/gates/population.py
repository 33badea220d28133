"""The population gates over the summaries of all personas. They only refuse the release; nothing is redrawn for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from simulator.gates import counts, diversity, leak, vacuous, voiced
from simulator.gates.verdict import Verdict

PopulationGate = Callable[[Sequence[Mapping[str, Any]], Mapping[str, Any]], Iterable[Verdict]]
POPULATION_GATES: dict[str, PopulationGate] = {
    "leak": leak.population,
    "vacuous": vacuous.population,
    "voiced": voiced.population,
    "diversity": diversity.population,
    "counts": counts.population,
}


def check_population(summaries: Sequence[Mapping[str, Any]], expected: Mapping[str, Any]) -> list[Verdict]:
    """Return the verdicts of all population gates in the order of their numbers.

    Args:
        summaries: What `summarise` returned for each persona, in any order; the verdicts do not depend on it.
        expected: What the config promises (see ``simulator.run.expectations``).
    """
    ordered = sorted(summaries, key=lambda summary: str(summary["persona"]))
    verdicts = [verdict for gate in POPULATION_GATES.values() for verdict in gate(ordered, expected)]
    return sorted(verdicts, key=lambda verdict: (verdict.gate, verdict.name))
