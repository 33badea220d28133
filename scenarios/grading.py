"""Grading: a pure function from what an agent did to verdicts. No model, no clock, no state besides the arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scenarios.constraints import Outcome, Verdict, parse_predicate
from scenarios.environment import Sandbox

GRADING_VERSION = "1"
MAX_ACTIONS = 64


@dataclass(frozen=True, slots=True)
class Grade:
    """How an episode went.

    Attributes:
        success: Complete and valid, every must holds, nothing else changed (for a task that lacks a slot: the right question was asked).
        behaves: The action is well-formed and does the stated job, preferences aside.
        satisfaction: Share of the constraints that hold, from 0 to 1.
        verdicts: By constraint id.
        reason: Why it failed, or "".
        asked: Slots that were asked about.
    """

    success: bool
    behaves: bool
    satisfaction: float
    verdicts: Mapping[str, Verdict]
    reason: str
    asked: tuple[str, ...] = ()


def grade(task: Mapping[str, Any], environment: Mapping[str, Any] | None, constraints: Sequence[Mapping[str, Any]],
          actions: Sequence[Mapping[str, Any]], missing: str | None = None) -> Grade:  # fmt: skip
    """Grade the actions of one task.

    Args:
        task: Row of ``tasks`` with ``tools`` and ``context`` parsed.
        environment: Row of ``environments`` with ``entities`` parsed.
        constraints: Constraints of the solution with ``predicate`` parsed.
        actions: What the agent did.
        missing: The slot that was never evidenced, in a task that is solved by asking.
    """
    if not isinstance(actions, Sequence) or len(actions) > MAX_ACTIONS or not all(isinstance(a, Mapping) for a in actions):
        return _failed(constraints, "actions must be a list of at most 64 objects")
    asked = tuple(str(action["ask"]) for action in actions if "ask" in action)
    if missing is not None:
        right = missing in asked and len(asked) == 1 and len(actions) == 1
        return Grade(right, right, float(right), {}, "" if right else f"should have asked about {missing}, only", asked)
    entities = environment["entities"] if environment else []
    outcome, problem = _OUTCOMES[task["action_kind"]](task, entities, [a for a in actions if "ask" not in a])
    if outcome is None:
        return _failed(constraints, problem, asked)
    verdicts = {c["constraint_id"]: parse_predicate(c["predicate"]).verdict(outcome) for c in constraints}
    broken = [c for c in constraints if c["strength"] == "must" and not verdicts[c["constraint_id"]].holds]
    share = sum(verdict.holds for verdict in verdicts.values()) / max(len(verdicts), 1)
    reason = problem or "; ".join(verdicts[c["constraint_id"]].reason for c in broken)
    return Grade(not broken and not problem, not problem, share, verdicts, reason, asked)


def _failed(constraints: Sequence[Mapping[str, Any]], reason: str, asked: tuple[str, ...] = ()) -> Grade:
    verdicts = {c["constraint_id"]: Verdict(False, None, reason) for c in constraints}
    return Grade(False, False, 0.0, verdicts, reason, asked)


def _api(task: Mapping[str, Any], entities: Sequence[Mapping[str, Any]], actions: Sequence[Mapping[str, Any]]
         ) -> tuple[Outcome | None, str]:  # fmt: skip
    sandbox = Sandbox.of(task["tools"], entities)
    for action in actions:
        result = sandbox.call(action.get("tool", ""), action.get("arguments", {}))
        if not result.ok:
            return None, f"{result.code}: {result.payload}"
    job = next(tool for tool in task["tools"] if tool["kind"] == "write")
    done = [write for write in sandbox.writes if write["tool"] == job["name"]]
    if len(done) != 1:
        return None, f"the job was done {len(done)} times, once was asked"
    entity = sandbox.entities.get(str(done[0]["arguments"].get(job.get("chooses")))) if job.get("chooses") else None
    other = [write["tool"] for write in sandbox.writes if write is not done[0]]
    return Outcome(entity, done[0]["arguments"]), f"nobody asked for {other[0]}" if other else ""


def _rank(task: Mapping[str, Any], entities: Sequence[Mapping[str, Any]], actions: Sequence[Mapping[str, Any]]
          ) -> tuple[Outcome | None, str]:  # fmt: skip
    ranking = actions[0].get("ranking") if len(actions) == 1 else None
    known = {entity["id"]: entity for entity in entities}
    if not isinstance(ranking, list) or not all(isinstance(item, str) for item in ranking):
        return None, "one action with a 'ranking' list of ids was asked"
    if sorted(ranking) != sorted(task["context"]["viewed"]):
        return None, "the ranking must hold every viewed id once"
    return Outcome(known[ranking[0]]), ""


def _text(task: Mapping[str, Any], entities: Sequence[Mapping[str, Any]], actions: Sequence[Mapping[str, Any]]
          ) -> tuple[Outcome | None, str]:  # fmt: skip
    from scenarios.writer import behaves, topic_by_id

    text = actions[0].get("text") if len(actions) == 1 else None
    if not isinstance(text, str) or not text.strip():
        return None, "one action with a 'text' was asked"
    fine, problem = behaves(topic_by_id(task["scenario_id"], entities[0]["topic"]), text)
    return Outcome(text=text), "" if fine else problem


_OUTCOMES = {"api": _api, "rank": _rank, "text": _text}
