"""The two sides of an answer, and rules that point at candidates by their looks: where they stand, how long they are,
how they rank.

One side is the entity chosen, the other the *grid* of the write's parameters (all combinations of the options of its
slots). A rule's score on a task is the share of right candidates among those it points at, so that ties cost no draw.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scenarios.constraints import FieldPredicate, Outcome, parse_predicate
from scenarios.environment import RESULT_LIMIT
from simulator.gates.probes import Choice, words_in
from simulator.gates.view import TaskView

Shares = dict[str, float]
Record = dict[str, Any]
MOST_GRID = 4096


@dataclass(frozen=True, slots=True)
class Side:
    """Candidates of one side.

    Attributes:
        candidates: Entities as listed, or argument combinations in the order of the options.
        choices: The slots they carry.
        right: Places of those that satisfy every must of this side.
        gold: Places of those that satisfy all constraints of this side.
    """

    candidates: Sequence[Mapping[str, Any]]
    choices: Sequence[Choice]
    right: frozenset[int]
    gold: frozenset[int]


def sides_of(task: TaskView, choices: Sequence[Choice]) -> dict[str, Side]:
    """Return the sides of an api or rank task by name; a side without anything to decide is left out."""
    out = {}
    entities = listed(task)
    inner = [choice for choice in choices if choice.place == "entity"]
    if entities:
        out["entity"] = _side(task, "entity", entities, inner)
    outer = [choice for choice in choices if choice.place == "argument"]
    if outer:
        options = [_options(task, choice) for choice in outer]
        if math.prod(map(len, options)) <= MOST_GRID:
            names = [choice.dimension.parameter for choice in outer]
            grid: list[Mapping[str, Any]] = [dict(zip(names, combo, strict=True)) for combo in itertools.product(*options)]
            out["grid"] = _side(task, "argument", grid, outer)
    return out


def listed(task: TaskView) -> list[Mapping[str, Any]]:
    """Return the entities in the order in which an agent meets them: as viewed (rank) or as the search gives them."""
    if task.row["action_kind"] != "rank":
        return [*task.entities[:RESULT_LIMIT]]
    known = {entity["id"]: entity for entity in task.entities}
    return [known[key] for key in task.context["viewed"] if key in known]


def _options(task: TaskView, choice: Choice) -> list[Any]:
    job = next(tool for tool in task.tools if tool["kind"] == "write")
    return list(job["parameters"]["properties"][choice.dimension.parameter]["enum"])


def _side(task: TaskView, on: str, candidates: Sequence[Mapping[str, Any]], choices: Sequence[Choice]) -> Side:
    predicates = [(parse_predicate(c["predicate"]), c["strength"] == "must") for c in task.constraints]
    here = [(p, must) for p, must in predicates if isinstance(p, FieldPredicate) and p.on == on]
    right, gold = set(), set()
    for place, candidate in enumerate(candidates):
        outcome = Outcome(entity=candidate, arguments=candidate)
        broken = [must for predicate, must in here if not predicate.verdict(outcome).holds]
        if not any(broken):
            right.add(place)
        if not broken:
            gold.add(place)
    return Side(candidates, choices, frozenset(right), frozenset(gold))


# --- rules --------------------------------------------------------------------------


def record_of(side: Side, instruction: str) -> Record:
    """Return what the models need of a side, as JSON data: ``n``, ``right``, ``gold`` and the shares of each rule by family."""
    rules = {
        "length": _lengths(side),
        "numbers": _numbers(side),
        "medoid": _medoid(side),
        "overlap": _ranked("shared", _overlap(side, instruction), side.right),
        "ids": _ranked("id", _id_ranks(side), side.right),
    }
    return {
        "n": len(side.candidates),
        "right": sorted(side.right),
        "gold": sorted(side.gold),
        "rules": {family: shares for family, shares in rules.items() if shares},
    }


def _ranked(name: str, values: Sequence[float], right: frozenset[int]) -> Shares:
    """Return the shares of the rules that point at the lowest, second, middle, last but one and highest value, if values differ."""
    ranks = sorted(set(values))
    if len(ranks) < 2:
        return {}
    marks = {"low": ranks[0], "high": ranks[-1], "middle": sorted(values)[len(values) // 2]}
    if len(ranks) > 3:
        marks |= {"second": ranks[1], "last but one": ranks[-2]}
    out = {}
    for mark, wanted in marks.items():
        places = [place for place, value in enumerate(values) if value == wanted]
        out[f"{name} {mark}"] = round(sum(place in right for place in places) / len(places), 3)
    return out


def _slot_names(side: Side) -> set[str]:
    return {choice.dimension.parameter for choice in side.choices}


def _neutral(side: Side) -> list[str]:
    taken = _slot_names(side) | {"id"}
    return [key for key in side.candidates[0] if key not in taken and all(key in c for c in side.candidates)]


def _lengths(side: Side) -> Shares:
    out = _ranked("all", [sum(len(str(value)) for value in c.values()) for c in side.candidates], side.right)
    for key in _neutral(side):
        texts = [c[key] for c in side.candidates]
        if all(isinstance(text, str) for text in texts):
            out |= _ranked(key, [len(text) for text in texts], side.right)
    return out


def _numbers(side: Side) -> Shares:
    out: Shares = {}
    for key in _neutral(side):
        values = [c[key] for c in side.candidates]
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
            out |= _ranked(key, values, side.right)
    return out


def _medoid(side: Side) -> Shares:
    """Score agreement with the other candidates on the slots, and distance from the middle of the ordered slots."""
    names = sorted(_slot_names(side))
    counts: dict[tuple[str, Any], int] = {}
    for candidate in side.candidates:
        for name in names:
            counts[name, candidate.get(name)] = counts.get((name, candidate.get(name)), 0) + 1
    agreement = [sum(counts[name, c.get(name)] for name in names) for c in side.candidates]
    out = _ranked("agreement", agreement, side.right)
    ordered = [choice for choice in side.choices if choice.dimension.type in ("ordinal", "numeric")]
    return out | _ranked("off centre", [sum(_off_centre(choice, c) for choice in ordered) for c in side.candidates], side.right)


def _off_centre(choice: Choice, candidate: Mapping[str, Any]) -> float:
    dimension = choice.dimension
    levels = [dimension.public(key) for key in dimension.values if key in choice.levels]
    shown = candidate.get(dimension.parameter)
    return abs(levels.index(shown) - (len(levels) - 1) / 2) if shown in levels else 0.0


def _overlap(side: Side, instruction: str) -> list[float]:
    """Count the words that a candidate, with the glosses of its values, shares with the instruction."""
    said = set(words_in(instruction))
    glosses = {
        (choice.dimension.parameter, choice.dimension.public(key)): set(words_in(f"{value.label} {value.gloss}")) & said
        for choice in side.choices for key, value in choice.dimension.values.items()
    }  # fmt: skip
    out = []
    for candidate in side.candidates:
        found: set[str] = set()
        for key, value in candidate.items():
            if isinstance(value, str) and key != "id":
                found |= said.intersection(words_in(value.replace("_", " ")))
            found |= glosses.get((key, value), set()) if isinstance(value, str | int | float) else set()
        out.append(float(len(found)))
    return out


def _id_ranks(side: Side) -> list[float]:
    ids = [str(candidate.get("id", "")) for candidate in side.candidates]
    ranks = {key: float(rank) for rank, key in enumerate(sorted(set(ids)))}
    return [ranks[key] for key in ids]
