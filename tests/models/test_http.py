import asyncio
import gc
import json
import time
import traceback

import aiohttp
import pytest
from aiohttp import web

from iba_bench.errors import UserError
from iba_bench.models.http import HttpTransport
from iba_bench.models.reply import CallFailed, Reply, Usage
from iba_bench.models.request import Request

KEY = "sk-planted/0123+ABCdef-secret"
ASK = Request("openai_compatible", "", "tiny", ({"role": "user", "content": "Hello there"},), {"max_tokens": 9})
USAGE = {"prompt_tokens": 5, "completion_tokens": 2}


def completion(content="Hi", finish="stop", usage=USAGE, **message):
    return {"choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}], "usage": usage}


async def spoken(raw, use, close=True):
    """Answer each connection with the bytes ``raw`` after its request."""

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        await reader.read(65536)
        writer.write(raw)
        await writer.drain()
        if close:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        return await use(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
    finally:
        server.close()


def test_an_answer_becomes_a_reply_and_the_request_is_sent_as_it_is(monkeypatch, outcome, served):
    monkeypatch.setenv("SOME_KEY", f" {KEY}\n")
    seen = {}

    async def handler(request):
        seen.update(body=await request.json(), key=request.headers["Authorization"], extra=request.headers["X-Extra"], path=request.path)
        return web.json_response(completion())

    assert outcome(served, handler, ASK, key_variable="SOME_KEY", headers={"X-Extra": "1"}) == Reply("Hi", (), "stop", Usage(5, 2))
    assert seen == {"body": ASK.body(), "key": f"Bearer {KEY}", "extra": "1", "path": "/v1/chat/completions"}


def test_a_redirect_is_not_followed_as_it_would_carry_the_key_away(monkeypatch, answered):
    monkeypatch.setenv("SOME_KEY", KEY)
    kind, message, _, _ = answered("", 307, {"Location": f"http://elsewhere.example/?k={KEY}"}, key_variable="SOME_KEY")
    assert (kind, message) == ("not_found", "URL/chat/completions: HTTP 307: redirects to http://elsewhere.example/?k=[key]; set base_url to where it leads")


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n"


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"", "connection"),
        (HEAD[:20], "connection"),
        (HEAD, "connection"),
        (HEAD + b'{"choices": [{"mess', "connection"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"cho\r\n", "connection"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd", "connection"),
        (b"220 mail.example ESMTP\r\n", "malformed"),
        (b"\x15\x03\x01\x00\x02\x02\x16", "malformed"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n", "malformed"),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n\xff\xfe"', "malformed"),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 54\r\n\r\n{"choices": [{"message": {"content": "not UTF-8: \xff"}}]}', "malformed"),
    ],
)
def test_connections_that_break_or_speak_otherwise_end_as_typed_failures(raw, kind, outcome):
    assert outcome(spoken, raw)[0] == kind


def test_a_refused_connection_and_an_unknown_host_are_connection_failures(outcome):
    async def gone(_, use):
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        return await use(f"http://127.0.0.1:{port}/v1")

    kind, message, status, _ = outcome(gone, None)
    assert (kind, status) == ("connection", None)
    assert message.startswith("URL/chat/completions: ClientConnectorError (Cannot connect to host 127.0.0.1")


def test_a_reset_connection_is_a_connection_failure(outcome, served):
    async def handler(request):
        request.transport.abort()
        return web.Response()

    assert outcome(served, handler)[0] == "connection"


def test_the_time_out_covers_the_whole_call_even_if_the_server_drips(outcome, served):
    async def silent(_):
        await asyncio.sleep(30)

    async def dripping(request):
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.02)

    assert outcome(served, silent, timeout=0)[0] == "timeout"
    for handler in (silent, dripping):
        begin = time.monotonic()
        assert outcome(served, handler, timeout=0.3) == ("timeout", "URL/chat/completions: no whole answer within 0.3 s", None, None)
        assert time.monotonic() - begin < 1.5


def test_an_endless_body_is_cut_off(monkeypatch, outcome, served):
    monkeypatch.setattr("iba_bench.models.http.MAX_BYTES", 1_000_000)

    async def flood(request):
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 100_000)

    assert outcome(served, flood)[:2] == ("malformed", "URL/chat/completions: more than 1,000,000 bytes")


