"""The `iba` command: finds verbs by entry point, and turns errors into messages and exit codes.

Exit codes: 0 done, 1 a gate or check failed, 2 the user's mistake. Stdout's last line is the path of what was made, alone; everything else goes to stderr.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points, version

from iba_bench.errors import CheckFailed, UserError, near_match

Verb = Callable[[list[str]], int]


def verbs() -> dict[str, str]:
    """Return the installed verbs and where they are defined."""
    return {point.name: point.value for point in sorted(entry_points(group="iba.verbs"), key=lambda p: p.name)}


def _load(name: str) -> Verb:
    return next(point for point in entry_points(group="iba.verbs") if point.name == name).load()  # type: ignore[no-any-return]


def usage() -> str:
    """Return the help text: every verb with the first line of its documentation."""
    lines = ["usage: iba VERB [KEY=VALUE ...]        iba VERB --help", "", "verbs:"]
    for name in verbs():
        about = (_load(name).__doc__ or "").strip().splitlines()[0]
        lines.append(f"  {name:<10} {about}")
    lines += ["", "  -m, --multirun   sweep: one job per combination of comma-separated values", "  --version"]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if arguments else 2
    if arguments[0] == "--version":
        print(f"iba-bench {version('iba-bench')}")
        return 0
    name = arguments[0]
    try:
        if name not in verbs():
            raise UserError(f"unknown verb '{name}'; {near_match(name, verbs())}")
        return _load(name)(arguments[1:])
    except UserError as error:
        print(f"iba {name}: {error}", file=sys.stderr)
        return 2
    except CheckFailed as error:
        print(f"iba {name}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print(f"\niba {name}: interrupted; the same command goes on where it stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
