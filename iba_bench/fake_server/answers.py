"""What the fake server says: a pure function of the canonical request body.

No counter and no clock takes part, so that the order of requests, a retry or a resumed run cannot change an answer.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from iba_bench.fake_server.schemas import fill
from iba_bench.streams import pick, stream

OPENERS = (
    "Honestly", "To be fair", "As far as I remember", "If you ask me", "Most days", "On second thought", "Truth be told", "These days",
    "By and large", "For what it is worth", "Last I checked", "Without much thought", "As usual", "On a good week", "Strangely enough", "Somehow",
)  # fmt: skip
SUBJECTS = (
    "I", "my sister", "our neighbour", "the whole office", "a friend of mine", "my old teacher", "the people next door", "my flatmate",
    "the team", "my cousin", "the two of us", "someone at work", "my uncle", "half the street", "the book club", "my partner",
)  # fmt: skip
VERBS = (
    "went for", "settled on", "talked about", "looked at", "paid for", "put off", "asked about", "came back to",
    "gave up on", "waited for", "wrote down", "picked out", "argued about", "laughed at", "planned", "forgot about",
)  # fmt: skip
THINGS = (
    "the smaller table", "a quiet room", "the early train", "a second cup of tea", "the long way home", "a cheaper ticket", "the blue notebook",
    "a walk by the river", "the evening class", "a plain supper", "the corner seat", "a new bicycle", "the last parcel", "a warm coat",
    "the market on Saturday", "a short break",
)  # fmt: skip
ENDINGS = (
    "after lunch", "before the rain came", "without any fuss", "for once", "more than twice", "in the end", "on a whim", "as planned",
    "with some relief", "at the last minute", "in spite of the noise", "just to be sure", "like every spring", "after all", "in good time", "once again",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call of one of the request's tools: its name and its arguments as JSON text; the server gives an ``id`` where none is set."""

    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says: text, tool calls, and why it stopped (``stop``, ``tool_calls``, ``length``)."""

    content: str
    tool_calls: tuple[FunctionCall, ...] = ()
    finish: str = "stop"


class Answerer(Protocol):
    """Decides what the server says; must be a pure function of the body."""

    def answer(self, body: dict[str, Any]) -> Answer:
        """Return the answer to the decoded request ``body``."""
        ...


class TextAnswerer:
    """The default: a short sentence, a valid tool call where tools are offered, or JSON that follows the schema where one is given.

    After a tool's result it answers in words unless ``tool_choice`` demands a call, so that a dialogue with tools comes to an end.
    """

    def answer(self, body: dict[str, Any]) -> Answer:
        """Return the answer that the digest of ``body`` draws.

        Raises:
            UnsupportedSchema: The schema of the response or of the drawn tool cannot be filled.
        """
        rng = stream("answer", body_digest(body).hex())
        tools = callable_tools(body)
        if tools:
            function = pick(rng, tools)["function"]
            arguments = fill(function.get("parameters", {"type": "object"}), rng)
            return Answer("", (FunctionCall(function["name"], json.dumps(arguments, ensure_ascii=False)),), "tool_calls")
        schema = response_schema(body)
        return Answer(sentence(rng) if schema is None else json.dumps(fill(schema, rng), ensure_ascii=False))


@dataclass(frozen=True, slots=True)
class ScriptedAnswerer:
    """Answers in the words of ``function``, which is given the decoded body and must be pure."""

    function: Callable[[dict[str, Any]], str]

    def answer(self, body: dict[str, Any]) -> Answer:
        """Return what the function says about ``body``."""
        return Answer(self.function(body))


def body_digest(body: Mapping[str, Any]) -> bytes:
    """Return the sha256 of the canonical JSON of a request body (sorted keys, no spaces)."""
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).digest()


def response_schema(body: Mapping[str, Any]) -> Any:
    """Return the JSON schema that the content must follow, or None."""
    wanted = body.get("response_format") or {}
    return wanted["json_schema"].get("schema", {}) if wanted.get("type") == "json_schema" else None


def callable_tools(body: Mapping[str, Any]) -> list[Any]:
    """Return the tools of which one must now be called; none where the answer is to be in words."""
    tools, choice = body.get("tools") or [], body.get("tool_choice", "auto")
    if isinstance(choice, dict):
        return [tool for tool in tools if tool["function"]["name"] == choice["function"]["name"]]
    after_result = body["messages"][-1].get("role") == "tool"
    return [] if choice == "none" or (choice == "auto" and after_result) else list(tools)


def sentence(rng: random.Random) -> str:
    """Return one of a million short sentences."""
    return f"{pick(rng, OPENERS)}, {pick(rng, SUBJECTS)} {pick(rng, VERBS)} {pick(rng, THINGS)} {pick(rng, ENDINGS)}."
