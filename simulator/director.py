"""The director: places every wanted cue in a session, and plans what else is said there.

Tight windows are served first. A cue that belongs to another domain is said in passing ("Different subject ..."), as people do.
"""

from __future__ import annotations

import bisect
import random
from dataclasses import dataclass, field

from iba_bench.errors import InstanceRefused
from iba_bench.streams import opaque_id, pick, shuffled
from personas.ledger import ALWAYS, SELF, Entry
from personas.persona import Persona
from scenarios.library import Library
from simulator.calendar import DAY, HOUR, MINUTE
from simulator.config import GenerateConfig
from simulator.life import Design, Happening, Want

# Measured mean tokens of a clean session's frame (opening, offer, closing, farewell), a cue with its acknowledgement, and a neutral exchange, by the length of the voice.
FRAME = {"terse": 95, "even": 114, "chatty": 126}
CUE = {"terse": 58, "even": 64, "chatty": 73}
EXCHANGE = {"terse": 33, "even": 37, "chatty": 43}
LOG_TOKENS, FEWEST_EXCHANGES = 102, 1.4
LONGEST_SESSION = 3 * HOUR
FEWEST_SESSIONS, MOST_A_DAY = 8, 2.5


@dataclass(slots=True)
class Cue:
    """One turn that voices one entry (or ends what it started).

    Attributes:
        cue_id: Opaque id, equal across wording settings.
        entry: What it voices.
        ordinal: 0-based number among the cues of the same dimension, holder and strength: no line is used twice.
        manner: talk, log or end.
        openness: A draw in [0, 1) that the cues config turns into explicit, hinted or implicit.
        happening: The life event behind it, or None.
        all_implicit: The entry's draw in [0, 1): below the config's share, all its cues are implicit.
    """

    cue_id: str
    entry: Entry
    ordinal: int
    manner: str
    openness: float
    all_implicit: float
    happening: Happening | None


@dataclass(slots=True)
class SessionPlan:
    """One clean session: when, what about, which cues, how many neutral exchanges."""

    started: int
    scenario: str
    kind: str
    cues: list[Cue] = field(default_factory=list)
    exchanges: int = 0
    partner: str | None = None


