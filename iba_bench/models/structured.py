"""Structured output as a ladder: strict JSON, JSON within prose, coercion, one repair call, a typed failure.

The JSON schema of the shape goes with the request; a server that refuses one is told the schema in words from then on. Where no answer can be read
without a guess, the model is asked again, once.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal

from iba_bench.models.reading import Model, Rung, Unreadable, read, strict_schema
from iba_bench.models.reply import CallFailed, Reply, Usage
from iba_bench.models.request import Message, Request

Call = Callable[[Request], Awaitable[Reply]]

_REFUSAL = re.compile(r"response_format|json_schema|structured[ _]outputs?|guided_json", re.IGNORECASE)
IN_WORDS = "Answer with one JSON object that follows this JSON schema, and with nothing else:\n"
REPAIR = "That answer cannot be used: {problem}.\nGive the whole answer again as one JSON object, corrected, and nothing else."


@dataclass(frozen=True, slots=True)
class Structured(Generic[Model]):
    """A validated answer.

    Attributes:
        value: The answer in the shape that was asked for.
        rung: The rung that could read it; ``repaired`` where a second call was needed.
        usages: Tokens of every call that it took, in order.
    """

    value: Model
    rung: Rung | Literal["repaired"]
    usages: tuple[Usage, ...]


class Ladder:
    """Asks for structured answers of one endpoint.

    Args:
        native: Whether to send a JSON schema at first. Off for an endpoint that is known to refuse one.

    The first question goes out alone, so that an endpoint that refuses schemas refuses once a run and not once a dialogue in flight.
    """

    def __init__(self, native: bool = True) -> None:
        self.native = native
        self._asked = False
        self._first = asyncio.Lock()

    async def ask(self, call: Call, request: Request, shape: type[Model]) -> Structured[Model]:
        """Ask, read, and where no rung could read the answer, ask once more.

        Raises:
            CallFailed: ``unstructured`` where the second answer is unreadable too; what ``call`` raises passes through.
            ValueError: ``shape`` has no strict schema.
        """
        sent, reply = await self._answer(call, request, strict_schema(shape))
        try:
            value, rung = read(reply.content, shape)
            return Structured(value, rung, (reply.usage,))
        except Unreadable as problem:
            again = await call(_repair(sent, reply.content, str(problem)))
        try:
            return Structured(read(again.content, shape)[0], "repaired", (reply.usage, again.usage))
        except Unreadable as problem:
            raise CallFailed("unstructured", f"{shape.__name__}: {problem}; the answer begins {again.content[:200]!r}") from None

    async def _answer(self, call: Call, request: Request, schema: Mapping[str, Any]) -> tuple[Request, Reply]:
        native = replace(request, schema=schema)
        reply = await self._alone_at_first(call, native)
        if reply is not None:
            return native, reply
        plain = _told_in_words(request, schema)
        return plain, await call(plain)

    async def _alone_at_first(self, call: Call, request: Request) -> Reply | None:
        if self.native and not self._asked:
            async with self._first:
                if not self._asked:
                    try:
                        return await self._with_schema(call, request)
                    finally:
                        self._asked = True
        return await self._with_schema(call, request)

    async def _with_schema(self, call: Call, request: Request) -> Reply | None:
        """Ask with a schema; None where that is no use."""
        if not self.native:
            return None
        try:
            return await call(request)
        except CallFailed as failure:
            refused = failure.kind == "bad_request" and _REFUSAL.search(failure.message) is not None
            # A replay has no refusals on record: what was asked after one is found under the request in words.
            if not refused and failure.kind != "not_recorded":
                raise
            self.native = self.native and not refused
            return None


def _told_in_words(request: Request, schema: Mapping[str, Any]) -> Request:
    text = IN_WORDS + json.dumps(schema, ensure_ascii=False)
    messages: list[Message] = list(request.messages)
    last = max((n for n, message in enumerate(messages) if message["role"] == "user"), default=None)
    if last is None:
        return replace(request, schema=None, messages=(*messages, {"role": "user", "content": text}))
    said = messages[last]["content"]
    whole = f"{said}\n\n{text}" if isinstance(said, str) else [*said, {"type": "text", "text": text}]
    messages[last] = {**messages[last], "content": whole}
    return replace(request, schema=None, messages=tuple(messages))


def _repair(sent: Request, answer: str, problem: str) -> Request:
    said: tuple[Message, ...] = ({"role": "assistant", "content": answer},) if answer.strip() else ()
    return replace(sent, messages=(*sent.messages, *said, {"role": "user", "content": REPAIR.replace("{problem}", problem)}))
