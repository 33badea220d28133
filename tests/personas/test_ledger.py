from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from personas.ledger import Entry, avoided, effective

BASE = Entry("e1", "dining.heat", "always", "gentle", "likes", "must", "long", "self", -100, None, 5, "base")


def entry(key, value, **changes):
    return replace(BASE, entry_id=key, value=value, **changes)


def value(entries, at=50, scopes=(), holder="self", known_at=None):
    return effective(entries, "dining.heat", scopes, at, at if known_at is None else known_at, holder).value


def test_the_latest_long_term_value_holds():
    later = entry("e2", "warm", valid_from=20, known_from=25)
    assert value([BASE, later]) == "warm"
    assert value([BASE, later], at=10) == "gentle"


def test_what_is_not_known_yet_does_not_count():
    later = entry("e2", "warm", valid_from=20, known_from=30)
    assert value([BASE, later], at=28) == "gentle"
    assert value([BASE, replace(BASE, known_from=None)], at=3) is None


def test_a_state_overrides_without_erasing():
    state = entry("e2", "no_heat", horizon="short", valid_from=20, valid_to=40, known_from=21)
    assert value([BASE, state], at=30) == "no_heat"
    assert value([BASE, state], at=40) == "gentle"


def test_safety_in_force_beats_a_state():
    state = entry("e2", "fiery", horizon="short", valid_from=20, valid_to=90, known_from=21)
    safety = entry("e3", "no_heat", safety=True, valid_from=10, known_from=11)
    assert value([BASE, state, safety]) == "no_heat"


def test_a_narrower_scope_beats_a_wider_one_only_where_it_applies():
    weekend = entry("e2", "fiery", scope="weekend", known_from=6)
    assert value([BASE, weekend], scopes=("weekend",)) == "fiery"
    assert value([BASE, weekend], scopes=("weekday",)) == "gentle"


def test_two_narrower_scopes_that_differ_are_a_tie():
    weekend = entry("e2", "fiery", scope="weekend", known_from=6)
    work = entry("e3", "warm", scope="work", known_from=6)
    answer = effective([BASE, weekend, work], "dining.heat", ("weekend", "work"), 50, 50)
    assert answer.entry is None
    assert answer.reasons == ("tie between equal entries",)


def test_another_persons_taste_is_another_ledger():
    hers = entry("e2", "fiery", holder="my sister Nora", known_from=6)
    assert value([BASE, hers]) == "gentle"
    assert value([BASE, hers], holder="my sister Nora") == "fiery"


def test_reasons_name_who_lost_and_why():
    state = entry("e2", "no_heat", horizon="short", valid_from=20, valid_to=90, known_from=21, cause="event:dental")
    answer = effective([BASE, state], "dining.heat", (), 50, 50)
    assert answer.reasons == ("no_heat holds (event:dental)", "gentle loses: a short-term state")


def test_dislikes_accumulate():
    one = entry("e1", "peanut", dimension="dining.allergen", polarity="dislikes", known_from=6)
    two = entry("e2", "sesame", dimension="dining.allergen", polarity="dislikes", known_from=60)
    assert [e.value for e in avoided([one, two], "dining.allergen", 50, 50)] == ["peanut"]
    assert [e.value for e in avoided([one, two], "dining.allergen", 70, 70)] == ["peanut", "sesame"]


@given(st.permutations(range(6)), st.integers(0, 100))
def test_the_order_of_entries_never_matters(order, at):
    entries = [
        BASE,
        entry("e2", "warm", valid_from=20, known_from=25),
        entry("e3", "fiery", scope="weekend", known_from=6),
        entry("e4", "no_heat", horizon="short", valid_from=30, valid_to=60, known_from=33),
        entry("e5", "gentle", valid_from=70, known_from=71),
        entry("e6", "warm", holder="my sister Nora", known_from=8),
    ]
    assert value([entries[i] for i in order], at=at, scopes=("weekend",)) == value(entries, at=at, scopes=("weekend",))
