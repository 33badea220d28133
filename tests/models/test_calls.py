"""The way of a call: one request for equal questions, everything on record, retries that end, budgets that hold."""

import asyncio
import json
from dataclasses import replace

import pytest

from iba_bench.errors import CheckFailed, UserError
from iba_bench.models.budget import Budget, Prices
from iba_bench.models.caller import CUT_OFF_ATTEMPTS, FIRST_ATTEMPTS, Caller
from iba_bench.models.config import ModelConfig
from iba_bench.models.missed import missed_requests
from iba_bench.models.pace import Pace, PaceConfig
from iba_bench.models.record import CallRecord
from iba_bench.models.reply import RETRIED, CallFailed, Reply, Usage
from iba_bench.models.request import Request
from iba_bench.models.service import budget_of, open_models, told

ASK = Request("openai_compatible", "http://x/v1", "tiny", ({"role": "user", "content": "hello"},), {"max_tokens": 50})
HI = Reply("hi", (), "stop", Usage(10, 5))


class Scripted:
    """Ends each call as the script says; the last line for ever."""

    def __init__(self, *script):
        self.script, self.sent, self.most, self.now = list(script), 0, 0, 0

    async def send(self, request, timeout):
        self.sent += 1
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(step, CallFailed):
            raise step
        return step

    async def close(self):
        pass


@pytest.fixture
def record(tmp_path):
    with CallRecord.open(tmp_path / "calls.sqlite", run="r1") as opened:
        yield opened


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(Pace, "back_off", lambda self, attempt, rng: 0.0)


def caller(record, transport, *, budget=None, attempts=8, alone=True):
    budget = budget or Budget(None, None, Prices.load())
    return Caller(transport, record, Pace(PaceConfig()), budget, attempts=attempts, owner="1", alone=alone)


def ended(coroutine):
    """Return what a call ends with: the reply, or the failure's kind."""
    try:
        return asyncio.run(coroutine)
    except CallFailed as failure:
        return failure.kind


def test_fifty_equal_questions_at_once_are_asked_once(record):
    transport = Scripted(HI)

    async def ask():
        one = caller(record, transport)
        return await asyncio.gather(*(one.call("persona", ASK) for _ in range(50)))

    assert asyncio.run(ask()) == [HI] * 50
    assert transport.sent == 1


def test_what_is_on_record_is_not_asked_again_even_by_another_process(record, tmp_path):
    assert ended(caller(record, Scripted(HI)).call("persona", ASK)) == HI
    with CallRecord.open(tmp_path / "calls.sqlite") as again:
        transport = Scripted(CallFailed("auth", "never sent"))
        assert ended(caller(again, transport).call("persona", ASK)) == HI
        assert transport.sent == 0


@pytest.mark.parametrize("changed", [{"model": "other"}, {"base_url": "http://y/v1"}, {"sampling": {"max_tokens": 51}}, {"tool_choice": "none"}, {"schema": {}}])
def test_whatever_can_change_the_answer_is_asked_anew(record, changed):
    ended(caller(record, Scripted(HI)).call("persona", ASK))
    transport = Scripted(HI)
    ended(caller(record, transport).call("persona", replace(ASK, **changed)))
    assert transport.sent == 1


@pytest.mark.parametrize("kind", sorted(RETRIED))
def test_what_may_pass_is_tried_again_and_every_attempt_is_on_record(record, kind):
    transport = Scripted(CallFailed(kind, "once"), CallFailed(kind, "twice"), HI)
    assert ended(caller(record, transport).call("persona", ASK)) == HI
    assert [(a.attempt, a.kind, a.message) for a in record.attempts()] == [(0, kind, "once"), (1, kind, "twice")]


@pytest.mark.parametrize("kind", ["auth", "not_found", "context_window", "bad_request"])
def test_what_would_come_again_is_not_tried_again(record, kind):
    transport = Scripted(CallFailed(kind, "no"))
    assert ended(caller(record, transport).call("persona", ASK)) == kind
    assert transport.sent == 1


def test_a_cut_off_answer_is_tried_three_times_and_its_tokens_count(record):
    transport = Scripted(CallFailed("truncated", "cut", usage=Usage(7, 50)))
    budget = Budget(10_000, None, Prices.load())
    assert ended(caller(record, transport, budget=budget).call("persona", ASK)) == "truncated"
    assert transport.sent == CUT_OFF_ATTEMPTS
    assert budget.spent.tokens == CUT_OFF_ATTEMPTS * 57
    (total,) = record.totals("r1")
    assert (total.failures, total.failed_prompt_tokens, total.failed_completion_tokens) == (3, 21, 150)


def test_an_endpoint_that_never_answered_is_given_up_early_and_one_that_did_is_not(record):
    gone = CallFailed("connection", "refused")
    transport = Scripted(gone)
    assert ended(caller(record, transport).call("persona", ASK)) == "unreachable"
    assert transport.sent == FIRST_ATTEMPTS
    transport, other = Scripted(HI, gone), replace(ASK, model="b")

    async def ask():
        one = caller(record, transport, attempts=6)
        await one.call("persona", ASK)
        await one.call("persona", other)

    assert ended(ask()) == "connection"
    assert transport.sent == 1 + 6


