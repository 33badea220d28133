"""The ground floor's one module that knows AutoGen: our layer as its `ChatCompletionClient`, and its own clients as our transports.

`ModelClient` is what agents hold. It turns messages into a `Request`, has it called (record, single flight, budget, pace) and turns the `Reply` back, so
that AutoGen's agents need not know of any of it. Providers with an authentication of their own are reached through AutoGen's clients (`ProviderTransport`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Literal

os.environ.setdefault("AUTOGEN_DISABLE_RUNTIME_TRACING", "true")

from autogen_core import CancellationToken, FunctionCall
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
    SystemMessage,
    UserMessage,
)
from autogen_core.tools import Tool, ToolSchema
from pydantic import BaseModel

from iba_bench.errors import UserError
from iba_bench.models.caller import Caller
from iba_bench.models.config import RoleModel
from iba_bench.models.reply import CallFailed, FailureKind, Reply, Usage
from iba_bench.models.reply import ToolCall as WireCall
from iba_bench.models.request import Request
from iba_bench.models.structured import Ladder
from iba_bench.tokens import count

__all__ = [
    "AssistantMessage", "ChatCompletionClient", "CreateResult", "LLMMessage", "ModelClient", "ProviderTransport", "SystemMessage", "UserMessage",
]  # fmt: skip
CONTEXT_WINDOW = 128_000
_FINISH: dict[str, Literal["stop", "length", "function_calls", "content_filter"]] = {
    "stop": "stop", "length": "length", "tool_calls": "function_calls", "content_filter": "content_filter",
}  # fmt: skip


class ModelClient(ChatCompletionClient):
    """A role's model, as AutoGen's agents use it.

    Args:
        role: persona, assistant, checker, agent, ...: calls are counted by it.
        model: Model, endpoint and sampling.
        caller: Makes the calls.
        ladder: Reads structured answers; one an endpoint.
    """

    component_type = "model"

    def __init__(self, role: str, model: RoleModel, caller: Caller, ladder: Ladder) -> None:
        self.role, self.model, self.caller, self.ladder = role, model, caller, ladder
        self._used = [0, 0]

    async def create(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = [], tool_choice: Any = "auto",
        json_output: bool | type[BaseModel] | None = None, extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:  # fmt: skip
        """Return the model's answer; with a pydantic class as ``json_output`` its content is valid JSON of that class.

        Raises:
            CallFailed: there is none; the kind says why.
        """
        request = self._request(messages, tools, tool_choice, extra_create_args)
        if isinstance(json_output, type):
            found = await self.ladder.ask(self._call, request, json_output)
            usage = Usage(sum(u.prompt for u in found.usages), sum(u.completion for u in found.usages))
            return self._result(found.value.model_dump_json(), "stop", usage)
        reply = await self._call(request)
        calls = [FunctionCall(id=call.id, name=call.name, arguments=call.arguments) for call in reply.tool_calls]
        return self._result(calls or reply.content, reply.finish, reply.usage, reply.thought)

    async def _call(self, request: Request) -> Reply:
        return await self.caller.call(self.role, request)

    def _request(self, messages: Sequence[LLMMessage], tools: Sequence[Tool | ToolSchema], choice: Any, extra: Mapping[str, Any]) -> Request:
        wire = [wired for message in messages for wired in to_wire(message)]
        schemas = tuple(_tool_schema(tool) for tool in tools)
        named = choice if isinstance(choice, str) else {"type": "function", "function": {"name": choice.name}}
        return Request(
            provider=self.model.provider, base_url=self.model.base_url, model=self.model.model, messages=tuple(wire),
            sampling={**self.model.sampling(), **extra}, tools=schemas, tool_choice=named if schemas else None,
        )  # fmt: skip

    def _result(self, content: str | list[FunctionCall], finish: str, usage: Usage, thought: str | None = None) -> CreateResult:
        self._used[0] += usage.prompt
        self._used[1] += usage.completion
        return CreateResult(
            finish_reason=_FINISH.get(finish, "unknown"), content=content, cached=False, thought=thought,
            usage=RequestUsage(prompt_tokens=usage.prompt, completion_tokens=usage.completion),
        )  # fmt: skip

    async def create_stream(self, messages: Sequence[LLMMessage], **options: Any) -> AsyncGenerator[str | CreateResult, None]:
        """Yield the whole answer at once: what is on record is whole answers."""
        yield await self.create(messages, **options)

    async def close(self) -> None:
        """Nothing to close: the transport is shared, and closed by whoever opened it."""

    def actual_usage(self) -> RequestUsage:
        """Return the tokens of all answers given so far, recorded ones included."""
        return RequestUsage(prompt_tokens=self._used[0], completion_tokens=self._used[1])

    def total_usage(self) -> RequestUsage:
        """Return the same as `actual_usage`."""
        return self.actual_usage()

    def count_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = []) -> int:
        """Count with tiktoken, whatever the model's own tokens are."""
        wire = [wired for message in messages for wired in to_wire(message)]
        return sum(count(str(message.get("content") or "")) + 4 for message in wire) + sum(count(str(_tool_schema(tool))) for tool in tools)

    def remaining_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = []) -> int:
        """Return what is left of the context window, taken as 128,000 tokens."""
        return CONTEXT_WINDOW - self.count_tokens(messages, tools=tools)

    @property
    def capabilities(self) -> Any:
        """The same as `model_info`."""
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        """What AutoGen's agents may ask of it."""
        return MODEL_INFO


