"""The lean transport: OpenAI's chat completions over aiohttp.

One session, no SDK: an SDK's client costs ten times the CPU of the request itself, which at 256 in flight is most of the throughput. The price is that every
way in which a server can fail is classified by hand, here and in ``completion``. Two rules hold throughout: whatever comes back ends as a ``Reply`` or a
``CallFailed``, and text that a server or a library wrote is masked before it goes into either.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from iba_bench.errors import UserError
from iba_bench.models.completion import (
    TOO_LONG,
    error_of,
    kind_of,
    names_model,
    parsed,
    plain,
    retry_after,
    split_thought,
    text_of,
    tool_calls,
    usage_of,
)
from iba_bench.models.reply import CallFailed, FailureKind, Reply, ToolCall
from iba_bench.models.request import Request

if TYPE_CHECKING:
    import aiohttp

MAX_BYTES = 32_000_000
SHORTEST = 0.001  # seconds; aiohttp takes 0 for no limit
SHOWN, OPENING = 300, 80  # characters of an error text, of a foreign body
LONG = 16  # characters from which on a secret is masked in answers too; a placeholder such as "none" must not eat words
SECRET = 8  # characters from which on a word of a header's value counts as secret
MASK = "[key]"


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
        code, said = error_of(parsed(raw), raw)
        kind = kind_of(status, code, said)
        shown = self._shown(said) or "no body"
        message = f"{self.url}: HTTP {status}: {shown}"
        if 300 <= status < 400:
            message = f"{self.url}: HTTP {status}: redirects to {self._shown(headers.get('Location', 'nowhere'))}; set base_url to where it leads"
        elif kind == "not_found" and names_model(code, said, request.model):
            message = f"{self.url}: no model '{request.model}' ({shown}); set a model that this endpoint lists"
        elif kind == "not_found":
            message = f"{self.url}: HTTP {status} for model '{request.model}': no chat completions at this path ({shown}); base_url usually ends in /v1"
        return CallFailed(kind, message, status, retry_after(headers))

    def _reply(self, request: Request, content_type: str, raw: bytes) -> Reply:
        data = parsed(raw)
        choices = data.get("choices") if isinstance(data, dict) else None
        if not (isinstance(choices, list) and choices and isinstance(choices[0], dict) and isinstance(choices[0].get("message"), dict)):
            raise self._foreign(content_type, data, raw)
        choice, message = choices[0], choices[0]["message"]
        if choice.get("error") or choice.get("finish_reason") == "error":
            raise CallFailed("malformed", f"{self.url}: error within the answer: {self._shown(error_of(choice, raw)[1])}", 200)
        content, thought = split_thought(self._clean(text_of(message.get("content"))))
        thoughts = [part for part in (self._clean(text_of(message.get("reasoning_content") or message.get("reasoning"))), thought) if part]
        calls = tuple(ToolCall(*map(self._clean, call)) for call in tool_calls(message.get("tool_calls")))
        finish = self._shown(str(choice.get("finish_reason") or ("tool_calls" if calls else "stop")))
        usage = usage_of(data.get("usage"), request, "".join([*thoughts, content, *(call.name + call.arguments for call in calls)]))
        if finish == "length":
            before = "" if content else ", before any content"
            raise CallFailed("truncated", f"{self.url}: cut off after {usage.completion} tokens{before}; raise max_tokens", 200, usage=usage)
        if not content.strip() and not calls:
            nothing = f"neither content nor tool calls (finish_reason {finish}){self._declined(message)}"
            raise CallFailed("empty", f"{self.url}: {nothing}", 200, usage=usage)
        return Reply(content, calls, finish, usage, "\n".join(thoughts) or None)

    def _declined(self, message: Mapping[str, Any]) -> str:
        refusal = message.get("refusal")
        return f"; the model refused: {self._shown(str(refusal))}" if refusal else ""

    def _foreign(self, content_type: str, data: Any, raw: bytes) -> CallFailed:
        """Return the failure for a body with status 200 that is no chat completion."""
        if isinstance(data, dict) and data.get("error"):
            code, said = error_of(data, raw)
            kind: FailureKind = "context_window" if TOO_LONG.search(f"{code} {said}") else "malformed"
            return CallFailed(kind, f"{self.url}: HTTP 200 with an error: {self._shown(said)}", 200)
        what = "JSON without choices" if data is not None else "no JSON"
        return CallFailed("malformed", f"{self.url}: no chat completion but {what} ({self._shown(content_type)}): {self._shown(plain(data, raw), OPENING)}", 200)


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
