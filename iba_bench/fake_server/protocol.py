"""The wire form of OpenAI's chat completions, as far as the server checks and writes it."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from typing import Any, NoReturn

from aiohttp import web

from iba_bench.fake_server.answers import Answer
from iba_bench.fake_server.faults import error_response
from iba_bench.streams import digest as digest_of
from iba_bench.tokens import count

DEFAULT_MODEL = "fake-model"
CREATED = 1_700_000_000
"""The ``created`` field, seconds since the epoch: fixed, because an answer depends on the body alone."""
FORMATS = ("text", "json_object", "json_schema")


class Refused(Exception):
    """A request is wrong in itself: the status, message and code of the error that it gets."""

    def __init__(self, status: int, message: str, code: str) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code

    def response(self) -> web.Response:
        """Return the error in OpenAI's shape."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        return error_response(self.status, self.message, kind, self.code)


def check_key(header: str | None, api_key: str | None) -> None:
    """Raise `Refused` (401) unless the Authorization header bears the key that is asked for."""
    if api_key is not None and not hmac.compare_digest((header or "").encode(), f"Bearer {api_key}".encode()):
        raise Refused(401, "Incorrect or missing API key.", "invalid_api_key")


def json_object(raw: bytes) -> dict[str, Any]:
    """Return the JSON object that ``raw`` holds, or raise `Refused` (400)."""
    try:
        value = _DECODER.decode(raw.decode())
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the body is not valid JSON: {error}", "invalid_json") from error
    if not isinstance(value, dict):
        raise Refused(400, "the body must be a JSON object", "invalid_json")
    return value


def decoded(raw: bytes, models: tuple[str, ...], context_window: int | None) -> dict[str, Any]:
    """Return a request body that can be answered.

    Args:
        raw: The body as received.
        models: Model names that exist; empty accepts any.
        context_window: Tokens that the prompt may have, or None.

    Raises:
        Refused: 400 for a wrong shape, a stream or too long a prompt, 404 for an unknown model.
    """
    body = json_object(raw)
    _check_shape(body)
    if models and body["model"] not in models:
        raise Refused(404, f"The model '{body['model']}' does not exist.", "model_not_found")
    # A token has at least one byte: most prompts need no count.
    if context_window is not None and len(raw) > context_window and prompt_tokens(body) > context_window:
        raise Refused(400, f"This model's maximum context length is {context_window} tokens; the prompt has {prompt_tokens(body)}.",
                      "context_length_exceeded")  # fmt: skip
    return body


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(parse_constant=_no_number)


def _check_shape(body: Mapping[str, Any]) -> None:
    messages = body.get("messages")
    _require(isinstance(body.get("model"), str), "model must be a string")
    _require(isinstance(messages, list) and messages, "messages must be a list with at least one message")
    _require(all(isinstance(message, dict) and isinstance(message.get("role"), str) for message in messages or ()), "every message needs a role")
    _require(not body.get("stream"), "streaming is not supported; leave out stream")
    _require(body.get("n") in (None, 1), "only one choice is supported; leave out n")
    _check_tools(body.get("tools"), body.get("tool_choice"))
    _check_format(body.get("response_format"))


def _check_tools(tools: Any, choice: Any) -> None:
    if tools is None:
        return _require(choice in (None, "none"), "tool_choice needs tools")
    _require(isinstance(tools, list) and all(_function_name(tool) is not None for tool in tools), "every tool needs a function with a name")
    named = isinstance(choice, dict) and _function_name(choice) in [_function_name(tool) for tool in tools]
    _require(named or choice in (None, "none", "auto", "required"), "tool_choice must be none, auto, required or one of the tools")


def _function_name(tool: Any) -> str | None:
    function = tool.get("function") if isinstance(tool, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    return name if isinstance(name, str) else None


def _check_format(wanted: Any) -> None:
    _require(wanted is None or (isinstance(wanted, dict) and wanted.get("type") in FORMATS), f"response_format.type must be one of {', '.join(FORMATS)}")
    if wanted is not None and wanted["type"] == "json_schema":
        _require(isinstance(wanted.get("json_schema"), dict) and isinstance(wanted["json_schema"].get("schema"), dict),
                 "response_format.json_schema needs a schema")  # fmt: skip


def _require(holds: Any, message: str) -> None:
    if not holds:
        raise Refused(400, message, "invalid_request")


def completion(body: Mapping[str, Any], digest: bytes, answer: Answer, usage: bool) -> bytes:
    """Return the JSON of a chat completion; its bytes depend on nothing but the arguments."""
    calls = [
        {"id": call.id or f"call_{digest_of(digest.hex(), place).hex()[:24]}", "type": "function",
         "function": {"name": call.name, "arguments": call.arguments}}
        for place, call in enumerate(answer.tool_calls)
    ]  # fmt: skip
    # Servers write no content as null or as an empty string.
    message: dict[str, Any] = {"role": "assistant", "content": answer.content or (None if calls or digest[0] % 2 else "")}
    if calls:
        message["tool_calls"] = calls
    whole: dict[str, Any] = {
        "id": f"chatcmpl-{digest.hex()[:24]}", "object": "chat.completion", "created": CREATED, "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": answer.finish, "logprobs": None}],
    }  # fmt: skip
    if usage:
        prompt, written = prompt_tokens(body), count(answer.content) + sum(count(call.name) + count(call.arguments) for call in answer.tool_calls)
        whole["usage"] = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
    return json.dumps(whole).encode()


def prompt_tokens(body: Mapping[str, Any]) -> int:
    """Return the tokens of the messages' texts and tool calls, and of the tools and the response format as JSON."""
    extras = [body[name] for name in ("tools", "response_format") if body.get(name)]
    texts = [text for message in body["messages"] for text in _texts(message)]
    return count("\n".join([*texts, *map(json.dumps, extras)]))


def _texts(message: Mapping[str, Any]) -> list[str]:
    content = message.get("content")
    texts = [content] if isinstance(content, str) else [part["text"] for part in content or () if isinstance(part, dict) and "text" in part]
    return texts + ([json.dumps(message["tool_calls"])] if message.get("tool_calls") else [])


def model_list(models: tuple[str, ...]) -> dict[str, Any]:
    """Return the body of ``GET /v1/models``."""
    return {"object": "list", "data": [{"id": name, "object": "model", "created": CREATED, "owned_by": "fake"} for name in models]}
