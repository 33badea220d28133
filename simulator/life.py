"""A life on paper, as data: the foci of tasks, what happens, the ledger's entries and the evidence wanted for them."""

from __future__ import annotations

from dataclasses import dataclass, field

from personas.ledger import Entry
from personas.life_events import LifeEvent
from personas.persona import Relation
from simulator.calendar import DAY

DATE_SCOPES = ("weekday", "weekend", "fridays", "start_of_month")
STRESSED = "when_stressed"


@dataclass(frozen=True, slots=True)
class Focus:
    """Where a scenario's task stands (or could stand) in time.

    Attributes:
        scenario: Scenario id.
        at: Seconds; the task's ``issued_at``.
        task: 0-based task number, or None for an untested scenario.
        kind: api, text or rank.
        missing: Whether one decisive slot must never be evidenced.
        served: The person whom the job is for, or None.
        scope: Scope of the scenario's scoped entry, or None.
        scope_on: Whether that scope holds at the focus.
    """

    scenario: str
    at: int
    task: int | None
    kind: str
    missing: bool = False
    served: Relation | None = None
    scope: str | None = None
    scope_on: bool = False

    @property
    def told(self) -> bool:
        """Whether the instruction must say if the scope holds, because the date does not."""
        return self.scope is not None and self.scope not in DATE_SCOPES


@dataclass(frozen=True, slots=True)
class Happening:
    """A life event that happens: onset and end, the bounds that a reader knows, and whether its end is voiced."""

    event: LifeEvent
    onset: int
    end: int
    end_voiced: bool

    def upsets(self, focus: Focus) -> bool:
        """Whether it is a strain at a moment at which the user is said to be at ease."""
        calm = focus.scope == STRESSED and not focus.scope_on
        return calm and self.event.emotional == "stressed" and self.onset <= focus.at <= max(self.sure_after, self.end)

    @property
    def sure_to(self) -> int:
        """Until when it certainly lasts."""
        return self.onset + self.event.earliest * DAY

    @property
    def sure_after(self) -> int:
        """From when it is certainly over."""
        return self.onset + self.event.latest * DAY


@dataclass(frozen=True, slots=True)
class Want:
    """Evidence that must be placed: ``count`` cues of an entry between two moments."""

    entry: Entry
    after: int
    before: int
    count: int
    happening: Happening | None = None
    ends: bool = False


@dataclass
class Design:
    """The ledger, the foci and the evidence wanted."""

    foci: list[Focus] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    wants: list[Want] = field(default_factory=list)
    happenings: list[Happening] = field(default_factory=list)