MODEL_INFO = ModelInfo(
    vision=False, function_calling=True, json_output=True, family=ModelFamily.UNKNOWN, structured_output=True, multiple_system_messages=True
)


def to_wire(message: LLMMessage) -> list[dict[str, Any]]:
    """Return an AutoGen message as messages of OpenAI's chat completions; names are left out, for some servers refuse them."""
    if isinstance(message, SystemMessage):
        return [{"role": "system", "content": message.content}]
    if isinstance(message, FunctionExecutionResultMessage):
        return [{"role": "tool", "tool_call_id": result.call_id, "content": result.content} for result in message.content]
    if isinstance(message, AssistantMessage) and not isinstance(message.content, str):
        calls = [{"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in message.content]
        return [{"role": "assistant", "content": message.thought or "", "tool_calls": calls}]
    if not isinstance(message.content, str):
        raise UserError("messages with images are not supported; send text")
    return [{"role": "assistant" if isinstance(message, AssistantMessage) else "user", "content": message.content}]


def from_wire(message: Mapping[str, Any]) -> LLMMessage:
    """Return a wire message as AutoGen has it."""
    role, content = message["role"], message.get("content") or ""
    if role == "system":
        return SystemMessage(content=content)
    if role == "tool":
        result = FunctionExecutionResult(content=content, name="tool", call_id=message["tool_call_id"])
        return FunctionExecutionResultMessage(content=[result])
    if role == "assistant" and message.get("tool_calls"):
        calls = [FunctionCall(id=c["id"], name=c["function"]["name"], arguments=c["function"]["arguments"]) for c in message["tool_calls"]]
        return AssistantMessage(content=calls, source="assistant", thought=content or None)
    if role == "assistant":
        return AssistantMessage(content=content, source="assistant")
    return UserMessage(content=content, source="user")


def _tool_schema(tool: Tool | ToolSchema) -> dict[str, Any]:
    schema = tool.schema if isinstance(tool, Tool) else tool
    return {"type": "function", "function": {"name": schema["name"], "description": schema.get("description", ""), "parameters": schema.get("parameters", {})}}


# --- AutoGen's own clients as transports ---------------------------------------------


class ProviderTransport:
    """Reaches a provider through AutoGen's own client; for providers with an authentication of their own.

    Args:
        model: Provider, model and endpoint.

    Raises:
        UserError: the key is not set, or the extra with the provider's SDK is not installed.
    """

    def __init__(self, model: RoleModel) -> None:
        self._model = model
        self._key = _key_of(model)
        self._client = _CLIENTS[model.provider](model, self._key)

    async def send(self, request: Request, timeout: float) -> Reply:
        """Send one call; SDK errors become `CallFailed`, their text without the key."""
        extra = dict(request.sampling)
        if self._model.provider in ("openai", "azure") and "max_tokens" in extra:
            extra["max_completion_tokens"] = extra.pop("max_tokens")
        if request.schema is not None:
            extra["response_format"] = request.body()["response_format"]
        tools: list[Any] = [dict(tool["function"]) for tool in request.tools]
        try:
            async with asyncio.timeout(timeout):
                made = await self._client.create([from_wire(m) for m in request.messages], tools=tools, extra_create_args=extra)
        except Exception as error:
            failure = self._failure(error)
        else:
            return self._reply(made, request)
        raise failure

    def _reply(self, made: CreateResult, request: Request) -> Reply:
        calls = tuple(WireCall(c.id, c.name, c.arguments) for c in made.content) if not isinstance(made.content, str) else ()
        text = made.content if isinstance(made.content, str) else ""
        usage = Usage(made.usage.prompt_tokens, made.usage.completion_tokens)
        if not usage.prompt:
            usage = Usage(sum(count(str(m.get("content") or "")) + 4 for m in request.messages), count(text), counted=True)
        if made.finish_reason == "length":
            raise CallFailed("truncated", f"{self._model.model}: cut off after {usage.completion} tokens; raise max_tokens", usage=usage)
        if not text.strip() and not calls:
            raise CallFailed("empty", f"{self._model.model}: neither content nor tool calls", usage=usage)
        return Reply(text, calls, "tool_calls" if calls else "stop", usage, made.thought)

    def _failure(self, error: Exception) -> CallFailed:
        if isinstance(error, CallFailed):
            return error
        status = getattr(error, "status_code", None)
        said = f"{self._model.provider}: {type(error).__name__}: {error}".replace(self._key, "[key]")[:300]
        headers = getattr(getattr(error, "response", None), "headers", {})
        after = headers.get("retry-after", "")
        return CallFailed(_kind_of(error, status, said), said, status, float(after) if after.replace(".", "", 1).isdigit() else None)

    async def close(self) -> None:
        """Close the SDK's connections."""
        await self._client.close()


def _kind_of(error: Exception, status: int | None, said: str) -> FailureKind:
    if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
        return "timeout"
    if status is None:
        return "connection" if "Connection" in type(error).__name__ else "malformed"
    if status == 400 and ("context" in said and ("length" in said or "window" in said) or "too long" in said):
        return "context_window"
    known: dict[int, FailureKind] = {401: "auth", 403: "auth", 404: "not_found", 408: "timeout", 429: "rate_limit"}
    return known.get(status, "server" if status >= 500 else "bad_request")


def _key_of(model: RoleModel) -> str:
    name = str(model.key_name)
    key = os.environ.get(name, "").strip()
    if not key:
        raise UserError(f"model.{model.provider}: the environment variable '{name}' is not set; export the key there, it is read from nowhere else")
    return key


def _openai(model: RoleModel, key: str) -> ChatCompletionClient:
    try:
        from autogen_ext.models.openai import OpenAIChatCompletionClient
    except ImportError:
        raise UserError("model=openai needs the extra: pip install 'iba-bench[models]'") from None
    base: dict[str, Any] = {"base_url": model.base_url} if model.base_url else {}
    return OpenAIChatCompletionClient(
        model=model.model, api_key=key, max_retries=0, model_info=MODEL_INFO, include_name_in_message=False, **base
    )


def _azure(model: RoleModel, key: str) -> ChatCompletionClient:
    try:
        from autogen_ext.models.openai import AzureOpenAIChatCompletionClient
    except ImportError:
        raise UserError("model=azure needs the extra: pip install 'iba-bench[models]'") from None
    return AzureOpenAIChatCompletionClient(
        model=model.model, azure_deployment=model.model, azure_endpoint=model.base_url, api_version=model.api_version or "2024-10-21",
        api_key=key, max_retries=0, model_info=MODEL_INFO, include_name_in_message=False,
    )  # fmt: skip


def _anthropic(model: RoleModel, key: str) -> ChatCompletionClient:
    try:
        from autogen_ext.models.anthropic import AnthropicChatCompletionClient
    except ImportError:
        raise UserError("model=anthropic needs the extra: pip install 'iba-bench[models]'") from None
    base: dict[str, Any] = {"base_url": model.base_url} if model.base_url else {}
    return AnthropicChatCompletionClient(model=model.model, api_key=key, max_retries=0, model_info=MODEL_INFO, **base)


_CLIENTS: dict[str, Callable[[RoleModel, str], ChatCompletionClient]] = {"openai": _openai, "azure": _azure, "anthropic": _anthropic}
