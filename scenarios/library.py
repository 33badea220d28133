"""The library: all scenario files and shared banks, loaded once and indexed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from iba_bench.errors import UserError, near_match
from iba_bench.yaml_source import YamlSource
from scenarios.check import NamePattern
from scenarios.line import Frozen, Line
from scenarios.models import DOMAINS, Dimension, DimensionFile, Frames, NoiseLine, Scenario, ScopeBank, Value

ROOT = Path(__file__).parent
FILLER = ("small_talk", "entertainment", "logistics")
ADVERSARIAL = ("third_party", "hypothetical", "sarcasm", "one_off", "stale_echo", "assistant_error")


class NoiseBank(Frozen):
    """Noise exchanges by kind, with their own fills."""

    fills: Mapping[str, tuple[str, ...]] = {}
    kinds: Mapping[str, tuple[NoiseLine, ...]]


class ScopesFile(Frozen):
    """Scope sentences by scope, and those that say there is none."""

    scopes: Mapping[str, ScopeBank]
    always: ScopeBank
    fills: Mapping[str, tuple[str, ...]] = {}


class AsidesFile(Frozen):
    """Sentences with which a user changes the subject."""

    cross: tuple[Line, ...]
    fills: Mapping[str, tuple[str, ...]] = {}


class PlainBank(Frozen):
    """Small shared banks: lines that end a long-term preference, neutral log entries."""

    expiry: tuple[Line, ...]
    logs: Mapping[str, tuple[Line, ...]]
    fills: Mapping[str, tuple[str, ...]] = {}


@dataclass(frozen=True)
class Library:
    """Everything that can happen, indexed.

    Attributes:
        scenarios: By id, in the order in which tasks rotate over them (domains interleaved).
        shared: Shared dimension files by name.
        frames: Frames filled with a value's phrase.
        scopes: Scope sentences.
        noise: Noise exchanges.
        asides: Changes of subject.
        plain: Small shared banks.
        digest: sha256 over all files read.
    """

    scenarios: Mapping[str, Scenario]
    shared: Mapping[str, DimensionFile]
    frames: Frames
    scopes: ScopesFile
    noise: NoiseBank
    asides: AsidesFile
    plain: PlainBank
    digest: str = field(compare=True)

    @cached_property
    def dimensions(self) -> dict[str, Dimension]:
        """All dimensions by id."""
        out = {key: d for scenario in self.scenarios.values() for key, d in scenario.dimensions.items()}
        return out | {key: d for bank in self.shared.values() for key, d in bank.dimensions.items()}

    @cached_property
    def fills(self) -> dict[str, Mapping[str, tuple[str, ...]]]:
        """The fills that a dimension's lines use, by dimension id."""
        out: dict[str, Mapping[str, tuple[str, ...]]] = {key: scenario.fills for scenario in self.scenarios.values() for key in scenario.dimensions}
        return out | {key: bank.fills for bank in self.shared.values() for key in bank.dimensions}

    @cached_property
    def exposed(self) -> dict[str, tuple[str, ...]]:
        """The dimensions that an action of a scenario can expose, by scenario id."""
        return {key: (*scenario.applies, *scenario.dimensions) for key, scenario in self.scenarios.items()}

    @cached_property
    def homes(self) -> dict[str, tuple[str, ...]]:
        """The scenarios in which a dimension belongs, by dimension id."""
        return {dimension: tuple(key for key, exposed in self.exposed.items() if dimension in exposed) for dimension in self.dimensions}

    @cached_property
    def _patterns(self) -> dict[tuple[str, str], NamePattern]:
        return {(d.id, v.id): NamePattern(v.names) for d in self.dimensions.values() for v in d.values.values()}

    def names(self, dimension: str, value: str) -> NamePattern:
        """Return the pattern that finds a value's label or a synonym in text."""
        return self._patterns[dimension, value]

    @cached_property
    def _any_patterns(self) -> dict[str, NamePattern]:
        return {d.id: NamePattern(name for v in d.values.values() for name in v.names) for d in self.dimensions.values()}

    def any_name(self, dimension: str) -> NamePattern:
        """Return the pattern that finds a label or synonym of any of a dimension's values in text."""
        return self._any_patterns[dimension]

    def value(self, dimension: str, value: str) -> Value:
        """Return a value by its ids."""
        return self.dimensions[dimension].values[value]

    def scenario(self, key: str) -> Scenario:
        """Return a scenario; an unknown id lists what exists."""
        if key not in self.scenarios:
            raise UserError(f"scenario '{key}' does not exist; {near_match(key, self.scenarios)}")
        return self.scenarios[key]


