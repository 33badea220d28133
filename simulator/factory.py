"""One persona through the factory: persona, design, sessions, words, tasks, twins, noise, rows, gates.

A persona is the unit of work and of redraws: a task that a gate refuses is built again, and if that does not help the persona's life is drawn again. What was refused is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from iba_bench.errors import InstanceRefused
from iba_bench.streams import opaque_id, stream
from personas.life_events import LifeEvent, load_life_events
from personas.persona import Persona
from personas.population import Population, draw_persona, load_population
from scenarios.library import Library, load_library
from simulator.calendar import Calendar
from simulator.certificate import certificate_of
from simulator.compile import Compiler
from simulator.config import GenerateConfig
from simulator.converse import Conversations
from simulator.design import Designer
from simulator.director import Director
from simulator.gates import NOISE_GATES, Failure, check_view
from simulator.gates.view import PersonaView, view_of
from simulator.history import History, Session, Turn
from simulator.noise import NoiseMaker, with_noise
from simulator.rows import (
    Bundle,
    Scribe,
    environment_row,
    ledger_rows,
    persona_row,
    solution_row,
    task_row,
    twin_row,
)  # fmt: skip
from simulator.tasks import Task
from simulator.twins import make_twin
from simulator.wording import Subject, Wording

if TYPE_CHECKING:
    from iba_bench.models.autogen import ChatCompletionClient

PERSONA_ATTEMPTS = 12
TASK_ATTEMPTS = 10
NOISE_ATTEMPTS = 6


@dataclass
class Materials:
    """What every persona is made from: read once per process."""

    library: Library
    population: Population
    events: Mapping[str, LifeEvent]

    @classmethod
    def load(cls) -> Materials:
        """Read the catalogs of this installation."""
        return cls(load_library(), load_population(), load_life_events())


@dataclass
class Tally:
    """What was refused on the way, by reason, and what was measured."""

    refused: Counter[str] = field(default_factory=Counter)
    clean_tokens: int = 0
    noise_tokens: int = 0
    adversarial_tokens: int = 0
    words: Counter[str] = field(default_factory=Counter)


@dataclass
class Made:
    """A finished persona: its rows, the same as the gates saw them, and what was counted on the way."""

    bundle: Bundle
    view: PersonaView
    tally: Tally


@dataclass
class Draft:
    """One attempt at a persona, before the gates."""

    persona: Persona
    history: History
    wording: Wording
    compiler: Compiler
    calendar: Calendar
    tasks: list[Task]
    address: tuple[object, ...]
    scribe: Scribe


def refused_turns(history: History, failures: Sequence[Failure]) -> list[tuple[Turn, Failure]]:
    """Return the turns in a model's words that failures stand for: the turn that is named, else its session's, else all."""
    written = [(session, turn) for session, turn in history.turns() if turn.speaker == "llm"]
    out: dict[str, tuple[Turn, Failure]] = {}
    for failure in failures:
        home = next((s.session_id for s, turn in history.turns() if failure.place in (turn.turn_id, s.session_id)), None)
        found = [turn for _, turn in written if turn.turn_id == failure.place] or [turn for s, turn in written if s.session_id == home]
        for turn in found or [turn for _, turn in written]:
            out.setdefault(turn.turn_id, (turn, failure))
    if not out:
        raise InstanceRefused(f"rewording: {failures[0]}")
    return list(out.values())


def wording_rates(turns: Iterable[Turn]) -> Counter[str]:
    """Count turns by who found their words: ``try N`` of a model, or the reason for the catalogs' words without what was found."""
    return Counter(f"try {turn.tries}" if turn.fallback is None else turn.fallback.partition(": ")[0] for turn in turns)


