import json

import pytest

from iba_bench.models.completion import kind_of
from iba_bench.models.reply import Reply, ToolCall, Usage
from iba_bench.models.request import Request
from iba_bench.tokens import count

USAGE = {"prompt_tokens": 5, "completion_tokens": 2}


def completion(content="Hi", finish="stop", usage=USAGE, **message):
    return {"choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}], "usage": usage}


SAID = {"message": "Said", "type": "t", "code": None}


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, {"error": SAID}, ("auth", "HTTP 401: Said")),
        (403, {"error": "Said"}, ("auth", "HTTP 403: Said")),
        (400, {"error": SAID}, ("bad_request", "HTTP 400: Said")),
        (422, {"detail": [{"msg": "Said"}]}, ("bad_request", 'HTTP 422: [{"msg": "Said"}]')),
        (400, {"error": {"message": "Said", "code": "context_length_exceeded"}}, ("context_window", "HTTP 400: Said")),
        (429, {"error": SAID}, ("rate_limit", "HTTP 429: Said")),
        (429, {"error": {"message": "Said", "code": "insufficient_quota"}}, ("auth", "HTTP 429: Said")),
        (408, {"error": SAID}, ("timeout", "HTTP 408: Said")),
        (500, {"message": "Said"}, ("server", "HTTP 500: Said")),
        (503, "", ("server", "HTTP 503: no body")),
        (529, "<h1>over\n loaded</h1>", ("server", "HTTP 529: <h1>over loaded</h1>")),
        (500, '"Said"', ("server", "HTTP 500: Said")),
        (500, "[1, 2]", ("server", "HTTP 500: [1, 2]")),
        (204, "", ("malformed", "HTTP 204: no body")),
        (404, {"error": {"message": "The model `tiny` does not exist."}}, ("not_found", "no model 'tiny' (The model `tiny` does not exist.); set a model that this endpoint lists")),
        (400, {"error": {"message": "Said", "code": "model_not_found"}}, ("not_found", "no model 'tiny' (Said); set a model that this endpoint lists")),
        (404, "404 page not found", ("not_found", "HTTP 404 for model 'tiny': no chat completions at this path (404 page not found); base_url usually ends in /v1")),
    ],
)
def test_each_refusal_has_its_kind_and_says_what_the_server_said(status, body, expected, answered):
    kind, message, seen, retry_after = answered(body, status)
    assert (kind, message, seen, retry_after) == (expected[0], f"URL/chat/completions: {expected[1]}", status, None)


