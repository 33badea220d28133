"""`iba validate`: all gates from the files alone."""

from __future__ import annotations

import sys

from iba_bench.errors import CheckFailed
from iba_bench.section import Section
from iba_bench.verb import composed, config_help, parse, wants_help


class ValidateConfig(Section):
    """Which run."""

    run: str | None


def validate(arguments: list[str]) -> int:
    """Validate a run: every hash and every gate again, from the files alone."""
    if wants_help(arguments):
        print(config_help("validate", str(validate.__doc__), "validate"))
        return 0
    from rich.console import Console

    from iba_bench.storage import read_json
    from iba_bench.workers import progress
    from scenarios.library import load_library
    from simulator.audit import audit, counted
    from simulator.folder import require_run
    from simulator.report import gate_table

    run = require_run(parse(ValidateConfig, composed("validate", arguments)).run)
    total = read_json(run / "manifest.json")["counts"].get("personas", 0)
    with progress("personas", total) as advance:
        found = audit(run, load_library(), advance)
    console = Console(file=sys.stderr, width=140, highlight=False, markup=False)
    for line in found.altered:
        console.print(line)
    for reason, count in counted(found.failures):
        example = next(failure for failure in found.failures if f"gate {failure.gate}: {failure.reason}" == reason)
        console.print(f"{count} x {reason}; such as {example}")
    gate_table(console, [verdict.as_dict() for verdict in found.verdicts], {})
    for verdict in found.verdicts:
        for failure in verdict.failures:
            console.print(f"gate {verdict.gate} ({verdict.name}): {failure}")
    if not found.passed:
        wrong = len(found.altered) + len(found.failures) + sum(not verdict.passed for verdict in found.verdicts)
        raise CheckFailed(f"{run}: {wrong} thing(s) wrong; see above")
    print(run)
    return 0
