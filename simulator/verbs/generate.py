"""`iba generate`: the whole factory. Heavy modules are imported where they are used, so that help is quick."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic import Field

from iba_bench.section import Section
from iba_bench.verb import composed, config_help, parse, run_jobs, wants_help
from simulator.config import GenerateConfig


class Executor(Section):
    """Where the work is done; it does not change a byte."""

    name: str
    workers: int = Field(ge=1, le=256, description="number of processes")


class RunOptions(Section):
    """What does not decide the bytes."""

    out: str
    estimate: bool
    executor: Executor


def split_config(data: dict[str, Any]) -> tuple[GenerateConfig, RunOptions]:
    """Return the part that decides the bytes, and the rest."""
    rest = {key: data.pop(key) for key in ("out", "estimate", "executor")}
    return parse(GenerateConfig, data), parse(RunOptions, rest)


def generate(arguments: list[str]) -> int:
    """Generate a benchmark: personas, histories, tasks, gates, release tables."""
    if wants_help(arguments):
        print(config_help("generate", str(generate.__doc__), "generate"))
        return 0
    return run_jobs(arguments, _job)


def _job(overrides: list[str]) -> int:
    from simulator.report import summary_table
    from simulator.run import generate as generate_run

    config, options = split_config(composed("generate", overrides))
    if options.estimate:
        _print_estimate(config, Path(options.out))
        return 0
    folder = generate_run(config, Path(options.out), options.executor.workers)
    summary_table(json.loads((folder / "manifest.json").read_text()))
    print(folder)
    return 0


def _print_estimate(config: GenerateConfig, out: Path) -> None:
    from scenarios.library import load_library
    from simulator.preflight import check_demands, estimate
    from simulator.run import run_id_of

    check_demands(config, load_library())
    size = estimate(config)
    print(
        f"{size.personas:,} personas, {size.tasks:,} tasks, about {size.clean_tokens / 1e6:,.1f} M clean tokens, {size.all_tokens / 1e6:,.1f} M with noise, "
        f"{size.bytes_on_disk / 1e6:,.0f} MB on disk{'' if config.model.roles else '; no model call (model=embedded)'}",
        file=sys.stderr,
    )
    if config.model.roles:
        from simulator.call_plan import call_estimate

        print(call_estimate(config, config.model.record_path(out)).table(), file=sys.stderr)
    print(run_id_of(config))
