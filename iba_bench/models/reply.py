"""What a model call ends with: a reply, or a typed failure. Neither is ever dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FailureKind = Literal[
    "auth",            # 401, 403: the key is missing or wrong
    "not_found",       # 404: no such model or path
    "context_window",  # the prompt does not fit
    "bad_request",     # another 4xx: the server refuses the request as such
    "rate_limit",      # 429
    "server",          # 5xx
    "timeout",         # no whole answer in time
    "connection",      # refused, reset, closed within the body
    "unreachable",     # no connection, and there never was one
    "malformed",       # an answer that is no chat completion: not JSON, no choices, 200 with an error body
    "truncated",       # cut off at max_tokens
    "empty",           # neither content nor tool calls
    "unstructured",    # no rung of the ladder could read the content as the schema asks
    "budget",          # the budget is spent; not sent
    "not_recorded",    # replay, and the record has no such call
]  # fmt: skip

RETRIED: frozenset[FailureKind] = frozenset({"rate_limit", "server", "timeout", "connection", "malformed", "empty"})


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call; ``counted`` where the server said nothing and we counted them with tiktoken."""

    prompt: int
    completion: int
    counted: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A function call that the model asks for; ``arguments`` is the JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer.

    Attributes:
        content: Text, without a leading ``<think>`` block.
        tool_calls: Function calls, without exact duplicates.
        finish: ``stop``, ``length``, ``tool_calls`` or what else the server says.
        usage: Tokens of the call that gave this answer.
        thought: What stood in the ``<think>`` block, or None.
    """

    content: str
    tool_calls: tuple[ToolCall, ...]
    finish: str
    usage: Usage
    thought: str | None = None


class CallFailed(Exception):
    """A call that ended without a reply.

    Args:
        kind: What went wrong.
        message: What the server said, shortened; never holds a key.
        status: HTTP status, where there was one.
        retry_after: Seconds that the server asked to wait, where it did.
        usage: Tokens paid for an answer that was no use, where there was one.
    """

    def __init__(
        self, kind: FailureKind, message: str, status: int | None = None, retry_after: float | None = None, usage: Usage | None = None
    ) -> None:  # fmt: skip
        super().__init__(f"{kind}: {message}")
        self.kind: FailureKind = kind
        self.message, self.status, self.retry_after, self.usage = message, status, retry_after, usage
