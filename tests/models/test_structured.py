import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel

from iba_bench.models.reading import strict_schema
from iba_bench.models.reply import CallFailed, Reply, Usage
from iba_bench.models.request import Request
from iba_bench.models.structured import IN_WORDS, Ladder, Structured


class Order(BaseModel):
    drink: str
    count: int


class Bare(BaseModel):
    text: str = ""


ASKED = Request("openai_compatible", "http://127.0.0.1:1/v1", "small", ({"role": "system", "content": "s"}, {"role": "user", "content": "order"}))
GOOD = '{"drink": "tea", "count": 2}'
TEA = Order(drink="tea", count=2)
USAGE = Usage(10, 5)


def reply(content: str, usage: Usage = USAGE) -> Reply:
    return Reply(content, (), "stop", usage)


class Server:
    """Answers in turn and keeps what it was asked; a failure among the answers is raised."""

    def __init__(self, *answers: str | CallFailed, refuses: str | None = None) -> None:
        self.answers, self.refuses = list(answers), refuses
        self.asked: list[Request] = []

    async def __call__(self, request: Request) -> Reply:
        self.asked.append(request)
        await asyncio.sleep(0)
        if self.refuses and request.schema is not None:
            raise CallFailed("bad_request", self.refuses, 400)
        answer = self.answers.pop(0)
        if isinstance(answer, CallFailed):
            raise answer
        return reply(answer)


def ask(server: Server, ladder: Ladder | None = None, shape: type[BaseModel] = Order) -> Structured[Any]:
    return asyncio.run((ladder or Ladder()).ask(server, ASKED, shape))


def test_a_native_answer_takes_one_call_that_carries_the_schema():
    server = Server(GOOD)
    assert ask(server) == Structured(TEA, "native", (USAGE,))
    assert server.asked == [replace(ASKED, schema=strict_schema(Order))]


def test_a_shape_without_a_strict_schema_is_refused_before_any_call():
    class Open(BaseModel):
        counts: dict[str, int]

    server = Server(GOOD)
    with pytest.raises(ValueError, match="Open: a mapping with open keys has no strict schema"):
        ask(server, shape=Open)
    assert server.asked == []


def test_one_repair_call_says_what_was_wrong():
    server = Server('{"drink": "tea", "count": "two"}', f"Sorry. {GOOD}")
    assert ask(server) == Structured(TEA, "repaired", (USAGE, USAGE))
    assert server.asked[1] == replace(
        server.asked[0],
        messages=(
            *ASKED.messages,
            {"role": "assistant", "content": '{"drink": "tea", "count": "two"}'},
            {
                "role": "user",
                "content": "That answer cannot be used: count: Input should be a valid integer (it was 'two').\n"
                "Give the whole answer again as one JSON object, corrected, and nothing else.",
            },
        ),
    )


def test_a_blank_answer_is_not_sent_back_as_a_turn():
    server = Server(" ", GOOD)
    assert ask(server).rung == "repaired"
    assert [message["role"] for message in server.asked[1].messages] == ["system", "user", "user"]


def test_braces_in_the_answer_do_not_trip_the_repair_message():
    server = Server('{"drink": "{problem} {0}", "count": "{"}', GOOD)
    assert ask(server).rung == "repaired"
    assert "(it was '{')" in server.asked[1].messages[-1]["content"]


def test_a_second_unreadable_answer_is_a_typed_failure_and_no_third_call():
    server = Server("no", "still no" + "!" * 500, GOOD)
    with pytest.raises(CallFailed) as caught:
        ask(server)
    assert (caught.value.kind, len(server.asked)) == ("unstructured", 2)
    assert caught.value.message == f"Order: it holds no complete JSON object; the answer begins {'still no' + '!' * 192!r}"


