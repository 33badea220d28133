"""The summary printed at the end of a run or validation: counts, tokens, gates, what was refused."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table


def summary_table(manifest: Mapping[str, Any]) -> None:
    """Print a manifest's counts, tokens and gates to stderr."""
    console = Console(file=sys.stderr, width=140)
    counts, tokens = manifest["counts"], manifest["tokens"]
    console.print(
        f"{manifest['run_id']}: {counts.get('personas', 0):,} personas, {counts.get('tasks', 0):,} tasks, {counts.get('histories', 0):,} sessions, "
        f"{tokens.get('clean', 0):,} clean tokens, noise {tokens['noise_share']:.1%} of all (adversarial {tokens['adversarial_share']:.1%} of the noise)"
    )
    gate_table(console, manifest["gates"], manifest.get("refused", {}))


def gate_table(console: Console, gates: Sequence[Mapping[str, Any]], refused: Mapping[str, int]) -> None:
    """Print one line a gate."""
    table = Table("gate", "name", "verdict", "redrawn", "measured", box=None)
    for gate in gates:
        drawn = sum(count for reason, count in refused.items() if reason.startswith(f"gate {gate['gate']}:"))
        shown = ", ".join(f"{key} {_short(value)}" for key, value in list(gate["measured"].items())[:6])
        table.add_row(str(gate["gate"]), gate["name"], "pass" if gate["passed"] else "REFUSED", str(drawn), shown)
    console.print(table)


def _short(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
