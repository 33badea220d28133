import pickle
import re
from pathlib import Path

import pytest

from iba_bench.errors import UserError
from iba_bench.models.budget import Budget, Price, Prices, Reservation, Spent
from iba_bench.models.estimate import Average, Estimate, EstimateLine, PlannedCalls, estimate
from iba_bench.models.reply import CallFailed, Usage
from iba_bench.models.request import Request

PRICES = Prices(
    date="2026-12",
    note="check",
    currency="USD",
    models={
        "big": Price(input=10, output=30),
        "big-2*": Price(input=5, output=15),
        "big-2025*": Price(input=1, output=2),
        "tiny": Price(input=0.1, output=0.2),
    },
)


def asking(model: str = "big") -> Request:
    return Request("openai", "", model, ({"role": "user", "content": "hi"},))


def refusal(budget: Budget, expected: Usage, model: str = "big") -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        budget.check(asking(model), expected)
    return caught.value


# Prices


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("big", Price(input=10, output=30)),
        ("big-2024-11-20", Price(input=5, output=15)),
        ("big-2025-04-14", Price(input=1, output=2)),
        ("big-2", Price(input=5, output=15)),
        ("big-mini", None),
        ("bi", None),
        ("tiny-2025", None),
        ("BIG", None),
        ("", None),
        ("big-2*", Price(input=5, output=15)),
    ],
)
def test_a_price_is_that_of_the_exact_name_or_else_of_the_longest_prefix(model: str, price: Price | None):
    assert PRICES.of(model) == price


def test_only_the_models_said_to_be_free_cost_nothing():
    prices = PRICES.with_free(["local"])
    assert (prices.of("local"), prices.of("local-2"), prices.of("big")) == (Price(input=0, output=0), None, PRICES.of("big"))
    assert PRICES.of("local") is None


def test_the_shipped_table_prices_known_models_and_no_relative_of_theirs():
    prices = Prices.load()
    assert (prices.date, prices.note) == ("2026-12", "check before you rely on it")
    assert prices.of("gpt-4o-2024-08-06") == prices.of("gpt-4o") == Price(input=2.5, output=10)
    assert prices.of("gpt-4o-2024-05-13") == Price(input=5, output=15)
    assert prices.of("gpt-4o-mini-2024-07-18") == prices.of("gpt-4o-mini") == Price(input=0.15, output=0.6)
    assert prices.of("claude-sonnet-4-5-20250929") == Price(input=3, output=15)
    assert [prices.of(model) for model in ("gpt-4o-audio-preview", "gpt-5-pro", "gpt-50", "qwen2.5:0.5b", "claude")] == [None] * 5


HEAD = 'date: "2026"\ncurrency: USD\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + "models:\n  m: {input: -1, output: 2}\n", "{file}:4: models.m.input: Input should be greater than or equal to 0, got '-1'"),
        (HEAD + "models:\n  m: {input: nan, output: 2}\n", "{file}:4: models.m.input: Input should be a finite number, got 'nan'"),
        (HEAD + "models:\n  m: {input: .inf, output: 2}\n", "{file}:4: models.m.input: Input should be a valid number, "),
        (HEAD + "models:\n  m: {input: 1}\n", "{file}:4: models.m.output: Field required"),
        ('date: "2026"\ncurrency: EUR\nmodels: {}\n', "{file}:2: currency: Input should be 'USD', got 'EUR'"),
        (HEAD + "models: {}\nprices: {}\n", "{file}:4: prices: Extra inputs are not permitted, got '{}'"),
        (HEAD + "models: {m: {input: 1, output: 1}, m: {input: 2, output: 2}}\n", "{file}:3: duplicate key 'm'; remove one"),
    ],
)
def test_a_price_file_of_ones_own_with_a_mistake_names_the_line(tmp_path: Path, text: str, said: str):
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        Prices.load(path)
    assert str(caught.value).startswith(said.replace("{file}", str(path)))


