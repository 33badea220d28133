"""What a gate says when it refuses."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """One refusal.

    Attributes:
        gate: Gate number, 1 to 12.
        reason: A short phrase that can be counted; no ids in it.
        task_id: The task refused; None if it is the history or the whole.
        place: The id of what was looked at (turn, session, entity, file).
        detail: What was found and what was expected.
    """

    gate: int
    reason: str
    task_id: str | None = None
    place: str = ""
    detail: str = ""

    def __str__(self) -> str:
        where = " ".join(part for part in (self.task_id, self.place) if part)
        return f"gate {self.gate}: {self.reason} [{where}] {self.detail}".rstrip()