class PersonaFactory:
    """Makes personas, one index at a time; holds nothing between them but the materials."""

    def __init__(self, config: GenerateConfig, materials: Materials, clients: Mapping[str, ChatCompletionClient] = MappingProxyType({})) -> None:
        self.config, self.materials, self.clients = config, materials, clients

    async def make(self, index: int) -> Made:
        """Return persona ``index``.

        Everything is built and gated on the clean history, so that it is equal at all noise levels; then models, if there are any, say it anew, and it is gated
        again; noise is laid over at the end.

        Raises:
            InstanceRefused: if no attempt gives a fair persona; the last reason.
            CallFailed: if a model's endpoint fails.
        """
        tally = Tally()
        draft, clean, view = await self.settled(index, tally)
        if self.clients:
            clean, view = await self._reworded(draft, tally)
        return self._noisy(draft, clean, view, tally)

    async def settled(self, index: int, tally: Tally) -> tuple[Draft, Bundle, PersonaView]:
        """Return the first attempt at a persona, in the catalogs' words and without noise, that every gate passes; what was refused is counted.

        Raises:
            InstanceRefused: if there is none; the last reason.
        """
        refusal = InstanceRefused("no_attempt")
        for attempt in range(PERSONA_ATTEMPTS):
            try:
                draft = await self._draft(index, attempt)
                return draft, *self._gated(draft, tally)
            except InstanceRefused as error:
                refusal = error
                tally.refused[f"persona:{error.reason}"] += 1
        raise refusal

    async def _draft(self, index: int, attempt: int) -> Draft:
        config, materials = self.config, self.materials
        persona_id = opaque_id("p", config.seed, index)
        address = (config.seed, persona_id, attempt)
        persona = draw_persona(stream(config.seed, "persona", persona_id), materials.population, index, persona_id)
        calendar = Calendar(config.start, persona.timezone)
        rng = stream(*address, "design")
        design = Designer(rng, persona, materials.library, materials.events, config, calendar).draw()
        plans = Director(stream(*address, "director"), persona, materials.library, config, design).plan()
        served = frozenset(focus.served.mention for focus in design.foci if focus.served)
        split = "dev" if index % 10 == 0 else "test"
        wording = Wording(persona, materials.library, calendar, config.cues, config.history.chattiness, split, address, served)
        history = await Conversations(wording, address).write(plans)
        compiler = Compiler(wording, design, history, address)
        scribe = Scribe(persona_id, compiler.entries, materials.library, calendar)
        return Draft(persona, history, wording, compiler, calendar, compiler.compile(), address, scribe)

    async def _reworded(self, draft: Draft, tally: Tally) -> tuple[Bundle, PersonaView]:
        """Have the history said anew; a turn that a gate names, or else its session, gets the catalogs' words back."""
        from simulator.rewording import Rewording, Worded

        catalog = {turn.turn_id: turn.said for _, turn in draft.history.turns()}
        held = sorted({entry.dimension for entry in draft.compiler.entries})
        worded = await Rewording(draft.persona, self.materials.library, self.clients, self.config.model.tries, held).reword(draft.history)
        for _, turn in draft.history.turns():
            if turn.turn_id in worded:
                worded[turn.turn_id].put(turn)
        while True:
            try:
                bundle = self._with_tasks(draft, self._history_rows(draft, draft.history.sessions))
                view = view_of(bundle.tables())
                failures = check_view(view, self.materials.library)
            except InstanceRefused as error:
                failures = [Failure(11, error.reason)]
            if not failures:
                tally.words.update(wording_rates(turn for _, turn in draft.history.turns() if turn.turn_id in worded))
                return bundle, view
            for turn, failure in refused_turns(draft.history, failures):
                tally.refused[f"rewording, gate {failure.gate}: {failure.reason}"] += 1
                Worded(catalog[turn.turn_id], turn.tries, f"gate {failure.gate}: {failure.reason}").put(turn)

    def _noisy(self, draft: Draft, clean: Bundle, view: PersonaView, tally: Tally) -> Made:
        """Lay the noise over the clean rows; an exchange that a gate refuses is drawn again, the clean side stays."""
        tally.clean_tokens = sum(turn.tokens for _, turn in draft.history.turns())
        again: Counter[int] = Counter()
        for _ in range(NOISE_ATTEMPTS):
            maker = NoiseMaker(replace(draft.wording, subject=Subject({}, {})), draft.history, draft.compiler.entries, draft.address, again)
            layer = maker.layer(self.config.noise, tally.clean_tokens)
            history = self._history_rows(draft, with_noise(draft.history, layer))
            noisy = replace(clean, sessions=history.sessions, annotations=history.annotations)
            heard = view.over(history.sessions, history.annotations)
            failures = check_view(heard, self.materials.library, NOISE_GATES)
            if not failures:
                tally.noise_tokens, tally.adversarial_tokens = layer.tokens, layer.adversarial
                tally.refused["noise:redrawn"] += layer.redrawn
                return Made(noisy, heard, tally)
            for failure in failures:
                tally.refused[f"gate {failure.gate}: {failure.reason}"] += 1
            again.update({maker.numbers[failure.place] for failure in failures if failure.place in maker.numbers})
        raise InstanceRefused(f"noise: {failures[0]}")

    def _gated(self, draft: Draft, tally: Tally) -> tuple[Bundle, PersonaView]:
        """Return the clean rows, and as the gates see them, once every gate passes; refused tasks are built again."""
        history = self._history_rows(draft, draft.history.sessions)
        for attempt in range(1, TASK_ATTEMPTS):
            bundle = self._with_tasks(draft, history)
            view = view_of(bundle.tables())
            failures = check_view(view, self.materials.library)
            if not failures:
                return bundle, view
            for failure in failures:
                tally.refused[f"gate {failure.gate}: {failure.reason}"] += 1
            if any(failure.task_id is None for failure in failures):
                raise InstanceRefused(f"gate_{failures[0].gate}")
            failed = {failure.task_id for failure in failures}
            draft.tasks = [self._again(draft, t, attempt) if t.task_id in failed else t for t in draft.tasks]
        raise InstanceRefused("gates")

    def _again(self, draft: Draft, task: Task, attempt: int) -> Task:
        refusal = InstanceRefused("no_attempt")
        for number in range(4):
            try:
                return draft.compiler.build(task.moment.focus, 100 * attempt + number)
            except InstanceRefused as error:
                refusal = error
        raise refusal

    def _history_rows(self, draft: Draft, sessions: Sequence[Session]) -> Bundle:
        persona_id, calendar, entries = draft.persona.persona_id, draft.calendar, draft.compiler.entries
        return Bundle(
            persona=persona_row(draft.persona),
            sessions=draft.scribe.history(sessions),
            annotations=draft.scribe.annotations(sessions),
            ledger=ledger_rows(entries, persona_id, self.materials.library, calendar),
            tasks=[],
        )

    def _with_tasks(self, draft: Draft, history: Bundle) -> Bundle:
        out = Bundle(history.persona, history.sessions, history.annotations, history.ledger, [])
        split = "dev" if draft.persona.index % 10 == 0 else "test"
        for number, task in enumerate(draft.tasks):
            twin = make_twin(task, draft.wording, draft.address)
            if twin is None and not task.missing:
                raise InstanceRefused("no_twin")
            out.tasks.append(task_row(task, draft.persona.persona_id, number, split, draft.calendar))
            out.environments[task.environment_id] = environment_row(task)
            out.solutions[task.task_id] = solution_row(task, certificate_of(task, twin))
            if twin:
                out.twins[task.task_id] = twin_row(twin)
        return out
