"""Finding a run's folder."""

from __future__ import annotations

from pathlib import Path

from iba_bench.errors import UserError


def require_run(run: str | None) -> Path:
    """Return a run's folder that has a manifest."""
    if not run:
        raise UserError("run=FOLDER is missing: name a run's folder, such as outputs/r0123456789ab")
    folder = Path(run)
    if not (folder / "manifest.json").exists():
        raise UserError(f"run={run}: no manifest.json there; name the folder that `iba generate` printed")
    return folder
