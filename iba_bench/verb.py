"""What every verb shares: help, sweeps, and a config that is checked by a pydantic model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from iba_bench.errors import CheckFailed, UserError
from iba_bench.hydra_config import compose, sweep

Model = TypeVar("Model", bound=BaseModel)
SWEEP = ("-m", "--multirun")


def wants_help(arguments: Sequence[str]) -> bool:
    """Whether help was asked for."""
    return any(argument in ("-h", "--help") for argument in arguments)


def config_help(verb: str, about: str, config: str) -> str:
    """Return a verb's help: what it does, its config with comments, and the options of each group."""
    folder = files("conf")
    text = (folder / f"{config}.yaml").read_text(encoding="utf-8")
    groups = [line.split("- ")[1].split(":")[0] for line in text.splitlines() if line.strip().startswith("- ") and ":" in line]
    options = {g: sorted(p.name[:-5] for p in (folder / g).iterdir() if p.name.endswith(".yaml")) for g in groups}
    shown = [f"  {group:<10} {', '.join(names)}" for group, names in options.items()]
    parts = [f"usage: iba {verb} [KEY=VALUE ...] [-m]", "", about.strip(), "", f"conf/{config}.yaml:", text.rstrip()]
    return "\n".join([*parts, *(["", "groups and their options (a key inside: GROUP.KEY=VALUE):", *shown] if shown else [])])


def parse(model: type[Model], data: Any, where: str = "") -> Model:
    """Validate composed data; the first problem says key, range and value."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = where + ".".join(map(str, first["loc"]))
        value = f", got {first['input']!r}" if first["type"] not in ("value_error", "missing") else ""
        about = _about(model, first["loc"])
        raise UserError(f"{key}: {first['msg'].removeprefix('Value error, ')}{value}{about}") from None


def _about(model: Any, loc: Sequence[int | str]) -> str:
    for part in loc:
        field = getattr(model, "model_fields", {}).get(part)
        if field is None:
            return ""
        if field.description:
            return f" ({field.description})"
        model = field.annotation
    return ""


def run_jobs(arguments: Sequence[str], job: Callable[[list[str]], int]) -> int:
    """Run one job, or with ``-m`` every job of the sweep: all run, the worst exit code counts."""
    overrides = [argument for argument in arguments if argument not in SWEEP]
    for argument in overrides:
        if argument.startswith("-"):
            raise UserError(f"unknown option '{argument}'; valid: --help, -m; everything else is KEY=VALUE")
    if len(overrides) == len(arguments):
        return job(overrides)
    worst = 0
    for number, jobs in enumerate(all_jobs := sweep(overrides), 1):
        print(f"[{number}/{len(all_jobs)}] {' '.join(jobs)}", file=sys.stderr)
        try:
            code = job(jobs)
        except UserError as error:
            print(f"  {error}", file=sys.stderr)
            code = 2
        except CheckFailed as error:
            print(f"  {error}", file=sys.stderr)
            code = 1
        worst = max(worst, code)
    return worst


def composed(config: str, overrides: Sequence[str]) -> dict[str, Any]:
    """Compose a verb's config."""
    return compose(config, overrides)
