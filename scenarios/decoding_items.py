"""The lines of the catalogs that a reader decodes blind: what each is meant to show, the sheet that hides it and the key that tells it.

A line is known by the hash of its words, so that a reworded line is a new line.
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from iba_bench.errors import UserError
from iba_bench.streams import pick, shuffled, stream
from iba_bench.yaml_source import YamlSource
from scenarios.library import ROOT, Library, NoiseBank, ScopesFile
from scenarios.line import CueLine, LineParts
from scenarios.models import Dimension, DimensionFile, Frames, Scenario

NOT_STATED, ANY = "not_stated", "*"
UNSCOPED = "not stated: no such condition, nor that there is none, can be told"
UNSTATED = "not stated: no current preference on this, the user's own or another person's, can be told from the user's words"
BANKS = ("explicit", "hinted", "served", "explicit_dislikes", "hinted_dislikes", "served_dislikes")
GOLD = ("id", "file", "dimension", "value", "line", "split", "kind", "strength", "holder", "scope")
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


def rows_of(items: Iterable[Item], what: str) -> list[Row]:
    """Return the sheet (or the key) of items, in the order of their ids."""
    dimensions = examples()
    make = sheet_row if what == "sheet" else key_row
    once = {item.id: item for item in items}
    return [make(with_example(once[key], dimensions)) for key in sorted(once)]
