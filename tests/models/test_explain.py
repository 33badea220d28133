import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iba_bench.errors import UserError
from iba_bench.models import explain as module
from iba_bench.models.explain import explain, explain_request
from iba_bench.models.record import CallRecord
from iba_bench.models.reply import CallFailed, Reply, ToolCall, Usage
from iba_bench.models.request import Request

LONG = "You are a patient assistant of a travel agency, and you answer in at most two short sentences. "
ASK = Request(
    "openai_compatible", "http://localhost:1/v1", "tiny", ({"role": "system", "content": LONG}, {"role": "user", "content": "Hello"}),
    {"temperature": 0.7, "max_tokens": 90},
)  # fmt: skip
TOOL = {"type": "function", "function": {"name": "book", "parameters": {}}}
MISS = "model tiny at http://localhost:1/v1 was asked this, and the record holds no answer"


def other(number):
    return replace(ASK, messages=(*ASK.messages, {"role": "user", "content": f"{number}"}))


def plain(text):
    return Reply(text, (), "stop", Usage(1200, 34))


@pytest.fixture
def record(tmp_path):
    with CallRecord.open(tmp_path / "calls.sqlite") as opened:
        yield opened


def missed(record, request):
    """Return what is said of a request that misses, but for the lines that only name it and its nearest call."""
    first, second, third, *rest = explain_request(record, request).split("\n")
    asked = MISS.replace("tiny", request.model)
    assert (first, second, third) == (f"miss: {request.key}", asked, f"nearest other call on record: {ASK.key[:16]}; it differs in")
    return rest


def test_a_hit_tells_order_role_model_attempts_tokens_and_the_answers_head(record):
    record.put(other(1), "checker", plain("yes"), 0.5)
    record.fail(ASK, "user", CallFailed("rate_limit", "slow\ndown", 429), 0, 0.5)
    record.fail(ASK, "user", CallFailed("truncated", "cut off", usage=Usage(1200, 90)), 1, 0.5)
    record.put(ASK, "user", Reply("An\n answer " + "w" * 500, (), "stop", Usage(1200, 34, counted=True)), 1.25)
    told = [
        f"hit: {ASK.key}",
        "answer number 2 on record, role user, model tiny at http://localhost:1/v1",
        "1,200 prompt and 34 completion tokens, counted by us, for the server did not say; 1.25 s",
        "attempt 1 failed: rate_limit (HTTP 429): slow down",
        "attempt 2 failed: truncated: cut off; 1,200 prompt and 90 completion tokens",
        f"answer: An answer {'w' * 389}\u2026",
        "there is no other call of this role on record to compare it with",
    ]
    assert explain(record, ASK.key, {}).split("\n") == told
    assert explain(record, ASK.key[:6].upper(), {}).split("\n") == told
    assert explain_request(record, ASK).split("\n") == told


def test_an_answer_that_calls_tools_is_shown_with_them(record):
    record.put(ASK, "user", Reply("Well.", (ToolCall("1", "book", '{"day":1}'), ToolCall("2", "pay", "{}")), "tool_calls", Usage(1, 1)), 0.0)
    assert 'answer: Well. book({"day":1}) pay({})' in explain(record, ASK.key, {}).split("\n")


def test_a_hit_is_compared_with_calls_of_its_own_role(record):
    record.put(ASK, "user", plain("a"), 0.0)
    record.put(replace(ASK, sampling={"temperature": 0.7}), "checker", plain("b"), 0.0)
    record.put(far := replace(ASK, model="big", base_url=""), "user", plain("c"), 0.0)
    assert explain(record, ASK.key, {}).split("\n")[-3:] == [
        f"nearest other call on record: {far.key[:16]}; it differs in",
        "  base_url: on record '', asked 'http://localhost:1/v1'",
        "  model: on record 'big', asked 'tiny'",
    ]


@pytest.mark.parametrize(
    "changes, told",
    [
        ({"sampling": {"temperature": 0.9, "max_tokens": 90}}, ["sampling.temperature: on record 0.7, asked 0.9"]),
        ({"sampling": {"temperature": 0.7, "max_tokens": 90.0}}, ["sampling.max_tokens: on record 90, asked 90.0"]),
        ({"sampling": {"temperature": 0.7}}, ["sampling.max_tokens: on record 90, asked nothing"]),
        ({"sampling": {**ASK.sampling, "stop": None}}, ["sampling.stop: on record nothing, asked null"]),
        ({"model": "big"}, ["model: on record 'tiny', asked 'big'"]),
        ({"messages": ({"role": "system", "content": LONG[:-2] + "!"}, ASK.messages[1])},
         ["messages[0].content: from character 93: on record ' sentences. ', asked ' sentences!'"]),
        ({"messages": (ASK.messages[0], {"role": "user", "content": "Hello\u00a0"})}, ["messages[1].content: on record 'Hello', asked 'Hello\\xa0'"]),
        ({"messages": ({"role": "system", "content": LONG + " "}, ASK.messages[1])},
         ["messages[0].content: from character 95: on record 'entences. ', asked 'entences.  '"]),
        ({"messages": ASK.messages[:1]}, ["messages: 2 on record, 1 asked"]),
        ({"messages": ASK.messages[::-1]}, [
            f"messages[0].content: from character 0: on record '{LONG[:40]}', asked 'Hello'", "messages[0].role: on record 'system', asked 'user'",
            f"messages[1].content: from character 0: on record 'Hello', asked '{LONG[:40]}'", "messages[1].role: on record 'user', asked 'system'",
        ]),
        ({"tools": (TOOL,), "tool_choice": "auto"}, ["tool_choice: on record null, asked 'auto'", "tools: 0 on record, 1 asked"]),
        ({"schema": {"type": "object"}}, ['schema: on record null, asked {"type": "object"}']),
    ],
)  # fmt: skip
def test_a_miss_names_each_part_that_differs_and_how(record, changes, told):
    record.put(ASK, "user", plain("a"), 0.0)
    assert missed(record, replace(ASK, **changes)) == [f"  {line}" for line in told]


