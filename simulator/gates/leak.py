"""Gate 3, no leak: nothing but the history tells gold.

By instance: no label or synonym of a gold value stands in the instruction or the context, in what the environment
says outside the attributes that carry slots, or in a tool's words outside the glosses. By population: gold's place
among the entities is uniform, and shallow models fitted on one half of the personas do no better on the other than
chance plus five points. Chance is computed here, from the entities, the options and the predicates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from scenarios.constraints import TextPredicate, parse_predicate
from scenarios.library import Library
from scenarios.models import Dimension
from scenarios.text.dimensions import dimension_spec
from simulator.gates import shallow
from simulator.gates.failure import Failure
from simulator.gates.limits import chi_square_tail, exceeds
from simulator.gates.probes import Choice
from simulator.gates.shallow import Case
from simulator.gates.sides import record_of, sides_of
from simulator.gates.verdict import Findings, Verdict
from simulator.gates.view import PersonaView, TaskView

GATE, NAME = 3, "no leak"
MARGIN = 0.05
BINS, LEAST_PLACED, RARE = 8, 40, 0.001
FAMILIES = ("position", "length", "numbers", "medoid", "overlap", "ids")
VECTORS = {"modes": shallow.fit_modes, "rates": shallow.fit_rates, "neighbours": shallow.fit_neighbours}
Row = Mapping[str, Any]


# --- one persona -------------------------------------------------------------------------


def check(view: PersonaView, library: Library) -> Iterator[Failure]:
    """Yield every gold value that is named where the agent reads."""
    for task in view.tasks:
        choices = task.choices(library)
        places = [
            ("instruction", [str(task.row["instruction"])]),
            ("context", list(_strings({key: value for key, value in task.context.items() if key not in ("now", "viewed")}))),
            ("environment", _environment(task, choices)),
        ]
        tools = list(_tool_words(task, choices))
        for constraint in task.constraints:
            dimension = library.dimensions[constraint["dimension"]]
            value = named_value(constraint, dimension)
            if value is None:
                yield Failure(GATE, "a constraint speaks of no value", task.task_id, constraint["constraint_id"])
                continue
            pattern = library.names(dimension.id, value)
            for place, texts in places:
                if found := pattern.search("\n".join(texts)):
                    yield Failure(GATE, f"the {place} names a gold value", task.task_id, dimension.id, f"'{found.group(0)}'")
            for text in tools:
                found = pattern.search(text)
                if found and not _lists_all(text, dimension, choices, library):
                    yield Failure(GATE, "a tool names a gold value", task.task_id, dimension.id, f"'{found.group(0)}'")


def named_value(constraint: Row, dimension: Dimension) -> str | None:
    """Return the value id that a constraint's predicate speaks of, or None."""
    predicate = parse_predicate(constraint["predicate"])
    if isinstance(predicate, TextPredicate):
        return next((key for key in dimension.values if dimension_spec(dimension.id, key) == predicate.spec), None)
    return next((key for key in dimension.values if dimension.public(key) == predicate.value), None)