class Director:
    """Turns a design into session plans for one persona."""

    def __init__(self, rng: random.Random, persona: Persona, library: Library, config: GenerateConfig, design: Design):
        self.rng, self.persona, self.library = rng, persona, library
        self.config, self.design = config, design
        self.sessions: list[SessionPlan] = []
        self.taken: list[int] = sorted(focus.at for focus in design.foci)
        self.ordinals: dict[tuple[str, str, str], int] = {}
        self.logs: set[str] = set()
        wanted, share = sum(want.count for want in design.wants), config.cues.behaviour
        voice = persona.voice.length
        self.frame, self.cue, self.exchange = FRAME[voice], CUE[voice], EXCHANGE[voice]
        talk = config.history.tokens - wanted * self.cue
        mean = (1 - share) * (self.frame + FEWEST_EXCHANGES * self.exchange) + share * LOG_TOKENS
        self.limit = max(FEWEST_SESSIONS, min(round(talk / mean), int(config.history.days * MOST_A_DAY)))
        self.load = max(2, -(-int(wanted * 1.5) // self.limit))
        self.domains = [focus.scenario for focus in design.foci]

    def plan(self) -> list[SessionPlan]:
        """Return all clean sessions in the order of time."""
        span = self.config.history.days * DAY
        for after, before in ((0, 3 * DAY), (span - 3 * DAY, span)):
            self._open(pick(self.rng, self.domains), "dialogue", after, before)
        for want in sorted(self.design.wants, key=self._tightness):
            self._place(want)
        for _ in range(3 * self.limit):
            if len(self.sessions) >= self.limit:
                break
            kind = "behaviour" if self.rng.random() < self.config.cues.behaviour else "dialogue"
            self._open(pick(self.rng, self.domains), kind, 0, span)
        self._spread_exchanges()
        return self.sessions

    def _spread_exchanges(self) -> None:
        """Give the sessions as many neutral exchanges as the wanted length of the history leaves room for."""
        talks = [session for session in self.sessions if session.kind == "dialogue"]
        used = sum(self.frame + self.cue * len(session.cues) for session in talks)
        used += LOG_TOKENS * (len(self.sessions) - len(talks))
        each = max(0.0, (self.config.history.tokens - used) / self.exchange / max(len(talks), 1))
        for session in self.sessions:
            self._fill(session, each)

    @staticmethod
    def _tightness(want: Want) -> tuple[int, str]:
        return want.before - want.after, want.entry.entry_id

    def _place(self, want: Want) -> None:
        if want.before - want.after < 2 * HOUR:
            raise InstanceRefused("no_room_for_evidence")
        elsewhere = self.rng.random() < self.config.cues.elsewhere and want.happening is None
        used: list[SessionPlan] = []
        for number in range(want.count):
            cue = self._cue(want, number)
            session = self._session(want, cue, elsewhere, used)
            session.cues.append(cue)
            used.append(session)

    def _cue(self, want: Want, number: int) -> Cue:
        entry, rng = want.entry, self.rng
        manner = "end" if want.ends else "talk"
        may_log = entry.holder == SELF and entry.scope == ALWAYS and entry.polarity == "likes" and not want.happening
        if may_log and manner == "talk" and number > 0 and rng.random() < self.config.cues.behaviour:
            manner = "log"
        key = (entry.dimension, entry.holder, "prefer" if manner == "log" else entry.strength)
        ordinal = self.ordinals[key] = self.ordinals.get(key, -1) + 1
        cue_id = opaque_id("c", entry.entry_id, len(self.ordinals), ordinal, manner, rng.random())
        return Cue(cue_id, entry, ordinal, manner, rng.random(), entry_draw(entry), want.happening)

    def _session(self, want: Want, cue: Cue, elsewhere: bool, used: list[SessionPlan]) -> SessionPlan:
        kind = "behaviour" if cue.manner == "log" else "dialogue"
        homes = self._homes(want, elsewhere, kind)
        fits = [session for session in self._within(want) if self._fits(session, kind, cue, used)]
        native = [session for session in fits if session.scenario in homes]
        calm = [session for session in native if len(session.cues) < self.load]
        if calm and (len(self.sessions) > 0.75 * self.limit or self.rng.random() < 0.6):
            return pick(self.rng, calm)
        if len(self.sessions) < self.limit:
            opened = self._open(pick(self.rng, homes), kind, want.after, want.before)
            if opened:
                return opened
        if native or (kind == "dialogue" and fits):
            return min(native or fits, key=lambda session: (len(session.cues), session.started))
        if kind == "behaviour":
            cue.manner = "talk"
            return self._session(want, cue, elsewhere, used)
        opened = self._open(pick(self.rng, homes), kind, want.after, want.before)
        if opened is None:
            raise InstanceRefused("no_room_for_session")
        return opened

    def _within(self, want: Want) -> list[SessionPlan]:
        first = bisect.bisect_left(self.sessions, want.after, key=_started)
        return self.sessions[first : bisect.bisect_left(self.sessions, want.before - LONGEST_SESSION, key=_started)]

    def _fits(self, session: SessionPlan, kind: str, cue: Cue, used: list[SessionPlan]) -> bool:
        """Whether a session can take one more cue."""
        return (
            session.kind == kind
            and len(session.cues) < self.load + 2
            and session not in used
            and all(other.entry.dimension != cue.entry.dimension for other in session.cues)
        )

    def _homes(self, want: Want, elsewhere: bool, kind: str) -> list[str]:
        active = self.domains
        homes = [key for key in active if want.entry.dimension in self.library.exposed[key]]
        event = want.happening.event.scenario if want.happening else ()
        if event and kind == "dialogue":
            return [key for key in active if key in event] or active
        if elsewhere and kind == "dialogue":
            own = {self.library.scenarios[key].domain for key in self.library.homes[want.entry.dimension]}
            return [key for key in active if self.library.scenarios[key].domain not in own] or homes
        return homes

    def _open(self, scenario: str, kind: str, after: int, before: int) -> SessionPlan | None:
        """Open a session at a free moment of waking hours, or return None."""
        for _ in range(40):
            at = int(self.rng.uniform(after, max(after + 1, before - LONGEST_SESSION)))
            at -= at % MINUTE
            if not 7 * HOUR <= at % DAY <= 21 * HOUR or at < after:
                continue
            place = bisect.bisect(self.taken, at)
            early = self.taken[place - 1] if place else -DAY
            late = self.taken[place] if place < len(self.taken) else at + DAY
            if at - early >= LONGEST_SESSION and late - at >= LONGEST_SESSION:
                self.taken.insert(place, at)
                session = SessionPlan(at, scenario, kind)
                bisect.insort(self.sessions, session, key=_started)
                return session
        return None

    def _fill(self, session: SessionPlan, each: float) -> None:
        session.cues = shuffled(self.rng, session.cues)
        if session.kind == "behaviour":
            session.exchanges = max(2, 6 - len(session.cues)) + int(self.rng.random() * 3)
            return
        session.exchanges = int(each + self.rng.random() + (self.rng.choice((-1, 0, 1)) if each >= 1 else 0))
        if self.rng.random() < 0.08:
            session.partner = pick(self.rng, [r.mention for r in self.persona.social if not r.is_child])


def _started(session: SessionPlan) -> int:
    return session.started


def entry_draw(entry: Entry) -> float:
    """Return a fixed draw in [0, 1) for an entry: whether all its cues are implicit."""
    return int(entry.entry_id[-6:], 16) / 0x1000000