def echoes():
    """Every way in which a server may send the key back."""
    bearer = f"Bearer {KEY}"
    return [
        (401, json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}."}})),
        (401, json.dumps({"error": {"message": "Incorrect API key provided: sk-plan*****cret."}})),
        (403, bearer.lower()),
        (500, "x" * 280 + bearer),
        (404, json.dumps({"headers": {"Authorization": bearer}})),
        (429, json.dumps(bearer)),
        (200, bearer),
        (200, json.dumps({"error": bearer})),
        (200, "x" * 60 + bearer),
        (200, json.dumps({"broken": bearer})[:-1]),
        (200, json.dumps(completion("", finish=bearer))),
        (200, json.dumps(completion(f"my key is {KEY}"))),
        (200, json.dumps(completion(None, tool_calls=[{"id": KEY, "function": {"name": "f", "arguments": KEY}}]))),
    ]


@pytest.mark.parametrize("escape", [("", ""), ("/", "\\/"), ("+", "\\u002B")], ids=["plain", "slashes", "unicode"])
@pytest.mark.parametrize(("status", "body"), echoes())
def test_the_key_appears_in_no_outcome_whatever_the_server_echoes(monkeypatch, status, body, escape, served):
    monkeypatch.setenv("SOME_KEY", KEY)
    headers = {"Location": KEY, "Retry-After": KEY, "X-Echo": KEY}
    text = body.replace(*escape) if body.startswith(("{", '"')) else body

    async def handler(_):
        return web.Response(text=text, status=status, headers=headers, content_type="text/html")

    async def use(base_url):
        transport = HttpTransport(base_url, "SOME_KEY")
        assert KEY not in repr(transport) + str(transport)
        try:
            return repr(await transport.send(ASK, 5.0))
        except CallFailed as failure:
            assert failure.__cause__ is None
            assert failure.__context__ is None
            return repr(failure) + repr(vars(failure)) + "".join(traceback.format_exception(failure))
        finally:
            await transport.close()

    seen = asyncio.run(served(handler, use))
    assert "[key]" in seen
    for part in (KEY, KEY.lower(), KEY[:10], KEY[-6:], KEY.replace("/", "\\/")):
        assert part not in seen


def test_long_values_of_other_headers_are_masked_and_short_ones_eat_no_digits(answered):
    headers = {"api-key": "0123456789abcdef", "X-Auth": "Token abcdefghij", "X-Version": "1"}
    expected = "URL/chat/completions: HTTP 401: [key] and [key] are 1 of 10"
    assert answered("0123456789abcdef and abcdefghij are 1 of 10", 401, sent=headers)[1] == expected


def test_an_enormous_error_body_is_shortened_quickly(answered):
    begin = time.monotonic()
    assert len(answered("x*" * 500_000 + "***", 500)[1]) < 400
    assert len(answered("* " * 500_000, 500)[1]) < 400
    assert time.monotonic() - begin < 3


def test_text_that_nothing_can_store_is_replaced(answered):
    body = '{"choices": [{"message": {"content": "a\\ud800b \\ud83d\\ude00"}}], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}'
    assert answered(body) == Reply("a?b \U0001f600", (), "stop", Usage(5, 2))
    assert answered('{"error": "a\\ud800b"}', 500)[1] == "URL/chat/completions: HTTP 500: a?b"


def test_failures_of_the_connection_hold_no_key_either(monkeypatch):
    monkeypatch.setenv("SOME_KEY", KEY)

    async def use(base_url):
        transport = HttpTransport(base_url, "SOME_KEY")
        with pytest.raises(CallFailed) as caught:
            await transport.send(ASK, 5.0)
        await transport.close()
        return caught.value

    for raw in (b"", HEAD, b"220 nothing\r\n", f"HTTP/1.1 {KEY}\r\n\r\n".encode()):
        failure = asyncio.run(spoken(raw, use))
        assert failure.__context__ is None
        assert KEY not in repr(failure) + repr(vars(failure))


