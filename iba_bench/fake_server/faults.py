"""What can go wrong between a client and a model server, drawn by seed.

Whether and which fault a request meets is a pure function of the seed, the digest of its body and how often this body was asked before: a run can be
repeated fault by fault, and a retry meets a fresh draw. A larger share keeps the faults of a smaller one and adds to them.
"""

from __future__ import annotations

import asyncio
import json
import math
import socket
import struct
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from email.utils import formatdate
from typing import Any, Literal, get_args

from aiohttp import web

from iba_bench.fake_server.answers import Answer, FunctionCall, response_schema
from iba_bench.streams import digest

FaultKind = Literal[
    "rate_limit_after",  # 429 with Retry-After: seconds, a fraction of seconds or an HTTP date
    "rate_limit",        # 429 without
    "server_500",
    "server_503",
    "reset",             # connection reset before the headers
    "half_body",         # Content-Length of the whole, half of the body, then the end
    "slow_drip",         # the body in small pieces with long pauses
    "malformed_json",    # status 200, body cut off
    "error_in_200",      # status 200, body {"error": ...}
    "fenced_json",       # JSON wrapped in a fence (requests with a schema)
    "prose_json",        # words before the JSON (requests with a schema)
    "truncated",         # content or arguments cut in half, finish_reason length
    "empty_content",     # "" or null and no tool calls
    "think",             # a <think> block before the content
    "wrong_tool",        # a tool that does not exist (answers with tool calls)
    "doubled_tool",      # the same tool call twice, with the same id or another (answers with tool calls)
]  # fmt: skip
KINDS: tuple[FaultKind, ...] = get_args(FaultKind)
AT_ONCE: frozenset[FaultKind] = frozenset({"rate_limit_after", "rate_limit"})
"""Refused at the door: without latency and without a place among those that are worked on."""
USABLE: frozenset[FaultKind] = frozenset({"slow_drip", "fenced_json", "prose_json", "think", "wrong_tool", "doubled_tool"})
"""A whole answer lies within: the request counts as answered, too."""
DRIPS = 8


@dataclass(frozen=True, slots=True)
class Fault:
    """One drawn fault; ``variant`` (0 to 255) decides between its forms."""

    kind: FaultKind
    variant: int


def draw(seed: int, body_digest: bytes, asked: int, share: float, kinds: tuple[FaultKind, ...]) -> Fault | None:
    """Return the fault of one attempt, or None.

    Args:
        seed: The server's seed.
        body_digest: Digest of the canonical request body.
        asked: How often this body was asked before.
        share: Share of attempts that meet a fault, 0 (none) to 1 (all).
        kinds: What may be drawn, already narrowed down to what applies (`applicable`).
    """
    drawn = digest("fault", seed, body_digest.hex(), asked)
    if not kinds or int.from_bytes(drawn[:8]) / 2**64 >= share:
        return None
    return Fault(kinds[int.from_bytes(drawn[8:16]) % len(kinds)], drawn[16])


def applicable(kinds: tuple[FaultKind, ...], body: Mapping[str, Any], answer: Answer) -> tuple[FaultKind, ...]:
    """Return those of ``kinds`` that this request and its answer can meet."""
    barred: list[FaultKind] = [] if answer.tool_calls else ["wrong_tool", "doubled_tool"]
    if response_schema(body) is None or not answer.content:
        barred += ["fenced_json", "prose_json"]
    return tuple(kind for kind in kinds if kind not in barred)


def spoil(answer: Answer, fault: Fault) -> Answer:
    """Return the answer as this fault changes it; unchanged where the fault lies in the transport."""
    change = _CHANGES.get(fault.kind)
    return change(answer, fault.variant) if change else answer


