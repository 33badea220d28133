"""What a check says of a text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict of one measure on one text.

    Attributes:
        holds: Whether the text satisfies the spec.
        found: What was found, short, such as ``"2 bullets, 0 headings"``.
        reason: One plain sentence that names what was found and what was wanted.
    """

    holds: bool
    found: str
    reason: str


def finding(holds: bool, found: str, wanted: str) -> Finding:
    """Return a finding whose reason names both sides."""
    return Finding(holds, found, f"Found {found}; wanted {wanted}.")
