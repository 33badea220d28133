"""A rewording: a gated history said anew by models, turn by turn, with the catalogs' words kept wherever a model's do not pass.

The sessions are held once more by AutoGen voices. A voice gets a direction for its turn (the persona's: what to do, which passage to keep, what must not be said;
the assistant's: what it knows), sees the talk so far, and has a few tries, each with the reason for which the last was refused. What the turn is, when, and what
it voices stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from iba_bench.models.autogen import AssistantMessage, ChatCompletionClient, LLMMessage, SystemMessage, UserMessage
from iba_bench.models.reply import CallFailed
from iba_bench.together import together
from iba_bench.tokens import count
from personas.persona import Persona
from scenarios.check import NamePattern
from scenarios.library import Library
from scenarios.models import Scenario
from simulator.autogen_adapter import Heard, converse, voices_of
from simulator.history import History, Session, Turn
from simulator.prompts import prompt
from simulator.reading import BlindReader
from simulator.turn_checks import Bounds, place_of, problem_of, tidied
from simulator.wording import CueWording, Said

WORDED = ("user", "assistant", "other")  # logs are a machine's words
SPOKEN_BY = {"user": "persona", "other": "persona", "assistant": "assistant"}
CONTENT = ("truncated", "empty", "unstructured")  # failures of an answer, not of the endpoint: the catalogs' words will do
_LENGTH = {"terse": "short messages, a sentence or two", "even": "a few sentences", "chatty": "talkative, with small digressions"}
_PUNCTUATION = {"full": "careful punctuation", "light": "no full stop at the end", "none": "all lower case, little punctuation"}


@dataclass(slots=True)
class Beat:
    """One turn to be said anew."""

    turn: Turn
    session: Session
    scenario: Scenario
    last: bool

    @property
    def role(self) -> str:
        """Whose turn it is."""
        return self.turn.role


@dataclass(frozen=True, slots=True)
class Worded:
    """A turn's words: a model's, or the catalogs' with the reason why no model's would do."""

    said: Said
    tries: int
    fallback: str | None = None

    def put(self, turn: Turn) -> None:
        """Give a turn these words."""
        turn.said, turn.tokens, turn.tries, turn.fallback = self.said, count(self.said.text), self.tries, self.fallback
        turn.speaker = "embedded" if self.fallback else "llm"


class Rewording:
    """Says one persona's history anew.

    Args:
        persona: Whose history it is.
        library: The catalogs.
        clients: The models of the roles persona, assistant, checker; none are needed to plan the calls.
        tries: Wordings asked for before the catalogs' is kept.
        held: Dimensions that the persona holds something on.
    """

    def __init__(
        self, persona: Persona, library: Library, clients: Mapping[str, ChatCompletionClient], tries: int, held: Sequence[str] = ()
    ) -> None:  # fmt: skip
        self.persona, self.library, self.clients, self.tries, self.held = persona, library, clients, tries, held
        self.reader = BlindReader(library, clients.get("checker"), held)
        self.known = " ".join([
            persona.display_name, persona.city, persona.street, *(relation.mention for relation in persona.social),
        ])  # fmt: skip

    async def reword(self, history: History) -> dict[str, Worded]:
        """Return other words by turn id; sessions are held at the same time.

        Raises:
            CallFailed: the endpoint gave no answer, whatever was tried.
        """
        talks = [session for session in history.sessions if session.kind == "dialogue"]
        held = await together(self._session(session) for session in talks)
        return {key: worded for found in held for key, worded in found.items()}

    async def _session(self, session: Session) -> dict[str, Worded]:
        beats = self.beats(session)
        speakers = {role: _Speaker(self, beats[0].scenario, role) for role in WORDED}
        await converse(beats, voices_of(speakers))
        return {key: worded for speaker in speakers.values() for key, worded in speaker.worded.items()}

    def beats(self, session: Session) -> list[Beat]:
        """Return the turns of a session as they are to be said anew."""
        assert session.scenario is not None
        scenario = self.library.scenarios[session.scenario]
        return [Beat(turn, session, scenario, turn is session.turns[-1]) for turn in session.turns]

    def system(self, beat: Beat) -> str:
        """Return what the model of a beat's role is told at the start."""
        return _system(self.persona, beat.scenario, beat.role)

    def direction(self, beat: Beat) -> str:
        """Return the hidden instruction for a beat."""
        turn, clause = beat.turn, passage_of(beat.turn)
        text = _DIRECTIONS["cue" if clause else turn.kind](turn, clause)
        if turn.role != "user":
            return text
        dimensions = dict.fromkeys(other.cue.entry.dimension for other in beat.session.turns if other.cue)
        words = sorted({name for key in dimensions for value in self.library.dimensions[key].values.values() for name in value.names})
        words = [word for word in words if word.lower() not in clause.lower()]
        return f"{text}\n{prompt('forbidden', words=', '.join(words))}" if words else text

    def unnamed(self, beat: Beat) -> list[NamePattern]:
        """Return what finds the names of values that a turn must not say.

        Nobody names a value of a dimension that the session shows implicitly, nor does the user one that the job exposes or that a preference of theirs is
        about: it would voice something.
        """
        keys = {turn.cue.entry.dimension for turn in beat.session.turns if turn.cue and turn.said.openness == "implicit"}
        if beat.role == "user":
            keys |= {*self.library.exposed[beat.scenario.scenario], *self.held}
        return [self.library.any_name(key) for key in sorted(keys)]


