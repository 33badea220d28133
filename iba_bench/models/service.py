"""All models of one process: a caller an endpoint, a client a role; and how a call that failed is told to the user."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from iba_bench.errors import CheckFailed, UserError
from iba_bench.models.autogen import ModelClient, ProviderTransport
from iba_bench.models.budget import Budget, Prices, Spent
from iba_bench.models.caller import Caller, Transport
from iba_bench.models.config import ModelConfig, RoleModel
from iba_bench.models.http import HttpTransport
from iba_bench.models.pace import Pace, PaceConfig
from iba_bench.models.record import CallRecord
from iba_bench.models.reply import CallFailed, Usage
from iba_bench.models.structured import Ladder


@dataclass
class Models:
    """The open models of one process; close them in the event loop that used them.

    Attributes:
        clients: A client a role.
        record: The record of calls.
        callers: A caller an endpoint.
    """

    clients: Mapping[str, ModelClient]
    record: CallRecord
    callers: list[Caller] = field(default_factory=list)

    async def rest(self) -> None:
        """Take in what is under way and let go of connections; the next call makes new ones."""
        await asyncio.gather(*(caller.finish() for caller in self.callers))


def open_models(config: ModelConfig, record_path: Path, run: str, budget: Budget, workers: int) -> Models:
    """Open the record and what the roles need.

    Args:
        config: Roles and how they are called.
        record_path: The record; in replay it must exist.
        run: The run to which calls are put down.
        budget: This process' share.
        workers: Processes that share the endpoints.

    Raises:
        UserError: no key, no such record, an extra that is not installed.
    """
    replay = config.mode == "replay"
    record = CallRecord.open(record_path, run=run, readonly=replay)
    if not replay:
        record.drop_claims(_is_alive)
    most = max(1, config.concurrency // workers)
    pace = PaceConfig(initial=max(32, most // 4), maximum=most, first=config.first_timeout)
    endpoints: dict[tuple[str, str, str | None], tuple[Caller, Ladder]] = {}
    for model in config.roles.values():
        address = (model.provider, model.base_url, model.key_name)
        if address not in endpoints:
            transport = None if replay else transport_of(model)
            caller = Caller(transport, record, Pace(pace), budget, attempts=config.attempts, owner=f"{os.getpid()}", alone=workers == 1)
            endpoints[address] = caller, Ladder(native=model.native_schema and model.provider != "anthropic")
    clients = {}
    for role, model in config.roles.items():
        caller, ladder = endpoints[model.provider, model.base_url, model.key_name]
        clients[role] = ModelClient(role, model, caller, ladder)
    return Models(clients, record, [caller for caller, _ in endpoints.values()])


def _is_alive(owner: str) -> bool:
    """Whether the process that owns a claim still runs."""
    try:
        os.kill(int(owner), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def budget_of(config: ModelConfig, record_path: Path, run: str) -> Budget:
    """Return what a run may still use: its limits, less what it has used so far.

    Raises:
        UserError: a limit allows no call, or money is limited and a price is unknown.
    """
    prices = Prices.load(Path(config.prices) if config.prices else None)
    prices = prices.with_free(model.model for model in config.roles.values() if model.free)
    used: list[tuple[str, Usage]] = []
    if record_path.exists():
        with CallRecord.open(record_path, readonly=True) as record:
            for total in record.totals(run):
                used.append((total.model, Usage(total.prompt_tokens, total.completion_tokens)))
                used.append((total.model, Usage(total.failed_prompt_tokens, total.failed_completion_tokens)))
    models = [model.model for model in config.roles.values()]
    return Budget(config.budget.tokens, config.budget.money, prices, models, Spent.over(used, prices))


def told(failure: CallFailed, config: ModelConfig) -> Exception:
    """Return a failed call as the error that a user sees: what happened, and what to do."""
    fix = _FIXES.get(failure.kind)
    names = sorted({str(model.key_name) for model in config.roles.values() if model.key_name})
    if failure.kind == "auth" and names:
        fix = f"put a valid key into the environment variable {' or '.join(names)}"
    if fix:
        return UserError(f"model={config.name}: {failure.message}; {fix}")
    if failure.kind == "budget":
        return CheckFailed(f"model={config.name}: {failure.message}")
    return CheckFailed(
        f"model={config.name}: no answer after {config.attempts} attempts ({failure}). What is done is kept; the same command goes on once the endpoint answers"
    )


_FIXES: dict[str, str] = {
    "auth": "give the key that the endpoint wants: model.ROLE.key_variable=NAME of an environment variable",
    "not_found": "give a model that the endpoint has (model.model=NAME) and its address up to /v1 (model.base_url=URL)",
    "context_window": "use a model with a longer context, or history=short",
    "bad_request": "change what the endpoint refuses, such as model.ROLE.temperature=null or model.ROLE.extra",
    "malformed": "check that model.base_url is an OpenAI-compatible endpoint, up to /v1",
    "unreachable": "start the server, or give its address (model.base_url=URL, up to /v1)",
    "not_recorded": "run once with model.mode=live to record it; `iba calls explain KEY record=FILE` says how it differs from the calls on record",
}


def transport_of(model: RoleModel) -> Transport:
    """Return the transport for a provider: the lean one for compatible endpoints, AutoGen's client for the others."""
    return HttpTransport(model.base_url, model.key_variable) if model.provider == "openai_compatible" else ProviderTransport(model)
