"""From session plans to sessions: a script of beats each, held by AutoGen voices, checked and timed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iba_bench.streams import opaque_id, pick, shuffled, stream
from iba_bench.tokens import count
from scenarios.environment import entity_name, subject_of
from scenarios.models import Scenario
from simulator.autogen_adapter import Heard, converse, voices_of
from simulator.calendar import DAY, MINUTE
from simulator.director import Cue, SessionPlan
from simulator.history import History, Session, Turn
from simulator.wording import Said, Subject, Wording


@dataclass(slots=True)
class ScriptBeat:
    """What the director wants of one turn. The assistant's beats hold nothing about hidden preferences."""

    role: str
    kind: str
    scenario: Scenario
    at: int
    rng: random.Random
    subject: Subject
    cue: Cue | None = None
    options: tuple[str, str] = ("", "")
    ready: Said | None = None


class EmbeddedSpeaker:
    """Finds words without a model: composes them from the scenario's clauses."""

    def __init__(self, wording: Wording) -> None:
        self.wording = wording

    async def __call__(self, beat: ScriptBeat, heard: Sequence[Heard]) -> Said:
        """Word one beat; what was heard before is not needed."""
        wording = self.wording
        wording.subject = beat.subject
        if beat.ready is not None:
            return beat.ready
        if beat.cue is not None:
            return wording.cue_turn(beat.cue, beat.scenario, beat.rng, beat.at)
        if beat.role == "user":
            return wording.user_turn(beat.kind, beat.scenario, beat.rng, beat.at)
        if beat.role == "other":
            key, talk = beat.scenario.scenario, beat.scenario.talk
            return Said(wording.plain(f"{key}.requests", talk.requests, beat.rng, beat.scenario.fills, beat.at))
        given = {"option_a": beat.options[0], "option_b": beat.options[1]}
        return wording.assistant_turn(beat.kind, beat.scenario, beat.rng, beat.at, **given)


class Conversations:
    """Writes one persona's clean history."""

    def __init__(self, wording: Wording, address: tuple[object, ...]) -> None:
        self.wording, self.address = wording, address

    async def write(self, plans: Sequence[SessionPlan]) -> History:
        """Return all clean sessions."""
        scripts = [self._script(plan, number) for number, plan in enumerate(plans)]
        voices = voices_of(dict.fromkeys(("user", "assistant", "other", "event"), EmbeddedSpeaker(self.wording)))
        said = [await converse(script, voices) for script in scripts]
        self.wording.subject = Subject({}, {})
        return History([
            self._session(plan, number, script, words)
            for number, (plan, script, words) in enumerate(zip(plans, scripts, said, strict=True))
        ])  # fmt: skip

    def _script(self, plan: SessionPlan, number: int) -> list[ScriptBeat]:
        rng = stream(*self.address, "session", number)
        scenario = self.wording.library.scenarios[plan.scenario]
        clock = _Clock(plan.started, rng)
        subject = self._subject(scenario, rng, plan.started)
        self.wording.subject = subject
        beat = _BeatMaker(scenario, rng, clock, subject)
        names = two_names(scenario, rng, subject.values)
        if plan.kind == "behaviour":
            return self._log_script(plan, beat)
        script = [beat("user", "opening"), beat("assistant", "offer", options=names)]
        for item in shuffled(rng, [*plan.cues, *[None] * plan.exchanges]):
            if item is None:
                ask, answer = self.wording.exchange(scenario, rng, clock.now)
                script += [beat("user", "ask", ready=ask), beat("assistant", "answer", ready=answer)]
            else:
                script.append(beat("user", "cue", cue=item))
                if rng.random() < 0.2 + 0.8 * self.wording.chattiness:
                    script.append(beat("assistant", "acknowledgement"))
        if plan.partner:
            script += [beat("other", "partner"), beat("assistant", "acknowledgement")]
        return [*script, beat("user", "closing"), beat("assistant", "farewell")]

    def _subject(self, scenario: Scenario, rng: random.Random, at: int) -> Subject:
        """Return what a session is about, and by when the job is to be done."""
        soon = self.wording.calendar.words(at + int(1 + rng.random() * 9) * DAY)
        return Subject(scenario.fills, {**subject_of(scenario, rng), "soon": soon})

    def _log_script(self, plan: SessionPlan, beat: _BeatMaker) -> list[ScriptBeat]:
        scenario, rng, script = beat.scenario, beat.rng, []
        for item in shuffled(rng, [*plan.cues, *[None] * plan.exchanges]):
            at = beat.clock.now
            if item is None:
                names = two_names(scenario, rng, {})
                ready = self.wording.neutral_log(scenario, rng, at, *names)
            else:
                ready = self.wording.log_turn(item, item.entry.value)
            script.append(beat("event", "log", cue=item, ready=ready))
        return script

    def _session(self, plan: SessionPlan, number: int, script: list[ScriptBeat], words: list[Said]) -> Session:
        session_id = opaque_id("s", *self.address, "clean", number)
        turns = [
            Turn(opaque_id("t", session_id, place), beat.role, said, beat.at, count(said.text), beat.cue, kind=beat.kind, options=beat.options)
            for place, (beat, said) in enumerate(zip(script, words, strict=True))
        ]
        session = Session(session_id, plan.started, plan.kind, plan.scenario, turns)
        self._settle_openness(session)
        return session

    def _settle_openness(self, session: Session) -> None:
        """A session in which a value's name is said by chance is not implicit for that value: call it hinted."""
        text = "\n".join(turn.content for turn in session.turns)
        for turn in session.turns:
            if turn.cue and turn.said.openness == "implicit" and turn.cue.manner != "end":
                entry = turn.cue.entry
                if self.wording.library.names(entry.dimension, entry.value).search(text):
                    turn.said.openness = "hinted"


def two_names(scenario: Scenario, rng: random.Random, about: Mapping[str, str]) -> tuple[str, str]:
    """Return the names of two different things that one could choose."""
    one = other = entity_name(scenario, rng, about)
    while other == one:
        other = entity_name(scenario, rng, about)
    return one, other


class _Clock:
    """Local time within a session: one to four minutes a turn."""

    def __init__(self, started: int, rng: random.Random) -> None:
        self.now, self.rng = started, rng

    def tick(self) -> int:
        at = self.now
        self.now += pick(self.rng, (1, 2, 2, 3, 4)) * MINUTE
        return at


class _BeatMaker:
    def __init__(self, scenario: Scenario, rng: random.Random, clock: _Clock, subject: Subject) -> None:
        self.scenario, self.rng, self.clock, self.subject = scenario, rng, clock, subject

    def __call__(self, role: str, kind: str, cue: Cue | None = None, options: tuple[str, str] = ("", ""),
                 ready: Said | None = None) -> ScriptBeat:  # fmt: skip
        return ScriptBeat(role, kind, self.scenario, self.clock.tick(), self.rng, self.subject, cue, options, ready)
