"""Gate 12, counts: the run has what its config promises, counted from the rows alone.

Personas, tasks and their scenarios, tasks that lack a slot, constraints and evidence of each task, tokens of talk and of noise; how
often the true value is the popular one. Shares by what decides a task are reported.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scenarios.library import ADVERSARIAL, Library, load_library
from simulator.gates.leak import named_value
from simulator.gates.limits import ENOUGH, exceeds, falls_short
from simulator.gates.probes import Choice
from simulator.gates.verdict import Findings, Verdict
from simulator.gates.view import PersonaView, TaskView

SLOTS = (2, 5)
LEAST_EVIDENCE, LEAST_MUSTS, USUAL_MUSTS, USUAL_SHARE = 5, 2, 3, 0.8
NOISE_MARGIN, TOKEN_MARGIN, POPULAR_MARGIN = 0.03, 0.15, 0.08
PERSONAS_FOR_MEAN = 20
CHALLENGES = ("drift", "state", "cross_domain", "conflict", "third_party", "scope", "missing_info", "implicit_only")
Part = Mapping[str, Any]


# --- one persona -----------------------------------------------------------------------


def summary(view: PersonaView, library: Library) -> dict[str, Any]:
    """Return tokens (clean, noise, adversarial) and one row of counts a task."""
    return {"tokens": _tokens(view), "tasks": [_task(task, library) for task in view.tasks]}


def _tokens(view: PersonaView) -> list[int]:
    kinds = {row["turn_id"]: row["noise_kind"] for row in view.annotations}
    out = [0, 0, 0]
    for key, turn in view.turns.items():
        kind = kinds.get(key)
        out[0 if kind is None else 1] += turn["tokens"]
        out[2] += turn["tokens"] if kind in ADVERSARIAL else 0
    return out


def _task(task: TaskView, library: Library) -> dict[str, Any]:
    strengths = Counter(str(constraint["strength"]) for constraint in task.constraints)
    dimensions = {constraint["dimension"] for constraint in task.constraints} | ({task.missing} - {None})
    row = {
        "scenario": task.row["scenario_id"],
        "missing": int(task.missing is not None),
        "slots": len(dimensions),
        "must": strengths["must"],
        "prefer": strengths["prefer"],
        "evidence": len({key for constraint in task.constraints for key in constraint["evidence"]}),
        "by": [CHALLENGES.index(name) for name in task.solution["challenges"] if name in CHALLENGES],
    }
    return row if task.row["action_kind"] == "text" or task.missing else row | {"popular": _popular(task, library)}


def _popular(task: TaskView, library: Library) -> list[float]:
    """Return how many slots have the popular value as the true one, of how many, how many of 1/levels; whether all musts do; 1/answers."""
    choices = {choice.dimension.id: choice for choice in task.choices(library)}
    hits, slots, chance, every = 0, 0, 0.0, True
    for constraint in task.constraints:
        dimension = library.dimensions[constraint["dimension"]]
        levels, value = _levels(choices.get(dimension.id)), named_value(constraint, dimension)
        popular = value == dimension.popular
        if dimension.polarity == "dislikes":
            popular = bool(levels) and levels[0] != value
        else:
            hits, slots, chance = hits + popular, slots + 1, chance + 1 / max(len(levels), 1)
        every = every and (popular or constraint["strength"] != "must")
    answers = len(task.entities) or math.prod(len(choice.levels) for choice in choices.values())
    return [hits, slots, round(chance, 4), int(every), round(1 / max(answers, 1), 4)]


def _levels(choice: Choice | None) -> Sequence[str]:
    return choice.levels if choice else ()


# --- the whole run ---------------------------------------------------------------------


def population(summaries: Sequence[Mapping[str, Any]], expected: Mapping[str, Any]) -> Iterable[Verdict]:
    """Return whether the run has what its config promises."""
    out = Findings()
    parts = [summary["counts"] for summary in summaries if "counts" in summary]
    tasks = [task for part in parts for task in part["tasks"]]
    _sizes(parts, expected, out)
    if tasks:
        _scenarios(tasks, expected, out)
        _slots(tasks, out)
        _noise(parts, expected, out)
        _popularity(tasks, out)
        _shares(tasks, out)
    else:
        out.failures.append("there is no task")
    return [out.verdict(12, "counts")]


def _sizes(parts: Sequence[Part], expected: Mapping[str, Any], out: Findings) -> None:
    quotas = Counter(len(part["tasks"]) for part in parts)
    tasks = sum(count * size for size, count in quotas.items())
    out.measured |= {"personas": len(parts), "tasks": tasks, "failed_personas": len(expected.get("failed", ()))}
    for name in ("personas", "tasks"):
        if name in expected and out.measured[name] != expected[name]:
            out.failures.append(f"{out.measured[name]} {name}, {expected[name]} are configured")
    odd = sum(count for size, count in quotas.items() if size != expected.get("quota", size))
    if odd:
        out.failures.append(f"{odd} personas have another number of tasks than {expected['quota']}")
    for failed in list(expected.get("failed", ()))[:5]:
        out.failures.append(f"persona {failed['index']} could not be made: {failed['reason']}")


def _scenarios(tasks: Sequence[Part], expected: Mapping[str, Any], out: Findings) -> None:
    configured = tuple(expected.get("scenarios", ())) or tuple(load_library().scenarios)
    counts = Counter(str(task["scenario"]) for task in tasks)
    numbers = [counts[name] for name in configured]
    out.measured |= {"scenarios": len(counts), "scenario_least": min(numbers), "scenario_most": max(numbers)}
    unknown = sorted(set(counts) - set(configured))
    if unknown:
        out.failures.append(f"scenarios that are not configured: {', '.join(unknown)}")
    unused = [name for name in configured if not counts[name]]
    if unused and len(tasks) >= len(configured):
        out.failures.append(f"scenarios without a task: {', '.join(unused)}")
    if max(numbers) - min(numbers) > 1:
        out.failures.append(f"scenarios have {min(numbers)} to {max(numbers)} tasks; they may differ by one")
    missing = sum(task["missing"] for task in tasks)
    out.measured["missing_info"] = missing
    if "missing_info" in expected:
        due = int(expected["personas"] * expected["missing_info"] * expected["quota"] + 1e-9)
        out.limits["missing_info"] = float(due)
        if missing != due:
            out.failures.append(f"{missing} tasks lack a slot, {due} are configured")


def _slots(tasks: Sequence[Part], out: Findings) -> None:
    """Count slots, musts and evidence. The slot to ask about counts as a slot and as a must."""
    rules = {
        "fewer than two or more than five slots": [not SLOTS[0] <= task["slots"] <= SLOTS[1] for task in tasks],
        "more than one prefer": [task["prefer"] > 1 for task in tasks],
        "fewer than two musts": [task["must"] < LEAST_MUSTS for task in tasks],
        "fewer than five evidence items": [task["evidence"] < LEAST_EVIDENCE and not task["missing"] for task in tasks],
    }
    for rule, broken in rules.items():
        if any(broken):
            out.failures.append(f"{sum(broken)} tasks with {rule}")
    usual = sum(task["must"] + task["missing"] >= USUAL_MUSTS for task in tasks)
    out.measured |= {"slots_mean": sum(task["slots"] for task in tasks) / len(tasks), "three_musts": usual / len(tasks)}
    out.measured["evidence_mean"] = sum(task["evidence"] for task in tasks) / len(tasks)
    out.limits["three_musts"] = USUAL_SHARE
    if falls_short(usual, len(tasks), USUAL_SHARE):
        out.failures.append(f"{usual} of {len(tasks)} tasks have three musts or more, at least {USUAL_SHARE:.0%} must")


def _noise(parts: Sequence[Part], expected: Mapping[str, Any], out: Findings) -> None:
    clean, noise, adversarial = (sum(part["tokens"][place] for part in parts) for place in range(3))
    shares = {"noise_level": noise / max(clean + noise, 1), "noise_adversarial": adversarial / max(noise, 1)}
    out.measured |= shares | {"clean_tokens": clean / len(parts), "noise_tokens": noise / len(parts)}
    level = expected.get("noise_level")
    if level == 0 and noise:
        out.failures.append(f"{noise} tokens of noise, none are configured")
    for name, share in shares.items():
        wanted = expected.get(name)
        if level and wanted is not None and abs(share - wanted) > NOISE_MARGIN:
            out.failures.append(f"{name} is {share:.3f}, configured {wanted:.3f}, at most {NOISE_MARGIN} apart")
    wanted = expected.get("history_tokens")
    if wanted and len(parts) >= PERSONAS_FOR_MEAN and abs(clean / len(parts) / wanted - 1) > TOKEN_MARGIN:
        out.failures.append(f"{clean / len(parts):.0f} clean tokens a persona, configured {wanted}, at most {TOKEN_MARGIN:.0%} apart")


def _popularity(tasks: Sequence[Part], out: Findings) -> None:
    """Hold the true value's being the popular one against 1/levels, and its being so in all musts at once against 1/answers."""
    rows = [task["popular"] for task in tasks if "popular" in task]
    hits, slots, chance, every, answers = (sum(row[place] for row in rows) for place in range(5))
    if not rows or not slots:
        return
    measured, limit = hits / slots, chance / slots + POPULAR_MARGIN
    out.measured |= {"popular_is_true": measured, "popular_is_true_by_levels": chance / slots, "popular_in_all_musts": every / len(rows)}
    out.limits |= {"popular_is_true": limit, "popular_in_all_musts": answers / len(rows)}
    if len(rows) >= ENOUGH and measured > limit:
        out.failures.append(f"the popular value is the true one in {measured:.1%} of slots, at most {limit:.1%}")
    if exceeds(every, len(rows), answers / len(rows)):
        out.failures.append(f"popular values are right in all musts of {every} of {len(rows)} tasks, at most {answers / len(rows):.1%}")


def _shares(tasks: Sequence[Part], out: Findings) -> None:
    counts = Counter(CHALLENGES[place] for task in tasks for place in task["by"])
    out.measured |= {f"share_{name}": counts[name] / len(tasks) for name in CHALLENGES}