def test_a_missing_price_file_names_itself(tmp_path: Path):
    with pytest.raises(UserError, match="nothing.yaml: cannot be read"):
        Prices.load(tmp_path / "nothing.yaml")


# Spent


def test_spent_counts_tokens_without_a_price_apart():
    spent = Spent.over([("big", Usage(1000, 100)), ("who", Usage(7, 3)), ("tiny", Usage(0, 10))], PRICES)
    assert spent == Spent(tokens=1120, money=pytest.approx(0.013002), unpriced=10)


# Budget


@pytest.mark.parametrize(
    ("tokens", "money", "said"),
    [
        (0, None, "budget.tokens: 0 allows no call; give a number above 0, or null for no limit"),
        (-5, None, "budget.tokens: -5 allows no call; give a number above 0, or null for no limit"),
        (None, 0.0, "budget.money: 0.0 allows no call; give a number above 0, or null for no limit"),
        (10, -1.5, "budget.money: -1.5 allows no call; give a number above 0, or null for no limit"),
        (None, float("nan"), "budget.money: nan allows no call; give a number above 0, or null for no limit"),
        (None, float("inf"), "budget.money: inf allows no call; give a number above 0, or null for no limit"),
    ],
)
def test_a_budget_that_allows_nothing_is_refused_with_the_fix(tokens: int | None, money: float | None, said: str):
    with pytest.raises(UserError) as caught:
        Budget(tokens, money, PRICES)
    assert str(caught.value) == said


NO_PRICE = (
    "budget.money: no known price for 'a', 'b'; add it to a price table of your own (prices=FILE), "
    "say free: true for an endpoint that costs nothing, or limit budget.tokens instead"
)


def test_money_cannot_be_limited_where_a_price_is_unknown():
    with pytest.raises(UserError) as caught:
        Budget(None, 1.0, PRICES, models=["b", "big", "a", "b"])
    assert str(caught.value) == NO_PRICE
    Budget(100, None, PRICES, models=["a", "b"])
    Budget(None, 1.0, PRICES.with_free(["a", "b"]), models=["a", "b"])


def test_a_model_that_turns_up_later_without_a_price_is_refused_too():
    with pytest.raises(UserError, match="no known price for 'who'"):
        Budget(None, 1.0, PRICES).check(asking("who"), Usage(1, 1))


def test_money_cannot_be_limited_where_the_record_holds_unpriced_tokens():
    with pytest.raises(UserError, match=r"^budget.money: 1,500 tokens on record are of a model without a known price"):
        Budget(None, 1.0, PRICES, spent=Spent(tokens=2000, money=0.1, unpriced=1500))


def test_a_call_may_reach_a_limit_but_not_pass_it():
    tokens = Budget(100, None, PRICES)
    tokens.check(asking(), Usage(60, 40))
    assert refusal(tokens, Usage(60, 41)).kind == "budget"
    money = Budget(None, 0.3, PRICES, spent=Spent(money=0.1))
    money.check(asking(), Usage(20_000, 0))
    assert refusal(money, Usage(20_001, 0)).kind == "budget"


def test_a_refusal_says_what_is_spent_in_flight_and_needed():
    budget = Budget(1000, 1.0, PRICES, spent=Spent(tokens=400, money=0.5))
    budget.reserve(asking(), Usage(200, 100))
    fix = "raise it and run again, the run goes on where it stopped"
    assert refusal(budget, Usage(300, 1)).message == (
        f"budget.tokens of 1,000 tokens would be passed: 400 tokens spent, 300 tokens in flight, 301 tokens for this call; {fix}"
    )
    budget = Budget(None, 0.01, PRICES, spent=Spent(money=0.004))
    budget.reserve(asking(), Usage(200, 100))
    assert refusal(budget, Usage(300, 1)).message == (
        f"budget.money of 0.0100 USD would be passed: 0.0040 USD spent, 0.0050 USD in flight, 0.0030 USD for this call; {fix}"
    )


