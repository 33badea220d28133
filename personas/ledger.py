"""The bi-temporal ledger: the only source of truth.

An entry says what holds when (``valid_from``, ``valid_to``) and since when it could be known (``known_from``). `effective` answers what holds at a moment,
as far as it could be known at another, and why. Times are seconds since the run's first local midnight.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

ALWAYS = "always"
SELF = "self"


@dataclass(frozen=True, slots=True)
class Entry:
    """One preference of one holder over one stretch of time.

    Attributes:
        entry_id: Opaque id.
        dimension: Dimension id, such as ``dining.heat``.
        scope: ``always`` or a condition.
        value: Value id.
        polarity: ``likes`` or ``dislikes``.
        strength: ``must`` or ``prefer``.
        horizon: ``long`` or ``short`` (a state).
        holder: ``self`` or the mention of another person.
        valid_from: Seconds; negative if it began before the span.
        valid_to: Seconds, exclusive; None if it has no end.
        known_from: Seconds of the first evidence turn; None if never voiced.
        cause: Where it comes from: base, drift kind, scope, served or event.
        supersedes: Entry that it replaces.
        safety: Whether breaking it harms.
        sure_to: Seconds until which a state certainly holds (earliest plausible end); None if it needs no such bound.
        sure_after: Seconds after which a state is certainly over; None where it never ends by itself.
    """

    entry_id: str
    dimension: str
    scope: str
    value: str
    polarity: str
    strength: str
    horizon: str
    holder: str
    valid_from: int
    valid_to: int | None
    known_from: int | None
    cause: str
    supersedes: str | None = None
    safety: bool = False
    sure_to: int | None = None
    sure_after: int | None = None

    def holds(self, at: int) -> bool:
        """Whether the entry is valid at ``at``."""
        return self.valid_from <= at and (self.valid_to is None or at < self.valid_to)

    def known(self, at: int) -> bool:
        """Whether a reader could know the entry at ``at``."""
        return self.known_from is not None and self.known_from < at


@dataclass(frozen=True, slots=True)
class Effective:
    """The answer: the deciding entry (None if unresolved or none), and the chain of reasons."""

    entry: Entry | None
    reasons: tuple[str, ...]
    contenders: tuple[Entry, ...] = ()

    @property
    def value(self) -> str | None:
        """The value that holds, or None."""
        return self.entry.value if self.entry else None


def effective(entries: Iterable[Entry], dimension: str, scopes: Collection[str], at: int, known_at: int, holder: str = SELF) -> Effective:
    """Return what holds for a single-valued dimension at ``at``, as known at ``known_at``.

    Precedence: safety in force > short-term state > narrower scope > latest long-term value. Two entries that stay equal in all of these and differ in value
    are a tie: unresolved.

    Args:
        entries: The persona's ledger.
        dimension: Dimension id.
        scopes: Conditions that hold now, besides ``always``.
        at: When the answer should hold (seconds).
        known_at: What evidence may be used (seconds).
        holder: Whose preference.
    """
    live = [
        entry
        for entry in entries
        if entry.dimension == dimension
        and entry.holder == holder
        and entry.holds(at)
        and entry.known(known_at)
        and (entry.scope == ALWAYS or entry.scope in scopes)
    ]
    if not live:
        return Effective(None, ("nothing in force is known",))
    ranked = sorted(live, key=_rank, reverse=True)
    first = ranked[0]
    rivals = [entry for entry in ranked[1:] if entry.value != first.value]
    if any(_rank(entry) == _rank(first) for entry in rivals):
        return Effective(None, ("tie between equal entries",), tuple(ranked))
    reasons = tuple(f"{entry.value} loses: {_why(first, entry)}" for entry in rivals)
    return Effective(first, (f"{first.value} holds ({first.cause})", *reasons), tuple(ranked))


def _rank(entry: Entry) -> tuple[bool, bool, bool, int]:
    short = entry.horizon == "short"
    return entry.safety, short, entry.scope != ALWAYS, 0 if short or entry.scope != ALWAYS else entry.valid_from


def _why(winner: Entry, loser: Entry) -> str:
    for reason, left, right in zip(("safety in force", "a short-term state", "a narrower scope", "later"), _rank(winner), _rank(loser), strict=True):
        if left != right:
            return reason
    return "equal"


def avoided(entries: Iterable[Entry], dimension: str, at: int, known_at: int, holder: str = SELF) -> list[Entry]:
    """Return all entries in force of a dimension whose entries accumulate (things to keep away from)."""
    return [entry for entry in entries if entry.dimension == dimension and entry.holder == holder and entry.holds(at) and entry.known(known_at)]


def with_known_from(entries: Iterable[Entry], first_evidence: dict[str, int]) -> list[Entry]:
    """Return the entries with ``known_from`` set to the time of their first evidence."""
    return [replace(entry, known_from=first_evidence.get(entry.entry_id)) for entry in entries]
