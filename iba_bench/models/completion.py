"""What a chat completion's body says, and what an error's says: parts of a ``Reply`` and kinds of failure, whatever shape the server gives them.

Pure functions over what came back. Text is returned as the server wrote it; the transport masks it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from iba_bench.models.reply import CallFailed, FailureKind, Usage
from iba_bench.models.request import Request
from iba_bench.tokens import count

TO_A_MESSAGE = 4  # tokens around each message
TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|context[ _-](length|window|size)|maximum model length|longer than the maximum|too many tokens|prompt is too long",
    re.IGNORECASE,
)
_NO_SCHEMA = re.compile(r"response_format|json_schema")  # some servers call it their own error that they know no schemas
_STATUS: dict[int, FailureKind] = {401: "auth", 402: "auth", 403: "auth", 404: "not_found", 405: "malformed", 501: "malformed", 408: "timeout", 429: "rate_limit"}


def parsed(raw: bytes) -> Any:
    """Return the parsed JSON, or None where it is none (or the JSON null, which is as useless)."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def plain(data: Any, raw: bytes) -> str:
    """Return a body as text: parsed JSON written anew, since escapes could hide a key, else the bytes."""
    try:
        return raw.decode("utf-8", "replace") if data is None else json.dumps(data, ensure_ascii=False)
    except RecursionError:
        return "deeply nested JSON"


def error_of(data: Any, raw: bytes) -> tuple[str, str]:
    """Return code and message of an error body in any of the shapes that servers use; the whole text where there is none."""
    error = (data.get("error") or data.get("detail") or data) if isinstance(data, dict) else data
    if not isinstance(error, dict):
        return "", error if isinstance(error, str) else plain(error, raw)
    said = error.get("message") or error.get("detail")
    return f"{error.get('code', '')} {error.get('type', '')}", said if isinstance(said, str) else plain(error, raw)


def kind_of(status: int, code: str, said: str) -> FailureKind:
    """Return the kind of a refusal by its HTTP status and by the code and message of its error body."""
    if "insufficient_quota" in code:
        return "auth"
    if status in (400, 413, 422, 500) and TOO_LONG.search(f"{code} {said}"):
        return "context_window"
    if status < 400:
        return "not_found" if status >= 300 else "malformed"
    if "model_not_found" in code:
        return "not_found"
    if status == 500 and _NO_SCHEMA.search(said):
        return "bad_request"
    return _STATUS.get(status, "server" if status >= 500 else "bad_request")


def names_model(code: str, said: str, model: str) -> bool:
    """Whether an error of kind ``not_found`` is about the model and not about the path."""
    return "model_not_found" in code or model in said or re.search(r"\bmodel\b", said, re.IGNORECASE) is not None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the server asks to wait; a date counts from the server's own clock, which may be off from ours."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        if re.fullmatch(r"\s*\d{1,9}(\.\d*)?\s*", headers.get(name, "")):
            return float(headers[name]) / unit
    try:
        now = _date(headers["date"]) if "date" in headers else datetime.now(UTC)
        return max(0.0, (_date(headers["retry-after"]) - now).total_seconds())
    except (KeyError, ValueError, TypeError, OverflowError):
        return None


def _date(text: str) -> datetime:
    date = parsedate_to_datetime(text)
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def text_of(content: Any) -> str:
    """Return the text of a message's content, which is a string, a list of parts, or absent."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
    return content if isinstance(content, str) else ""


def split_thought(content: str) -> tuple[str, str | None]:
    """Split off a leading think block, with or without its end, or without its start (which some chat templates put into the prompt)."""
    opened = content.lstrip().startswith("<think>")
    inner, end, rest = content.partition("</think>")
    if not opened and (not end or "<think>" in inner):
        return content, None
    return rest.lstrip(), inner.lstrip().removeprefix("<think>").strip()


def tool_calls(calls: Any) -> list[tuple[str, str, str]]:
    """Return id, name and arguments of the calls in order, without those that repeat name and arguments of an earlier one.

    Raises:
        CallFailed: ``malformed``, for a call that names no function.
    """
    unique: dict[tuple[str, str], str] = {}
    for number, call in enumerate(calls if isinstance(calls, list) else []):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise CallFailed("malformed", "a tool call without a function name", 200)
        arguments = function.get("arguments") or "{}"
        text = arguments if isinstance(arguments, str) else plain(arguments, b"")
        unique.setdefault((function["name"], text), str(call.get("id") or f"call_{number}"))
    return [(number, *call) for call, number in unique.items()]


def usage_of(stated: Any, request: Request, answer: str) -> Usage:
    """Return the tokens as the server states them, else counted over the request and all text of the answer, thoughts and calls included."""
    if isinstance(stated, dict):
        prompt, completion = stated.get("prompt_tokens"), stated.get("completion_tokens")
        if isinstance(prompt, int) and isinstance(completion, int) and prompt > 0 and completion >= 0:
            return Usage(prompt, completion)
    contents = [message.get("content") for message in request.messages]
    texts = [content if isinstance(content, str) else json.dumps(content) for content in contents if content is not None]
    tools = json.dumps(list(request.tools)) if request.tools else ""
    return Usage(sum(map(count, texts)) + TO_A_MESSAGE * len(contents) + count(tools), count(answer), counted=True)
