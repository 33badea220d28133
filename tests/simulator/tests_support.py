"""Helpers to run `iba` as a user would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SMALL = ("benchmark.personas=20", "benchmark.tasks=140", "history=short", "benchmark.name=small")
ENTRY = "import sys; from iba_bench.cli import main; sys.exit(main(sys.argv[1:]))"


def iba(*arguments: str, hash_seed: str = "0", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run `iba` in a process of its own."""
    env = {**os.environ, "PYTHONHASHSEED": hash_seed, "COLUMNS": "200"}
    return subprocess.run([sys.executable, "-c", ENTRY, *arguments], capture_output=True, text=True, env=env, cwd=cwd, check=False)


def made(done: subprocess.CompletedProcess[str]) -> Path:
    """Return the path that a run printed last, asserting that it is all of stdout."""
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("\n") == 1
    return Path(done.stdout.strip())


def hashes(run: Path) -> dict[str, str]:
    """Return the manifest's sha256 by file."""
    return json.loads((run / "manifest.json").read_text())["files"]
