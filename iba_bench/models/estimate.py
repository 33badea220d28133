"""What a run is expected to take: calls, tokens and money by role, before the first call.

A model without a known price costs an unknown amount, never nothing, and the estimate says so. Money is in US dollars.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from iba_bench.models.budget import Prices

UNKNOWN = "unknown price"


@dataclass(frozen=True, slots=True)
class PlannedCalls:
    """Calls that a run will make for one role; tokens are a guess for one call."""

    role: str
    model: str
    calls: int
    prompt_tokens: float
    completion_tokens: float


@dataclass(frozen=True, slots=True)
class Average:
    """Mean tokens of one call, over so many recorded calls."""

    calls: int
    prompt_tokens: float
    completion_tokens: float


@dataclass(frozen=True, slots=True)
class EstimateLine:
    """What one role's calls come to; ``cost`` in US dollars, None where the price is unknown."""

    role: str
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    source: str

    @property
    def numbers(self) -> tuple[int, int, int]:
        """Calls, prompt tokens and completion tokens."""
        return self.calls, self.prompt_tokens, self.completion_tokens


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run is expected to take, by role, in the plan's order."""

    lines: tuple[EstimateLine, ...]
    prices: Prices = field(repr=False)

    def table(self) -> str:
        """Return the estimate as plain text: one line a role, the total, and how far to trust the prices."""
        known = [line.cost for line in self.lines if line.cost is not None]
        total = _money(sum(known)) if known or not self.lines else UNKNOWN
        total += f" + {UNKNOWN}" if 0 < len(known) < len(self.lines) else ""
        sums = [f"{sum(numbers):,}" for numbers in zip(*(line.numbers for line in self.lines), strict=True)]
        rows = [["role", "model", "calls", "prompt tokens", "completion tokens", "cost", "source"]]
        rows += [[x.role, x.model, *(f"{n:,}" for n in x.numbers), _money(x.cost), x.source] for x in self.lines]
        rows += [["total", "", *(sums or ["0"] * 3), total, ""]]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        text = [_aligned(row, widths) for row in rows]
        note = f"; {self.prices.note}" if self.prices.note else ""
        return "\n".join([*text, f"Prices of {self.prices.date}{note}. Prices change; prices=FILE replaces the table."])


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [cell.rjust(width) if 2 <= n <= 5 else cell.ljust(width) for n, (cell, width) in enumerate(zip(row, widths, strict=True))]
    return "  ".join(cells).rstrip()


def _money(cost: float | None) -> str:
    if cost is None:
        return UNKNOWN
    return "<0.01 USD" if 0 < cost < 0.01 else f"{cost:,.2f} USD"


def estimate(plan: Sequence[PlannedCalls], averages: Mapping[tuple[str, str], Average], prices: Prices) -> Estimate:
    """Estimate a run; ``averages`` of earlier runs, by role and model, replace the plan's guesses."""
    lines = []
    for part in plan:
        average = averages.get((part.role, part.model))
        recorded = average is not None and average.calls > 0
        per_call = average if average is not None and recorded else part
        prompt, completion = round(part.calls * per_call.prompt_tokens), round(part.calls * per_call.completion_tokens)
        price = prices.of(part.model)
        cost = None if price is None else price.cost(prompt, completion)
        source = f"recorded over {average.calls:,} calls" if average is not None and recorded else "guessed"
        lines.append(EstimateLine(part.role, part.model, part.calls, prompt, completion, cost, source))
    return Estimate(tuple(lines), prices)