@pytest.mark.parametrize(
    ("base_url", "key", "message"),
    [
        ("localhost:8000/v1", "k", "base_url: 'localhost:8000/v1' is no HTTP address; write it as in http://localhost:8000/v1"),
        (f"http://u:{KEY}@host/v1", "k", "base_url: it holds a user, a query or a fragment, which would end in logs; put the key into an environment variable"),
        (f"http://host/v1?key={KEY}", "k", "base_url: it holds a user, a query or a fragment, which would end in logs; put the key into an environment variable"),
        ("http://host", None, "key_variable: the environment variable 'SOME_KEY' is not set; export it, or leave key_variable empty for a server without keys"),
        ("http://host", f"{KEY}\nX: y", "key_variable: the value of 'SOME_KEY' has blanks or characters outside of ASCII; copy the key again"),
    ],
)
def test_wrong_settings_are_refused_at_once_and_without_showing_a_key(monkeypatch, base_url, key, message):
    monkeypatch.delenv("SOME_KEY", raising=False)
    if key is not None:
        monkeypatch.setenv("SOME_KEY", key)
    with pytest.raises(UserError) as caught:
        HttpTransport(base_url, "SOME_KEY")
    assert str(caught.value) == message


@pytest.mark.parametrize("headers", [{"X-A": "secret\r\nX-B: y"}, {"X A": "secret"}, {"": "secret"}])
def test_headers_that_would_break_the_request_are_refused(headers):
    with pytest.raises(UserError) as caught:
        HttpTransport("http://h/v1", headers=headers)
    assert str(caught.value) == f"headers: {next(iter(headers))!r} or its value has characters that HTTP does not allow; remove them"


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:99999/v1", "http://[::1/v1", f"http://{'a' * 70}.invalid/v1", "http://a..invalid/v1", "http:// /v1"])
def test_an_impossible_address_ends_as_a_typed_failure(base_url):
    async def main():
        transport = HttpTransport(base_url)
        try:
            await transport.send(ASK, 5.0)
        finally:
            await transport.close()

    with pytest.raises((CallFailed, UserError)):
        asyncio.run(main())


@pytest.mark.parametrize("base_url", ["http://h/v1", "http://h/v1/", "http://h/v1/chat/completions", "http://h/v1/chat/completions/"])
def test_the_address_may_be_written_in_any_usual_way(base_url):
    assert HttpTransport(base_url).url == "http://h/v1/chat/completions"


def test_connections_are_reused_and_not_limited_and_close_is_final(served):
    peers, together, present = set(), 0, 0

    async def handler(request):
        nonlocal together, present
        peers.add(request.transport.get_extra_info("peername"))
        present += 1
        together = max(together, present)
        await asyncio.sleep(0.3)
        present -= 1
        return web.json_response(completion())

    async def use(base_url):
        transport = HttpTransport(base_url)
        for _ in range(2):
            await asyncio.gather(*(transport.send(ASK, 20.0) for _ in range(150)))
        await transport.close()
        await transport.close()

    asyncio.run(served(handler, use))
    gc.collect()
    assert (len(peers), together) == (150, 150)


def test_cancelling_a_call_cancels_it_and_the_next_one_works(served):
    async def handler(request):
        if (await request.json())["max_tokens"] == 9:
            await asyncio.sleep(30)
        return web.json_response(completion())

    async def use(base_url):
        transport = HttpTransport(base_url)
        task = asyncio.ensure_future(transport.send(ASK, 20.0))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        reply = await transport.send(Request("openai_compatible", "", "tiny", ASK.messages, {"max_tokens": 1}), 5.0)
        await transport.close()
        return reply

    assert asyncio.run(served(handler, use)) == Reply("Hi", (), "stop", Usage(5, 2))


def test_a_call_costs_little_more_cpu_than_a_bare_request(served):
    async def handler(_):
        return web.Response(text=text, content_type="application/json")

    text, calls = json.dumps(completion("word " * 200)), 400

    async def use(base_url):
        transport = HttpTransport(base_url)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def bare():
                async with session.post(transport.url, json=ASK.body()) as response:
                    await response.json()

            async def cost(call):
                begin = time.process_time()
                for _ in range(calls // 50):
                    await asyncio.gather(*(call() for _ in range(50)))
                return (time.process_time() - begin) / calls * 1e6

            await cost(bare)
            costs = [(await cost(bare), await cost(lambda: transport.send(ASK, 20.0))) for _ in range(5)]
        await transport.close()
        return min(bare for bare, _ in costs), min(ours for _, ours in costs)

    bare, ours = asyncio.run(served(handler, use))
    print(f"bare {bare:.0f} us, ours {ours:.0f} us, server included")
    assert ours < 1.6 * bare
