import asyncio
import random
import time
from collections import deque

import pytest

from iba_bench.errors import UserError
from iba_bench.models.pace import Pace, PaceConfig


def at(now):
    """Return a clock and the list that holds its time."""
    held = [now]
    return held, lambda: held[0]


def test_slots_are_given_in_the_order_of_asking_and_never_too_many(virtually):
    async def main(clock):
        pace, order, most = Pace(PaceConfig(initial=3, maximum=3), clock), [], 0

        async def call(number):
            nonlocal most
            async with pace.slot():
                order.append(number)
                most = max(most, pace.in_flight)
                await asyncio.sleep(1 + number % 3)

        await asyncio.gather(*map(call, range(40)))
        return order, most, pace.in_flight

    assert virtually(main) == (list(range(40)), 3, 0)


def test_a_cancelled_call_loses_no_place_whether_waiting_granted_or_running(virtually):
    async def main(clock):
        pace = Pace(PaceConfig(initial=1, maximum=1), clock)

        async def call():
            async with pace.slot():
                await asyncio.sleep(10)

        running, waiting, granted, last = (asyncio.ensure_future(call()) for _ in range(4))
        await asyncio.sleep(1)
        waiting.cancel()
        await asyncio.sleep(0)
        running.cancel()
        while pace.in_flight and not running.done():
            await asyncio.sleep(0)
        granted.cancel()
        await asyncio.gather(running, waiting, granted, return_exceptions=True)
        await last
        return clock(), pace.in_flight

    assert virtually(main) == (pytest.approx(11), 0)


def test_an_exception_within_a_slot_gives_the_place_back(virtually):
    async def main(clock):
        pace = Pace(PaceConfig(initial=1, maximum=1), clock)
        with pytest.raises(KeyError):
            async with pace.slot():
                raise KeyError
        async with pace.slot():
            return pace.in_flight

    assert virtually(main) == 1


def test_after_retry_after_nobody_starts_before_it_has_passed_and_the_wait_is_capped(virtually):
    async def main(clock):
        pace, starts = Pace(PaceConfig(initial=4, max_wait=30), clock), []

        async def call():
            async with pace.slot():
                starts.append(clock())

        async with pace.slot():
            pace.refused(7.0)
            early = asyncio.ensure_future(call())
            await asyncio.sleep(5)
            pace.refused(7.0)
            pace.refused(1.0)
            pace.refused(None)
        late = asyncio.ensure_future(call())
        await asyncio.gather(early, late)
        pace.refused(9e9)
        await call()
        return starts

    assert virtually(main) == [pytest.approx(12), pytest.approx(12), pytest.approx(42)]


def test_who_waited_out_a_pause_goes_before_who_comes_after_it():
    async def main():
        held, clock = at(0.0)
        pace, order = Pace(PaceConfig(initial=1), clock), []

        async def call(name):
            async with pace.slot():
                order.append(name)

        pace.refused(0.05)
        early = asyncio.ensure_future(call("early"))
        await asyncio.sleep(0)
        held[0] += 1
        await asyncio.gather(early, call("late"))
        return order

    assert asyncio.run(main()) == ["early", "late"]


def test_the_time_out_follows_what_was_observed():
    pace = Pace(PaceConfig(first=100, floor=5))
    for _ in range(19):
        pace.answered(10.0, 1)
    assert (pace.time_out(), pace.time_out(1)) == (100, 200)
    pace.answered(10.0, 1)
    assert (pace.time_out(), pace.time_out(1), pace.time_out(2)) == (41, 82, 164)
    for _ in range(512):
        pace.answered(0.1, 1)
    assert (pace.time_out(), pace.time_out(1)) == (5, 10)


def test_one_very_late_answer_in_hundreds_does_not_set_the_time_out():
    pace = Pace(PaceConfig())
    for seconds in (*[2.0] * 300, 90.0):
        pace.answered(seconds, 1)
    assert pace.time_out() == 9


def test_back_off_is_full_jitter_that_doubles_up_to_the_longest_wait():
    pace, rng = Pace(PaceConfig(max_wait=20)), random.Random(1)
    waits = [[pace.back_off(attempt, rng) for _ in range(2000)] for attempt in (0, 3, 5, 5000)]
    assert [max(wait) for wait in waits] == pytest.approx([1, 8, 20, 20], rel=0.01)
    assert [sum(wait) / 2000 for wait in waits] == pytest.approx([0.5, 4, 10, 10], rel=0.05)
    assert pace.back_off(3, random.Random(7)) == pace.back_off(3, random.Random(7))


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"minimum": 9, "maximum": 8}, "pace.minimum: 9 is more than pace.maximum 8; lower one or raise the other"),
        ({"initial": 0}, "pace.initial: must be a positive number, got 0; raise it"),
        ({"floor": float("nan")}, "pace.floor: must be a positive number, got nan; raise it"),
    ],
)
def test_impossible_bounds_are_refused(bounds, message):
    with pytest.raises(UserError) as caught:
        PaceConfig(**bounds)
    assert str(caught.value) == message


def test_a_slot_costs_less_than_fifty_microseconds_with_a_thousand_in_flight():
    async def main():
        pace, held = Pace(PaceConfig(initial=1024, maximum=1024)), deque()
        calls = 20_000

        async def call():
            async with pace.slot():
                turn = asyncio.get_running_loop().create_future()
                held.append(turn)
                await turn
                pace.answered(0.5, 100)

        tasks = [asyncio.ensure_future(call()) for _ in range(calls)]
        begin = time.process_time()
        while not all(task.done() for task in tasks[-1:]):
            await asyncio.sleep(0)
            for _ in range(len(held)):
                held.popleft().set_result(None)
        await asyncio.gather(*tasks)
        return (time.process_time() - begin) / calls * 1e6

    cost = asyncio.run(main())
    print(f"{cost:.1f} us a call")
    assert cost < 50
