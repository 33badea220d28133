"""What a history is made of while it is being written: turns and sessions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from simulator.director import Cue
from simulator.wording import Said


@dataclass(slots=True)
class Turn:
    """One turn: who said what when, and what stands behind it.

    Attributes:
        kind: What it does: opening, offer, ask, answer, cue, acknowledgement, partner, closing, farewell, log.
        options: Names of the environment's entities that an offer is about, or two empty strings.
        speaker: Who found the words: ``embedded``, or the model's name.
        tries: Wordings that were asked for.
        fallback: Why the catalogs' words stand although a model was asked, or None.
    """

    turn_id: str
    role: str
    said: Said
    at: int
    tokens: int
    cue: Cue | None = None
    noise_kind: str | None = None
    kind: str = ""
    options: tuple[str, str] = ("", "")
    speaker: str = "embedded"
    tries: int = 1
    fallback: str | None = None

    @property
    def content(self) -> str:
        """The text."""
        return self.said.text


@dataclass(slots=True)
class Session:
    """One session; ``scenario`` is None where all of it is noise."""

    session_id: str
    started: int
    kind: str
    scenario: str | None
    turns: list[Turn] = field(default_factory=list)


@dataclass(slots=True)
class History:
    """A persona's clean sessions in time order, with the cue turns indexed by entry."""

    sessions: list[Session]

    def turns(self) -> Iterator[tuple[Session, Turn]]:
        """Yield every turn with its session."""
        for session in self.sessions:
            for turn in session.turns:
                yield session, turn

    def evidence(self) -> dict[str, list[tuple[Session, Turn]]]:
        """Return the cue turns by entry id, in time order (turns that end an entry left out)."""
        out: dict[str, list[tuple[Session, Turn]]] = {}
        for session, turn in self.turns():
            if turn.cue and turn.cue.manner != "end":
                out.setdefault(turn.cue.entry.entry_id, []).append((session, turn))
        return out
