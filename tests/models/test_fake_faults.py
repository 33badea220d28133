"""The faults of the fake server: when they are drawn, and what each does to a client."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
import pytest

from iba_bench.fake_server import KINDS, Answer, FakeServer, Fault, FaultKind, FunctionCall, ServerConfig
from iba_bench.fake_server.faults import USABLE, applicable, draw, retry_after, spoil

Ask = Callable[..., Coroutine[Any, Any, tuple[int, dict[str, str], bytes]]]
TOOLS = {"tools": [{"type": "function", "function": {"name": "book", "parameters": {"type": "object", "properties": {"day": {"enum": ["monday"]}}}}}]}
SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
FORMAT = {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}}
BODIES = [bytes([first, second]) * 16 for first in range(64) for second in range(64)]


def served(config: ServerConfig, scenario: Callable[[FakeServer, Ask], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with FakeServer(config) as server, aiohttp.ClientSession() as session:

            async def ask(text: str = "hello", **more: Any) -> tuple[int, dict[str, str], bytes]:
                body = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
                async with session.post(f"{server.base_url}/chat/completions", json=body) as response:
                    return response.status, dict(response.headers), await response.read()

            return await scenario(server, ask)

    return asyncio.run(run())


def always(*kinds: FaultKind, **more: Any) -> ServerConfig:
    return ServerConfig(share=1.0, kinds=kinds, usage=False, **more)


def content(whole: bytes) -> Any:
    return json.loads(whole)["choices"][0]["message"]["content"]


def calls(whole: bytes) -> Any:
    return json.loads(whole)["choices"][0]["message"]["tool_calls"]


def ask_plainly_and_faulty(kind: FaultKind, **more: Any) -> tuple[bytes, bytes]:
    async def scenario(server: FakeServer, ask: Ask) -> tuple[bytes, bytes]:
        spoiled = (await ask(**more))[2]
        server.share = 0
        return (await ask(**more))[2], spoiled

    plain, spoiled = served(always(kind), scenario)
    return plain, spoiled


def test_a_draw_depends_on_seed_body_and_earlier_attempts_only() -> None:
    def drawn(seed: int, asked: int) -> list[Fault | None]:
        return [draw(seed, body, asked, 0.5, KINDS) for body in BODIES[:200]]

    assert drawn(1, 0) == drawn(1, 0)
    assert len({str(drawn(seed, asked)) for seed in (1, 2) for asked in (0, 1, 2)}) == 6


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 1.0])
def test_the_share_of_faulty_attempts_is_kept(share: float) -> None:
    hit = sum(draw(3, body, 0, share, KINDS) is not None for body in BODIES)
    assert abs(hit / len(BODIES) - share) <= 4 * (share * (1 - share) / len(BODIES)) ** 0.5


def test_all_kinds_are_drawn_evenly_and_a_larger_share_keeps_the_faults_of_a_smaller() -> None:
    small, large = ([draw(3, body, 0, share, KINDS) for body in BODIES] for share in (0.2, 0.6))
    kinds = Counter(fault.kind for fault in large if fault)
    assert sorted(kinds) == sorted(KINDS) and max(kinds.values()) < 1.5 * min(kinds.values())
    assert all(one == other for one, other in zip(small, large, strict=True) if one)


def test_a_retry_meets_a_fresh_draw_and_a_second_server_repeats_all_of_it() -> None:
    async def scenario(server: FakeServer, ask: Ask) -> list[list[int]]:
        return [[(await ask(str(number)))[0] for _ in range(6)] for number in range(20)]

    config = ServerConfig(share=0.5, kinds=("server_500", "server_503", "rate_limit"), seed=7, usage=False)
    first, second = served(config, scenario), served(config, scenario)
    assert first == second
    assert {status for row in first for status in row} == {200, 429, 500, 503} and all(len(set(row)) > 1 for row in first)


def test_kinds_that_do_not_apply_are_replaced_by_others() -> None:
    text, call = Answer("words"), Answer("", (FunctionCall("book", "{}"),), "tool_calls")
    assert set(KINDS) - set(applicable(KINDS, {}, text)) == {"fenced_json", "prose_json", "wrong_tool", "doubled_tool"}
    assert set(KINDS) - set(applicable(KINDS, FORMAT, text)) == {"wrong_tool", "doubled_tool"}
    assert set(KINDS) - set(applicable(KINDS, TOOLS, call)) == {"fenced_json", "prose_json"}


def test_where_no_kind_applies_the_request_is_answered() -> None:
    async def scenario(server: FakeServer, ask: Ask) -> tuple[int, Any]:
        return (await ask())[0], server.stats()["faults"]

    assert served(always("wrong_tool", "fenced_json"), scenario) == (200, dict.fromkeys(KINDS, 0))


def test_faults_stop_and_start_at_run_time() -> None:
    async def scenario(server: FakeServer, ask: Ask) -> tuple[list[int], list[int]]:
        statuses, settings = [(await ask())[0]], []
        async with aiohttp.ClientSession() as session:
            for setting in ('{"share": 0}', '{"share": 1.0}', '{"share": 2}', '{"share": true}', '{"shares": 0}', '{"share": 0, "seed": 1}', "nonsense"):
                async with session.post(server.base_url.removesuffix("/v1") + "/faults", data=setting) as response:
                    settings.append(response.status)
                statuses.append((await ask())[0])
        return statuses, settings

    assert served(always("server_503"), scenario) == ([503, 200, 503, 503, 503, 503, 503, 503], [200, 200, 400, 400, 400, 400, 400])


@pytest.mark.parametrize(("kind", "status", "code"), [
    ("rate_limit", 429, "rate_limit_exceeded"), ("rate_limit_after", 429, "rate_limit_exceeded"), ("server_500", 500, "internal_error"),
    ("server_503", 503, "overloaded"), ("error_in_200", 200, "upstream_error"),
])  # fmt: skip
def test_errors_have_openais_shape(kind: FaultKind, status: int, code: str) -> None:
    got, headers, whole = served(always(kind), lambda server, ask: ask())
    error = json.loads(whole)["error"]
    assert (got, error["code"], sorted(error), "Retry-After" in headers) == (status, code, ["code", "message", "type"], kind == "rate_limit_after")


def test_a_rate_limit_refuses_at_the_door_without_latency() -> None:
    started = time.monotonic()
    assert served(always("rate_limit", latency=5.0, capacity=1), lambda server, ask: ask())[0] == 429
    assert time.monotonic() - started < 1


def test_retry_after_comes_as_seconds_as_a_fraction_and_as_a_date() -> None:
    whole, fraction, date = (retry_after(variant, 0.25, 1_700_000_000.5) for variant in range(3))
    assert (whole, fraction, parsedate_to_datetime(date).timestamp()) == ("1", "0.25", 1_700_000_001)


def test_a_reset_comes_before_the_headers() -> None:
    with pytest.raises(aiohttp.ClientOSError):
        served(always("reset"), lambda server, ask: ask())


def test_half_a_body_ends_within_the_body() -> None:
    with pytest.raises(aiohttp.ClientPayloadError, match="Not enough data"):
        served(always("half_body"), lambda server, ask: ask())


@pytest.mark.parametrize("kind", ["reset", "half_body"])
def test_the_server_goes_on_after_a_broken_connection(kind: FaultKind) -> None:
    async def scenario(server: FakeServer, ask: Ask) -> Any:
        with pytest.raises(aiohttp.ClientError):
            await ask()
        server.share = 0
        await ask()
        stats = server.stats()
        return stats["requests"], stats["spoiled"], stats["answered"], stats["abandoned"], stats["in_flight"]

    assert served(always(kind), scenario) == (2, 1, 1, 0, 0)


def test_a_dripping_body_is_whole_but_takes_its_time() -> None:
    started = time.monotonic()
    whole = served(always("slow_drip", drip=0.4), lambda server, ask: ask())[2]
    assert json.loads(whole)["object"] == "chat.completion" and time.monotonic() - started >= 0.4


def test_a_client_that_leaves_a_dripping_body_is_counted_as_gone() -> None:
    async def scenario(server: FakeServer, ask: Ask) -> Any:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(ask(), 0.5)
        await asyncio.sleep(0.1)
        stats = server.stats()
        return stats["answered"], stats["abandoned"], stats["in_flight"], stats["faults"]["slow_drip"]

    assert served(always("slow_drip", drip=30), scenario) == (0, 1, 0, 1)


def test_a_connection_lost_while_writing_counts_as_a_client_that_left(monkeypatch: pytest.MonkeyPatch) -> None:
    async def lost(*_: object) -> None:
        raise ConnectionResetError

    async def scenario(server: FakeServer, ask: Ask) -> Any:
        await ask()
        return [server.stats()[end] for end in ("abandoned", "answered", "spoiled", "refused", "in_flight")]

    monkeypatch.setattr("iba_bench.fake_server.server.send", lost)
    assert served(always("half_body"), scenario) == [1, 0, 0, 0, 0]


def test_malformed_json_is_a_whole_body_that_does_not_parse() -> None:
    status, _, whole = served(always("malformed_json"), lambda server, ask: ask())
    with pytest.raises(json.JSONDecodeError):
        json.loads(whole)
    assert status == 200


def test_a_fence_prose_and_thoughts_leave_the_answer_within() -> None:
    plain, fenced = ask_plainly_and_faulty("fenced_json", **FORMAT)
    assert content(fenced).split("\n")[1:] == [content(plain), "```"] and content(fenced).startswith("```")
    plain, prose = ask_plainly_and_faulty("prose_json", **FORMAT)
    assert content(prose) == f"Sure, here is what you asked for:\n\n{content(plain)}"
    plain, thought = ask_plainly_and_faulty("think")
    assert content(thought).startswith("<think>\n") and content(thought).split("</think>\n\n")[1] == content(plain)


def test_truncation_cuts_words_and_arguments_in_half() -> None:
    plain, cut = ask_plainly_and_faulty("truncated")
    assert content(cut) == content(plain)[: len(content(plain)) // 2] and json.loads(cut)["choices"][0]["finish_reason"] == "length"
    assert calls(ask_plainly_and_faulty("truncated", **TOOLS)[1])[0]["function"] == {"name": "book", "arguments": '{"day": '}


def test_empty_content_is_null_or_nothing_and_calls_no_tool() -> None:
    async def scenario(server: FakeServer, ask: Ask) -> Any:
        return [json.loads((await ask(str(number), **TOOLS))[2])["choices"][0]["message"] for number in range(20)]

    messages = served(always("empty_content"), scenario)
    assert {str(message) for message in messages} == {str({"role": "assistant", "content": nothing}) for nothing in ("", None)}


def test_a_wrong_tool_is_none_of_those_offered() -> None:
    plain, wrong = ask_plainly_and_faulty("wrong_tool", **TOOLS)
    assert [call["function"]["name"] for call in calls(plain) + calls(wrong)] == ["book", "book_v2_beta"]
    assert calls(plain)[0]["function"]["arguments"] == calls(wrong)[0]["function"]["arguments"]


def test_a_doubled_tool_call_has_the_same_id_or_another() -> None:
    doubled = calls(ask_plainly_and_faulty("doubled_tool", **TOOLS)[1])
    assert [call["function"] for call in doubled] == [{"name": "book", "arguments": '{"day": "monday"}'}] * 2
    answer = Answer("", (FunctionCall("book", "{}", "x"),), "tool_calls")
    forms = [spoil(answer, Fault("doubled_tool", variant)).tool_calls for variant in (0, 1)]
    assert forms == [(FunctionCall("book", "{}", "x"), FunctionCall("book", "{}")), (FunctionCall("book", "{}", "x"),) * 2]


def test_every_request_ends_in_exactly_one_counter_under_a_storm_of_all_faults() -> None:
    async def scenario(server: FakeServer, ask: Ask) -> dict[str, Any]:
        shapes: list[dict[str, Any]] = [{}, TOOLS, FORMAT, {"stream": True}]
        jobs = (ask(str(number), **shapes[number % 4]) for number in range(400))
        await asyncio.gather(*(asyncio.wait_for(job, 2) for job in jobs), return_exceptions=True)
        await asyncio.sleep(0.2)
        return server.stats()

    stats = served(ServerConfig(share=0.7, seed=5, latency=0.01, drip=30, usage=False), scenario)
    faults = stats["faults"]
    assert stats["requests"] == sum(stats[end] for end in ("answered", "spoiled", "refused", "abandoned")) and stats["in_flight"] == 0
    assert (stats["refused"], stats["abandoned"]) == (100, faults["slow_drip"]) and min(faults.values()) > 0
    assert stats["spoiled"] == sum(number for kind, number in faults.items() if kind not in USABLE)
