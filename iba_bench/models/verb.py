"""`iba calls explain KEY`: why a model call hit or missed the record."""

from __future__ import annotations

from pathlib import Path

from iba_bench.errors import UserError, near_match

COMMANDS = ("explain",)
USAGE = """usage: iba calls explain KEY [run=FOLDER | record=FILE]

Say why a model call hit or missed the record: what is on record under its key, the attempts that failed, and how the nearest other call differs.
KEY is a request key, or six or more of its first digits; errors of a replay name it. The record is calls.sqlite beside the runs, unless record=FILE names another."""


def calls(arguments: list[str]) -> int:
    """Explain model calls: calls explain KEY."""
    if not arguments or any(argument in ("-h", "--help") for argument in arguments):
        print(USAGE)
        return 0 if arguments else 2
    command, rest = arguments[0], arguments[1:]
    if command not in COMMANDS:
        raise UserError(f"unknown command '{command}'; {near_match(command, COMMANDS)}")
    keys = [argument for argument in rest if "=" not in argument]
    options = dict(argument.split("=", 1) for argument in rest if "=" in argument)
    unknown = set(options) - {"run", "record"}
    if unknown or len(keys) != 1:
        what = f"unknown option '{sorted(unknown)[0]}'" if unknown else f"one KEY is needed, got {len(keys)}"
        raise UserError(f"{what}; usage: iba calls explain KEY [run=FOLDER | record=FILE]")
    from iba_bench.models.explain import explain
    from iba_bench.models.missed import missed_requests
    from iba_bench.models.record import CallRecord

    record = Path(options["record"]) if "record" in options else Path(options.get("run", "outputs/.")).parent / "calls.sqlite"
    with CallRecord.open(record, readonly=True) as opened:
        print(explain(opened, keys[0], missed_requests(record)))
    return 0
