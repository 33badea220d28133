"""The simulator's only module that imports AutoGen: voices as `BaseChatAgent`, and our own loop over n of them.

A team (`RoundRobinGroupChat`) costs 1.3 ms a turn and turns errors into text; calling agents in turn order costs a few microseconds and keeps errors typed.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

os.environ.setdefault("AUTOGEN_DISABLE_RUNTIME_TRACING", "true")

from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseChatMessage, TextMessage
from autogen_core import CancellationToken

from simulator.wording import Said


class Beat(Protocol):
    """What the director wants of one turn."""

    @property
    def role(self) -> str:
        """Whose turn it is: user, assistant, other."""


_NO_CLOCK = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)  # turns get their times and ids from the calendar, not from AutoGen
Heard = tuple[str, str]  # who said it (the voice's name, which is its role), and what
Speaker = Callable[[Any, Sequence[Heard]], Awaitable[Said]]


class Voice(BaseChatAgent):
    """One voice of a conversation; a `Speaker` finds its words for the beat at hand."""

    def __init__(self, name: str, speaker: Speaker) -> None:
        super().__init__(name, description=f"the {name}'s voice")
        self.speaker = speaker
        self.beat: Beat | None = None
        self.said: Said | None = None
        self.heard: list[Heard] = []

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        """Plain text."""
        return (TextMessage,)

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        """Take in what was said since the last turn and say the beat at hand."""
        assert self.beat is not None
        self.heard.extend((message.source, message.to_text()) for message in messages)
        self.said = await self.speaker(self.beat, self.heard)
        self.heard.append((self.name, self.said.text))
        message = TextMessage.model_construct(content=self.said.text, source=self.name, id="", created_at=_NO_CLOCK)
        return Response(chat_message=message)

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        """Forget the conversation."""
        self.heard.clear()


def voices_of(speakers: Mapping[str, Speaker]) -> dict[str, Voice]:
    """Return a voice a role."""
    return {role: Voice(role, speaker) for role, speaker in speakers.items()}


async def converse(script: Sequence[Beat], voices: Mapping[str, Voice]) -> list[Said]:
    """Hold one conversation between the voices that it needs and return what was said, beat by beat; what they heard before is forgotten."""
    unheard: dict[str, list[BaseChatMessage]] = {beat.role: [] for beat in script}
    for role in unheard:
        voices[role].heard.clear()
    token, out = CancellationToken(), []
    for beat in script:
        voice = voices[beat.role]
        voice.beat = beat
        response = await voice.on_messages(unheard[beat.role], token)
        unheard[beat.role] = []
        for role, waiting in unheard.items():
            if role != beat.role and isinstance(response.chat_message, BaseChatMessage):
                waiting.append(response.chat_message)
        assert voice.said is not None
        out.append(voice.said)
    return out
