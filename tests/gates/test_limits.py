import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.gates.limits import ENOUGH, binomial_tail, chi_square_tail, exceeds, falls_short, lower_bound


@pytest.mark.parametrize("n", [1, 7, 199, 200, 5000])
def test_a_limit_of_nothing_is_exact_at_any_size(n):
    assert not exceeds(0, n, 0.0)
    assert exceeds(1, n, 0.0)


def test_a_limit_of_all_is_never_exceeded_and_exact_from_below():
    assert not exceeds(300, 300, 1.0)
    assert falls_short(299, 300, 1.0)
    assert falls_short(6, 7, 1.0)
    assert not falls_short(7, 7, 1.0)


def test_from_two_hundred_cases_on_the_point_estimate_decides():
    assert ENOUGH == 200
    assert not exceeds(20, 200, 0.1)
    assert exceeds(21, 200, 0.1)
    assert exceeds(20.01, 200, 0.1)
    assert not falls_short(180, 200, 0.9)
    assert falls_short(179, 200, 0.9)


def test_below_two_hundred_only_the_lower_bound_refuses():
    assert not exceeds(21, 199, 0.1)
    assert not exceeds(6, 20, 0.1)
    assert exceeds(7, 20, 0.1)
    assert not exceeds(1, 1, 0.1)
    assert exceeds(2, 2, 0.05)
    assert not falls_short(14, 20, 0.9)
    assert falls_short(13, 20, 0.9)


def test_no_cases_break_no_limit():
    assert not exceeds(0, 0, 0.0)
    assert not falls_short(0, 0, 1.0)


def test_shares_of_ties_are_rounded_down_in_small_samples():
    assert not exceeds(6.99, 20, 0.1)


@pytest.mark.parametrize(("hits", "n", "limit"), [(-1, 5, 0.1), (6, 5, 0.1), (1, 5, -0.1), (1, 5, math.nan), (0, -1, 0.1)])
def test_impossible_counts_are_refused(hits, n, limit):
    with pytest.raises(ValueError, match="must be"):
        exceeds(hits, n, limit)


@given(st.integers(1, 199), st.data(), st.floats(0.01, 0.99))
def test_the_tail_decides_as_the_clopper_pearson_bound_does(n, data, limit):
    hits = data.draw(st.integers(0, n))
    bound = lower_bound(hits, n)
    if abs(bound - limit) > 1e-6:
        assert exceeds(hits, n, limit) == (bound > limit)


@given(st.integers(1, 199), st.data(), st.floats(0.01, 0.99))
def test_more_hits_never_help(n, data, limit):
    hits = data.draw(st.integers(0, n - 1))
    assert exceeds(hits + 1, n, limit) or not exceeds(hits, n, limit)


def test_the_bound_agrees_with_published_values():
    assert lower_bound(0, 10) == 0
    assert lower_bound(10, 10) == pytest.approx(0.01 ** (1 / 10), abs=1e-6)
    assert lower_bound(5, 20, alpha=0.025) == pytest.approx(0.08657, abs=1e-4)


def test_tails_agree_with_the_tables():
    assert binomial_tail(2, 3, 0.5) == pytest.approx(0.5)
    assert binomial_tail(0, 3, 0.1) == 1.0
    assert binomial_tail(4, 3, 0.1) == 0.0
    for value, freedom in ((3.841, 1), (5.991, 2), (7.815, 3), (9.488, 4), (14.067, 7), (15.507, 8)):
        assert chi_square_tail(value, freedom) == pytest.approx(0.05, abs=1e-4)
    assert chi_square_tail(0, 7) == 1.0