def _interleaved(scenarios: Iterable[Scenario]) -> dict[str, Scenario]:
    rank: dict[str, int] = {}
    keyed = []
    for scenario in sorted(scenarios, key=lambda item: item.scenario):
        rank[scenario.domain] = rank.get(scenario.domain, -1) + 1
        keyed.append((rank[scenario.domain], DOMAINS.index(scenario.domain), scenario.scenario, scenario))
    return {item[2]: item[3] for item in sorted(keyed, key=lambda item: item[:3])}


class _Reader:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.hash = hashlib.sha256()

    def source(self, path: Path) -> YamlSource:
        name = f"scenarios/{path.relative_to(self.root).as_posix()}"
        self.hash.update(name.encode() + path.read_bytes())
        return YamlSource(path, name)

    def shared(self, name: str) -> YamlSource:
        return self.source(self.root / "shared" / name)


def _noise(source: YamlSource) -> NoiseBank:
    kinds = {key: value for key, value in source.data.items() if key != "fills"}
    for kind in kinds:
        if kind not in FILLER + ADVERSARIAL:
            raise source.error((kind,), f"unknown noise kind; {near_match(kind, FILLER + ADVERSARIAL)}")
    return source.parse(NoiseBank, {"fills": source.data.get("fills", {}), "kinds": kinds})


def _scopes(source: YamlSource) -> ScopesFile:
    data: dict[str, Any] = {key: value for key, value in source.data.items() if key not in ("fills", "always")}
    return source.parse(ScopesFile, {"scopes": data, "always": source.data["always"], "fills": source.data.get("fills", {})})


def read_library(root: Path, only: tuple[str, ...] = ()) -> Library:
    """Read all files below ``root`` (the ``scenarios`` folder); ``only`` narrows the scenarios."""
    reader = _Reader(root)
    scenarios = []
    for path in sorted((root / "catalog").glob("*/*.yaml")):
        if path.name.endswith(".brief.yaml") or (only and path.stem not in only):
            continue
        source = reader.source(path)
        scenario = source.parse(Scenario)
        if scenario.scenario != path.stem or scenario.domain != path.parent.name:
            raise source.error(("scenario",), f"the file must lie at {scenario.domain}/{scenario.scenario}.yaml")
        scenarios.append(scenario)
    library = Library(
        scenarios=_interleaved(scenarios),
        shared={"writing": reader.shared("writing.yaml").parse(DimensionFile)},
        frames=reader.shared("frames.yaml").parse(Frames),
        scopes=_scopes(reader.shared("scopes.yaml")),
        noise=_noise(reader.shared("noise.yaml")),
        asides=reader.shared("asides.yaml").parse(AsidesFile),
        plain=reader.shared("plain.yaml").parse(PlainBank),
        digest=reader.hash.hexdigest(),
    )
    _check_references(library)
    return library


def _check_references(library: Library) -> None:
    owners: dict[str, str] = {}
    for scenario in library.scenarios.values():
        for key in scenario.dimensions:
            if key in owners:
                raise UserError(f"dimension '{key}' stands in '{owners[key]}' and '{scenario.scenario}'; rename one")
            owners[key] = scenario.scenario
        for key in scenario.applies:
            if key not in library.dimensions:
                known = near_match(key, library.dimensions)
                raise UserError(f"scenario '{scenario.scenario}': applies: unknown dimension '{key}'; {known}")


@lru_cache(maxsize=4)
def load_library(root: Path = ROOT) -> Library:
    """Return the library of this installation, read once per process."""
    return read_library(root)
