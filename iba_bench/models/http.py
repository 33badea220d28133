"""The lean transport: OpenAI's chat completions over aiohttp.

One session, no SDK: an SDK's client costs ten times the CPU of the request itself, which at 256 in flight is most of the throughput. The price is that every
way in which a server can fail is classified here. Two rules hold throughout: whatever comes back ends as a ``Reply`` or a ``CallFailed``, and text that a
server or a library wrote is masked before it goes into either.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from iba_bench.errors import UserError
from iba_bench.models.reply import CallFailed, FailureKind, Reply, ToolCall, Usage
from iba_bench.models.request import Request
from iba_bench.tokens import count

if TYPE_CHECKING:
    import aiohttp

MAX_BYTES = 32_000_000
SHORTEST = 0.001  # seconds; aiohttp takes 0 for no limit
SHOWN, OPENING = 300, 80  # characters of an error text, of a foreign body
LONG = 16  # characters from which on a secret is masked in answers too; a placeholder such as "none" must not eat words
SECRET = 8  # characters from which on a word of a header's value counts as secret
TO_A_MESSAGE = 4  # tokens around each message
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|context[ _-](length|window|size)|maximum model length|longer than the maximum|too many tokens|prompt is too long",
    re.IGNORECASE,
)
MASK = "[key]"
_STATUS: dict[int, FailureKind] = {401: "auth", 402: "auth", 403: "auth", 404: "not_found", 408: "timeout", 429: "rate_limit"}


class HttpTransport:
    """Sends requests to one OpenAI-compatible endpoint; for use within one event loop.

    Args:
        base_url: Endpoint up to and without ``/chat/completions``, as in ``http://localhost:8000/v1``.
        key_variable: Environment variable that holds the key, read now; None for a server that wants none.
        headers: Further headers, sent with each call; their values are masked like the key.

    Raises:
        UserError: The URL is none or carries a secret, or the variable is not set or no valid header.
    """

    def __init__(self, base_url: str, key_variable: str | None = None, headers: Mapping[str, str] | None = None) -> None:
        self.url = _endpoint(base_url)
        self._headers = {**_valid(headers or {}), "Content-Type": "application/json"}
        secrets = [word for value in (headers or {}).values() for word in value.split() if len(word) >= SECRET]
        if key_variable is not None:
            secrets.append(_key(key_variable))
            self._headers["Authorization"] = f"Bearer {secrets[-1]}"
        self._secret = _any_of(secrets)
        self._long_secrets = [secret for secret in secrets if len(secret) >= LONG]
        self._session: aiohttp.ClientSession | None = None

    async def send(self, request: Request, timeout: float) -> Reply:
        """Send one call and return the model's answer.

        Args:
            request: What to ask.
            timeout: Seconds from now to the last byte of the answer.

        Raises:
            CallFailed: There is no usable answer; ``kind`` says why.
        """
        status, headers, raw = await self._exchange(json.dumps(request.body()).encode(), timeout)
        if status != 200:
            raise self._refusal(request, status, headers, raw)
        return self._reply(request, headers.get("Content-Type", "no content type"), raw)

    async def close(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _connected(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, ttl_dns_cache=None)
            self._session = aiohttp.ClientSession(connector=connector, headers=self._headers, cookie_jar=aiohttp.DummyCookieJar())
        return self._session

    async def _exchange(self, body: bytes, timeout: float) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body; the failure is raised outside of the handlers, as aiohttp's errors hold the request's headers."""
        import aiohttp

        try:
            limit = aiohttp.ClientTimeout(total=max(timeout, SHORTEST))
            async with self._connected().post(self.url, data=body, timeout=limit, allow_redirects=False) as response:
                return response.status, response.headers, await _whole(response)
        except TimeoutError:
            failure = CallFailed("timeout", f"{self.url}: no whole answer within {timeout:g} s")
        except aiohttp.ClientResponseError as error:
            failure = CallFailed("malformed", f"{self.url}: the server does not speak HTTP ({self._shown(error.message)})")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            failure = CallFailed("connection", f"{self.url}: {type(error).__name__} ({self._shown(str(error))})")
        raise failure

    def _clean(self, text: str) -> str:
        """Return text of the model's without long secrets and lone surrogates, which nothing can store."""
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode()
        for secret in self._long_secrets:
            text = text.replace(secret, MASK)
        return text

    def _shown(self, text: str, length: int = SHOWN) -> str:
        """Return text of the server's or a library's for a message: masked, on one line, then shortened (else half a key would stay).

        Words with asterisks are keys that the server has half masked.
        """
        words = self._secret.sub(MASK, text.encode("utf-8", "replace").decode()).split()
        text = " ".join(MASK if "***" in word else word for word in words)
        return text if len(text) <= length else text[: length - 1] + "…"

    def _refusal(self, request: Request, status: int, headers: Mapping[str, str], raw: bytes) -> CallFailed:
        code, said = _error_of(_parsed(raw), raw)
        kind = _kind(status, code, said)
        shown = self._shown(said) or "no body"
        message = f"{self.url}: HTTP {status}: {shown}"
        if 300 <= status < 400:
            message = f"{self.url}: HTTP {status}: redirects to {self._shown(headers.get('Location', 'nowhere'))}; set base_url to where it leads"
        elif kind == "not_found" and _names_model(code, said, request.model):
            message = f"{self.url}: no model '{request.model}' ({shown}); set a model that this endpoint lists"
        elif kind == "not_found":
            message = f"{self.url}: HTTP {status} for model '{request.model}': no chat completions at this path ({shown}); base_url usually ends in /v1"
        return CallFailed(kind, message, status, _retry_after(headers))

    def _reply(self, request: Request, content_type: str, raw: bytes) -> Reply:
        data = _parsed(raw)
        choices = data.get("choices") if isinstance(data, dict) else None
        if not (isinstance(choices, list) and choices and isinstance(choices[0], dict) and isinstance(choices[0].get("message"), dict)):
            raise self._foreign(content_type, data, raw)
        choice, message = choices[0], choices[0]["message"]
        if choice.get("error") or choice.get("finish_reason") == "error":
            raise CallFailed("malformed", f"{self.url}: error within the answer: {self._shown(_error_of(choice, raw)[1])}", 200)
        content, thought = _split_thought(self._clean(_text(message.get("content"))))
        thoughts = [part for part in (self._clean(_text(message.get("reasoning_content") or message.get("reasoning"))), thought) if part]
        calls = tuple(ToolCall(*map(self._clean, call)) for call in _tool_calls(message.get("tool_calls")))
        finish = self._shown(str(choice.get("finish_reason") or ("tool_calls" if calls else "stop")))
        usage = _usage(data.get("usage"), request, "".join([*thoughts, content, *(call.name + call.arguments for call in calls)]))
        if finish == "length":
            raise CallFailed("truncated", f"{self.url}: cut off after {usage.completion} tokens{'' if content else ', before any content'}; raise max_tokens", 200)
        if not content.strip() and not calls:
            raise CallFailed("empty", f"{self.url}: neither content nor tool calls (finish_reason {finish}){self._declined(message)}", 200)
        return Reply(content, calls, finish, usage, "\n".join(thoughts) or None)

    def _declined(self, message: Mapping[str, Any]) -> str:
        refusal = message.get("refusal")
        return f"; the model refused: {self._shown(str(refusal))}" if refusal else ""

    def _foreign(self, content_type: str, data: Any, raw: bytes) -> CallFailed:
        """Return the failure for a body with status 200 that is no chat completion."""
        if isinstance(data, dict) and data.get("error"):
            code, said = _error_of(data, raw)
            kind: FailureKind = "context_window" if _TOO_LONG.search(f"{code} {said}") else "malformed"
            return CallFailed(kind, f"{self.url}: HTTP 200 with an error: {self._shown(said)}", 200)
        what = "JSON without choices" if data is not None else "no JSON"
        return CallFailed("malformed", f"{self.url}: no chat completion but {what} ({self._shown(content_type)}): {self._shown(_plain(data, raw), OPENING)}", 200)


