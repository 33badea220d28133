"""What is asked of a model: one frozen value whose key covers everything that can change the answer.

Messages, tools and schema are in the wire form of OpenAI's chat completions; clients of other providers translate from it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Message = Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    """One model call.

    Attributes:
        provider: Which client answers: openai, openai_compatible, azure, anthropic.
        base_url: Endpoint, without key or query; empty for the provider's own.
        model: Model name as the endpoint knows it.
        messages: Chat messages in order, each with ``role`` and ``content`` (and ``tool_calls`` or ``tool_call_id``).
        sampling: temperature, top_p, max_tokens, seed, stop and the like, as sent.
        tools: Function tools as sent; empty for none.
        tool_choice: ``auto``, ``none``, ``required`` or a named function; None where no tools are sent.
        schema: JSON schema that the content must follow, or None.
    """

    provider: str
    base_url: str
    model: str
    messages: tuple[Message, ...]
    sampling: Mapping[str, Any] = field(default_factory=dict)
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: Any = None
    schema: Mapping[str, Any] | None = None

    def parts(self) -> dict[str, Any]:
        """Return everything that the key covers, as plain data."""
        return {
            "provider": self.provider, "base_url": self.base_url, "model": self.model, "messages": list(self.messages),
            "sampling": dict(self.sampling), "tools": list(self.tools), "tool_choice": self.tool_choice, "schema": self.schema,
        }  # fmt: skip

    @cached_property
    def canonical(self) -> str:
        """The parts as canonical JSON (sorted keys, no spaces), made once."""
        return json.dumps(self.parts(), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)

    @cached_property
    def key(self) -> str:
        """The request key: sha256 of the canonical JSON, 64 hex digits."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    def body(self) -> dict[str, Any]:
        """Return the body for an endpoint that speaks OpenAI's chat completions."""
        body: dict[str, Any] = {"model": self.model, "messages": list(self.messages), **self.sampling}
        if self.tools:
            body["tools"] = list(self.tools)
            body["tool_choice"] = self.tool_choice or "auto"
        if self.schema is not None:
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": self.schema, "strict": True}}
        return body
