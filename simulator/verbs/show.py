"""`iba show`: print one persona, session or task for a person to read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from iba_bench.errors import UserError
from iba_bench.section import Section
from iba_bench.verb import composed, config_help, parse, wants_help
from simulator.folder import require_run

Row = Mapping[str, Any]


class ShowConfig(Section):
    """What to show."""

    run: str | None
    persona: str | int | None
    session: str | None
    task: str | None


def show(arguments: list[str]) -> int:
    """Print one persona, session or task of a run for a person to read."""
    if wants_help(arguments):
        print(config_help("show", str(show.__doc__), "show"))
        return 0
    config = parse(ShowConfig, composed("show", arguments))
    run, console = require_run(config.run), Console(width=120, highlight=False)
    if config.task is not None:
        _task(run, config.task, console)
    elif config.session is not None:
        _session(run, config.session, console)
    elif config.persona is not None:
        _persona(run, str(config.persona), console)
    else:
        _overview(run, console)
    return 0


def find(run: Path, table: str, column: str, value: str) -> list[dict[str, Any]]:
    """Return the rows of a table in which a column has a value."""
    import polars as pl

    from iba_bench.storage import table_files

    return pl.scan_parquet(table_files(run, table)).filter(pl.col(column) == value).collect().to_dicts()


def _one(run: Path, table: str, column: str, value: str) -> dict[str, Any]:
    rows = find(run, table, column, value)
    if not rows:
        example = next(_ids(run, table, column), "none")
        raise UserError(f"{column}={value}: not in {table} of {run}; one that is: {example}")
    return rows[0]


def _ids(run: Path, table: str, column: str) -> Iterator[str]:
    import polars as pl

    from iba_bench.storage import table_files

    yield from pl.scan_parquet(table_files(run, table)).select(column).collect()[column]


def _overview(run: Path, console: Console) -> None:
    console.print("[bold]a few ids to begin with[/bold] (iba show run=... persona=ID | session=ID | task=ID)")
    for table, column in (("personas", "persona_id"), ("histories", "session_id"), ("tasks", "task_id")):
        ids = [key for _, key in zip(range(3), _ids(run, table, column), strict=False)]
        console.print(f"{column}: {', '.join(ids)}")


def _persona(run: Path, key: str, console: Console) -> None:
    if key.isdigit():
        ids = list(_ids(run, "personas", "persona_id"))
        if int(key) >= len(ids):
            raise UserError(f"persona={key}: the run has {len(ids)} personas, numbered from 0")
        key = ids[int(key)]
    row = _one(run, "personas", "persona_id", key)
    console.print(f"[bold]{escape(row['display_name'])}[/bold] {key} {row['locale']} {row['timezone']}")
    for column in ("background", "traits", "voice"):
        pairs = json.loads(row[column]).items()
        console.print(f"[bold]{column}[/bold] " + escape(", ".join(f"{name}: {value}" for name, value in pairs)))
    console.print("[bold]circle[/bold] " + escape(", ".join(person["mention"] for person in json.loads(row["social"]))))
    console.print("[bold]ledger[/bold]")
    entries = find(run, "ledger", "persona_id", key)
    for entry in sorted(entries, key=lambda item: (item["dimension"], item["valid_from"])):
        until = f" to {entry['valid_to'][:10]}" if entry["valid_to"] else ""
        console.print(
            f"  {entry['dimension']}: {'not ' if entry['polarity'] == 'dislikes' else ''}{entry['value']} ({entry['strength']}, {entry['scope']}, "
            f"{entry['horizon']}, {escape(entry['holder'])}) from {entry['valid_from'][:10]}{until}, {entry['cause']}"
        )
    console.print("[bold]tasks[/bold]")
    for task in sorted(find(run, "tasks", "persona_id", key), key=lambda t: int(t["sequence_index"])):
        console.print(f"  {task['task_id']} {task['issued_at'][:16]} {task['scenario_id']}: {escape(task['instruction'])}")


def _session(run: Path, key: str, console: Console) -> None:
    session = _one(run, "histories", "session_id", key)
    notes: dict[str, list[Row]] = {}
    for note in find(run, "annotations", "session_id", key):
        notes.setdefault(note["turn_id"], []).append(note)
    console.print(f"[bold]{session['kind']}[/bold] {session['scenario_id']} {session['started_at']} {key}")
    for turn in session["turns"]:
        console.print(f"[dim]{turn['at'][11:19]}[/dim] [bold]{turn['role']}[/bold] {escape(turn['content'])}")
        _words_by(notes.get(turn["turn_id"], []), console)
        for row in notes.get(turn["turn_id"], ()):
            if row["noise_kind"]:
                console.print(f"         [yellow]noise: {row['noise_kind']}[/yellow]")
            elif row["dimension"]:
                ends = f", ends {row['end'][:10]}" if row["end"] else ""
                console.print(escape(
                    f"         {row['cue_type']}: {row['dimension']} = {row['value']} ({row['strength']}, {row['scope']}, {row['holder']}, "
                    f"{row['explicitness']}{ends})"
                ), style="green")  # fmt: skip


def _words_by(notes: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Say who found a turn's words, where a model was asked."""
    if notes and notes[0]["fallback_reason"]:
        console.print(escape(f"         words: the catalogs', after {notes[0]['tries']} tries of a model: {notes[0]['fallback_reason']}"), style="dim")
    elif notes and notes[0]["speaker"] != "embedded":
        console.print(f"         words: a model's, try {notes[0]['tries']}", style="dim")


def _task(run: Path, key: str, console: Console) -> None:
    task, solution = _one(run, "tasks", "task_id", key), _one(run, "solutions", "task_id", key)
    console.print(f"[bold]{task['scenario_id']}[/bold] {task['action_kind']} {key}, issued {task['issued_at']}, {task['split']}")
    console.print(f"[bold]instruction[/bold] {escape(task['instruction'])}")
    console.print(f"[bold]decided by[/bold] {', '.join(solution['challenges']) or 'plain long-term values'}")
    rivals = json.loads(solution["rivals"])
    for constraint in solution["constraints"]:
        console.print(
            escape(f"  {constraint['strength']}: {constraint['dimension']} {constraint['predicate']} ({constraint['scope']}, {constraint['holder']})")
        )
        wrong = ", ".join(f"{value}: {label}" for value, label in rivals.get(constraint["dimension"], {}).items())
        console.print(escape(f"      rivals {wrong}"), style="dim")
        for turn_id in constraint["evidence"]:
            console.print(escape(f"      {_turn(run, task['persona_id'], turn_id)}"), style="green")
    console.print(f"[bold]witness[/bold] {escape(solution['witness'])}")
    console.print("[bold]certificate[/bold]")
    console.print_json(solution["certificate"])
    for twin in find(run, "twins", "task_id", key):
        console.print("[bold]twin[/bold] the turns that would say otherwise:")
        for edit in twin["edits"]:
            console.print(escape(f"      {edit['content']}"), style="magenta")


def _turn(run: Path, persona_id: str, turn_id: str) -> str:
    for session in find(run, "histories", "persona_id", persona_id):
        for turn in session["turns"]:
            if turn["turn_id"] == turn_id:
                return f"{turn['at'][:16]} {turn['content']}"
    return turn_id