def _strings(data: Any) -> Iterator[str]:
    """Yield all texts inside JSON data, keys left out."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for value in data.values():
            yield from _strings(value)
    elif isinstance(data, Sequence):
        for value in data:
            yield from _strings(value)


def _environment(task: TaskView, choices: Sequence[Choice]) -> list[str]:
    declared = {choice.dimension.parameter for choice in choices if choice.place == "entity"} | {"id"}
    return [text for entity in task.entities for key, value in entity.items() if key not in declared for text in _strings(value)]


def _tool_words(task: TaskView, choices: Sequence[Choice]) -> Iterator[str]:
    """Yield what tools say, without the glosses of slots and without the options, which are declared."""
    slots = {choice.dimension.parameter: choice.dimension for choice in choices}
    for tool in task.tools:
        yield str(tool["description"])
        yield from _strings(tool.get("errors", {}))
        for key, schema in tool["parameters"]["properties"].items():
            if key in slots:
                yield _without_glosses(str(schema.get("description", "")), slots[key])
            else:
                yield from _strings(schema)


def _without_glosses(text: str, dimension: Dimension) -> str:
    for key, value in dimension.values.items():
        for shown in (f"{dimension.public(key)}: {value.gloss}", value.gloss):
            text = text.replace(shown, " ")
    return text


def _lists_all(text: str, dimension: Dimension, choices: Sequence[Choice], library: Library) -> bool:
    """Whether the text names every value on offer, which tells nothing."""
    levels = next((choice.levels for choice in choices if choice.dimension.id == dimension.id), tuple(dimension.values))
    return all(library.names(dimension.id, level).search(text) for level in levels)


def summary(view: PersonaView, library: Library) -> list[dict[str, Any]]:
    """Return the sides of each task in which something is chosen: see `sides.record_of`."""
    out = []
    for task in view.tasks:
        if task.row["action_kind"] != "text" and task.missing is None:
            sides = sides_of(task, task.choices(library))
            records = {name: record_of(side, str(task.row["instruction"])) for name, side in sides.items()}
            out.append({"task": task.task_id, "sides": records})
    return out


# --- over all personas ----------------------------------------------------------------------


def population(summaries: Sequence[Row], expected: Row) -> Iterator[Verdict]:
    """Yield the verdict."""
    del expected
    findings = Findings()
    records = {row["task"]: row["sides"] for summary in summaries for row in summary["leak"]}
    cases = [case for case in shallow.cases_of(summaries) if case.task_id in records]
    tasks = [task for summary in summaries for task in summary["tasks"]]
    if not tasks or len(records) < sum(task["kind"] != "text" and not task["missing"] for task in tasks):
        findings.failures.append("tasks are missing from the summaries")
    _places(findings, records)
    for group, found in _groups(cases, records).items():
        chance = {case.task_id: _chance(records[case.task_id]) for case in found}
        findings.measured[f"chance/{group}"] = sum(chance.values()) / len(found)
        findings.measured[f"tasks/{group}"] = len(found)
        for name, hits in _models(found, records):
            _judge(findings, f"{name}/{group}", hits, len(found), sum(chance.values()) / len(found) + MARGIN)
    yield findings.verdict(GATE, NAME)


def _groups(cases: Sequence[Case], records: Mapping[str, Row]) -> dict[str, list[Case]]:
    """Return the tasks with entities to choose from and those with parameters alone."""
    out: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        out["choice" if "entity" in records[case.task_id] else "grid"].append(case)
    return dict(out)


def _chance(sides: Row) -> float:
    """Return the share of right answers among all answers."""
    out = 1.0
    for side in sides.values():
        out *= len(side["right"]) / max(side["n"], 1)
    return out


def _judge(findings: Findings, key: str, hits: float, n: int, limit: float) -> None:
    findings.measured[key], findings.limits[key] = hits / n, limit
    if exceeds(min(hits, n), n, limit):
        findings.failures.append(f"{key}: solves {hits / n:.1%} of {n} tasks, at most {limit:.1%} may be solved without the history")


def _places(findings: Findings, records: Mapping[str, Row]) -> None:
    """Test by chi-square over eighths of the list whether the fully right entity stands anywhere alike."""
    found, wanted, count = [0.0] * BINS, [0.0] * BINS, 0
    for sides in records.values():
        side = sides.get("entity")
        if side is None or not side["gold"] or side["n"] < BINS:
            continue
        count += 1
        for place in range(side["n"]):
            wanted[place * BINS // side["n"]] += 1 / side["n"]
        for place in side["gold"]:
            found[place * BINS // side["n"]] += 1 / len(side["gold"])
    if count < LEAST_PLACED:
        return
    chance = chi_square_tail(sum((have - want) ** 2 / want for have, want in zip(found, wanted, strict=True)), BINS - 1)
    findings.measured["places"], findings.limits["places"] = chance, RARE
    if chance < RARE:
        shares = ", ".join(f"{have / count:.0%}" for have in found)
        findings.failures.append(f"places: gold stands unevenly (eighths of the list: {shares}; p = {chance:.2g}, at least {RARE} wanted)")


def _models(cases: Sequence[Case], records: Mapping[str, Row]) -> Iterator[tuple[str, float]]:
    for family in FAMILIES:
        for within in (False, True):
            yield f"{family}{' by scenario' if within else ''}", _rule_hits(cases, records, family, within)
    for name, fit in VECTORS.items():
        yield name, float(sum(solved for _, solved in shallow.cross_fitted(cases, fit)))


# --- rules, cross-fitted ----------------------------------------------------------------------


def _rule_hits(cases: Sequence[Case], records: Mapping[str, Row], family: str, within: bool) -> float:
    """Return the tasks solved (ties as shares) by the rules that gained most over chance in the other half."""
    gains: dict[tuple[Any, ...], float] = defaultdict(float)
    for case in cases:
        for name, side in records[case.task_id].items():
            place = (1 - case.fold, name, case.scenario if within else None)
            for rule, share in _rules(side, family):
                gains[(*place, rule)] += share - len(side["right"]) / side["n"]
    hits = 0.0
    for case in cases:
        score = 1.0
        for name, side in records[case.task_id].items():
            place = (case.fold, name, case.scenario if within else None)
            known = [(gains[(*place, rule)], rule, share) for rule, share in _rules(side, family) if (*place, rule) in gains]
            score *= max(known)[2] if known else len(side["right"]) / max(side["n"], 1)
        hits += score
    return hits


def _rules(side: Row, family: str) -> Iterable[tuple[str, float]]:
    """Return a family's rules with their shares; for position, each place counted from the front and from the back."""
    if family != "position":
        rules: Mapping[str, float] = side["rules"].get(family, {})
        return rules.items()
    right, n = set(side["right"]), side["n"]
    return [(f"{place:+}", float((place if place >= 0 else n + place) in right)) for place in range(-n, n)]