@pytest.mark.parametrize(
    "said",
    [
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
        "The decoder prompt (length 9000) is longer than the maximum model length of 4096.",
        "the request exceeds the available context size, try increasing it",
        "input length exceeds maximum context length",
        "the input length exceeds the context length",
        "prompt is too long: 9000 tokens > 4096 maximum",
    ],
)
@pytest.mark.parametrize("status", [400, 413, 500, 200])
def test_a_prompt_that_does_not_fit_is_told_from_other_errors(said, status, answered):
    assert answered({"error": {"message": said, "type": "invalid_request_error"}}, status)[0] == "context_window"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "Retry-After": "9"}, 1.5),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:10 GMT", "Date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 10.0),
        ({"Retry-After": "Wed, 21 Oct 2020 07:28:10 GMT", "Date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 0.0),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "1e999"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "Wed, 21 Oct 99999 07:28:10 GMT"}, None),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:10 -0000", "Date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 10.0),
        ({}, None),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_read_in_every_form_and_nonsense_is_ignored(headers, seconds, status, answered):
    assert answered({"error": SAID}, status, headers)[3] == seconds


@pytest.mark.parametrize(
    ("body", "content_type", "message"),
    [
        ("<!DOCTYPE html>\n<html>" + "x" * 99, "text/html", f"no chat completion but no JSON (text/html; charset=utf-8): <!DOCTYPE html> <html>{'x' * 57}…"),
        ("data: {}\n\ndata: [DONE]", "text/event-stream", "no chat completion but no JSON (text/event-stream; charset=utf-8): data: {} data: [DONE]"),
        ("", "application/json", "no chat completion but no JSON (application/json; charset=utf-8): "),
        ("[" * 100_000, "application/json", f"no chat completion but no JSON (application/json; charset=utf-8): {'[' * 79}…"),
        ("[1]", "application/json", "no chat completion but JSON without choices (application/json; charset=utf-8): [1]"),
        ('{"choices": []}', "application/json", 'no chat completion but JSON without choices (application/json; charset=utf-8): {"choices": []}'),
        ('{"choices": [{"text": "Hi"}]}', "application/json", 'no chat completion but JSON without choices (application/json; charset=utf-8): {"choices": [{"text": "Hi"}]}'),
        ('{"error": {"message": "Said"}}', "application/json", "HTTP 200 with an error: Said"),
        ('{"choices": [{"message": {"content": "H"}, "error": {"message": "Said"}}]}', "application/json", "error within the answer: Said"),
    ],
)
def test_what_is_no_chat_completion_is_malformed_and_the_message_says_what_it_is(body, content_type, message, answered):
    kind, seen, status, _ = answered(body, content_type=content_type)
    assert (kind, seen, status) == ("malformed", f"URL/chat/completions: {message}", 200)


def test_truncated_and_empty_answers_are_failures_of_their_own(answered):
    assert answered(completion("Hi the", "length"))[:2] == ("truncated", "URL/chat/completions: cut off after 2 tokens; raise max_tokens")
    assert answered(completion("<think>so", "length"))[:2] == ("truncated", "URL/chat/completions: cut off after 2 tokens, before any content; raise max_tokens")
    assert answered(completion(None))[:2] == ("empty", "URL/chat/completions: neither content nor tool calls (finish_reason stop)")
    assert answered(completion(" \n"))[0] == "empty"
    assert answered(completion("<think>all of it"))[0] == "empty"
    assert answered(completion(None, refusal="No."))[1].endswith("(finish_reason stop); the model refused: No.")


def test_tokens_paid_for_an_answer_of_no_use_are_on_the_failure_stated_or_counted(failed):
    cut, thought, blank = completion("Hi the", "length"), completion("<think>so", "length"), completion(" \n")
    assert [(end.kind, end.usage) for end in map(failed, (cut, thought, blank))] == [
        ("truncated", Usage(5, 2)),
        ("truncated", Usage(5, 2)),
        ("empty", Usage(5, 2)),
    ]
    prompt = count("Hello there") + 4
    assert [(end.kind, end.usage) for end in (failed({**body, "usage": None}) for body in (cut, thought, completion("<think>so")))] == [
        ("truncated", Usage(prompt, count("Hi the"), counted=True)),
        ("truncated", Usage(prompt, count("so"), counted=True)),
        ("empty", Usage(prompt, count("so"), counted=True)),
    ]


def test_other_failures_carry_no_tokens(failed):
    assert [(end.kind, end.usage) for end in map(failed, ("[1]", {"error": SAID}, {"choices": [], "usage": USAGE}))] == [("malformed", None)] * 3


@pytest.mark.parametrize(
    ("content", "fields", "expected"),
    [
        ("<think>\nhm\n</think>\n\nHi", {}, ("Hi", "hm")),
        ("\n<think></think>Hi", {}, ("Hi", None)),
        ("hm</think>Hi", {}, ("Hi", "hm")),
        ("Hi", {"reasoning_content": "hm"}, ("Hi", "hm")),
        ("Hi", {"reasoning": "hm"}, ("Hi", "hm")),
        ("<think>b</think>Hi", {"reasoning_content": "a"}, ("Hi", "a\nb")),
        ("Write <think>x</think> so", {}, ("Write <think>x</think> so", None)),
        ([{"type": "text", "text": "H"}, {"type": "text", "text": "i"}, {"type": "image"}], {}, ("Hi", None)),
    ],
)
def test_a_leading_thought_is_kept_apart_from_the_content(content, fields, expected, answered):
    assert answered(completion(content, **fields)) == Reply(expected[0], (), "stop", Usage(5, 2), expected[1])


def test_tool_calls_come_in_order_without_exact_duplicates(answered):
    calls = [
        {"id": "a", "function": {"name": "f", "arguments": '{"x": 1}'}},
        {"id": "b", "function": {"name": "f", "arguments": '{"x": 1}'}},
        {"function": {"name": "f", "arguments": {"x": 2}}},
        {"id": "", "function": {"name": "g", "arguments": None}},
    ]
    expected = (ToolCall("a", "f", '{"x": 1}'), ToolCall("call_2", "f", '{"x": 2}'), ToolCall("call_3", "g", "{}"))
    assert answered(completion(None, "tool_calls", tool_calls=calls)) == Reply("", expected, "tool_calls", Usage(5, 2))
    assert answered(completion(None, None, tool_calls=calls[:1])) == Reply("", expected[:1], "tool_calls", Usage(5, 2))
    assert answered(completion("Hi", tool_calls=[{"id": "a"}]))[0] == "malformed"


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": "5", "completion_tokens": 2}, [1]])
def test_missing_usage_is_counted_and_marked(usage, answered):
    tools = ({"type": "function", "function": {"name": "f", "parameters": {}}},)
    messages = ({"role": "user", "content": "Hello there"}, {"role": "assistant", "content": None}, {"role": "user", "content": "And now?"})
    request = Request("openai_compatible", "", "tiny", messages, tools=tools)
    prompt = count("Hello there") + count("And now?") + 3 * 4 + count(json.dumps(list(tools)))
    assert answered(completion("A longer answer", usage=usage), request=request) == Reply(
        "A longer answer", (), "stop", Usage(prompt, count("A longer answer"), counted=True)
    )


def test_a_server_that_calls_a_schema_its_own_error_has_refused_the_request():
    said = "1 validation error: {'loc': ('body', 'response_format', 'type'), 'input': 'json_schema'}"
    assert kind_of(500, "", said) == "bad_request"
    assert kind_of(500, "", "out of memory") == "server"