def test_no_limit_refuses_nothing_and_still_counts():
    budget = Budget(None, None, PRICES)
    budget.settle(budget.reserve(asking("who"), Usage(10**9, 10**9)), Usage(5, 5))
    assert budget.spent == Spent(tokens=10, money=0.0, unpriced=10)


@pytest.mark.parametrize(("tokens", "money", "limited"), [(None, None, False), (1, None, True), (None, 0.01, True), (1, 0.01, True)])
def test_a_budget_is_limited_by_tokens_or_money_and_so_are_its_shares(tokens: int | None, money: float | None, limited: bool):
    budget = Budget(tokens, money, PRICES)
    assert [each.limited for each in (budget, *budget.share(2))] == [limited] * 3


def test_checking_alone_keeps_no_room():
    budget = Budget(100, None, PRICES)
    for _ in range(3):
        budget.check(asking(), Usage(100, 0))


def test_calls_in_flight_count_until_they_are_settled():
    budget = Budget(100, None, PRICES)
    first, second = budget.reserve(asking(), Usage(40, 10)), budget.reserve(asking(), Usage(40, 10))
    assert refusal(budget, Usage(1, 0)).kind == "budget"
    budget.settle(first, Usage(40, 5))
    budget.check(asking(), Usage(5, 0))
    budget.settle(second, None)
    assert budget.spent == Spent(tokens=45, money=pytest.approx(0.00055))
    budget.check(asking(), Usage(55, 0))
    assert refusal(budget, Usage(56, 0)).kind == "budget"


def test_equal_reservations_are_settled_each_for_itself_and_once():
    budget = Budget(100, None, PRICES)
    first, second = budget.reserve(asking(), Usage(10, 10)), budget.reserve(asking(), Usage(10, 10))
    budget.settle(first, Usage(10, 10))
    with pytest.raises(ValueError):
        budget.settle(first, Usage(10, 10))
    budget.settle(second, Usage(1, 0))
    assert budget.spent.tokens == 21
    with pytest.raises(ValueError):
        budget.settle(Reservation("big", Spent(20)), None)


def test_a_refused_reservation_keeps_no_room():
    budget = Budget(100, None, PRICES)
    with pytest.raises(CallFailed):
        budget.reserve(asking(), Usage(101, 0))
    budget.check(asking(), Usage(100, 0))


def test_a_call_that_used_more_than_expected_counts_in_full():
    budget = Budget(100, None, PRICES)
    budget.settle(budget.reserve(asking(), Usage(50, 0)), Usage(50, 70))
    assert budget.spent.tokens == 120
    assert refusal(budget, Usage(0, 0)).kind == "budget"


def test_a_resumed_run_goes_on_counting():
    calls = [("big", Usage(30, 10)), ("big", Usage(30, 10))]
    budget = Budget(100, None, PRICES, spent=Spent.over(calls, PRICES))
    budget.check(asking(), Usage(20, 0))
    assert refusal(budget, Usage(20, 1)).kind == "budget"


def test_many_small_amounts_add_up_to_the_limit_exactly():
    budget = Budget(None, 0.1, PRICES)
    for _ in range(1000):
        budget.settle(budget.reserve(asking(), Usage(10, 0)), Usage(10, 0))
    assert refusal(budget, Usage(10, 0)).kind == "budget"


@pytest.mark.parametrize(("spent", "shares"), [(0, [34, 33, 33]), (1, [33, 33, 33]), (98, [1, 1, 0]), (100, [0, 0, 0]), (130, [0, 0, 0])])
def test_shares_of_tokens_are_even_and_add_up_to_what_is_left(spent: int, shares: list[int]):
    split = Budget(100, None, PRICES, spent=Spent(spent)).share(3)
    assert [(share.tokens, share.money, share.spent) for share in split] == [(tokens, None, Spent()) for tokens in shares]
    for share in split:
        assert share.tokens is not None
        share.check(asking(), Usage(share.tokens, 0))
        assert refusal(share, Usage(share.tokens, 1)).kind == "budget"


