"""The record of blind decoding: one object a line of the catalogs, with what its reader saw in it.

A misread line is reworded (the record keeps the first reading and is marked ``rewritten``, ``was`` names the line it replaces) or it goes
(``removed``). A line that is removed though it was read right counts for nothing.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from iba_bench.errors import UserError
from scenarios.decoding_items import ANY, GOLD, NOT_STATED, Item, Row
from scenarios.library import ROOT

RECORD = ROOT / "decoded"
LEAST_RIGHT = 0.95


def reading_of(key: Row, answer: Row) -> Row:
    """Return what the reader saw in a line, in the words of the catalog."""
    letter = str(answer.get("answer", "")).strip().upper()
    if letter not in key["letters"]:
        raise UserError(f"answer '{letter}' to line {key['id']} is no option; valid: {', '.join(key['letters'])}")
    value = key["letters"][letter]
    if key["value"] == ANY and value == key["phrase_value"]:
        value = ANY
    reading = {"value": value, "strength": str(answer.get("strength", "")), "holder": str(answer.get("holder", ""))}
    return {**reading, "right": is_right(key, reading)}


def is_right(gold: Row, reading: Row) -> bool:
    """Whether a reading is what the line is meant to show; noise about a third person may also be read as that person's."""
    if gold["kind"] == "noise":
        theirs = gold["dimension"] == "noise.third_party" and reading.get("holder") == "other"
        return theirs or reading["value"] == NOT_STATED
    if reading["value"] != gold["value"]:
        return False
    return gold["kind"] == "scope" or (reading["strength"], reading.get("holder")) == (gold["strength"], gold["holder"])


def read_record(folder: Path = RECORD) -> dict[str, Row]:
    """Return the record by line id."""
    out: dict[str, Row] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for row in read_lines(path):
            out[row["id"]] = row
    return out


def read_lines(path: Path) -> list[Row]:
    """Return the objects of a JSON-lines file; raises `UserError` with the line that is none."""
    out = []
    try:
        texts = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    for number, text in enumerate(texts, 1):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except json.JSONDecodeError as error:
            raise UserError(f"{path}:{number}: not valid JSON: {error.msg}; mend the line") from None
        if not isinstance(row, dict) or "id" not in row:
            raise UserError(f"{path}:{number}: not an object with an 'id'; mend the line")
        out.append(row)
    return out


def write_record(record: Mapping[str, Row], folder: Path = RECORD) -> None:
    """Write the record, one file a source file, lines in the order of ids."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, list[str]] = defaultdict(list)
    for key in sorted(record):
        files[Path(record[key]["file"]).stem].append(json.dumps(record[key], ensure_ascii=False))
    for stem in sorted(files):
        (folder / f"{stem}.jsonl").write_text("\n".join(files[stem]) + "\n", encoding="utf-8")


def merged(record: Mapping[str, Row], keys: Mapping[str, Row], answers: Iterable[Row], reader: str) -> dict[str, Row]:
    """Return the record with the answers in it: a line's first reading stays, its final one is the latest."""
    out = dict(record)
    for answer in answers:
        key = keys.get(answer["id"])
        if key is None:
            raise UserError(f"no line has the id {answer['id']}; give the key that was made with the sheet (--key)")
        reading = reading_of(key, answer)
        old = out.get(answer["id"])
        first = old["first"] if old else reading
        action = "rewritten" if old and old["action"] == "rewritten" else "kept"
        was = {"was": old["was"]} if old and "was" in old else {}
        gold = {name: key[name] for name in GOLD}
        out[answer["id"]] = {**gold, "first": first, "final": reading, "action": action, "reader": reader, **was}
    return out


def _place(row: Row) -> tuple[str, ...]:
    return row["file"], row["dimension"], row["value"], row["kind"]


def tidied(record: Mapping[str, Row], fresh: Iterable[str], current: Mapping[str, Item]) -> dict[str, Row]:
    """Return the record with lines that are gone marked: a fresh line in the same place is what a misread one became."""
    out, files = dict(record), {item.file for item in current.values()}
    new: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for key in sorted(fresh):
        if key in current and "was" not in out[key]:
            new[_place(out[key])].append(key)
    for key, row in record.items():
        if key in current or row["file"] not in files or row["action"] == "removed":
            continue
        heirs = new[_place(row)]
        if heirs and not is_right(row, row["final"]):
            heir = heirs.pop(0)
            out[heir] = {**out[heir], "first": row["first"], "action": "rewritten", "was": key}
            del out[key]
        else:
            out[key] = {**row, "action": "removed"}
    return out


@dataclass(frozen=True)
class Review:
    """What the record says of the catalogs: problems, each naming its line, and figures."""

    problems: tuple[str, ...]
    lines: int
    right: int
    share: float
    first_share: float


def review(items: Iterable[Item], record: Mapping[str, Row]) -> Review:
    """Compare the lines that are in the catalogs with the record; readings are judged again, never taken as marked."""
    current = {item.id: item for item in items}
    problems = [*_unread(current, record), *_stale(current, record)]
    files = {item.file for item in current.values()}
    rows = [row for row in record.values() if row["file"] in files]
    counted = [row for row in rows if row["action"] != "removed" or not is_right(row, row["final"])]
    right = sum(is_right(row, row["final"]) for row in counted)
    first = sum(is_right(row, row["first"]) for row in counted)
    share, first_share = (n / len(counted) if counted else 0.0 for n in (right, first))
    if share < LEAST_RIGHT:
        problems.append(f"{share:.1%} of the lines were read right, at least {LEAST_RIGHT:.0%} must be")
    sound = sum(key in record and is_right(record[key], record[key]["final"]) for key in current)
    return Review(tuple(problems), len(current), sound, share, first_share)


def _unread(current: Mapping[str, Item], record: Mapping[str, Row]) -> Iterator[str]:
    for key, item in current.items():
        place = f"{item.file}: {item.dimension}={item.value} {item.kind} {key}"
        row = record.get(key)
        if row is None or row["action"] == "removed":
            yield f"{place}: no reading on record: {item.line!r}"
        elif any(row[name] != getattr(item, name) for name in GOLD):
            yield f"{place}: the record is stale, the line's strength, holder or split has changed since"
        elif not is_right(row, row["final"]):
            yield f"{place}: read as {row['final']['value']} ({row['final']['strength']}): {item.line!r}"


def _stale(current: Mapping[str, Item], record: Mapping[str, Row]) -> Iterator[str]:
    files = {item.file for item in current.values()}
    for key, row in record.items():
        if row["file"] in files and key not in current and row["action"] != "removed":
            yield f"{row['file']}: {key}: the record is stale, the line is not in the file: {row['line']!r}"