def _truncated(answer: Answer, variant: int) -> Answer:
    calls = answer.tool_calls
    if calls:
        calls = (*calls[:-1], replace(calls[-1], arguments=calls[-1].arguments[: len(calls[-1].arguments) // 2]))
    return Answer(answer.content[: len(answer.content) // 2], calls, "length")


def _wrong_tool(answer: Answer, variant: int) -> Answer:
    first, *rest = answer.tool_calls
    return replace(answer, tool_calls=(replace(first, name=f"{first.name}_v2_beta"), *rest))


def _doubled_tool(answer: Answer, variant: int) -> Answer:
    first, *rest = answer.tool_calls
    one = replace(first, id=first.id or f"call_{digest('doubled', first.name, first.arguments).hex()[:24]}")
    other = FunctionCall(one.name, one.arguments, one.id if variant % 2 else "")
    return replace(answer, tool_calls=(one, other, *rest))


_CHANGES: dict[FaultKind, Callable[[Answer, int], Answer]] = {
    "fenced_json": lambda answer, variant: replace(answer, content=f"```{'json' if variant % 2 else ''}\n{answer.content}\n```"),
    "prose_json": lambda answer, variant: replace(answer, content=f"Sure, here is what you asked for:\n\n{answer.content}"),
    "truncated": _truncated,
    "empty_content": lambda answer, variant: Answer("", (), "stop"),
    "think": lambda answer, variant: replace(answer, content=f"<think>\nThe user asks. I should answer.\n</think>\n\n{answer.content}"),
    "wrong_tool": _wrong_tool,
    "doubled_tool": _doubled_tool,
}


def error_response(status: int, message: str, kind: str, code: str, headers: Mapping[str, str] | None = None) -> web.Response:
    """Return an error in OpenAI's shape."""
    return web.Response(status=status, body=error_body(message, kind, code), content_type="application/json", headers=headers)


def error_body(message: str, kind: str, code: str) -> bytes:
    """Return the JSON of an error in OpenAI's shape."""
    return json.dumps({"error": {"message": message, "type": kind, "code": code}}).encode()


def retry_after(variant: int, seconds: float, now: float) -> str:
    """Return a Retry-After header for ``seconds``: whole seconds, a fraction, or an HTTP date after ``now`` (seconds since the epoch)."""
    forms = (str(math.ceil(seconds)), f"{seconds:g}", formatdate(math.ceil(now + seconds), usegmt=True))
    return forms[variant % len(forms)]


async def send(request: web.Request, fault: Fault, body: bytes, wait: float, drip: float) -> web.StreamResponse:
    """Send a completion through a fault.

    Args:
        request: The request to be answered.
        fault: What happens to it.
        body: The whole completion as JSON, already spoiled.
        wait: Seconds that Retry-After asks for.
        drip: Seconds that a dripping body takes.
    """
    match fault.kind:
        case "rate_limit_after":
            return _busy({"Retry-After": retry_after(fault.variant, wait, time.time())})
        case "rate_limit":
            return _busy({})
        case "server_500":
            return error_response(500, "The server had an error while processing your request.", "server_error", "internal_error")
        case "server_503":
            return error_response(503, "The engine is currently overloaded.", "server_error", "overloaded")
        case "reset":
            return _reset(request)
        case "half_body":
            return await _half_body(request, body)
        case "slow_drip":
            return await _slow_drip(request, body, drip)
        case "malformed_json":
            body = body[: len(body) // 2]
        case "error_in_200":
            body = error_body("The upstream model did not answer.", "server_error", "upstream_error")
    return web.Response(body=body, content_type="application/json")


def _busy(headers: Mapping[str, str]) -> web.Response:
    return error_response(429, "Rate limit reached; slow down.", "rate_limit_error", "rate_limit_exceeded", headers)


def _reset(request: web.Request) -> web.Response:
    if request.transport is not None:
        # With a linger time of zero the kernel sends RST instead of an orderly end.
        request.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.transport.abort()
    return web.Response()


async def _half_body(request: web.Request, body: bytes) -> web.StreamResponse:
    response = await _opened(request, body)
    response.force_close()
    await response.write(body[: len(body) // 2])
    if request.transport is not None:
        request.transport.close()
    return response


async def _slow_drip(request: web.Request, body: bytes, drip: float) -> web.StreamResponse:
    response, size = await _opened(request, body), math.ceil(len(body) / DRIPS)
    for start in range(0, len(body), size):
        await asyncio.sleep(drip / DRIPS)
        await response.write(body[start : start + size])
    await response.write_eof()
    return response


async def _opened(request: web.Request, body: bytes) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(body))})
    await response.prepare(request)
    return response
