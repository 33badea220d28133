"""What a run with models would cost: the calls of a few personas counted on their histories in the catalogs' words, and as many for each other persona."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from iba_bench.models.budget import Prices
from iba_bench.models.config import ModelConfig
from iba_bench.models.estimate import Average, Estimate, PlannedCalls, estimate
from iba_bench.models.record import CallRecord
from iba_bench.tokens import count
from simulator.config import GenerateConfig
from simulator.factory import Materials, PersonaFactory, Tally
from simulator.history import History
from simulator.rewording import SPOKEN_BY, Rewording

SAMPLE = 3
TO_A_MESSAGE = 4
CHECKED = 12  # tokens of a checker's answer
Planned = tuple[str, int, int]  # role, prompt tokens, completion tokens


def call_estimate(config: GenerateConfig, record: Path) -> Estimate:
    """Return calls, tokens and cost by role, with one try a turn; what earlier runs recorded replaces the guessed tokens."""
    materials = Materials.load()
    indices = range(min(SAMPLE, config.benchmark.personas))
    planned = [call for index in indices for call in asyncio.run(_persona(config, materials, index))]
    scale, plan = config.benchmark.personas / len(indices), []
    for role, model in config.model.roles.items():
        own = [call for call in planned if call[0] == role]
        prompts, completions = sum(call[1] for call in own), sum(call[2] for call in own)
        calls = max(len(own), 1)
        plan.append(PlannedCalls(role, model.model, round(len(own) * scale), prompts / calls, completions / calls))
    return estimate(plan, _averages(record), _prices(config.model))


async def _persona(config: GenerateConfig, materials: Materials, index: int) -> list[Planned]:
    factory = PersonaFactory(config, materials)
    draft, _, _ = await factory.settled(index, Tally())
    held = sorted({entry.dimension for entry in draft.compiler.entries})
    return list(planned_calls(Rewording(draft.persona, materials.library, {}, config.model.tries, held), draft.history))


def planned_calls(rewording: Rewording, history: History) -> Iterable[Planned]:
    """Yield the calls that a history takes if every first wording passes."""
    for session in history.sessions:
        if session.kind != "dialogue":
            continue
        heard, before = Counter[str](), ""
        for beat in rewording.beats(session):
            words = beat.turn.tokens
            asked = rewording.direction(beat)
            yield SPOKEN_BY[beat.role], heard.total() + count(f"{rewording.system(beat)}{asked}") + 2 * TO_A_MESSAGE, words
            if beat.role == "user":
                yield "checker", count(rewording.reader.question(beat.turn, beat.scenario, beat.turn.content, before)) + 2 * TO_A_MESSAGE, CHECKED
            heard["talk"] += words + TO_A_MESSAGE
            before = beat.turn.content


def _averages(record: Path) -> dict[tuple[str, str], Average]:
    if not record.exists():
        return {}
    with CallRecord.open(record, readonly=True) as opened:
        totals = [total for total in opened.totals() if total.calls]
    return {(t.role, t.model): Average(t.calls, t.prompt_tokens / t.calls, t.completion_tokens / t.calls) for t in totals}


def _prices(config: ModelConfig) -> Prices:
    prices = Prices.load(Path(config.prices) if config.prices else None)
    return prices.with_free(model.model for model in config.roles.values() if model.free)
