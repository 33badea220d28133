"""Tasks as vectors of slots, and cross-fitted models over them that know gold of other personas and nothing of the user.

A model is fitted on one half of the personas and judged on the other, both ways round. Models count; nothing is
iterated or drawn, so the same tasks give the same figures.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scenarios.constraints import Outcome, TextPredicate, parse_predicate
from scenarios.models import Dimension
from scenarios.text.dimensions import dimension_spec
from simulator.gates.probes import Choice
from simulator.gates.view import TaskView

MOST_CANDIDATES = 60
MOST_OTHERS = 20
MOST_POOL = 400
NEIGHBOURS = 5


@dataclass(frozen=True, slots=True)
class Slot:
    """One slot of a task.

    Attributes:
        dimension: Dimension id.
        levels: Value ids on offer, the most popular first.
        right: Those that satisfy the constraint.
        must: Whether the constraint is a must.
    """

    dimension: str
    levels: tuple[str, ...]
    right: tuple[str, ...]
    must: bool

    def settle(self, value: str | None) -> str:
        """Return the value if it is on offer, else the most popular one that is."""
        return value if value in self.levels else self.levels[0]


@dataclass(frozen=True, slots=True)
class Case:
    """One task as a model sees it; ``fold`` is its persona's half, 0 or 1."""

    task_id: str
    persona: str
    fold: int
    scenario: str
    kind: str
    challenges: tuple[str, ...]
    slots: tuple[Slot, ...]

    @property
    def gold(self) -> dict[str, str]:
        """A right value a slot."""
        return {slot.dimension: slot.right[0] for slot in self.slots if slot.right}

    def solved_by(self, vector: Mapping[str, str]) -> bool:
        """Whether every must slot shows a right level; what the vector leaves open is the most popular on offer."""
        return all(slot.settle(vector.get(slot.dimension)) in slot.right for slot in self.slots if slot.must)


Model = Callable[[Case], Mapping[str, str]]
Fit = Callable[[Sequence[Case]], Model]


# --- in the worker -----------------------------------------------------------------


def right_levels(constraint: Mapping[str, Any], dimension: Dimension, levels: Sequence[str]) -> list[str]:
    """Return the levels that satisfy a constraint: judged by its predicate; for text, the value that the same measure stands for.

    A text rarely contains by chance what it must not contain, so there every level counts as right.
    """
    predicate = parse_predicate(constraint["predicate"])
    if isinstance(predicate, TextPredicate):
        if dimension.polarity == "dislikes":
            return list(levels)
        return [level for level in levels if dimension_spec(dimension.id, level) == predicate.spec]
    shown = {level: {dimension.parameter: dimension.public(level)} for level in levels}
    return [level for level, data in shown.items() if predicate.verdict(Outcome(data, data)).holds]


def slots_of(task: TaskView, choices: Iterable[Choice]) -> list[list[Any]]:
    """Return the constrained slots as JSON data: dimension, levels, right levels, 1 if must."""
    offered = {choice.dimension.id: choice for choice in choices}
    out: list[list[Any]] = []
    for constraint in task.constraints:
        choice = offered.get(constraint["dimension"])
        if choice is None:
            out.append([constraint["dimension"], [], [], int(constraint["strength"] == "must")])
            continue
        right = right_levels(constraint, choice.dimension, choice.levels)
        out.append([choice.dimension.id, list(choice.levels), right, int(constraint["strength"] == "must")])
    return out


# --- over all personas -----------------------------------------------------------------


def cases_of(summaries: Sequence[Mapping[str, Any]]) -> list[Case]:
    """Return the tasks that have an answer (not those solved by asking); a slot that nothing offers is left out."""
    out = []
    for number, summary in enumerate(summaries):
        for task in summary["tasks"]:
            slots = tuple(Slot(key, tuple(levels), tuple(right), bool(must)) for key, levels, right, must in task["slots"] if levels)
            if not task["missing"]:
                place = (task["task"], summary["persona"], number % 2, task["scenario"], task["kind"], tuple(task["challenges"]))
                out.append(Case(*place, slots))
    return out


def by_scenario(cases: Iterable[Case]) -> dict[str, list[Case]]:
    """Return the cases of each scenario."""
    out: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        out[case.scenario].append(case)
    return dict(out)


