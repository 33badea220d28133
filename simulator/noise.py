"""Noise as a nested layer over untouched clean turns.

Noise is one fixed sequence of exchanges per persona; a level takes as many from its front as the wanted share of tokens needs. So a low level is part of a higher one,
clean turns keep their bytes, ids and times, and variants pair.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from iba_bench.errors import InstanceRefused
from iba_bench.streams import opaque_id, pick, stream, weighted
from iba_bench.tokens import count
from personas.ledger import Entry
from personas.voice import render, slip
from scenarios.library import ADVERSARIAL, FILLER
from scenarios.models import NoiseLine
from simulator.calendar import DAY, MINUTE
from simulator.config import NoiseConfig
from simulator.history import History, Session, Turn
from simulator.wording import Said, Wording

GAP_EXCHANGES = 2
SESSION_EXCHANGES = 6
INSERTED = 0.45
RAMBLING = 0.5
TRIES = 12


@dataclass(slots=True)
class Layer:
    """The noise of one persona at one level.

    Attributes:
        inserted: Noise turns by the id of the clean turn that they follow.
        sessions: Sessions that are all noise.
        tokens: Noise tokens; ``adversarial`` of them in adversarial kinds.
    """

    inserted: dict[str, list[Turn]] = field(default_factory=dict)
    sessions: list[Session] = field(default_factory=list)
    tokens: int = 0
    adversarial: int = 0
    redrawn: int = 0


class NoiseMaker:
    """Draws one persona's noise, exchange by exchange; ``again`` says how often an exchange (by number) must be drawn anew."""

    def __init__(
        self,
        wording: Wording,
        history: History,
        entries: Sequence[Entry],
        address: tuple[object, ...],
        again: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        self.wording, self.history, self.address = wording, history, address
        self.again = Counter(again)
        self.numbers: dict[str, int] = {}
        self.bank = wording.library.noise
        self.said: set[str] = set()
        self.gaps = self._gaps()
        self.room = {session.session_id: 0 for session in history.sessions}
        self.held: dict[str, set[str]] = {}
        for entry in entries:
            self.held.setdefault(entry.dimension, set()).add(entry.value)
        self.dimensions = sorted(self.held)
        self.open: Session | None = None

    def _gaps(self) -> list[tuple[Session, int]]:
        rng = stream(*self.address, "noise", "gaps")
        places = [(session, place) for session in self.history.sessions for place, turn in enumerate(session.turns[:-1]) if turn.role == "assistant"]
        rng.shuffle(places)
        return places

    def layer(self, config: NoiseConfig, clean_tokens: int) -> Layer:
        """Return the layer whose share of all tokens is ``config.level``."""
        out, number = Layer(), 0
        target = config.level / (1 - config.level) * clean_tokens
        while out.tokens < target:
            adversarial = out.adversarial < config.adversarial * (out.tokens + 1)
            tokens = self._exchange(out, number, adversarial)
            out.tokens += tokens
            out.adversarial += tokens if adversarial else 0
            number += 1
        return out

    def _exchange(self, layer: Layer, number: int, adversarial: bool) -> int:
        rng = stream(*self.address, "noise", number, self.again[number])
        kind = pick(rng, ADVERSARIAL if adversarial else FILLER)
        gap = self._gap(rng)
        host = gap[0] if gap else self._host(layer, rng)
        kind, texts = self._words(kind, host, rng, layer)
        if gap is not None:
            session, place = gap
            after = session.turns[place]
            until = session.turns[place + 1].at
            turns = layer.inserted.setdefault(after.turn_id, [])
            begin = (turns[-1].at if turns else after.at) + 7 + int(rng.random() * 5)
            times = (begin, min(begin + 8 + int(rng.random() * 5), until - 1))
        else:
            turns = host.turns
            begin = (turns[-1].at + MINUTE) if turns else host.started
            times = (begin, begin + pick(rng, (1, 2)) * MINUTE)
        for role, said, at in zip(("user", "assistant"), texts, times, strict=True):
            turn_id = opaque_id("t", *self.address, "noise", number, role)
            self.numbers[turn_id] = number
            turns.append(Turn(turn_id, role, said, at, count(said.text), noise_kind=kind))
        return sum(turn.tokens for turn in turns[-2:])

    def _gap(self, rng: random.Random) -> tuple[Session, int] | None:
        """Return a free gap between clean turns, or None if this exchange goes to a session of its own."""
        while rng.random() < INSERTED and self.gaps:
            session, place = self.gaps.pop()
            if self.room[session.session_id] < GAP_EXCHANGES:
                self.room[session.session_id] += 1
                return session, place
        return None

    def _host(self, layer: Layer, rng: random.Random) -> Session:
        if self.open is None or len(self.open.turns) >= 2 * SESSION_EXCHANGES:
            number = len(layer.sessions)
            session_id = opaque_id("s", *self.address, "noise", number)
            self.open = Session(session_id, self._moment(layer, rng), "dialogue", None)
            layer.sessions.append(self.open)
        return self.open

    def _moment(self, layer: Layer, rng: random.Random) -> int:
        """Return a start that keeps half an hour from every other session."""
        days = self.history.sessions[-1].started // DAY + 1
        busy = [(s.started, s.turns[-1].at) for s in self.history.sessions] + [(s.started, s.started + 20 * MINUTE) for s in layer.sessions]
        for attempt in range(2000):
            spare = (30 if attempt < 400 else 22) * MINUTE
            at = int(rng.random() * days) * DAY + int(rng.uniform(6 if attempt < 400 else 4, 23.5) * 60) * MINUTE
            if all(at + spare < begin or at > end + 2 * MINUTE for begin, end in busy):
                return at
        raise InstanceRefused("no_room_for_noise")

    # --- words -------------------------------------------------------------------

    def _words(self, kind: str, host: Session, rng: random.Random, layer: Layer) -> tuple[str, tuple[Said, Said]]:
        kinds = [kind] * TRIES + [k for k in (ADVERSARIAL if kind in ADVERSARIAL else FILLER) for _ in range(TRIES)]
        for again in kinds:
            user, assistant = self._draw(again, host, rng)
            if user.text not in self.said and self._harmless(host, f"{user.text}\n{assistant.text}"):
                self.said.add(user.text)
                return again, (user, assistant)
            layer.redrawn += 1
        raise InstanceRefused("noise_exhausted")

    def _draw(self, kind: str, host: Session, rng: random.Random) -> tuple[Said, Said]:
        wording = self.wording
        entry: NoiseLine = wording.decks.deal(f"noise.{kind}", self.bank.kinds[kind])
        given = {"phrase": self._phrase(rng)} if kind in ADVERSARIAL else {}
        at, chosen = host.started, dict(given)
        base = wording.filler(rng, self.bank.fills, at)
        fill = lambda name: chosen.setdefault(name, base(name))  # noqa: E731
        user, assistant = (line.parts.draw(rng, fill) for line in entry.lines)
        if kind in FILLER and rng.random() < RAMBLING:
            scenario = pick(rng, list(wording.library.scenarios.values()))
            more = wording.plain(f"noise.{scenario.scenario}", scenario.talk.situations, rng, scenario.fills, at)
            user = f"{user} {more}" if rng.random() < 0.6 else f"{more} {user}"
        text = render(wording.persona.voice, user, rng)[0]
        if rng.random() < wording.persona.voice.typo_rate * 8:
            text = slip(text, rng)
        return Said(text, (0, len(text))), Said(assistant, (0, len(assistant)))

    def _phrase(self, rng: random.Random) -> str:
        """Return a phrase of a value that the persona never holds, of a dimension that it holds something on."""
        while True:
            dimension = self.wording.library.dimensions[pick(rng, self.dimensions)]
            free = [value for key, value in dimension.values.items() if key not in self.held[dimension.id]]
            if free:
                return weighted(rng, free, [value.weight for value in free]).phrase

    def _harmless(self, host: Session, text: str) -> bool:
        """Whether the text names no value of a dimension that the host session shows implicitly (a twin may show any of them)."""
        library = self.wording.library
        shown = {turn.cue.entry.dimension for turn in host.turns if turn.cue and turn.said.openness == "implicit"}
        return not any(library.any_name(key).search(text) for key in sorted(shown))


def with_noise(history: History, layer: Layer) -> list[Session]:
    """Return clean and noise sessions in time order, noise turns in their places; the clean history stays as it is."""
    out = []
    for session in history.sessions:
        turns: list[Turn] = []
        for turn in session.turns:
            turns.append(turn)
            turns.extend(layer.inserted.get(turn.turn_id, ()))
        out.append(replace(session, turns=turns))
    return sorted([*out, *layer.sessions], key=lambda session: session.started)
