"""`iba scenarios`: work on the library of scenarios."""

from __future__ import annotations

import sys
from pathlib import Path

from iba_bench.errors import UserError, near_match

COMMANDS = ("check", "list")
USAGE = """usage: iba scenarios check [FILE ...]     check files (default: the whole catalog): schema, implicitness, counts, leaks
       iba scenarios list                every scenario with its domain, kind, dimensions, cue lines and instructions"""


def scenarios(arguments: list[str]) -> int:
    """Work on the scenario files: check, list."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments else 2
    command, rest = arguments[0], arguments[1:]
    if command not in COMMANDS:
        raise UserError(f"unknown command '{command}'; {near_match(command, COMMANDS)}")
    return _check(rest) if command == "check" else _list()


def _check(names: list[str]) -> int:
    from scenarios.check import check_file
    from scenarios.library import ROOT, load_library

    files = [Path(name) for name in names] or [
        path for path in sorted((ROOT / "catalog").glob("*/*.yaml")) if not path.name.endswith(".brief.yaml")
    ] + [ROOT / "shared" / "writing.yaml"]
    problems = [problem for path in files for problem in check_file(path)]
    if not names:
        load_library()
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(files)} file(s), {len(problems)} problem(s)", file=sys.stderr)
    return 1 if problems else 0


def _list() -> int:
    from scenarios.library import load_library

    library = load_library()
    print(f"{'scenario':<22}{'domain':<15}{'kind':<6}{'dimensions':>11}{'values':>8}{'lines':>7}{'tasks':>7}")
    for key, scenario in library.scenarios.items():
        values = [value for dimension in scenario.dimensions.values() for value in dimension.values.values()]
        lines = sum(len(value.cues) + len(value.served) + len(value.logs) for value in values)
        print(f"{key:<22}{scenario.domain:<15}{scenario.kind:<6}{len(scenario.dimensions):>11}{len(values):>8}{lines:>7}{len(scenario.tasks):>7}")
    return 0
