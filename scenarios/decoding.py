"""Blind decoding: can a reader who did not write a line tell what it shows?

``sheet`` prints the lines of files without their answers, ``key`` the answers, ``score`` merges what a reader said into the record
(``docs/decoding/*.jsonl``), ``check`` says which lines of the catalogs lack a right reading. A line is known by the hash of its words: a reworded line is
a new line. A misread line is reworded (its record keeps the first reading and is marked ``rewritten``) or it goes (``removed``); records say which.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import string
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from iba_bench.errors import CheckFailed, UserError, near_match
from iba_bench.streams import pick, shuffled, stream
from iba_bench.yaml_source import YamlSource
from scenarios.library import ROOT, Library, NoiseBank, ScopesFile, load_library
from scenarios.line import CueLine, Line, LineParts
from scenarios.models import Dimension, DimensionFile, Frames, Scenario

RECORD = ROOT.parent / "docs" / "decoding"
NOT_STATED, ANY = "not_stated", "*"
UNSCOPED = "not stated: no such condition, nor that there is none, can be told"
UNSTATED = "not stated: no current preference on this, the user's own or another person's, can be told from the user's words"
BANKS = ("explicit", "hinted", "served", "explicit_dislikes", "hinted_dislikes", "served_dislikes")
GOLD = ("id", "file", "dimension", "value", "line", "split", "kind", "strength", "holder", "scope")
LEAST_RIGHT = 0.95
NEUTRAL = {
    "person": "my friend Robin", "day": "Thursday the 5th", "soon": "Tuesday the 9th", "city": "Harlow", "street": "Mill Lane",
    "option_a": "the first", "option_b": "the second",
}  # fmt: skip
Row = dict[str, Any]


@dataclass(frozen=True)
class Item:
    """One line to decode and what it is meant to show.

    Attributes:
        file: Where it stands, from the root of the repository.
        dimension: Dimension id; ``frames.<bank>``, ``noise.<kind>`` or ``scopes`` for shared banks.
        value: Value id; ``*`` (the phrase's) in a frame, ``not_stated`` in noise, the scope in a scope clause.
        line: The line as written; for noise the user's and the assistant's, two lines of text.
        kind: cue, served, frame, scope or noise.
        strength: must, prefer, or empty where none is shown.
        holder: user or other; empty where none is shown.
        scope: The scope of a scope clause, else empty.
        options: What the reader may choose among, by value id; empty in frames and noise (an example gives them).
        about: What the options are values of.
    """

    file: str
    dimension: str
    value: str
    line: str
    split: str
    kind: str
    strength: str = ""
    holder: str = ""
    scope: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    about: str = ""
    pools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    phrase: tuple[str, str] = ("", "")

    @cached_property
    def id(self) -> str:
        """The line's id: a hash of what it says and means."""
        return hashlib.sha256(f"{self.dimension}|{self.value}|{self.kind}|{self.line}".encode()).hexdigest()[:12]


# --- the lines of the catalogs ---------------------------------------------------


def _described(dimension: Dimension) -> str:
    away = " (what has to be kept away from)" if dimension.polarity == "dislikes" else ""
    return f"{dimension.label}{away}: {dimension.description}"


def _glosses(dimension: Dimension) -> dict[str, str]:
    return {key: value.gloss for key, value in dimension.values.items()}


def dimension_items(dimensions: Mapping[str, Dimension], pools: Mapping[str, tuple[str, ...]], file: str) -> Iterator[Item]:
    """Yield the cue and served lines of dimensions."""
    for key, dimension in dimensions.items():
        about, options = _described(dimension), _glosses(dimension)
        for value_id, value in dimension.values.items():
            groups: tuple[tuple[str, str, tuple[CueLine, ...]], ...] = (("cue", "user", value.cues), ("served", "other", value.served))
            for kind, holder, lines in groups:
                for cue in lines:
                    yield Item(file, key, value_id, cue.say, cue.split, kind, cue.strength, holder, "", options, about, pools)


def frame_items(frames: Frames, file: str) -> Iterator[Item]:
    """Yield the shared frames."""
    for bank in BANKS:
        holder = "other" if bank.startswith("served") else "user"
        for cue in getattr(frames, bank):
            yield Item(file, f"frames.{bank}", ANY, cue.say, cue.split, "frame", cue.strength, holder, pools=frames.fills)


def scope_items(scopes: ScopesFile, file: str) -> Iterator[Item]:
    """Yield the clauses that limit a preference, and those that say that nothing does."""
    banks = {**scopes.scopes, "always": scopes.always}
    options = {key: key.replace("_", " ") for key in banks}
    about = "scope: when the preference that the user has just voiced applies"
    for key, bank in banks.items():
        for line in bank.clauses:
            yield Item(file, "scopes", key, line.say, line.split, "scope", scope=key, options=options, about=about, pools=scopes.fills)


def noise_items(noise: NoiseBank, file: str) -> Iterator[Item]:
    """Yield the noise exchanges."""
    for kind, lines in noise.kinds.items():
        for entry in lines:
            text = f"{entry.user}\n{entry.assistant}"
            yield Item(file, f"noise.{kind}", NOT_STATED, text, entry.split, "noise", pools=noise.fills)


def library_items(library: Library) -> Iterator[Item]:
    """Yield every line of a library that a reader decodes."""
    for scenario in library.scenarios.values():
        file = f"scenarios/catalog/{scenario.domain}/{scenario.scenario}.yaml"
        yield from dimension_items(scenario.dimensions, scenario.fills, file)
    for name, bank in library.shared.items():
        yield from dimension_items(bank.dimensions, bank.fills, f"scenarios/shared/{name}.yaml")
    yield from frame_items(library.frames, "scenarios/shared/frames.yaml")
    yield from scope_items(library.scopes, "scenarios/shared/scopes.yaml")
    yield from noise_items(library.noise, "scenarios/shared/noise.yaml")


def file_items(path: Path) -> list[Item]:
    """Return the lines of one file; raises `UserError` if it cannot be read."""
    whole = path.resolve()
    name = whole.relative_to(ROOT.parent).as_posix() if whole.is_relative_to(ROOT.parent) else path.as_posix()
    source = YamlSource(path, name)
    rest = {key: value for key, value in source.data.items() if key not in ("fills", "always")}
    fills = source.data.get("fills", {})
    if "scenario" in source.data:
        scenario = source.parse(Scenario)
        return list(dimension_items(scenario.dimensions, scenario.fills, name))
    if path.name == "frames.yaml":
        return list(frame_items(source.parse(Frames), name))
    if path.name == "scopes.yaml":
        return list(scope_items(source.parse(ScopesFile, {"scopes": rest, "always": source.data["always"], "fills": fills}), name))
    if path.name == "noise.yaml":
        return list(noise_items(source.parse(NoiseBank, {"fills": fills, "kinds": rest}), name))
    bank = source.parse(DimensionFile)
    return list(dimension_items(bank.dimensions, bank.fills, name))


# --- sheet and key -----------------------------------------------------------------


def examples(root: Path = ROOT) -> list[Dimension]:
    """Return the dimensions that lend their values to frames and noise; files that cannot be read are passed over."""
    out: list[Dimension] = []
    for path in sorted((root / "catalog").glob("*/*.yaml")):
        try:
            if not path.name.endswith(".brief.yaml"):
                out += YamlSource(path).parse(Scenario).dimensions.values()
        except UserError:
            continue
    return out


def with_example(item: Item, dimensions: Sequence[Dimension]) -> Item:
    """Return a frame or noise line with the options and the phrase of some dimension, chosen by the line's id."""
    if item.options:
        return item
    away = item.dimension.endswith("_dislikes")
    fitting = [d for d in dimensions if (d.polarity == "dislikes") == away]
    if item.dimension == "frames.served":
        fitting = [d for d in fitting if d.servable] or fitting
    if not fitting:
        raise UserError(f"no dimension in the catalog suits '{item.dimension}'; write one first")
    rng = stream("decoding", item.id, "example")
    dimension = pick(rng, fitting)
    value = pick(rng, list(dimension.values.values()))
    return replace(item, options=_glosses(dimension), about=_described(dimension), phrase=(value.id, value.phrase))


def rendering(item: Item) -> str:
    """Return one rendering of the line with neutral fills."""
    rng = stream("decoding", item.id, "words")
    chosen = {**NEUTRAL, "phrase": item.phrase[1]}

    def fill(name: str) -> str:
        if name not in chosen:
            chosen[name] = pick(rng, item.pools[name]) if name in item.pools else name.replace("_", " ")
        return chosen[name]

    texts = [LineParts(part).draw(rng, fill) for part in item.line.split("\n")]
    return texts[0] if len(texts) == 1 else f"User: {texts[0]}\nAssistant: {texts[1]}"


def letters(item: Item) -> dict[str, str]:
    """Return value ids (or ``not_stated``) by option letter, in the line's own order."""
    order = shuffled(stream("decoding", item.id, "options"), [*item.options, NOT_STATED])
    return dict(zip(string.ascii_uppercase, order, strict=False))


def sheet_row(item: Item) -> Row:
    """Return what the reader sees."""
    unstated = UNSCOPED if item.kind == "scope" else UNSTATED
    options = {letter: item.options.get(value, unstated) for letter, value in letters(item).items()}
    return {"id": item.id, "text": rendering(item), "dimension_description": item.about, "options": options}


def key_row(item: Item) -> Row:
    """Return what the reader does not see."""
    return {**{name: getattr(item, name) for name in GOLD}, "letters": letters(item), "phrase_value": item.phrase[0]}


def rows_of(paths: Iterable[Path], what: str, only: frozenset[str] | None = None) -> list[Row]:
    """Return the sheet or the key of files, in the order of ids; ``only`` narrows it to those ids."""
    dimensions = examples()
    make = sheet_row if what == "sheet" else key_row
    items = {item.id: item for path in paths for item in file_items(path)}
    return [make(with_example(items[key], dimensions)) for key in sorted(items) if only is None or key in only]


# --- the record ----------------------------------------------------------------------


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
    """Return the record with lines that are gone marked: a fresh line in the same place is what one was rewritten to, the others are removed."""
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