def test_a_miss_is_compared_with_the_call_that_differs_least_and_last(record):
    for number in range(30):
        record.put(Request("openai", "", f"m{number}", ({"role": "user", "content": f"{number}"},)), "user", plain("far"), 0.0)
    record.put(ASK, "user", plain("differs in the last message"), 0.0)
    asked = replace(ASK, messages=(ASK.messages[0], {"role": "user", "content": "Good day"}))
    for number in range(8):
        begins_anew = replace(asked, messages=({"role": "system", "content": f"Other {number}"}, asked.messages[1]))
        record.put(begins_anew, "user", plain("differs in the first message"), 0.0)
    assert missed(record, asked) == ["  messages[1].content: on record 'Hello', asked 'Good day'"]


def test_what_is_left_out_of_a_long_list_of_differences_is_counted(record):
    record.put(replace(ASK, sampling={f"s{number:02}": 0 for number in range(20)}), "user", plain("a"), 0.0)
    lines = explain_request(record, replace(ASK, sampling={f"s{number:02}": 1 for number in range(20)})).split("\n")
    assert lines[3:] == [*(f"  sampling.s{number:02}: on record 0, asked 1" for number in range(12)), "  and 8 more"]


def test_a_long_value_is_cut(record):
    record.put(ASK, "user", plain("a"), 0.0)
    (line,) = missed(record, replace(ASK, schema={"enum": ["w" * 9000]}))
    assert line == '  schema: on record null, asked {"enum": ["' + "w" * 388 + "\u2026"


def test_a_miss_in_an_empty_record_says_so(record):
    assert explain_request(record, ASK).split("\n") == [f"miss: {ASK.key}", MISS, "there is no other call on record to compare it with"]


def test_a_request_that_a_replay_missed_is_explained_by_key_and_as_a_hit_once_it_is_recorded(record):
    record.put(other(1), "user", plain("a"), 0.0)
    assert explain(record, ASK.key[:16], {ASK.key: ASK}) == explain_request(record, ASK)
    record.put(ASK, "user", plain("b"), 0.0)
    assert explain(record, ASK.key[:16], {ASK.key: ASK}).split("\n")[0] == f"hit: {ASK.key}"


def test_a_call_that_only_failed_is_told_with_its_attempts(record):
    record.fail(ASK, "checker", CallFailed("server", "oops", 500), 0, 0.5)
    failed = "attempt 1 failed: server (HTTP 500): oops"
    assert explain(record, ASK.key, {}).split("\n") == [f"miss: {ASK.key}", "role checker asked, and no attempt brought an answer (1 failed)", failed]
    assert failed in explain_request(record, ASK).split("\n")


class Planted:
    """A record of keys that are chosen, which real keys cannot be."""

    path = "calls.sqlite"

    def __init__(self, *keys):
        self._keys = keys

    def keys(self, prefix=""):
        return [key for key in self._keys if key.startswith(prefix)]


def refused(record, key, missed=()):
    with pytest.raises(UserError) as error:
        explain(record, key, {other: ASK for other in missed})
    return str(error.value)


def test_the_beginning_of_several_keys_is_refused_with_as_many_digits_as_tell_them_apart():
    one, two, three = (f"abcdef{n}".ljust(64, "0") for n in (1, 2, 3))
    told = "'abcdef' begins the keys of several calls (abcdef1000000000, abcdef2000000000, abcdef3000000000); give more digits"
    assert refused(Planted(one, two), "abcdef", [two, three]) == told
    many = [f"abcdef{n:02}".ljust(64, "0") for n in range(20)]
    assert refused(Planted(*many), "abcdef").endswith("abcdef1100000000 and 8 more); give more digits")


def test_a_key_with_a_slip_is_refused_with_the_keys_that_it_may_mean():
    near, alike, far = "1bcdef77".ljust(64, "0"), "abcd9999".ljust(64, "0"), "0" * 64
    told = "calls.sqlite: no call's key begins with 'abcdef77'; near it: 1bcdef7700000000, abcd999900000000"
    assert refused(Planted(far, alike), "abcdef77", [near]) == told
    assert refused(Planted(far), "abcdef77") == "calls.sqlite: no call's key begins with 'abcdef77'; give the key that an error of a replay names"


@pytest.mark.parametrize("key", ["", "abcde", "abcdefg", "%bcdef", "abcd ef", "g" * 64])
def test_what_is_no_key_is_refused(key):
    assert refused(Planted("abcdef".ljust(64, "0")), key) == f"'{key}' is no request key; give 6 or more of its hex digits"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, -0.0, 1.0, 0.5]) | st.text("a \u00e9", max_size=3) | st.just("w" * 99),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None)
@given(VALUES, VALUES)
def test_differences_are_told_exactly_where_keys_differ(one, two):
    canonical = [json.dumps(value, sort_keys=True) for value in (one, two)]
    assert bool(list(module._differences(one, two, "x"))) == (canonical[0] != canonical[1])
