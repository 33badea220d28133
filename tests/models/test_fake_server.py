"""The fake server as its clients see it: answers by content, counters, queueing and errors."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.request
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import aiohttp
import pytest

from iba_bench.fake_server import KINDS, Answer, FakeServer, FunctionCall, ScriptedAnswerer, ServerConfig, running
from iba_bench.tokens import count

Post = Callable[..., Coroutine[Any, Any, tuple[int, Any]]]
TOOL = {"type": "function", "function": {"name": "book_table", "parameters": {
    "type": "object", "properties": {"guests": {"type": "integer", "minimum": 1, "maximum": 8}, "day": {"enum": ["monday", "friday"]}},
    "required": ["guests", "day"]}}}  # fmt: skip


def asked(text: str = "hello", **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def served(config: ServerConfig, scenario: Callable[[FakeServer, Post], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with FakeServer(config) as server, aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def post(body: Any, path: str = "/v1/chat/completions", **more: Any) -> tuple[int, Any]:
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                async with session.post(server.base_url.removesuffix("/v1") + path, data=data, **more) as response:
                    return response.status, json.loads(await response.read())

            return await scenario(server, post)

    return asyncio.run(run())


def ask_once(config: ServerConfig, body: Any, **more: Any) -> tuple[int, Any]:
    status, whole = served(config, lambda server, post: post(body, **more))
    return status, whole


def message(whole: Any) -> Any:
    return whole["choices"][0]["message"]


def counted(**counters: Any) -> dict[str, Any]:
    names = ("requests", "answered", "spoiled", "refused", "abandoned", "in_flight", "max_in_flight", "distinct", "repeats", "answered_again")
    return {**dict.fromkeys(names, 0), "faults": dict.fromkeys(KINDS, 0), **counters}


def test_a_scripted_answer_comes_back_as_a_whole_chat_completion() -> None:
    status, whole = ask_once(ServerConfig(answerer=ScriptedAnswerer(lambda body: f"you said {body['messages'][-1]['content']}")), asked("tea"))
    assert (status, len(whole.pop("id"))) == (200, 33)
    assert whole == {
        "object": "chat.completion", "created": 1_700_000_000, "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "you said tea"}, "finish_reason": "stop", "logprobs": None}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 3, "total_tokens": 4},
    }  # fmt: skip


def test_an_answer_depends_on_the_content_of_the_body_and_on_nothing_else() -> None:
    one = asked("tea", temperature=0.5)
    turned = dict(reversed(one.items()))

    async def scenario(server: FakeServer, post: Post) -> list[Any]:
        bodies = [one, asked("coffee", temperature=0.5), one, turned, asked("tea", temperature=0.6)]
        return [(await post(body))[1] for body in bodies]

    first, other, again, reordered, warmer = served(ServerConfig(), scenario)
    later = ask_once(ServerConfig(seed=9), one)[1]
    assert first == again == reordered == later
    assert len({message(whole)["content"] for whole in (first, other, warmer)}) == 3


def test_a_thousand_bodies_get_nearly_as_many_sentences() -> None:
    answerer = ServerConfig().answerer
    assert len({answerer.answer(asked(str(number))).content for number in range(1000)}) > 990


def test_offered_tools_are_called_with_arguments_that_fit() -> None:
    status, whole = ask_once(ServerConfig(), asked(tools=[TOOL], tool_choice="required"))
    (call,) = message(whole)["tool_calls"]
    arguments = json.loads(call["function"]["arguments"])
    assert (status, whole["choices"][0]["finish_reason"], message(whole)["content"], call["function"]["name"]) == (200, "tool_calls", None, "book_table")
    assert arguments["day"] in ("monday", "friday") and arguments["guests"] in range(1, 9) and len(arguments) == 2


@pytest.mark.parametrize(("more", "calls"), [
    ({}, True), ({"tool_choice": "none"}, False), ({"tool_choice": {"type": "function", "function": {"name": "book_table"}}}, True),
])  # fmt: skip
def test_the_tool_choice_decides_whether_a_tool_is_called(more: dict[str, Any], calls: bool) -> None:
    assert ("tool_calls" in message(ask_once(ServerConfig(), asked(tools=[TOOL], **more))[1])) is calls


def test_a_named_tool_choice_is_followed_among_many() -> None:
    tools = [{"type": "function", "function": {"name": f"tool_{number}"}} for number in range(50)]
    whole = ask_once(ServerConfig(), asked(tools=tools, tool_choice={"type": "function", "function": {"name": "tool_37"}}))[1]
    assert [call["function"] for call in message(whole)["tool_calls"]] == [{"name": "tool_37", "arguments": "{}"}]


def test_after_a_tools_result_the_answer_is_in_words() -> None:
    body = asked(tools=[TOOL])
    body["messages"].append({"role": "tool", "tool_call_id": "call_1", "content": "done"})
    assert "tool_calls" not in message(ask_once(ServerConfig(), body)[1])
    assert "tool_calls" in message(ask_once(ServerConfig(), body | {"tool_choice": "required"})[1])


def test_usage_is_counted_with_our_own_tokenizer_or_left_out() -> None:
    body = {"model": "m", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "What now?"}]}]}
    whole = ask_once(ServerConfig(), body)[1]
    prompt, written = count("Be brief.\nWhat now?"), count(message(whole)["content"])
    assert whole["usage"] == {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
    assert "usage" not in ask_once(ServerConfig(usage=False), body)[1]


def test_the_counters_tell_new_bodies_from_repeats_and_answers_given_twice() -> None:
    async def scenario(server: FakeServer, post: Post) -> dict[str, Any]:
        await asyncio.gather(post(asked("a")), post(asked("a")), post(asked("b")))
        await post(asked("b"))
        await post(b"nonsense")
        return server.stats()

    expected = counted(requests=5, answered=4, refused=1, max_in_flight=3, distinct=2, repeats=1, answered_again=2)
    assert served(ServerConfig(latency=0.05), scenario) == expected


def test_the_counters_are_served_and_include_requests_in_flight() -> None:
    async def scenario(server: FakeServer, post: Post) -> Any:
        waiting = asyncio.create_task(post(asked()))
        while not server.stats()["in_flight"]:
            await asyncio.sleep(0.01)
        async with aiohttp.request("GET", server.base_url.removesuffix("/v1") + "/stats") as response:
            shown = await response.json()
        await waiting
        return shown

    assert served(ServerConfig(latency=0.5), scenario) == counted(requests=1, in_flight=1, max_in_flight=1, distinct=1)


def test_capacity_makes_requests_queue_instead_of_refusing_them() -> None:
    async def scenario(server: FakeServer, post: Post) -> tuple[list[int], float]:
        started = time.monotonic()
        statuses = [status for status, _ in await asyncio.gather(*(post(asked(str(number))) for number in range(6)))]
        return statuses, time.monotonic() - started

    statuses, seconds = served(ServerConfig(latency=0.2, capacity=2), scenario)
    assert statuses == [200] * 6 and 0.6 <= seconds < 1.1


def test_a_client_that_leaves_frees_its_place_in_the_queue_and_is_counted() -> None:
    async def scenario(server: FakeServer, post: Post) -> dict[str, Any]:
        impatient = aiohttp.ClientTimeout(total=0.3)
        results = await asyncio.gather(*(post(asked(str(number)), timeout=impatient) for number in range(5)), return_exceptions=True)
        assert all(isinstance(result, TimeoutError) for result in results)
        await asyncio.sleep(0.05)
        assert (await post(asked("patient")))[0] == 200
        return server.stats()

    stats = served(ServerConfig(latency=0.6, capacity=1), scenario)
    assert stats == counted(requests=6, answered=1, abandoned=5, max_in_flight=5, distinct=6)


def test_jitter_is_drawn_by_the_body_and_stays_in_its_range() -> None:
    config = ServerConfig(latency=1.0, jitter=0.5)
    delays = [config.delay(bytes([first]) * 32) for first in range(256)]
    assert delays == [config.delay(bytes([first]) * 32) for first in range(256)]
    assert min(delays) == 1.0 and 1.49 < max(delays) < 1.5 and len(set(delays)) == 256


@pytest.mark.parametrize(("body", "text"), [
    (b"{", "the body is not valid JSON: "), (b"[1]", "the body must be a JSON object"), (b'{"a": NaN}', "NaN is not a JSON number"),
    (b"[" * 100_000, "the body is not valid JSON"), (b'{"model": "\xff"}', "the body is not valid JSON"),
    (asked(stream=True), "streaming is not supported"), (asked(n=2), "only one choice"), (asked(model=None), "model must be a string"),
    ({"model": "m", "messages": []}, "at least one message"), ({"model": "m", "messages": [{"content": "x"}]}, "every message needs a role"),
    (asked(tools=[{"type": "function"}]), "every tool needs a function with a name"), (asked(tool_choice="required"), "tool_choice needs tools"),
    (asked(tools=[TOOL], tool_choice={"function": {"name": "other"}}), "tool_choice must be"), (asked(response_format={"type": "xml"}), "response_format"),
])  # fmt: skip
def test_a_wrong_request_is_refused_in_openais_shape(body: Any, text: str) -> None:
    status, whole = ask_once(ServerConfig(), body)
    assert status == 400 and list(whole) == ["error"] and sorted(whole["error"]) == ["code", "message", "type"]
    assert text in whole["error"]["message"] and whole["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(("header", "status"), [("Bearer right", 200), ("Bearer wrong", 401), ("right", 401), ("Bearer r\u00efght", 401), (None, 401)])
def test_only_the_right_key_opens_the_door(header: str | None, status: int) -> None:
    headers = {"Authorization": header} if header else {}
    got, whole = ask_once(ServerConfig(api_key="right"), asked(), headers=headers)
    assert got == status and (status == 200 or whole["error"]["code"] == "invalid_api_key")


def test_an_unknown_model_and_too_long_a_prompt_are_refused_by_code() -> None:
    config = ServerConfig(models=("m",), context_window=50)
    assert ask_once(config, asked("word " * 49))[0] == 200
    long, unknown = ask_once(config, asked("word " * 200)), ask_once(config, asked(model="x"))
    assert [(status, whole["error"]["code"]) for status, whole in (long, unknown)] == [(400, "context_length_exceeded"), (404, "model_not_found")]


def test_an_answerer_that_raises_is_a_server_error_that_says_so() -> None:
    status, whole = ask_once(ServerConfig(answerer=ScriptedAnswerer(lambda body: body["nothing"])), asked())
    assert (status, whole) == (500, {"error": {"message": "the answerer raised KeyError('nothing')", "type": "server_error", "code": "answerer_failed"}})


def test_models_are_listed() -> None:
    with running(ServerConfig(models=("a", "b"))) as server, urllib.request.urlopen(f"{server.base_url}/models") as response:
        assert [model["id"] for model in json.load(response)["data"]] == ["a", "b"]


def test_stopping_does_not_wait_for_requests_in_flight() -> None:
    async def run() -> float:
        server = FakeServer(ServerConfig(latency=60, usage=False))
        await server.start()
        async with aiohttp.ClientSession() as session:
            waiting = asyncio.create_task(session.post(f"{server.base_url}/chat/completions", json=asked()))
            await asyncio.sleep(0.1)
            started = time.monotonic()
            await server.stop()
            with pytest.raises(aiohttp.ClientError):
                await waiting
            return time.monotonic() - started

    assert asyncio.run(run()) < 2


def test_hundreds_of_requests_are_carried_at_once() -> None:
    async def scenario(server: FakeServer, post: Post) -> dict[str, Any]:
        await asyncio.gather(*(post(asked(str(number))) for number in range(600)))
        return server.stats()

    expected = counted(requests=600, answered=600, max_in_flight=600, distinct=600)
    assert served(ServerConfig(latency=1.5, usage=False), scenario) == expected


class TwoCalls:
    """An answerer of a test's own."""

    def answer(self, body: dict[str, Any]) -> Answer:
        return Answer("", (FunctionCall("a", "{}"), FunctionCall("b", "{}", "mine")), "tool_calls")


def test_calls_without_an_id_get_one_and_others_keep_theirs() -> None:
    calls = message(ask_once(ServerConfig(answerer=TwoCalls()), asked())[1])["tool_calls"]
    assert calls[0]["id"].startswith("call_") and calls[1]["id"] == "mine"