def _endpoint(base_url: str) -> str:
    if re.search("[?#@]", base_url):
        raise UserError("base_url: it holds a user, a query or a fragment, which would end in logs; put the key into an environment variable")
    if not re.match(r"https?://[^/\s]", base_url):
        raise UserError(f"base_url: '{base_url}' is no HTTP address; write it as in http://localhost:8000/v1")
    return base_url.rstrip("/").removesuffix("/chat/completions") + "/chat/completions"


def _valid(headers: Mapping[str, str]) -> Mapping[str, str]:
    for name, value in headers.items():
        if not re.fullmatch(r"[!#-'*+.^-z|~0-9A-Z-]+", name) or not re.fullmatch(r"[^\x00-\x1f\x7f]*", value):
            raise UserError(f"headers: {name!r} or its value has characters that HTTP does not allow; remove them")
    return headers


def _key(variable: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UserError(f"key_variable: the environment variable '{variable}' is not set; export it, or leave key_variable empty for a server without keys")
    if not re.fullmatch(r"[!-~]+", key):
        raise UserError(f"key_variable: the value of '{variable}' has blanks or characters outside of ASCII; copy the key again")
    return key


def _any_of(secrets: list[str]) -> re.Pattern[str]:
    """Return a pattern for any of the secrets, longest first; one that never matches for none."""
    ways = ["".join(map(_any_way_of, secret)) for secret in sorted(secrets, key=len, reverse=True)]
    return re.compile("|".join(ways) or r"(?!)", re.IGNORECASE)


def _any_way_of(char: str) -> str:
    """Return a pattern for a character as it is and as JSON and addresses escape it."""
    return char if char.isalnum() else rf"(?:\\?{re.escape(char)}|\\u{ord(char):04x}|%{ord(char):02x})"


async def _whole(response: aiohttp.ClientResponse) -> bytes:
    chunks, size = [], 0
    async for chunk in response.content.iter_any():
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_BYTES:
            raise CallFailed("malformed", f"{response.url}: more than {MAX_BYTES:,} bytes", response.status)
    return b"".join(chunks)


def _parsed(raw: bytes) -> Any:
    """Return the parsed JSON, or None where it is none (or the JSON null, which is as useless)."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _plain(data: Any, raw: bytes) -> str:
    """Return a body as text: parsed JSON written anew, since escapes could hide a key, else the bytes."""
    try:
        return raw.decode("utf-8", "replace") if data is None else json.dumps(data, ensure_ascii=False)
    except RecursionError:
        return "deeply nested JSON"


def _error_of(data: Any, raw: bytes) -> tuple[str, str]:
    """Return code and message of an error body in any of the shapes that servers use; the whole text where there is none."""
    error = (data.get("error") or data.get("detail") or data) if isinstance(data, dict) else data
    if not isinstance(error, dict):
        return "", error if isinstance(error, str) else _plain(error, raw)
    said = error.get("message") or error.get("detail")
    return f"{error.get('code', '')} {error.get('type', '')}", said if isinstance(said, str) else _plain(error, raw)


def _kind(status: int, code: str, said: str) -> FailureKind:
    if "insufficient_quota" in code:
        return "auth"
    if status in (400, 413, 422, 500) and _TOO_LONG.search(f"{code} {said}"):
        return "context_window"
    if status < 400:
        return "not_found" if status >= 300 else "malformed"
    if "model_not_found" in code:
        return "not_found"
    return _STATUS.get(status, "server" if status >= 500 else "bad_request")


def _names_model(code: str, said: str, model: str) -> bool:
    return "model_not_found" in code or model in said or re.search(r"\bmodel\b", said, re.IGNORECASE) is not None


def _retry_after(headers: Mapping[str, str]) -> float | None:
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


def _text(content: Any) -> str:
    """Return the text of a message's content, which is a string, a list of parts, or absent."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
    return content if isinstance(content, str) else ""


def _split_thought(content: str) -> tuple[str, str | None]:
    """Split off a leading think block, with or without its end, or without its start (which some chat templates put into the prompt)."""
    opened = content.lstrip().startswith("<think>")
    inner, end, rest = content.partition("</think>")
    if not opened and (not end or "<think>" in inner):
        return content, None
    return rest.lstrip(), inner.lstrip().removeprefix("<think>").strip()


def _tool_calls(calls: Any) -> list[tuple[str, str, str]]:
    """Return id, name and arguments of the calls in order, without those that repeat name and arguments of an earlier one."""
    unique: dict[tuple[str, str], str] = {}
    for number, call in enumerate(calls if isinstance(calls, list) else []):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise CallFailed("malformed", "a tool call without a function name", 200)
        arguments = function.get("arguments") or "{}"
        text = arguments if isinstance(arguments, str) else _plain(arguments, b"")
        unique.setdefault((function["name"], text), str(call.get("id") or f"call_{number}"))
    return [(number, *call) for call, number in unique.items()]


def _usage(stated: Any, request: Request, answer: str) -> Usage:
    if isinstance(stated, dict):
        prompt, completion = stated.get("prompt_tokens"), stated.get("completion_tokens")
        if isinstance(prompt, int) and isinstance(completion, int) and prompt > 0 and completion >= 0:
            return Usage(prompt, completion)
    contents = [message.get("content") for message in request.messages]
    texts = [content if isinstance(content, str) else json.dumps(content) for content in contents if content is not None]
    tools = json.dumps(list(request.tools)) if request.tools else ""
    return Usage(sum(map(count, texts)) + TO_A_MESSAGE * len(contents) + count(tools), count(answer), counted=True)