def test_a_budget_refuses_before_anything_is_sent_and_keeps_what_was_paid(record):
    transport, budget = Scripted(HI), Budget(100, None, Prices.load())

    async def ask():
        one = caller(record, transport, budget=budget)
        for number in range(20):
            await one.call("persona", replace(ASK, model=f"m{number}"))

    assert ended(ask()) == "budget"
    assert budget.spent.tokens == 15 * transport.sent <= 100
    assert len(list(record.rows())) == transport.sent


def test_a_run_that_ends_takes_in_what_is_under_way_and_sends_nothing_more(record):
    class Slow(Scripted):
        async def send(self, request, timeout):
            self.sent += 1
            await asyncio.sleep(0.05)
            return HI

    transport = Slow(HI)

    async def ask():
        one = Caller(transport, record, Pace(PaceConfig(initial=2, maximum=2)), Budget(None, None, Prices.load()), attempts=8, owner="1", alone=True)
        calls = [asyncio.ensure_future(one.call("persona", replace(ASK, model=f"m{n}"))) for n in range(6)]
        await asyncio.sleep(0.01)
        for call in calls:
            call.cancel()
        await one.finish()
        await asyncio.gather(*calls, return_exceptions=True)

    asyncio.run(ask())
    assert transport.sent == 2 == len(list(record.rows()))


def test_a_replay_that_misses_keeps_the_request_and_names_its_key(tmp_path):
    path = tmp_path / "calls.sqlite"
    CallRecord.open(path).close()
    with CallRecord.open(path, readonly=True) as record:
        with pytest.raises(CallFailed) as failed:
            asyncio.run(caller(record, None).call("checker", ASK))
    assert failed.value.kind == "not_recorded" and ASK.key[:16] in failed.value.message
    assert missed_requests(path) == {ASK.key: ASK}


def config(**more):
    role = {"provider": "openai_compatible"}
    data = {"name": "openai_compatible", "model": "tiny", "base_url": "http://127.0.0.1:9/v1", "persona": role, "assistant": role, "checker": role}
    return ModelConfig.model_validate(data | more)


def test_what_only_concerns_execution_does_not_decide_the_data():
    plain, other = config(), config(concurrency=7, attempts=2, record="x", mode="replay", budget={"tokens": 5}, first_timeout=3)
    assert plain.model_dump() == other.model_dump()
    assert plain.model_dump() != config(tries=2).model_dump()
    assert "key_variable" not in json.dumps(plain.model_dump())


def test_what_holds_for_all_roles_reaches_those_of_the_groups_provider_alone():
    other = {"provider": "anthropic", "model": "claude"}
    found = config(persona=other).roles
    assert (found["persona"].model, found["persona"].base_url) == ("claude", "")
    assert (found["checker"].model, found["checker"].base_url) == ("tiny", "http://127.0.0.1:9/v1")


@pytest.mark.parametrize(("change", "said"), [({"model": ""}, "model.persona.model=NAME"), ({"base_url": ""}, "model.persona.base_url=URL")])
def test_what_is_missing_is_named_with_the_key_to_set(change, said):
    with pytest.raises(ValueError, match=said):
        config(**change)


def test_roles_at_one_endpoint_share_its_pace_and_others_have_their_own(tmp_path):
    settings = config(checker={"provider": "openai_compatible", "base_url": "http://127.0.0.1:10/v1", "model": "judge"})
    models = open_models(settings, tmp_path / "calls.sqlite", "r1", Budget(None, None, Prices.load()), 1)
    clients = models.clients
    assert clients["persona"].caller is clients["assistant"].caller is not clients["checker"].caller
    asyncio.run(models.rest())
    models.record.close()


def test_a_key_that_is_not_set_is_said_before_any_call(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    settings = config(persona={"provider": "openai", "model": "gpt"})
    with pytest.raises(UserError, match="'OPENAI_API_KEY' is not set"):
        open_models(settings, tmp_path / "calls.sqlite", "r1", Budget(None, None, Prices.load()), 1)


def test_a_budget_counts_what_the_run_used_before_and_not_what_others_did(tmp_path):
    path = tmp_path / "calls.sqlite"
    for run, model in (("r1", "a"), ("r2", "b")):
        with CallRecord.open(path, run=run) as record:
            record.put(replace(ASK, model=model), "persona", HI, 0.1)
            record.fail(replace(ASK, model=model), "persona", CallFailed("truncated", "cut", usage=Usage(3, 2)), 0, 0.1)
    assert budget_of(config(budget={"tokens": 100}), path, "r1").spent.tokens == 20
    with pytest.raises(UserError, match="budget.tokens: 0 allows no call"):
        budget_of(config(budget={"tokens": 0}), path, "r1")


@pytest.mark.parametrize(
    ("kind", "error", "said"),
    [
        ("auth", UserError, "give the key that the endpoint wants"),
        ("not_found", UserError, "model.model=NAME"),
        ("unreachable", UserError, "start the server"),
        ("malformed", UserError, "OpenAI-compatible endpoint"),
        ("context_window", UserError, "a longer context"),
        ("not_recorded", UserError, "model.mode=live"),
        ("budget", CheckFailed, "out of tokens"),
        ("server", CheckFailed, "the same command goes on once the endpoint answers"),
    ],
)
def test_every_failure_is_told_with_what_to_do(kind, error, said):
    problem = told(CallFailed(kind, "out of tokens"), config())
    assert isinstance(problem, error) and said in str(problem) and "out of tokens" in str(problem)
