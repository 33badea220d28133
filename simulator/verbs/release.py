"""`iba release check|push`: whether a run is fit to be published, and publishing it."""

from __future__ import annotations

import sys

from iba_bench.errors import CheckFailed, UserError, near_match
from iba_bench.section import Section
from iba_bench.verb import composed, config_help, parse, wants_help

COMMANDS = ("check", "push")


class HubOptions(Section):
    """Where a run is published."""

    repo_id: str | None
    private: bool
    dry_run: bool
    endpoint: str | None


class ReleaseConfig(Section):
    """Which run, and where to."""

    run: str | None
    release: HubOptions


def release(arguments: list[str]) -> int:
    """Check a run before publishing, or push it to the Hugging Face Hub: release check, release push."""
    if wants_help(arguments) or not arguments:
        print(config_help("release check|push", str(release.__doc__), "release"))
        return 0 if arguments else 2
    command, rest = arguments[0], [_long(argument) for argument in arguments[1:]]
    if command not in COMMANDS:
        raise UserError(f"unknown command '{command}'; {near_match(command, COMMANDS)}")
    from simulator.folder import require_run
    from simulator.release.check import release_problems

    config = parse(ReleaseConfig, composed("release", rest))
    run = require_run(config.run)
    problems = list(release_problems(run))
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        raise CheckFailed(f"{run}: {len(problems)} problem(s) forbid publishing")
    if command == "push":
        from simulator.release.push import push

        push(run, config.release.repo_id, private=config.release.private, dry_run=config.release.dry_run, endpoint=config.release.endpoint)
    print(run)
    return 0


def _long(argument: str) -> str:
    """Let `repo_id=` and the like stand without their group."""
    key = argument.partition("=")[0]
    return f"release.{argument}" if key in HubOptions.model_fields else argument
