"""What a population gate says of a whole run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Number = float | int | str


@dataclass(frozen=True, slots=True)
class Verdict:
    """One population gate's word.

    Attributes:
        gate: Gate number, 1 to 12.
        name: What is claimed, such as ``no leak``.
        passed: Whether the run may be released as far as this gate goes.
        measured: What was measured, by name; shares are from 0 to 1.
        limits: The limit of each measure that has one, under the same name.
        failures: One sentence for each refusal.
    """

    gate: int
    name: str
    passed: bool
    measured: dict[str, Number] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)
    failures: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON data for the manifest; shares are rounded to six places."""
        return {
            "gate": self.gate,
            "name": self.name,
            "passed": self.passed,
            "measured": {key: round(value, 6) if isinstance(value, float) else value for key, value in self.measured.items()},
            "limits": {key: round(value, 6) for key, value in self.limits.items()},
            "failures": list(self.failures),
        }


@dataclass(slots=True)
class Findings:
    """What a population gate gathers on its way to a verdict."""

    measured: dict[str, Number] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def verdict(self, gate: int, name: str) -> Verdict:
        """Return the verdict: passed if nothing was found wrong."""
        return Verdict(gate, name, not self.failures, dict(self.measured), dict(self.limits), tuple(self.failures))
