"""What calls cost: the price table, and a budget that stops before it is passed.

A model without a known price costs an unknown amount, never nothing: a money budget refuses it. One asyncio loop uses a budget, so nothing
locks; worker processes get a share each. Money is in US dollars; a limit is kept to a billionth of one, which is what adding floats can lose.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from iba_bench.errors import UserError
from iba_bench.models.reply import CallFailed, Usage
from iba_bench.models.request import Request
from iba_bench.yaml_source import YamlSource

_SLACK = 1e-9


class Price(BaseModel):
    """What a model's tokens cost."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0, allow_inf_nan=False, description="US dollars per million prompt tokens")
    output: float = Field(ge=0, allow_inf_nan=False, description="US dollars per million completion tokens")

    def cost(self, prompt: float, completion: float) -> float:
        """Return the cost of so many tokens, in US dollars."""
        return (self.input * prompt + self.output * completion) / 1_000_000


class Prices(BaseModel):
    """A price table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    date: str = Field(min_length=1, description="when the table was written")
    note: str = Field(default="", description="printed beside the date")
    currency: Literal["USD"] = Field(description="the one currency that budgets count in")
    models: dict[str, Price] = Field(description="by model name; a trailing * stands for every name that starts so")

    @classmethod
    def load(cls, path: Path | None = None) -> Prices:
        """Read ``path``, or the table that ships as ``conf/prices.yaml``.

        Raises:
            UserError: the file is missing, no YAML or no price table; with file, line, value and fix.
        """
        if path is not None:
            return YamlSource(path).parse(cls)
        with as_file(files("conf") / "prices.yaml") as shipped:
            return YamlSource(shipped, "conf/prices.yaml").parse(cls)

    def with_free(self, models: Iterable[str]) -> Prices:
        """Return the table with these models at no cost: those of endpoints whose config says ``free: true``."""
        return self.model_copy(update={"models": self.models | dict.fromkeys(models, Price(input=0, output=0))})

    def of(self, model: str) -> Price | None:
        """Return the price of a model, by its exact name or else the longest prefix; None where it is unknown."""
        if model in self.models:
            return self.models[model]
        prefixes = [name for name in self.models if name.endswith("*") and model.startswith(name[:-1])]
        return self.models[max(prefixes, key=len)] if prefixes else None


@dataclass(frozen=True, slots=True)
class Spent:
    """What calls have cost.

    Attributes:
        tokens: Prompt and completion tokens together.
        money: US dollars, as far as prices are known.
        unpriced: Those of the tokens whose price is unknown, so that ``money`` leaves them out.
    """

    tokens: int = 0
    money: float = 0.0
    unpriced: int = 0

    def plus(self, model: str, usage: Usage, prices: Prices) -> Spent:
        """Return the sum with one more call."""
        price, tokens = prices.of(model), usage.prompt + usage.completion
        if price is None:
            return Spent(self.tokens + tokens, self.money, self.unpriced + tokens)
        return Spent(self.tokens + tokens, self.money + price.cost(usage.prompt, usage.completion), self.unpriced)

    @classmethod
    def over(cls, calls: Iterable[tuple[str, Usage]], prices: Prices) -> Spent:
        """Return what calls on record cost, each given as model and usage."""
        spent = cls()
        for model, usage in calls:
            spent = spent.plus(model, usage, prices)
        return spent


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """Room kept for one call in flight; `Budget.settle` takes it back, once."""

    model: str
    expected: Spent


class Budget:
    """Limits on tokens and money that no call may pass.

    Args:
        tokens: Most prompt and completion tokens together; None for no limit.
        money: Most US dollars; None for no limit.
        prices: What models cost.
        models: The models that the run calls; with a money limit each needs a known price.
        spent: What the record says was spent before.

    Raises:
        UserError: a limit of zero or less, or a money limit where a price is unknown.
    """

    def __init__(self, tokens: int | None, money: float | None, prices: Prices, models: Iterable[str] = (), spent: Spent | None = None) -> None:
        self.tokens, self.money, self.prices, self.spent = tokens, money, prices, spent or Spent()
        self._reserved: list[Reservation] = []
        for name, limit in (("tokens", tokens), ("money", money)):
            if limit is not None and not (limit > 0 and math.isfinite(limit)):
                raise UserError(f"budget.{name}: {limit} allows no call; give a number above 0, or null for no limit")
        self._refuse_unknown(models)
        if money is not None and self.spent.unpriced:
            raise UserError(
                f"budget.money: {self.spent.unpriced:,} tokens on record are of a model without a known price, so what was spent is unknown; "
                "add the model to a price table of your own (prices=FILE) or limit budget.tokens instead"
            )

    @property
    def limited(self) -> bool:
        """Whether tokens or money is limited."""
        return self.tokens is not None or self.money is not None

    def _refuse_unknown(self, models: Iterable[str]) -> None:
        unknown = sorted({model for model in models if self.prices.of(model) is None})
        if unknown and self.money is not None:
            raise UserError(
                f"budget.money: no known price for {', '.join(map(repr, unknown))}; add it to a price table of your own (prices=FILE), "
                "say free: true for an endpoint that costs nothing, or limit budget.tokens instead"
            )

    def check(self, request: Request, expected: Usage) -> None:
        """Refuse a call that could pass a limit, with the calls in flight counted as expected.

        Raises:
            CallFailed: ``budget``.
            UserError: money is limited and the model has no known price.
        """
        self._expected(request, expected)

    def reserve(self, request: Request, expected: Usage) -> Reservation:
        """Check a call and keep room for it; raises what `check` raises."""
        self._reserved.append(Reservation(request.model, self._expected(request, expected)))
        return self._reserved[-1]

    def _expected(self, request: Request, expected: Usage) -> Spent:
        self._refuse_unknown([request.model])
        call = Spent().plus(request.model, expected, self.prices)
        tokens = sum(kept.expected.tokens for kept in self._reserved)
        money = sum(kept.expected.money for kept in self._reserved)
        if self.tokens is not None and self.spent.tokens + tokens + call.tokens > self.tokens:
            raise _passed("tokens", *(f"{n:,} tokens" for n in (self.tokens, self.spent.tokens, tokens, call.tokens)))
        if self.money is not None and self.spent.money + money + call.money > self.money + _SLACK:
            raise _passed("money", *(f"{n:.4f} USD" for n in (self.money, self.spent.money, money, call.money)))
        return call

    def settle(self, reservation: Reservation, usage: Usage | None) -> None:
        """Replace what was reserved by what the call used; None for a call that used nothing that we know of.

        Raises:
            ValueError: the reservation is settled already, or another budget's.
        """
        self._reserved.remove(reservation)
        if usage is not None:
            self.spent = self.spent.plus(reservation.model, usage, self.prices)

    def share(self, n_workers: int) -> list[Budget]:
        """Split what is left evenly over worker processes; each share counts from nothing, odd tokens go to the first.

        Raises:
            ValueError: fewer than one worker, or calls in flight.
        """
        if n_workers < 1 or self._reserved:
            raise ValueError(f"{n_workers} workers, {len(self._reserved)} calls in flight; share among at least 1, before the first call")
        return [self._share(n_workers, worker) for worker in range(n_workers)]

    def _share(self, n_workers: int, worker: int) -> Budget:
        share = copy.copy(self)
        share.spent, share._reserved = Spent(), []
        if self.tokens is not None:
            share.tokens = (max(0, self.tokens - self.spent.tokens) + n_workers - 1 - worker) // n_workers
        if self.money is not None:
            share.money = max(0.0, self.money - self.spent.money) / n_workers
        return share


def _passed(name: str, limit: str, spent: str, flight: str, call: str) -> CallFailed:
    said = f"budget.{name} of {limit} would be passed: {spent} spent, {flight} in flight, {call} for this call"
    return CallFailed("budget", f"{said}; raise it and run again, the run goes on where it stopped")
