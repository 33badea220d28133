"""A task is issued only when a careful reader of the history could know: each rule with the case that it must refuse."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import replace

import pytest

from personas.ledger import Entry
from scenarios.library import load_library
from simulator.calendar import DAY, Calendar
from simulator.factorial import LEAST, MOST, designs
from simulator.history import History, Session, Turn
from simulator.life import Focus
from simulator.slots import Moment, with_levels
from simulator.wording import Said

LIBRARY = load_library()
CALENDAR = Calendar(dt.date(2026, 1, 5), "Europe/London")
NOW = 60 * DAY + 43_200
HEAT = LIBRARY.dimensions["dining.heat"]
BASE = Entry("e_base", "dining.heat", "always", "warm", "likes", "must", "long", "self", -DAY, None, DAY, "base")


def moment(*entries, evidence=None, ends=None, focus=None):
    """Return a moment at NOW; evidence gives the days of each entry's cue turns (default: one, a day after it is known)."""
    pairs = {}
    for entry in entries:
        days = (evidence or {}).get(entry.entry_id, () if entry.known_from is None else (entry.known_from / DAY + 1,))
        pairs[entry.entry_id] = [_turn(entry.entry_id, number, int(day * DAY)) for number, day in enumerate(days)]
    return Moment(
        focus=focus or Focus("food_delivery", NOW, 0, "api"), entries=entries, history=History([]), evidence=pairs, library=LIBRARY,
        calendar=CALENDAR, ends={key: int(day * DAY) for key, day in (ends or {}).items()},
    )  # fmt: skip


def _turn(entry_id, number, at):
    turn = Turn(f"t_{entry_id}_{number}", "user", Said("words", openness="implicit"), at, 5)
    return Session(f"s_{entry_id}_{number}", at, "dialogue", "food_delivery", [turn]), turn


def state(value="no_heat", begin=55, end=70, earliest=62, latest=80, known=56):
    return replace(
        BASE, entry_id="e_state", value=value, horizon="short", valid_from=begin * DAY, valid_to=end * DAY, known_from=known * DAY,
        cause="event:dental_surgery", sure_to=earliest * DAY, sure_after=latest * DAY,
    )  # fmt: skip


def slot(*entries, **more):
    return moment(*entries, **more).slot(HEAT, random.Random(0))


def test_a_long_term_value_is_a_slot():
    found = slot(BASE)
    assert (found.truth, found.strength, found.challenges) == ("warm", "must", frozenset())


def test_a_state_in_force_decides_and_names_what_it_overrides():
    found = slot(BASE, state())
    assert found.truth == "no_heat"
    assert found.named == {"warm": "ignored_state"}
    assert {"state", "conflict"} <= found.challenges


def test_between_earliest_and_latest_end_nobody_can_know():
    assert slot(BASE, state(earliest=58, end=75, latest=80)) is None


def test_a_voiced_end_settles_it():
    over = state(earliest=58, end=59, latest=80)
    assert slot(BASE, over) is None
    found = slot(BASE, over, ends={"event:dental_surgery": 59.5})
    assert (found.truth, found.named) == ("warm", {"no_heat": "stale"})


def test_after_the_latest_end_it_is_over_unsaid():
    assert slot(BASE, state(begin=20, end=30, earliest=25, latest=40, known=21)).truth == "warm"


def test_a_change_that_nobody_voiced_yet_is_doubtful():
    changed = replace(BASE, entry_id="e_new", value="fiery", valid_from=58 * DAY, known_from=None, supersedes="e_base", cause="drift:abrupt")
    assert slot(replace(BASE, valid_to=58 * DAY), changed) is None
    found = slot(replace(BASE, valid_to=58 * DAY), replace(changed, known_from=58 * DAY + 100), evidence={"e_new": (59,)})
    assert (found.truth, found.named, found.challenges) == ("fiery", {"warm": "stale"}, {"drift"})


def test_a_gradual_step_needs_two_cues():
    step = replace(BASE, entry_id="e_new", value="fiery", valid_from=50 * DAY, known_from=51 * DAY, cause="drift:gradual")
    old = replace(BASE, valid_to=50 * DAY)
    assert slot(old, step, evidence={"e_new": (51,)}) is None
    assert slot(old, step, evidence={"e_new": (51, 55)}).truth == "fiery"


def test_an_expired_value_needs_its_end_voiced():
    override = replace(BASE, entry_id="e_b", value="fiery", valid_from=20 * DAY, valid_to=50 * DAY, known_from=21 * DAY, cause="drift:expiry")
    assert slot(BASE, override) is None
    assert slot(BASE, override, ends={"e_b": 51}).named == {"fiery": "stale"}


def test_a_scope_decides_where_it_holds_and_tempts_where_it_does_not():
    weekend = replace(BASE, entry_id="e_w", value="fiery", scope="weekend")
    weekday = replace(BASE, entry_id="e_d", value="fiery", scope="weekday")
    assert CALENDAR.weekday(NOW) == 4
    assert slot(BASE, weekend).named == {"fiery": "wrong_scope"} and slot(BASE, weekend).truth == "warm"
    assert slot(BASE, weekday).truth == "fiery" and "scope" in slot(BASE, weekday).challenges


def test_another_persons_task_hides_what_only_the_user_wants():
    other = replace(BASE, entry_id="e_o", value="gentle", holder="my sister Nora", cause="served")
    person = type("Relation", (), {"mention": "my sister Nora"})()
    focus = Focus("food_delivery", NOW, 0, "api", served=person)
    found = moment(BASE, other, focus=focus).slot(HEAT, random.Random(0))
    assert (found.truth, found.named) == ("gentle", {"warm": "third_party"})
    assert moment(BASE, focus=focus).holder(LIBRARY.dimensions["dining.portion"]) is None


def test_evidence_in_a_session_after_the_task_does_not_count():
    assert slot(BASE, evidence={"e_base": (61,)}) is None


@pytest.mark.parametrize("size", [2, 3, 4])
def test_levels_hold_the_truth_and_the_named_rivals_first(size):
    found = with_levels(slot(BASE, state()), size, random.Random(1))
    assert len(found.levels) == size and {"no_heat", "warm"} <= set(found.levels)
    assert set(found.named) == set(found.levels) - {"no_heat"}


def test_every_design_has_sixteen_to_thirty_six_combinations():
    for widths in [(4, 4), (4, 4, 4), (3, 4, 2), (2, 2, 2, 2), (4, 3, 2, 2, 4)]:
        for prefer in (False, True):
            for sizes in designs(widths, (2,) * len(widths), prefer):
                product = 1
                for size, width in zip(sizes, widths, strict=True):
                    assert 2 <= size <= width
                    product *= size
                assert LEAST <= product and product * (2 if prefer else 1) <= MOST
    assert designs((2, 2), (2, 2), False) == ()
