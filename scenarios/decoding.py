"""Blind decoding: can a reader who did not write a line tell what it shows?

``sheet`` prints the lines of files without their answers, ``key`` the answers, ``score`` merges what a reader said into the record
(``scenarios/decoded/*.jsonl``), ``check`` names the lines of the catalogs that lack a right reading. Answers are objects, one a line:
``{"id", "answer": letter, "strength": must, prefer or unclear, "holder": user or other}``. With ``--missing`` a sheet holds only
lines without a right reading. Keep the key that was made with a sheet and give it to ``score``: a frame's example depends on what
the catalog then held.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from iba_bench.errors import UserError
from scenarios.decoding_items import Item, Row, file_items, rows_of
from scenarios.decoding_record import RECORD, is_right, merged, read_lines, read_record, review, tidied, write_record
from scenarios.library import ROOT

SHARED = ("writing", "frames", "scopes", "noise")
SHOWN = 40


def catalog_files() -> list[Path]:
    """Return every file that holds lines to decode."""
    own = [path for path in sorted((ROOT / "catalog").glob("*/*.yaml")) if not path.name.endswith(".brief.yaml")]
    return own + [path for path in (ROOT / "shared" / f"{name}.yaml" for name in SHARED) if path.exists()]


def readable_items(paths: Iterable[Path]) -> dict[str, Item]:
    """Return the items of all files that can be read; the others are named on stderr."""
    out = {}
    for path in paths:
        try:
            out.update({item.id: item for item in file_items(path)})
        except UserError as error:
            print(error, file=sys.stderr)
    return out


def _print_rows(what: str, paths: list[Path], missing: bool, folder: Path) -> int:
    items = [item for path in paths for item in file_items(path)]
    if missing:
        record = read_record(folder)
        right = {key for key, row in record.items() if row["action"] != "removed" and is_right(row, row["final"])}
        items = [item for item in items if item.id not in right]
    for row in rows_of(items, what):
        print(json.dumps(row, ensure_ascii=False))
    return 0


def _score(answers: list[Path], keys: list[Path], reader: str, folder: Path) -> int:
    current = readable_items(catalog_files())
    given = [row for path in answers for row in read_lines(path)]
    fresh = [row["id"] for row in given]
    known = {row["id"]: row for path in keys for row in read_lines(path)}
    if not keys:
        known = {row["id"]: row for row in rows_of((current[key] for key in fresh if key in current), "key")}
    record = tidied(merged(read_record(folder), known, given, reader), fresh, current)
    write_record(record, folder)
    _print_shares(record.values(), current)
    return 0


def _print_shares(rows: Iterable[Row], current: dict[str, Item]) -> None:
    files: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        files[row["file"]].append(row)
    lines = Counter(item.file for item in current.values())
    print(f"{'file':<60}{'lines':>7}{'read':>7}{'first right':>13}{'final right':>13}{'rewritten':>11}{'removed':>9}")
    for file in sorted(files):
        read = files[file]
        first, final = (sum(is_right(row, row[name]) for row in read) / len(read) for name in ("first", "final"))
        actions = Counter(row["action"] for row in read)
        print(f"{file:<60}{lines[file]:>7}{len(read):>7}{first:>13.1%}{final:>13.1%}{actions['rewritten']:>11}{actions['removed']:>9}")


def _check(folder: Path) -> int:
    found = review(readable_items(catalog_files()).values(), read_record(folder))
    for problem in found.problems[:SHOWN]:
        print(problem)
    if len(found.problems) > SHOWN:
        print(f"... and {len(found.problems) - SHOWN} more")
    print(f"{found.lines} lines, {found.right} of them read right")
    print(f"right in all {found.share:.1%}, at first reading {found.first_share:.1%}")
    return 1 if found.problems else 0


def main(arguments: list[str]) -> int:
    """Run one of the commands; 1 if lines lack a right reading, 2 at a mistake of the user's."""
    parser = argparse.ArgumentParser(prog="python -m scenarios.decoding", description="Blind decoding of the catalogs' lines.")
    parser.add_argument("command", choices=("sheet", "key", "score", "check"))
    parser.add_argument("files", nargs="*", type=Path, help="scenario files (sheet, key) or answers (score)")
    parser.add_argument("--missing", action="store_true", help="sheet, key: only lines without a right reading")
    parser.add_argument("--key", action="append", default=[], type=Path, help="score: the key made with the sheet")
    parser.add_argument("--reader", default="reader", help="score: who read, for the record")
    parser.add_argument("--record", default=RECORD, type=Path, help="folder of the record")
    given = parser.parse_intermixed_args(arguments)
    try:
        if given.command in ("sheet", "key"):
            return _print_rows(given.command, given.files, given.missing, given.record)
        if given.command == "score":
            return _score(given.files, given.key, given.reader, given.record)
        return _check(given.record)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
