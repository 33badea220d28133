"""How the embedded speaker composes a turn: lead, decisive clause, scope clause, tail; then the persona's voice.

Everything that a cue turn is made of is kept (`CueWording`), so that a twin can be re-voiced with another value in the same place.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from iba_bench.streams import pick, shuffled, stream
from personas.ledger import ALWAYS, SELF
from personas.life_events import life_event_fills
from personas.persona import Persona
from personas.voice import render
from scenarios.library import Library
from scenarios.line import CueLine, Line
from scenarios.models import Dimension, Scenario, Value
from simulator.calendar import DAY, Calendar
from simulator.config import CuesConfig
from simulator.director import Cue

Item = TypeVar("Item")
TALKATIVE = {"terse": 0.22, "even": 0.5, "chatty": 0.8}
Span = tuple[int, int]
Fill = Callable[[str], str]


class Decks:
    """Per-persona decks of lines: each is dealt through before a line returns."""

    def __init__(self, split: str, *address: object) -> None:
        self.split, self.address = split, address
        self._decks: dict[str, tuple[list[object], int]] = {}

    def deal(self, name: str, items: Sequence[Item]) -> Item:
        """Return the next item of the deck ``name`` (made of those of the persona's split)."""
        if name not in self._decks:
            own = [item for item in items if getattr(item, "split", self.split) == self.split]
            self._decks[name] = (shuffled(stream(*self.address, name), own or list(items)), 0)
        deck, place = self._decks[name]
        self._decks[name] = (deck, place + 1)
        return deck[place % len(deck)]  # type: ignore[return-value]


@dataclass(slots=True)
class CueWording:
    """What a cue turn is made of, besides the value's own clause.

    ``around`` is what a model wrote before and after the clause; it takes the place of lead and tail.
    """

    lead: str
    tail: str
    scope_clause: str
    openness: str
    cross: bool
    at: int
    around: tuple[str, str] | None = None


@dataclass(slots=True)
class Said:
    """A worded turn: text and the span of its decisive clause (or None)."""

    text: str
    span: Span | None = None
    wording: CueWording | None = None
    openness: str | None = None
    cue_type: str | None = None
    strength: str | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """What a session is about: fills that keep their value in lines that draw on these pools (the scenario's own)."""

    pools: Mapping[str, tuple[str, ...]]
    values: Mapping[str, str]


@dataclass
class Wording:
    """Composes turns for one persona.

    Attributes:
        address: Prefix of all streams (seed, persona, attempt).
        served: Mentions of people whom some task serves; they don't appear as anybody else.
        subject: What the session at hand is about.
    """

    persona: Persona
    library: Library
    calendar: Calendar
    cues: CuesConfig
    chattiness: float
    split: str
    address: tuple[object, ...]
    served: frozenset[str]
    subject: Subject = field(default_factory=lambda: Subject({}, {}))
    decks: Decks = field(init=False)
    people: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.decks = Decks(self.split, *self.address, "deck")
        mentions = [relation.mention for relation in self.persona.social]
        self.people = tuple(m for m in mentions if m not in self.served) or tuple(mentions)

    # --- filling -------------------------------------------------------------

    def filler(self, rng: random.Random, pools: Mapping[str, tuple[str, ...]], at: int, **given: str) -> Fill:
        """Return the function that fills ``{name}`` parts at the time ``at``."""

        def fill(name: str) -> str:
            if name in given:
                return given[name]
            if pools is self.subject.pools and name in self.subject.values:
                return self.subject.values[name]
            if name in pools:
                return pick(rng, pools[name])
            if name == "person":
                return pick(rng, self.people)
            if name == "day":
                return self.calendar.words(at - int(1 + rng.random() * 6) * DAY)
            if name == "soon":
                return self.calendar.words(at + int(1 + rng.random() * 9) * DAY)
            return self.persona.city if name == "city" else self.persona.street

        return fill

    def plain(self, name: str, lines: Sequence[Line], rng: random.Random, pools: Mapping[str, tuple[str, ...]],
              at: int, **given: str) -> str:  # fmt: skip
        """Deal a neutral line from a pool and draw it."""
        return self.decks.deal(name, lines).parts.draw(rng, self.filler(rng, pools, at, **given))

    def chatty(self, rng: random.Random, factor: float = 1.0) -> bool:
        """Whether this persona adds an optional sentence."""
        return rng.random() < TALKATIVE[self.persona.voice.length] * factor * self.chattiness

    # --- neutral turns -------------------------------------------------------

    def user_turn(self, kind: str, scenario: Scenario, rng: random.Random, at: int) -> Said:
        """Word an opening or closing."""
        key, talk = scenario.scenario, scenario.talk
        lines = {"opening": talk.openings, "closing": talk.closings}[kind]
        text = self.plain(f"{key}.{kind}", lines, rng, scenario.fills, at)
        if kind == "opening" and self.chatty(rng, 1.25):
            extra = self.plain(f"{key}.situations", talk.situations, rng, scenario.fills, at)
            text = f"{extra} {text}" if rng.random() < 0.5 else f"{text} {extra}"
        elif kind == "closing" and self.chatty(rng, 0.6):
            text = f"{text} " + self.plain(f"{key}.situations", talk.situations, rng, scenario.fills, at)
        return Said(render(self.persona.voice, text, rng)[0])

    def exchange(self, scenario: Scenario, rng: random.Random, at: int) -> tuple[Said, Said]:
        """Word a neutral question and its answer."""
        pair = self.decks.deal(f"{scenario.scenario}.exchanges", scenario.talk.exchanges)
        chosen: dict[str, str] = {}
        base = self.filler(rng, scenario.fills, at)

        def fill(name: str) -> str:
            return chosen.setdefault(name, base(name))

        ask, answer = (line.parts.draw(rng, fill) for line in pair.lines)
        if self.chatty(rng, 0.9):
            extra = self.plain(f"{scenario.scenario}.situations", scenario.talk.situations, rng, scenario.fills, at)
            ask = f"{extra} {ask}" if rng.random() < 0.6 else f"{ask} {extra}"
        return Said(render(self.persona.voice, ask, rng)[0]), Said(answer)

    def assistant_turn(self, kind: str, scenario: Scenario, rng: random.Random, at: int, **given: str) -> Said:
        """Word an offer, acknowledgement or farewell of the assistant's."""
        talk = scenario.talk
        lines = {"offer": talk.offers, "acknowledgement": talk.acknowledgements, "farewell": talk.farewells}[kind]
        return Said(self.plain(f"{scenario.scenario}.{kind}", lines, rng, scenario.fills, at, **given))

    # --- cue turns -----------------------------------------------------------

    def cue_turn(self, cue: Cue, scenario: Scenario, rng: random.Random, at: int) -> Said:
        """Word a turn that voices an entry, in a session about ``scenario``."""
        if cue.manner == "end":
            return self._end_turn(cue, rng, at)
        native = cue.entry.dimension in self.library.exposed[scenario.scenario]
        wording = CueWording(
            lead=self._lead(cue, scenario, native, rng, at),
            tail="",
            scope_clause=self._scope_clause(cue, rng, at),
            openness=self._openness(cue),
            cross=not native,
            at=at,
        )
        if native and self.chatty(rng, 1.1):
            key = f"{scenario.scenario}.requests"
            wording.tail = self.plain(key, scenario.talk.requests, rng, scenario.fills, at)
        return self.voiced(cue, wording, cue.entry.value)

    def voiced(self, cue: Cue, wording: CueWording, value_id: str) -> Said:
        """Return the cue's turn with ``value_id`` as what it shows (the entry's value, or a twin's)."""
        if wording.around is not None:
            return self._within(wording.around, self.voiced(cue, replace(wording, lead="", tail="", around=None), value_id), wording)
        rng = stream(*self.address, "cue", cue.cue_id)
        dimension = self.library.dimensions[cue.entry.dimension]
        line = self._line(cue, wording.openness, dimension, dimension.values[value_id])
        fill = self._cue_filler(cue, rng, dimension, dimension.values[value_id], wording.at)
        say = line.parts.draw(rng, fill)
        start = len(wording.lead) + 1 if wording.lead else 0
        parts = [part for part in (wording.lead, say, wording.scope_clause, wording.tail) if part]
        end = start + len(say) + (len(wording.scope_clause) + 1 if wording.scope_clause else 0)
        text, span = render(self.persona.voice, " ".join(parts), rng, decisive=(start, end))
        return Said(text, span, wording, wording.openness, line.type, line.strength)

    @staticmethod
    def _within(around: tuple[str, str], said: Said, wording: CueWording) -> Said:
        """Put a clause alone into what a model wrote around it."""
        assert said.span is not None
        before, core = around[0], said.text[slice(*said.span)].rstrip(".!?")
        return replace(said, text=f"{before}{core}{around[1]}", span=(len(before), len(before) + len(core)), wording=wording)

    def _cue_filler(self, cue: Cue, rng: random.Random, dimension: Dimension, value: Value, at: int) -> Fill:
        holder = cue.entry.holder
        given = {"phrase": value.phrase}
        if holder != SELF:
            given["person"] = holder
        pools = {**self.library.frames.fills, **self.library.fills[dimension.id]}
        return self.filler(rng, pools, at, **given)

    def _openness(self, cue: Cue) -> str:
        if cue.all_implicit < self.cues.all_implicit:
            return "implicit"
        if cue.openness < self.cues.explicit:
            return "explicit"
        return "hinted" if cue.openness < self.cues.explicit + self.cues.hinted else "implicit"

    def _line(self, cue: Cue, openness: str, dimension: Dimension, value: Value) -> CueLine:
        entry, frames = cue.entry, self.library.frames
        dislikes = dimension.polarity == "dislikes"
        pool: Sequence[CueLine]
        if openness != "implicit" and entry.holder != SELF:
            pool = frames.served_dislikes if dislikes else frames.served
        elif openness == "explicit":
            pool = frames.explicit_dislikes if dislikes else frames.explicit
        elif openness == "hinted":
            pool = frames.hinted_dislikes if dislikes else frames.hinted
        else:
            pool = value.served if entry.holder != SELF else value.cues
        own = [line for line in pool if line.split == self.split and line.strength == entry.strength]
        own = own or [line for line in pool if line.split == self.split]
        framed = openness != "implicit"
        key = (openness, entry.strength) if framed else (dimension.id, value.id, entry.strength, entry.holder == SELF)
        deck = shuffled(stream(*self.address, "lines", *key), own)
        place = int(cue.cue_id[-6:], 16) if framed else cue.ordinal
        return deck[place % len(deck)]

    def _lead(self, cue: Cue, scenario: Scenario, native: bool, rng: random.Random, at: int) -> str:
        if cue.happening is not None:
            event = cue.happening.event
            given = {"day": self.calendar.words(cue.happening.onset)}
            return self.plain(f"event.{event.id}", event.mentions, rng, life_event_fills(), at, **given)
        if not native:
            return self.plain("cross", self.library.asides.cross, rng, self.library.asides.fills, at)
        if not self.chatty(rng, 0.9):
            return ""
        return self.plain(f"{scenario.scenario}.situations", scenario.talk.situations, rng, scenario.fills, at)

    def _scope_clause(self, cue: Cue, rng: random.Random, at: int) -> str:
        if cue.entry.scope == ALWAYS:
            return ""
        bank, pools = self.library.scopes.scopes[cue.entry.scope], self.library.scopes.fills
        return self.plain(f"scope.{cue.entry.scope}", bank.clauses, rng, pools, at)

    def _end_turn(self, cue: Cue, rng: random.Random, at: int) -> Said:
        if cue.happening:
            event, end = cue.happening.event, cue.happening.end
            pools = life_event_fills()
            text = self.plain(f"end.{event.id}", event.ends, rng, pools, at, day=self.calendar.words(end))
        else:
            topic = self.library.dimensions[cue.entry.dimension].label
            assert cue.entry.valid_to is not None
            day = self.calendar.words(cue.entry.valid_to)
            text = self.plain("expiry", self.library.plain.expiry, rng, self.library.plain.fills, at, day=day, topic=topic)
        text, span = render(self.persona.voice, text, rng, decisive=(0, len(text)))
        return Said(text, span, cue_type="end", openness="implicit", strength=cue.entry.strength)

    # --- behaviour logs --------------------------------------------------------

    def log_turn(self, cue: Cue, value_id: str) -> Said:
        """Word a log event that shows a value."""
        rng = stream(*self.address, "cue", cue.cue_id)
        dimension = self.library.dimensions[cue.entry.dimension]
        lines = [line for line in dimension.values[value_id].logs if line.split == self.split]
        deck = shuffled(stream(*self.address, "lines", dimension.id, value_id, "log"), lines)
        line = deck[cue.ordinal % len(deck)]
        text = line.parts.draw(rng, self.filler(rng, self.library.fills[dimension.id], cue.entry.valid_from))
        return Said(f"{line.event}: {text}", (0, len(line.event) + 2 + len(text)), None, "implicit", "behaviour", "prefer")

    def neutral_log(self, scenario: Scenario, rng: random.Random, at: int, option: str, other: str) -> Said:
        """Word a log event that shows nothing."""
        event = pick(rng, ("search", "browse", "browse", "rate"))
        lines = self.library.plain.logs[event]
        text = self.plain(f"log.{event}", lines, rng, scenario.fills, at, option=option, other=other)
        return Said(f"{event}: {text}")