class _Speaker:
    """Finds the words of one role in one session, with the model of that role."""

    def __init__(self, rewording: Rewording, scenario: Scenario, role: str) -> None:
        self.rewording, self.role = rewording, role
        self.client = rewording.clients[SPOKEN_BY[role]]
        self.system = SystemMessage(content=_system(rewording.persona, scenario, role))
        self.worded: dict[str, Worded] = {}
        self.messages: list[LLMMessage] = [self.system]
        self.taken = 0

    async def __call__(self, beat: Beat, heard: Sequence[Heard]) -> Said:
        """Word a beat; what no model words well stays as it was."""
        for who, text in heard[self.taken :]:
            self.messages.append(AssistantMessage(content=text, source=who) if who == self.role else UserMessage(content=text, source=who))
        self.taken = len(heard)
        worded = self.worded[beat.turn.turn_id] = await self._found(beat, heard)
        return worded.said

    async def _found(self, beat: Beat, heard: Sequence[Heard]) -> Worded:
        bounds, reason, messages = self._bounds(beat, heard), "", [*self.messages, UserMessage(content=self.rewording.direction(beat), source="director")]
        for number in range(1, self.rewording.tries + 1):
            try:
                reason, text = await self._try(beat, bounds, messages)
            except CallFailed as failure:
                if failure.kind not in CONTENT:
                    raise
                reason, text = failure.kind, ""
            if not reason:
                return Worded(_said(beat, text), number)
            again = prompt("again", reason=reason, text=text[:400])
            messages = [*messages[: len(self.messages)], UserMessage(content=f"{messages[len(self.messages)].content}\n{again}", source="director")]
        return Worded(beat.turn.said, self.rewording.tries, reason)

    async def _try(self, beat: Beat, bounds: Bounds, messages: Sequence[LLMMessage]) -> tuple[str, str]:
        """Return why a wording cannot be used ("" if it can), and the wording."""
        result = await self.client.create(messages)
        raw = result.content if isinstance(result.content, str) else ""
        text = tidied(raw)
        problem = problem_of(text, raw, bounds)
        if problem is None and beat.role == "user":
            problem = await self.rewording.reader.misreading(beat.turn, beat.scenario, text, _before(bounds))
        return problem or "", text

    def _bounds(self, beat: Beat, heard: Sequence[Heard]) -> Bounds:
        said, options = beat.turn.said, tuple(name for name in beat.turn.options if name)
        talk = "\n".join(text for _, text in heard)
        return Bounds(
            role=beat.role, draft=said.text, ends=beat.last or beat.turn.kind in ("closing", "farewell"), heard=f"{self.rewording.known}\n{talk}",
            clause=passage_of(beat.turn), options=options, unnamed=self.rewording.unnamed(beat),
        )  # fmt: skip


def clause_of(turn: Turn) -> str:
    """Return the passage of a cue turn that keeps its words (its end without a stop), or ""."""
    return turn.said.text[slice(*turn.said.span)].rstrip(".!? ") if turn.cue and turn.said.span else ""


def passage_of(turn: Turn) -> str:
    """Return what a turn must hold word for word: the clause, and before it the life event that it is about, or ""."""
    clause = clause_of(turn)
    if not clause or turn.said.span is None or turn.cue is None or turn.cue.happening is None:
        return clause
    return turn.said.text[: turn.said.span[1]].rstrip(".!? ")


def _before(bounds: Bounds) -> str:
    return bounds.heard.rsplit("\n", 1)[-1]


def _said(beat: Beat, text: str) -> Said:
    """Return a model's words with the place of the clause, so that a twin can flip it there."""
    old, clause = beat.turn.said, clause_of(beat.turn)
    if not clause:
        return replace(old, text=text, span=None, wording=None)
    place = place_of(clause, text)
    assert place is not None
    wording: CueWording | None = None
    if old.wording is not None:
        wording = replace(old.wording, around=(text[: place[0]], text[place[1] :]))
    return replace(old, text=text, span=place, wording=wording)


def _system(persona: Persona, scenario: Scenario, role: str) -> str:
    job = f"{scenario.title} ({scenario.job})"
    if role == "assistant":
        return prompt("assistant", job=job)
    if role == "other":
        return prompt("partner", name=persona.first_name, job=job)
    voice = f"{_LENGTH[persona.voice.length]}, {persona.voice.formality} tone, {_PUNCTUATION[persona.voice.punctuation]}, {persona.voice.spelling} spelling"
    return prompt(
        "persona", name=persona.first_name, age=f"born in {persona.background.birth_year}", occupation=persona.background.occupation,
        city=persona.city, household=persona.background.household, job=job, voice=voice,
    )  # fmt: skip


def _cue(turn: Turn, clause: str) -> str:
    rest = turn.said.text.replace(clause, "...") if clause else turn.said.text
    return prompt("direction_cue", clause=clause, draft=rest)


def _plain(name: str) -> Callable[[Turn, str], str]:
    return lambda turn, _: prompt(f"direction_{name}", draft=turn.said.text)


_DIRECTIONS: dict[str, Callable[[Turn, str], str]] = {
    **{name: _plain(name) for name in ("opening", "ask", "closing", "partner", "answer", "acknowledgement", "farewell")},
    "cue": _cue,
    "offer": lambda turn, _: prompt("direction_offer", first=turn.options[0], second=turn.options[1], draft=turn.said.text),
}
