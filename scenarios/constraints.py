"""The constraint language: typed predicates over an action or a text, one for api, rank and text tasks.

Numbers compare as numbers (25 equals 25.0 and "25"), with a tolerance and a unit where given ("0.5 h" equals 30 minutes). Every verdict has a plain reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from scenarios.line import Frozen
from scenarios.text import TextSpec, check


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an action came to.

    Attributes:
        entity: The chosen (or first-ranked) entity, or None.
        arguments: Arguments of the write that does the job.
        text: The written text, or None.
    """

    entity: Mapping[str, Any] | None = None
    arguments: Mapping[str, Any] | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a constraint holds, what was found, and a plain reason."""

    holds: bool
    found: Any
    reason: str


class FieldPredicate(Frozen):
    """A field of the chosen entity or of the action's arguments equals, or differs from, a value."""

    op: Literal["equals", "differs"]
    on: Literal["entity", "argument"]
    field: str
    value: str | int | float
    unit: str | None = None
    tolerance: float = 1e-6

    def verdict(self, outcome: Outcome) -> Verdict:
        """Judge the outcome."""
        source = outcome.entity if self.on == "entity" else outcome.arguments
        if source is None or self.field not in source:
            return Verdict(False, None, f"{self.on} has no '{self.field}'")
        found = source[self.field]
        same = same_value(found, self.value, self.unit, self.tolerance)
        holds = same if self.op == "equals" else not same
        wanted = f"{'' if self.op == 'equals' else 'anything but '}{self.value}{' ' + self.unit if self.unit else ''}"
        return Verdict(holds, found, f"{self.field} is {found!r}, wanted {wanted}")


class TextPredicate(Frozen):
    """A measure of the text has a wanted outcome."""

    op: Literal["text"]
    spec: TextSpec

    def verdict(self, outcome: Outcome) -> Verdict:
        """Judge the outcome."""
        if outcome.text is None:
            return Verdict(False, None, "no text was written")
        finding = check(self.spec, outcome.text)
        return Verdict(finding.holds, finding.found, finding.reason)


Predicate = Annotated[FieldPredicate | TextPredicate, Field(discriminator="op")]
_ADAPTER: TypeAdapter[FieldPredicate | TextPredicate] = TypeAdapter(Predicate)
_QUANTITY = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*([a-zA-Zµ°]+)?\s*")


def parse_predicate(data: Mapping[str, Any]) -> FieldPredicate | TextPredicate:
    """Return the predicate of a JSON object."""
    return _ADAPTER.validate_python(data)


def same_value(found: Any, wanted: str | int | float, unit: str | None = None, tolerance: float = 1e-6) -> bool:
    """Whether two values are the same: numbers with tolerance and unit, text without regard to case and outer space."""
    if isinstance(wanted, int | float) and not isinstance(wanted, bool):
        number = as_number(found, unit)
        return number is not None and abs(number - wanted) <= tolerance
    return isinstance(found, str) and found.strip().casefold() == str(wanted).strip().casefold()


def as_number(found: Any, unit: str | None) -> float | None:
    """Return a finite number in ``unit``, or None; text may carry its own unit."""
    if isinstance(found, bool):
        return None
    if isinstance(found, int | float):
        return float(found) if math.isfinite(found) else None
    match = _QUANTITY.fullmatch(found) if isinstance(found, str) and len(found) < 40 else None
    if not match:
        return None
    number = float(match.group(1))
    if match.group(2) is None or match.group(2) == unit:
        return number
    return _converted(number, match.group(2), unit)


def _converted(number: float, unit: str, wanted: str | None) -> float | None:
    if wanted is None:
        return None
    import pint

    try:
        return float(pint.application_registry.Quantity(number, unit).to(wanted).magnitude)
    except (pint.PintError, AttributeError, ValueError):
        return None
