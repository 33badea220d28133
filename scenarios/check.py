"""Content checks over scenario files: what the models cannot see from one field.

``check_scenario`` returns every problem as one message with file, line, field and fix.
"""

from __future__ import annotations

import collections
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from iba_bench.errors import UserError
from iba_bench.yaml_source import YamlSource
from scenarios.line import GLOBAL_FILLS, Line, LineParts, every_word, variable_parts
from scenarios.models import Dimension, DimensionFile, Scenario, Value

TALK_LEAST = {"openings": 24, "situations": 30, "requests": 24, "exchanges": 24, "closings": 20, "offers": 18}
TALK_LEAST |= {"acknowledgements": 24, "farewells": 14}
Loc = tuple[int | str, ...]
Problem = tuple[Loc, str]


class NamePattern:
    """Finds any of some names as whole words, in any case, regular plural included.

    A plain substring test goes first: it rules out most text many times faster than the pattern does.
    """

    __slots__ = ("_plain", "_pattern")

    def __init__(self, names: Iterable[str]) -> None:
        ordered = sorted(set(names), key=lambda name: (-len(name), name))
        self._plain = tuple(name.lower() for name in ordered)
        alternatives = "|".join(re.escape(name) + "s?" for name in ordered)
        self._pattern = re.compile(r"(?<!\w)(?:" + alternatives + r")(?!\w)", re.IGNORECASE)

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first place where a name stands, or None."""
        lowered = text.lower()
        if not any(name in lowered for name in self._plain):
            return None
        return self._pattern.search(text)


def _line_problems(line: Line, loc: Loc, fills: Mapping[str, tuple[str, ...]], least: int) -> Iterator[Problem]:
    known = {*fills, *GLOBAL_FILLS, "option_a", "option_b", "subject"}
    for name in LineParts(line.say).fills:
        if name not in known:
            yield loc, f"unknown fill '{{{name}}}'; valid: {', '.join(sorted(known))}"
    if variable_parts(line.say) < least:
        yield loc, f"{variable_parts(line.say)} parts vary, at least {least} must; add [a|b] or a {{fill}}"


def _cue_counts(value: Value, loc: Loc, safety: bool) -> Iterator[Problem]:
    lines = value.cues
    dev = [line for line in lines if line.split == "dev"]
    if len(lines) < 12:
        yield loc, f"{len(lines)} cues, at least 12 are needed; write {12 - len(lines)} more"
    if len(dev) < 3:
        yield loc, f"{len(dev)} cues are split: dev, at least 3 must be"
    if len({line.type for line in lines}) < 3 or len({line.type for line in dev}) < 2:
        yield loc, "cues need at least three types, those of split dev two"
    count: collections.Counter[tuple[str, str]] = collections.Counter((line.strength, line.split) for line in lines)
    wanted = {("must", "test"): 5, ("must", "dev"): 2}
    if not safety:
        wanted |= {("prefer", "test"): 2, ("prefer", "dev"): 1}
    for key, least in wanted.items():
        if count[key] < least:
            yield loc, f"{count[key]} cues are {key[0]} and {key[1]}, at least {least} must be"


def _value_problems(value: Value, loc: Loc, fills: Mapping[str, tuple[str, ...]], safety: bool) -> Iterator[Problem]:
    yield from _cue_counts(value, (*loc, "cues"), safety)
    if value.label.lower() not in value.phrase.lower():
        yield (*loc, "phrase"), f"must contain the label '{value.label}'"
    pattern = NamePattern(value.names)
    for field in ("cues", "served", "logs"):
        lines: tuple[Line, ...] = getattr(value, field)
        for index, line in enumerate(lines):
            yield from _line_problems(line, (*loc, field, index), fills, 1 if field == "logs" else 2)
            if found := pattern.search(every_word(line.say)):
                yield (*loc, field, index), f"names the value: '{found.group(0)}'; show it without label or synonym"
    if len(value.logs) < 3 or not any(line.split == "dev" for line in value.logs):
        yield (*loc, "logs"), "at least 3 logs, one of them split: dev"


def dimension_problems(dimension: Dimension, loc: Loc, fills: Mapping[str, tuple[str, ...]]) -> Iterator[Problem]:
    """Yield the problems of one dimension."""
    total = sum(value.weight for value in dimension.values.values())
    bound = {2: 0.6, 3: 0.45}.get(len(dimension.values), 0.4)
    for key, value in dimension.values.items():
        if value.weight / total > bound:
            yield (*loc, "values", key, "weight"), f"{value.weight / total:.2f} of the population, at most {bound}"
        yield from _value_problems(value, (*loc, "values", key), fills, dimension.safety)
    names = collections.Counter(name.lower() for value in dimension.values.values() for name in value.names)
    for name, times in names.items():
        if times > 1:
            yield (*loc, "values"), f"'{name}' names {times} values; keep it for one"


def _neutral_lines(scenario: Scenario) -> Iterator[tuple[Loc, str]]:
    for pool, entries in scenario.fills.items():
        for index, entry in enumerate(entries):
            yield ("fills", pool, index), entry
    for field in TALK_LEAST:
        for index, item in enumerate(getattr(scenario.talk, field)):
            if field == "exchanges":
                yield ("talk", field, index, "ask"), item.ask
                yield ("talk", field, index, "answer"), item.answer
            else:
                yield ("talk", field, index), item.say
    for index, task in enumerate(scenario.tasks):
        yield ("tasks", index), task.say
    if scenario.entity:
        for index, name in enumerate(scenario.entity.names):
            yield ("entity", "names", index), name


def _talk_problems(scenario: Scenario) -> Iterator[Problem]:
    for field, least in TALK_LEAST.items():
        lines = getattr(scenario.talk, field)
        if len(lines) < least:
            yield ("talk", field), f"{len(lines)} lines, at least {least} are needed"
        if sum(line.split == "dev" for line in lines) < 4:
            yield ("talk", field), "at least 4 lines must be split: dev"
    if len(scenario.tasks) < 14 or sum(task.split == "dev" for task in scenario.tasks) < 4:
        yield ("tasks",), "at least 14 instructions, 4 of them split: dev"
    for loc, say in _neutral_lines(scenario):
        if loc[0] == "talk":
            yield from _line_problems(Line(say=say), loc, scenario.fills, 1)


def _opening_problems(scenario: Scenario) -> Iterator[Problem]:
    starts: dict[str, list[Loc]] = collections.defaultdict(list)
    for key, dimension in scenario.dimensions.items():
        for value_id, value in dimension.values.items():
            for index, cue in enumerate(value.cues):
                start = " ".join(every_word(cue.say).split()[:3]).lower()
                starts[start].append(("dimensions", key, "values", value_id, "cues", index))
    for start, locs in starts.items():
        if len(locs) > 4:
            yield locs[4], f"{len(locs)} cues start with '{start}', at most 4 may; vary the beginnings"


def scenario_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield every problem of a scenario."""
    for pool, entries in scenario.fills.items():
        if len(entries) < 14:
            yield ("fills", pool), f"{len(entries)} entries, at least 14 are needed"
    for key, dimension in scenario.dimensions.items():
        yield from dimension_problems(dimension, ("dimensions", key), scenario.fills)
    yield from _talk_problems(scenario)
    yield from _opening_problems(scenario)
    names = NamePattern(n for d in scenario.dimensions.values() for v in d.values.values() for n in v.names)
    for loc, say in _neutral_lines(scenario):
        if found := names.search(every_word(say)):
            yield loc, f"neutral text names a value: '{found.group(0)}'; reword it or make the label more distinctive"


def check_file(path: Path) -> list[str]:
    """Return all problems of one file as messages; raises `UserError` where it cannot even be read."""
    source = YamlSource(path)
    if "scenario" in source.data:
        found = scenario_problems(source.parse(Scenario))
    else:
        bank = source.parse(DimensionFile)
        found = (problem for key, dimension in bank.dimensions.items() for problem in dimension_problems(dimension, ("dimensions", key), bank.fills))
    return [str(source.error(loc, problem)) for loc, problem in found]


def main(paths: list[str]) -> int:
    """Print the problems of the files; 1 if there are any."""
    failed = False
    for path in paths:
        try:
            problems = check_file(Path(path))
        except UserError as error:
            problems = [str(error)]
        for problem in problems:
            print(problem)
        print(f"{path}: {len(problems)} problems")
        failed = failed or bool(problems)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