@pytest.mark.parametrize(
    "answers",
    [
        [CallFailed("truncated", "cut")],
        ["no", CallFailed("truncated", "cut")],
        [CallFailed("bad_request", "odd", 400)],
        [CallFailed("server", "json_schema", 500)],
    ],
)
def test_failures_of_the_call_pass_through(answers: list[str | CallFailed]):
    server = Server(*answers)
    with pytest.raises(CallFailed) as caught:
        ask(server)
    assert caught.value is answers[-1]
    assert len(server.asked) == len(answers)


def test_a_refused_schema_is_told_in_words_and_never_sent_again():
    server, ladder = Server(GOOD, GOOD, refuses="unknown field 'response_format'"), Ladder()
    assert [ask(server, ladder), ask(server, ladder)] == [Structured(TEA, "native", (USAGE,))] * 2
    in_words = {"role": "user", "content": f"order\n\n{IN_WORDS}{json.dumps(strict_schema(Order))}"}
    assert server.asked[1] == replace(ASKED, messages=(ASKED.messages[0], in_words))
    assert [request.schema is None for request in server.asked] == [False, True, True]


def test_dialogues_that_start_at_once_cost_one_refusal():
    server, ladder = Server(*[GOOD] * 50, refuses="json_schema is not supported"), Ladder()

    async def all_at_once() -> list[Structured[Order]]:
        return await asyncio.gather(*(ladder.ask(server, ASKED, Order) for _ in range(50)))

    assert len(asyncio.run(all_at_once())) == 50
    assert sum(request.schema is not None for request in server.asked) == 1


def test_after_the_first_question_the_others_do_not_wait_for_each_other():
    flying = most = 0

    async def slow(request: Request) -> Reply:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0.01)
        flying -= 1
        if not most > 1:
            raise CallFailed("timeout", "no answer")
        return reply(GOOD)

    async def all_at_once() -> list[Structured[Order] | BaseException]:
        ladder = Ladder()
        return await asyncio.gather(*(ladder.ask(slow, ASKED, Order) for _ in range(20)), return_exceptions=True)

    ended = asyncio.run(all_at_once())
    assert (most, [type(one) for one in ended]) == (19, [CallFailed] + [Structured] * 19)


def test_the_repair_after_a_refusal_is_told_in_words_too():
    server = Server("no", GOOD, refuses="response_format")
    assert ask(server).rung == "repaired"
    assert IN_WORDS in server.asked[2].messages[1]["content"] and server.asked[2].schema is None


def test_a_ladder_without_native_sends_no_schema():
    server = Server(GOOD)
    assert ask(server, Ladder(native=False)).rung == "native"
    assert [request.schema for request in server.asked] == [None]


def test_a_replay_finds_what_was_asked_in_words_after_a_refusal():
    server = Server(CallFailed("not_recorded", "x"), GOOD, GOOD)
    ladder = Ladder()
    assert ask(server, ladder).value == TEA
    assert server.asked[1].schema is None and ladder.native


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        (({"role": "system", "content": "s"},), [{"role": "system", "content": "s"}, {"role": "user", "content": IN_WORDS}]),
        (
            ({"role": "user", "content": [{"type": "text", "text": "q"}]}, {"role": "assistant", "content": "a"}),
            [{"role": "user", "content": [{"type": "text", "text": "q"}, {"type": "text", "text": IN_WORDS}]}, {"role": "assistant", "content": "a"}],
        ),
    ],
)
def test_the_words_go_to_the_last_user_message_whatever_its_form(messages: tuple[dict[str, Any], ...], told: list[dict[str, Any]]):
    server = Server("{}")
    asyncio.run(Ladder(native=False).ask(server, replace(ASKED, messages=messages), Bare))
    schema = json.dumps(strict_schema(Bare))
    assert json.loads(json.dumps(server.asked[0].messages).replace(json.dumps(schema)[1:-1], "")) == told


def test_asking_changes_neither_the_request_nor_its_messages():
    before = ASKED.canonical
    ask(Server("no", GOOD, refuses="response_format"))
    assert ASKED.canonical == before
