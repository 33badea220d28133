"""Reading the ledger at a task's moment: which dimensions are determinate, what holds, and which wrong readings have a name."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from iba_bench.streams import weighted
from personas.ledger import ALWAYS, SELF, Entry, avoided, effective
from scenarios.library import Library
from scenarios.models import Dimension
from simulator.calendar import Calendar
from simulator.history import History, Session, Turn
from simulator.life import Focus

Evidence = list[tuple[Session, Turn]]
TEMPTS = {"drift": "stale", "state": "ignored_state", "scope": "wrong_scope"}


@dataclass
class Slot:
    """One decision of a task.

    Attributes:
        entry: The deciding entry; None in a slot that was never evidenced.
        truth: The level that is right (for a dislike: one of the levels that is not avoided).
        levels: Values that the environment offers, truth among them; in catalog order.
        named: Wrong readings that have a name: value -> label.
        evidence: The cue turns of the entry before the task.
        challenges: What decides the slot.
    """

    dimension: Dimension
    holder: str
    entry: Entry | None
    truth: str
    named: dict[str, str]
    evidence: Evidence
    challenges: frozenset[str]
    levels: tuple[str, ...] = ()

    @property
    def strength(self) -> str:
        """Its strength, must or prefer; a slot without entry counts as a must."""
        return self.entry.strength if self.entry else "must"

    @property
    def implicit(self) -> bool:
        """Whether all its evidence is implicit."""
        return all(turn.said.openness == "implicit" for _, turn in self.evidence)


@dataclass
class Moment:
    """A task's moment: everything needed to read the ledger as a careful reader could."""

    focus: Focus
    entries: Sequence[Entry]
    history: History
    evidence: Mapping[str, Evidence]
    library: Library
    calendar: Calendar
    ends: Mapping[str, int]
    scopes: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        scopes = set(self.calendar.scopes(self.focus.at))
        if self.focus.scope is not None and self.focus.told and self.focus.scope_on:
            scopes.add(self.focus.scope)
        self.scopes = frozenset(scopes)

    # --- what can be known ------------------------------------------------------

    def holder(self, dimension: Dimension) -> str | None:
        """Return whose preference counts for a dimension, or None if it must stay hidden."""
        if self.focus.served is None:
            return SELF
        if dimension.servable:
            return self.focus.served.mention
        return SELF if dimension.about == "principal" else None

    def evidenced(self, dimension: Dimension) -> bool:
        """Whether anything about the dimension was ever voiced (or will be)."""
        return any(entry.dimension == dimension.id for entry in self.entries)

    def determinate(self, dimension: Dimension, holder: str) -> bool:
        """Whether a careful reader could know what holds, or that nothing does."""
        return not any(self._doubtful(entry) for entry in self.entries if entry.dimension == dimension.id and entry.holder == holder)

    def _doubtful(self, entry: Entry) -> bool:
        at, known = self.focus.at, entry.known(self.focus.at)
        ended = self.ends.get(entry.cause if entry.horizon == "short" else entry.entry_id)
        told = ended is not None and ended < at
        if entry.horizon == "short":
            assert entry.sure_to is not None and entry.sure_after is not None
            if entry.valid_from <= at and not known:
                return at < entry.sure_after
            return known and entry.sure_to <= at < entry.sure_after and not told
        if entry.cause == "drift:expiry" and known and entry.valid_to is not None and at >= entry.valid_to:
            return not told
        if entry.cause == "drift:gradual" and entry.holds(at) and known:
            return sum(turn.at < at for _, turn in self.evidence.get(entry.entry_id, ())) < 2
        return entry.holds(at) and not known

    def before(self, entry: Entry) -> Evidence:
        """Return the entry's cue turns in sessions that started before the task."""
        return [pair for pair in self.evidence.get(entry.entry_id, []) if pair[0].started < self.focus.at]

    # --- slots -------------------------------------------------------------------

    def slot(self, dimension: Dimension, rng: random.Random) -> Slot | None:
        """Return the slot of a dimension, or None if it cannot be asked about fairly now."""
        holder = self.holder(dimension)
        if holder is None or not self.determinate(dimension, holder):
            return None
        if dimension.polarity == "dislikes":
            return self._avoidance(dimension, holder, rng)
        answer = effective(self.entries, dimension.id, self.scopes, self.focus.at, self.focus.at, holder)
        if answer.entry is None or not self.before(answer.entry):
            return None
        entry = answer.entry
        named = self._rivals(dimension, entry, answer.contenders, holder)
        evidence = self.before(entry)
        return Slot(dimension, holder, entry, entry.value, named, evidence, self._challenges(entry, answer.contenders, named))

    def _avoidance(self, dimension: Dimension, holder: str, rng: random.Random) -> Slot | None:
        held = avoided(self.entries, dimension.id, self.focus.at, self.focus.at, holder)
        held = [entry for entry in held if self.before(entry)]
        free = [key for key in dimension.values if key not in {entry.value for entry in held}]
        if len(held) != 1 or not free:
            return None
        truth = weighted(rng, free, [dimension.values[key].weight for key in free])
        label = "popular_default" if held[0].value == dimension.popular else "other"
        evidence = self.before(held[0])
        challenges = self._challenges(held[0], (held[0],), {})
        slot = Slot(dimension, holder, held[0], truth, {held[0].value: label}, evidence, challenges)
        slot.levels = tuple(key for key in dimension.values if key in (truth, held[0].value))
        return slot

    def _rivals(self, dimension: Dimension, entry: Entry, contenders: Sequence[Entry], holder: str) -> dict[str, str]:
        """Return the wrong values that a named mistake would give, strongest name first."""
        out: dict[str, str] = {}

        def name(value: str | None, label: str) -> None:
            if value is not None and value != entry.value and value in dimension.values:
                out.setdefault(value, label)

        own = [e for e in self.entries if e.dimension == dimension.id and e.holder == holder and self.before(e)]
        if entry.horizon == "short":
            for other in contenders:
                name(other.value, "ignored_state")
        for other in own:
            if other.scope != entry.scope and other.holds(self.focus.at):
                name(other.value, "wrong_scope")
        for other in own:
            if other.valid_to is not None and other.valid_to <= self.focus.at:
                name(other.value, "stale")
        if holder != SELF:
            mine = effective(self.entries, dimension.id, self.scopes, self.focus.at, self.focus.at)
            name(mine.value, "third_party")
        return out

    def _challenges(self, entry: Entry, contenders: Sequence[Entry], named: Mapping[str, str]) -> frozenset[str]:
        out = set()
        if entry.horizon == "short" and "ignored_state" in named.values():
            out.add("state")
        if "stale" in named.values() and entry.horizon == "long":
            out.add("drift")
        if entry.scope != ALWAYS:
            out.add("scope")
        if any(other.value != entry.value for other in contenders):
            out.add("conflict")
        if entry.holder != SELF:
            out.add("third_party")
        domain = self.library.scenarios[self.focus.scenario].domain
        sessions = [session for session, _ in self.before(entry)]
        if all(s.scenario and self.library.scenarios[s.scenario].domain != domain for s in sessions):
            out.add("cross_domain")
        return frozenset(out)


def with_levels(slot: Slot, size: int, rng: random.Random) -> Slot:
    """Return a slot with ``size`` levels: the truth, the named rivals, then others as common as the population table says.

    A challenge stays only if the wrong reading that it tempts to is among the levels.
    """
    dimension = slot.dimension
    if dimension.polarity == "dislikes":
        return slot
    levels = [slot.truth, *list(slot.named)[: size - 1]]
    named = {key: slot.named[key] for key in levels[1:]}
    while len(levels) < size:
        rest = [key for key in dimension.values if key not in levels]
        key = weighted(rng, rest, [dimension.values[k].weight for k in rest])
        levels.append(key)
        named[key] = "popular_default" if key == dimension.popular else "other"
    lost = {kind for kind, label in TEMPTS.items() if label not in named.values()}
    ordered = tuple(key for key in dimension.values if key in levels)
    return replace(slot, levels=ordered, named=named, challenges=slot.challenges - lost)


def widest(slot: Slot) -> int:
    """Return how many levels a slot can have."""
    return 2 if slot.dimension.polarity == "dislikes" else len(slot.dimension.values)