def cross_fitted(cases: Sequence[Case], fit: Fit) -> Iterator[tuple[Case, bool]]:
    """Yield each case with whether the model of the other half solves it."""
    models = [fit([case for case in cases if case.fold != fold]) for fold in (0, 1)]
    for case in cases:
        yield case, case.solved_by(models[case.fold](case))


Key = tuple[str, ...]


class Counts:
    """How often each value of a dimension was gold, and how often it was on offer."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self.right: Counter[Key] = Counter()
        self.offered: Counter[Key] = Counter()
        for case in cases:
            for slot in case.slots:
                self.offered.update((slot.dimension, level) for level in slot.levels)
                self.right.update((slot.dimension, level) for level in slot.right)

    def mode(self, slot: Slot) -> str:
        """Return the level that was gold most often."""
        return max(slot.levels, key=lambda level: self.right[slot.dimension, level])

    def rate(self, slot: Slot) -> str:
        """Return the level that was gold most often when on offer, one of four added, so that rare values do not win."""
        return max(slot.levels, key=lambda level: (self.right[slot.dimension, level] + 1) / (self.offered[slot.dimension, level] + 4))


def fit_modes(cases: Sequence[Case]) -> Model:
    """Return the model that takes the most frequent gold value of each dimension."""
    counts = Counts(cases)
    return lambda case: {slot.dimension: counts.mode(slot) for slot in case.slots}


def fit_rates(cases: Sequence[Case]) -> Model:
    """Return the model that takes the value that was gold most often where it was on offer."""
    counts = Counts(cases)
    return lambda case: {slot.dimension: counts.rate(slot) for slot in case.slots}


def fit_neighbours(cases: Sequence[Case]) -> Model:
    """Return the model that copies the gold of the most similar tasks: same scenario, most levels in common."""
    pools = {scenario: found[:MOST_POOL] for scenario, found in by_scenario(cases).items()}

    def model(case: Case) -> Mapping[str, str]:
        nearest = sorted(pools.get(case.scenario, ()), key=lambda other: (-_likeness(case, other), other.task_id))[:NEIGHBOURS]
        return {slot.dimension: Counts(nearest).mode(slot) for slot in case.slots}

    return model


def _likeness(case: Case, other: Case) -> int:
    theirs = {slot.dimension: slot.levels for slot in other.slots}
    common = (len(set(slot.levels) & set(theirs.get(slot.dimension, ()))) for slot in case.slots)
    return sum(common) + 10 * sum(slot.dimension in theirs for slot in case.slots)


def fit_constant(cases: Sequence[Case]) -> Model:
    """Return the model that shows one vector for each scenario: the one that solves most tasks of the other half."""
    vectors = {scenario: _best_vector(found) for scenario, found in by_scenario(cases).items()}
    return lambda case: vectors.get(case.scenario, {})


def _best_vector(cases: Sequence[Case]) -> dict[str, str]:
    """Try the gold vectors seen and the two that the counts suggest, all completed by the counts."""
    counts = Counts(cases)
    offered: dict[str, dict[str, None]] = defaultdict(dict)
    for case in cases:
        for slot in case.slots:
            offered[slot.dimension] |= dict.fromkeys(slot.levels)
    whole = [Slot(key, tuple(levels), (), True) for key, levels in sorted(offered.items())]
    modes, rates = ({slot.dimension: choose(slot) for slot in whole} for choose in (counts.mode, counts.rate))
    candidates = [modes, rates, *({**rates, **case.gold} for case in cases[:MOST_CANDIDATES])]
    return max(candidates, key=lambda vector: sum(case.solved_by(vector) for case in cases))


def wrong_user(cases: Sequence[Case]) -> Iterator[tuple[Case, float]]:
    """Yield each case with the share of other personas' gold vectors of the same scenario that solve it.

    At most twenty others are tried, those that follow in order.
    """
    for found in by_scenario(cases).values():
        for place, case in enumerate(found):
            ring = found[place + 1 :] + found[:place]
            others = [other for other in ring if other.persona != case.persona][:MOST_OTHERS]
            if others:
                yield case, sum(case.solved_by(other.gold) for other in others) / len(others)
