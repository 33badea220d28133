"""Before any work: whether the demand can be met, and how much it would be. Says which limit binds and what would satisfy it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from iba_bench.errors import UserError, near_match
from scenarios.library import Library
from simulator.config import GenerateConfig

BYTES_A_TOKEN = 6.0
BYTES_A_TASK = 9_000
TOKENS_A_CUE = 56
TOKENS_A_TASK = 640


@dataclass(frozen=True, slots=True)
class Estimate:
    """How much a run would be."""

    personas: int
    tasks: int
    clean_tokens: int
    all_tokens: int
    bytes_on_disk: int


def estimate(config: GenerateConfig) -> Estimate:
    """Return how much the run would be, from measured averages."""
    clean = config.history.tokens * config.benchmark.personas
    everything = int(clean / (1 - config.noise.level))
    size = int(everything * BYTES_A_TOKEN + config.benchmark.tasks * BYTES_A_TASK)
    return Estimate(config.benchmark.personas, config.benchmark.tasks, clean, everything, size)


def narrowed(config: GenerateConfig, library: Library) -> list[str]:
    """Return the scenarios that the config uses; unknown ids are named."""
    for key in config.scenarios:
        if key not in library.scenarios:
            raise UserError(f"scenarios: '{key}' does not exist; {near_match(key, library.scenarios)}")
    return [key for key in library.scenarios if not config.scenarios or key in config.scenarios]


def check_demands(config: GenerateConfig, library: Library) -> None:
    """Refuse what cannot be met.

    Raises:
        UserError: which limit binds, and what would satisfy it.
    """
    available, quota = narrowed(config, library), config.quota
    if quota > len(available):
        least = -(-config.benchmark.tasks // len(available))
        raise UserError(
            f"benchmark.tasks={config.benchmark.tasks} from benchmark.personas={config.benchmark.personas} is {quota} tasks a persona; a persona does each of "
            f"the {len(available)} scenarios at most once. Use at least {least} personas, or at most {len(available) * config.benchmark.personas} tasks"
        )
    least_tokens = quota * TOKENS_A_TASK
    if config.history.tokens < least_tokens:
        raise UserError(
            f"history.tokens={config.history.tokens} is too short: {quota} tasks a persona need evidence of about {TOKENS_A_TASK} tokens each. "
            f"Use history.tokens={least_tokens} or more, or fewer tasks a persona"
        )
    if config.history.days < 24 * quota:
        raise UserError(
            f"history.days={config.history.days} is too short for {quota} tasks a persona, which need about 24 days each. "
            f"Use history.days={24 * quota} or more"
        )


def check_disk(config: GenerateConfig, folder: Path) -> None:
    """Refuse a disk that is too small or a folder that cannot be written."""
    need = estimate(config).bytes_on_disk
    place = folder
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if free < need * 1.2:
        raise UserError(
            f"{folder}: about {need * 1.2 / 1e6:,.0f} MB are needed, {free / 1e6:,.0f} MB are free. "
            "Make room, choose another disk with out=FOLDER, or ask for fewer personas or a shorter history"
        )
