"""The certificate of a task: what proves it fair, stored with gold."""

from __future__ import annotations

import math
from typing import Any

from simulator.compile import joint_probability
from simulator.tasks import Task
from simulator.twins import Twin


def certificate_of(task: Task, twin: Twin | None) -> dict[str, Any]:
    """Return the certificate as JSON data.

    ``feasible`` counts the answers of the design (for text: shares of the style grid): all of them, those open to somebody who knows no preference (``blind``), and those that
    satisfy every must (``aware``). ``random_success`` is aware / all.
    """
    musts = [slot for slot in task.slots if slot.strength == "must"]
    turns = {slot.dimension.id: [turn.turn_id for _, turn in slot.evidence] for slot in task.slots if slot.entry}
    if task.kind == "text":
        share = joint_probability([slot for slot in musts if slot.entry])
        feasible = {"all": 1.0, "blind": 1.0, "aware": round(share, 6)}
        chance = share
    else:
        everything = math.prod(len(slot.levels) for slot in task.slots)
        aware = math.prod(len(slot.levels) for slot in task.slots if slot.strength != "must")
        feasible = {"all": everything, "blind": everything, "aware": aware}
        chance = aware / everything
    return {
        "evidence": turns,
        "minimal_cues": {key: ids[-1:] for key, ids in turns.items()},
        "feasible": feasible,
        "random_success": 0.0 if task.missing else round(chance, 6),
        "blind_success": 0.0 if task.missing else round(chance, 6),
        "slots": {slot.dimension.id: [slot.dimension.public(level) for level in slot.levels] for slot in task.slots},
        "truth": {slot.dimension.id: slot.dimension.public(slot.truth) for slot in task.slots if slot.entry},
        "popular": {slot.dimension.id: slot.dimension.public(slot.dimension.popular) for slot in task.slots},
        "decided_by": {slot.dimension.id: sorted(slot.challenges) for slot in task.slots},
        "missing": task.missing,
        "twin": twin.twin_id if twin else None,
        "scopes": sorted(task.moment.scopes),
        "served": task.moment.focus.served.mention if task.moment.focus.served else None,
    }
