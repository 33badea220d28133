"""Gate 8, not vacuous: policies that know nothing of the user fail, and so do those that read the history wrongly in a
named way.

In the worker each probe acts on the real task and is graded. What needs other personas, `wrong_user` and `blind` (the
best constant vector of a scenario, fitted on the other half of the personas), is judged here by comparing values: an
answer succeeds if every must slot shows a right level, which gate 7 has shown to be what grading says.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from iba_bench.streams import stream
from scenarios.constraints import Outcome, parse_predicate
from scenarios.grading import grade
from scenarios.library import Library
from scenarios.models import Dimension
from scenarios.writer import brief_of
from simulator.gates import shallow
from simulator.gates.failure import Failure
from simulator.gates.limits import exceeds
from simulator.gates.probes import MISREADINGS, PROBES, Situation, misread, realise, user_words
from simulator.gates.shallow import Case, right_levels
from simulator.gates.verdict import Findings, Verdict
from simulator.gates.view import PersonaView, TaskView

GATE, NAME = 8, "not vacuous"
LIMIT = 0.1
ASKING = ("always_ask", "ask_one")
NEVER = ("noop", "refuse", *ASKING)
SELDOM = ("random", "first", "kitchen_sink", "popular_default")
DECIDES = {"stale": "drift", "ignore_state": "state", "wrong_scope": "scope"}
Row = Mapping[str, Any]


# --- one persona -------------------------------------------------------------------------


def check(view: PersonaView, library: Library) -> Iterator[Failure]:
    """Yield the tasks that are solved by what must never solve them: limits of 0 % hold for each task."""
    for task in view.tasks:
        situation = Situation(task.graded, task.entities, task.choices(library), {})
        if task.missing is None:
            for name in NEVER:
                if _probed(task, name, situation):
                    yield Failure(GATE, f"{name} passes", task.task_id)
        for name, passed in _misread(task, situation, library).items():
            if passed and (name not in DECIDES or DECIDES[name] in task.solution["challenges"]):
                yield Failure(GATE, f"{name} passes", task.task_id)


def summary(view: PersonaView, library: Library) -> list[dict[str, Any]]:
    """Return one object a task: ``passes`` (probe -> 0 or 1) and, for text, ``defaults`` (0 or 1 a stored text).

    A misreading that no slot has a rival for is the right answer; it is noted as passed and need not be written.
    """
    out, words, seen = [], Counter[str](), 0
    for task in view.tasks:
        before = [s for s in view.sessions[seen:] if view.at[s["turns"][0]["turn_id"]] < task.issued]
        words.update(user_words(before))
        seen += len(before)
        situation = Situation(task.graded, task.entities, task.choices(library), words)
        probed = {name: _probed(task, name, situation) for name in PROBES}
        found: dict[str, Any] = {"task": task.task_id, "passes": probed | _misread(task, situation, library)}
        if task.row["action_kind"] == "text":
            found["defaults"] = default_passes(task)
        out.append(found)
    return out


def _stream(task: TaskView, name: str) -> random.Random:
    return stream("gate", GATE, task.task_id, name)


def _probed(task: TaskView, name: str, situation: Situation) -> int:
    """Return whether a probe passes; those that know nothing of the history act once a task."""
    if name not in NEVER:
        return _passes(task, PROBES[name](situation, _stream(task, name)))
    if name not in task.memo:
        task.memo[name] = _passes(task, PROBES[name](situation, _stream(task, name)))
    return int(task.memo[name])


def _passes(task: TaskView, actions: Sequence[Row]) -> int:
    return int(grade(task.graded, {"entities": task.entities}, task.constraints, actions, task.missing).success)


def _misread(task: TaskView, situation: Situation, library: Library) -> dict[str, int]:
    """Follow each wrong reading on the must slots (a prefer may be violated) and return whether it passes; done once a task."""
    if task.missing is not None:
        return {}
    if "misread" not in task.memo:
        task.memo["misread"] = _follow_misreadings(task, situation, library)
    found: dict[str, int] = task.memo["misread"]
    return found


def _follow_misreadings(task: TaskView, situation: Situation, library: Library) -> dict[str, int]:
    right = {}
    musts = {constraint["dimension"] for constraint in task.constraints if constraint["strength"] == "must"}
    for constraint in task.constraints:
        choice = next((c for c in situation.choices if c.dimension.id == constraint["dimension"]), None)
        levels = right_levels(constraint, choice.dimension, choice.levels) if choice else []
        if choice and levels:
            right[choice.dimension.id] = levels[0]
    rivals = {key: _by_id(library.dimensions[key], values) for key, values in task.rivals.items() if key in musts}
    out = {}
    for name, label in MISREADINGS.items():
        vector = misread(right, rivals, label)
        if vector is not None:
            out[name] = _passes(task, realise(situation, vector, _stream(task, name)))
        elif DECIDES.get(name) in task.solution["challenges"]:
            out[name] = 1
    return out


def _by_id(dimension: Dimension, values: Mapping[str, str]) -> dict[str, str]:
    """Return rivals by value id; they are released by public value, as text."""
    return {key: values[str(dimension.public(key))] for key in dimension.values if str(dimension.public(key)) in values}


def default_passes(task: TaskView) -> list[int]:
    """Return for each stored text of the scenario whether its style satisfies every must.

    Its topic is not asked for, which is harder on the task: nine of ten stored texts would fail for their topic alone.
    """
    scenario = str(task.row["scenario_id"])
    found = [1] * len(brief_of(scenario).defaults)
    for constraint in task.constraints:
        if constraint["strength"] == "must":
            holds = _default_holds(scenario, json.dumps(constraint["predicate"], sort_keys=True))
            found = [int(one and other) for one, other in zip(found, holds, strict=True)]
    return [] if task.missing else found


@lru_cache(maxsize=4096)
def _default_holds(scenario: str, predicate: str) -> tuple[bool, ...]:
    judge = parse_predicate(json.loads(predicate))
    return tuple(judge.verdict(Outcome(text=default.text)).holds for default in brief_of(scenario).defaults)


# --- over all personas -------------------------------------------------------------------


def population(summaries: Sequence[Row], expected: Row) -> Iterator[Verdict]:
    """Yield the verdict."""
    del expected
    findings = Findings()
    rows = {row["task"]: row for summary in summaries for row in summary["vacuous"]}
    cases = shallow.cases_of(summaries)
    if not cases:
        findings.failures.append("there is no task to measure")
    graded = [(case, rows[case.task_id]["passes"]) for case in cases]
    for name in NEVER:
        _measure(findings, name, ((case, passes[name]) for case, passes in graded), 0.0)
    for name in SELDOM:
        _measure(findings, name, ((case, passes[name]) for case, passes in graded), LIMIT)
    _measure(findings, "wrong_user", shallow.wrong_user(cases), LIMIT)
    _measure(findings, "blind", shallow.cross_fitted(cases, shallow.fit_constant), LIMIT)
    implicit = ((case, passes["lexical_overlap"]) for case, passes in graded if "implicit_only" in case.challenges)
    _measure(findings, "lexical_overlap", implicit, LIMIT)
    for name in MISREADINGS:
        _measure(findings, name, ((case, passes[name]) for case, passes in graded if _decided(name, case, passes)), 0.0)
    _missing(findings, summaries, rows)
    _defaults(findings, cases, rows)
    yield findings.verdict(GATE, NAME)


def _decided(name: str, case: Case, passes: Mapping[str, int]) -> bool:
    """Whether a misreading must fail: the task is decided by what it misses (for third parties: some slot has such a rival)."""
    return DECIDES[name] in case.challenges if name in DECIDES else name in passes


def _measure(findings: Findings, name: str, hits: Iterator[tuple[Case, float]], limit: float) -> None:
    """Measure a probe for each action kind."""
    total, count = Counter[str](), Counter[str]()
    for case, hit in hits:
        total[case.kind] += hit  # type: ignore[assignment]
        count[case.kind] += 1
    for kind in sorted(count):
        _judge(findings, f"{name}/{kind}", total[kind], count[kind], limit)


def _judge(findings: Findings, key: str, hits: float, n: int, limit: float) -> None:
    findings.measured[key], findings.limits[key] = hits / n, limit
    if exceeds(hits, n, limit):
        findings.failures.append(f"{key}: {hits:g} of {n} tasks pass ({hits / n:.1%}), at most {limit:.0%} may")


def _missing(findings: Findings, summaries: Sequence[Row], rows: Mapping[str, Row]) -> None:
    """Where a slot is unknown, only asking may pass."""
    asked = [rows[task["task"]]["passes"] for summary in summaries for task in summary["tasks"] if task["missing"]]
    for name in PROBES if asked else ():
        hits = sum(passes[name] for passes in asked)
        if name in ASKING:
            findings.measured[f"{name}/missing_info"] = hits / len(asked)
        else:
            _judge(findings, f"{name}/missing_info", hits, len(asked), 0.0)


def _defaults(findings: Findings, cases: Sequence[Case], rows: Mapping[str, Row]) -> None:
    """Measure the stored texts of each scenario, all together and the luckiest one."""
    worst: dict[str, float] = {"defaults": 0.0, "luckiest_default": 0.0}
    for scenario, found in shallow.by_scenario(cases).items():
        scores = [rows[case.task_id]["defaults"] for case in found if rows[case.task_id].get("defaults")]
        if not scores:
            continue
        shares = [sum(column) for column in zip(*scores, strict=True)]
        for key, hits in (("defaults", sum(shares) / len(shares)), ("luckiest_default", float(max(shares)))):
            worst[key] = max(worst[key], hits / len(scores))
            if exceeds(hits, len(scores), LIMIT):
                findings.failures.append(f"{key} of {scenario}: {hits:g} of {len(scores)} tasks pass, at most {LIMIT:.0%} may")
    findings.measured |= worst
    findings.limits |= dict.fromkeys(worst, LIMIT)