def test_shares_of_money_are_even_and_count_apart():
    budget = Budget(None, 1.0, PRICES, spent=Spent(money=0.4))
    first, second = budget.share(2)
    assert (first.money, second.money) == (pytest.approx(0.3), pytest.approx(0.3))
    first.reserve(asking(), Usage(30_000, 0))
    assert refusal(first, Usage(1, 0)).kind == "budget"
    second.check(asking(), Usage(30_000, 0))
    assert (budget.money, budget.spent) == (1.0, Spent(money=0.4))


def test_a_share_of_an_overdrawn_budget_allows_only_what_is_free():
    (share,) = Budget(None, 1.0, PRICES.with_free(["local"]), spent=Spent(money=1.5)).share(1)
    share.check(asking("local"), Usage(10, 10))
    assert refusal(share, Usage(1, 0)).kind == "budget"


def test_a_share_survives_the_way_to_another_process():
    share = pickle.loads(pickle.dumps(Budget(100, 2.0, PRICES).share(2)[0]))
    assert (share.tokens, share.money, share.prices) == (50, 1.0, PRICES)
    assert refusal(share, Usage(51, 0)).kind == "budget"


def test_what_is_in_flight_cannot_be_shared():
    budget = Budget(100, None, PRICES)
    with pytest.raises(ValueError, match="0 workers"):
        budget.share(0)
    budget.reserve(asking(), Usage(1, 1))
    with pytest.raises(ValueError, match="1 calls in flight"):
        budget.share(2)


# Estimate


PLAN = [
    PlannedCalls("user", "big", 1200, 800, 60),
    PlannedCalls("assistant", "who", 1200, 900.5, 200),
    PlannedCalls("judge", "tiny", 3, 100, 10),
    PlannedCalls("writer", "local", 10, 100, 10),
]
AVERAGES = {
    ("user", "big"): Average(calls=2500, prompt_tokens=1000.25, completion_tokens=50),
    ("judge", "big"): Average(calls=9, prompt_tokens=5, completion_tokens=5),
    ("writer", "local"): Average(calls=0, prompt_tokens=0, completion_tokens=0),
}


def test_recorded_averages_of_the_same_role_and_model_replace_guesses():
    prices = PRICES.with_free(["local"])
    assert estimate(PLAN, AVERAGES, prices) == Estimate(
        (
            EstimateLine("user", "big", 1200, 1_200_300, 60_000, pytest.approx(13.803), "recorded over 2,500 calls"),
            EstimateLine("assistant", "who", 1200, 1_080_600, 240_000, None, "guessed"),
            EstimateLine("judge", "tiny", 3, 300, 30, pytest.approx(0.000036), "guessed"),
            EstimateLine("writer", "local", 10, 1000, 100, 0.0, "guessed"),
        ),
        prices,
    )


def test_the_table_shows_every_role_the_total_and_what_is_unknown():
    assert estimate(PLAN, AVERAGES, PRICES.with_free(["local"])).table() == (
        "role       model  calls  prompt tokens  completion tokens                       cost  source\n"
        "user       big    1,200      1,200,300             60,000                  13.80 USD  recorded over 2,500 calls\n"
        "assistant  who    1,200      1,080,600            240,000              unknown price  guessed\n"
        "judge      tiny       3            300                 30                  <0.01 USD  guessed\n"
        "writer     local     10          1,000                100                   0.00 USD  guessed\n"
        "total             2,413      2,282,200            300,130  13.80 USD + unknown price\n"
        "Prices of 2026-12; check. Prices change; prices=FILE replaces the table."
    )


@pytest.mark.parametrize(
    ("models", "total"),
    [(["who", "what"], "unknown price"), (["big", "who"], "10.00 USD + unknown price"), (["big", "big"], "20.00 USD"), ([], "0.00 USD")],
)
def test_an_unknown_price_is_never_a_total_of_nothing(models: list[str], total: str):
    plan = [PlannedCalls("user", model, 1, 1_000_000, 0) for model in models]
    line = estimate(plan, {}, PRICES).table().splitlines()[-2]
    assert re.split(r"\s{2,}", line)[-1] == total
