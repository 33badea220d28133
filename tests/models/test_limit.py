import asyncio
import functools
import heapq
import random
from collections import Counter

import pytest

from iba_bench.models.pace import Pace, PaceConfig


class Server:
    """A model server in virtual time: ``capacity`` calls are worked on at once, first come first served, the rest queues."""

    def __init__(self, clock, service, capacity=10**9, refuse_above=None):
        self.clock, self.service, self.refuse_above = clock, service, refuse_above
        self.free = [0.0] * min(capacity, 4096)
        self.present, self.answers, self.refusals = 0, 0, 0

    async def answer(self):
        if self.refuse_above is not None and self.present >= self.refuse_above:
            self.refusals += 1
            await asyncio.sleep(0.005)
            return None
        self.present += 1
        seconds, tokens = self.service()
        begin = max(heapq.heappop(self.free), self.clock())
        heapq.heappush(self.free, begin + seconds)
        await asyncio.sleep(begin + seconds - self.clock())
        self.present -= 1
        self.answers += 1
        return tokens


def simulation(virtually, service, seconds, config=None, workers=1100, every=1.0, change=None, **server):
    """Drive a server through a pace for ``seconds``; return the limits seen each ``every`` seconds, the answers then, and the server."""

    async def main(clock):
        pace, model = Pace(config or PaceConfig(), clock), Server(clock, service, **server)
        limits, answers = [], []

        async def worker():
            while True:
                async with pace.slot():
                    begin = clock()
                    tokens = await model.answer()
                    if tokens is None:
                        pace.refused(None)
                    else:
                        pace.answered(clock() - begin, tokens)

        tasks = [asyncio.ensure_future(worker()) for _ in range(workers)]
        while clock() < seconds:
            await asyncio.sleep(every)
            limits.append(pace.limit)
            answers.append(model.answers)
            if change is not None:
                change(clock(), model)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert pace.in_flight == 0
        return limits, answers, model

    return virtually(main)


@pytest.fixture
def simulate(virtually):
    return functools.partial(simulation, virtually)


def noisy(seed):
    rng = random.Random(seed)
    return lambda: (rng.uniform(0.5, 1.5), 100)


def lengths(seed, seconds_of):
    rng = random.Random(seed)

    def service():
        tokens = 1 + int(rng.expovariate(1 / 100))
        return seconds_of(tokens), tokens

    return service


def test_constant_latency_reaches_the_maximum_within_five_round_trips_and_stays(simulate):
    limits, answers, _ = simulate(lambda: (1.0, 100), 20.5, every=1.0)
    assert limits[:5] == [32, 64, 128, 256, 256]
    assert set(limits[3:]) == {256}
    assert answers[-1] - answers[-11] >= 0.97 * 10 * 256


def test_a_thousand_calls_in_flight_are_reached_within_six_round_trips(simulate):
    limits, _, _ = simulate(lambda: (1.0, 100), 8.5, PaceConfig(maximum=1024))
    assert limits == [32, 64, 128, 256, 512, 1024, 1024, 1024, 1024]


@pytest.mark.parametrize("seed", range(4))
def test_noise_of_half_the_latency_does_not_lower_the_limit(seed, simulate):
    limits, answers, _ = simulate(noisy(seed), 60)
    assert min(limits[8:]) == 256
    assert answers[-1] - answers[-21] >= 0.97 * 20 * 256


@pytest.mark.parametrize("seconds_of", [lambda tokens: 0.3 + tokens * 0.01, lambda tokens: 1.0], ids=["proportional", "constant"])
def test_completions_of_very_different_lengths_do_not_lower_the_limit(seconds_of, simulate):
    limits, _, _ = simulate(lengths(1, seconds_of), 60)
    assert min(limits[10:]) == 256


def test_a_stage_with_answers_thirty_times_as_long_does_not_lower_the_limit(simulate):
    calls = iter(range(10**9))

    def service():
        tokens = random.Random(next(calls)).randint(10, 30) * (30 if stage["long"] else 1)
        return 0.1 + tokens * 0.01, tokens

    stage = {"long": False}
    limits, _, _ = simulate(service, 90, change=lambda now, _: stage.update(long=20 < now < 60))
    assert Counter(limits[10:]).most_common(1)[0][0] == 256
    assert sum(limit < 256 for limit in limits[10:]) <= 12
    assert min(limits[10:]) >= 64


@pytest.mark.parametrize(
    "service", [lambda: (1.0, 100), noisy(1), noisy(2), lengths(1, lambda tokens: 0.3 + tokens * 0.01)], ids=["constant", "noisy", "noisy too", "lengths"]
)
def test_a_queueing_server_is_given_little_more_than_it_works_on_and_no_less_throughput(service, simulate):
    limits, answers, server = simulate(service, 800, capacity=8)
    settled = limits[150:]
    assert sum(8 <= limit <= 32 for limit in settled) >= 0.95 * len(settled)
    busy = 1.3 if server.service.__qualname__.startswith("lengths") else 1.0
    assert (answers[-1] - answers[150]) * busy >= 0.96 * 8 * 649


def test_a_server_that_works_on_one_call_at_a_time_gets_few(simulate):
    limits, answers, _ = simulate(noisy(3), 1500, capacity=1)
    assert max(limits[700:]) <= 3
    assert answers[-1] >= 0.95 * 1500


def test_a_server_that_begins_to_queue_later_is_noticed(simulate):
    def change(now, server):
        if now >= 30 and len(server.free) > 8:
            server.free = [now] * 8

    limits, _, _ = simulate(lambda: (1.0, 100), 600, capacity=4096, change=change)
    assert limits[28] == 256
    assert 8 <= limits[-1] <= 32


def test_refusals_bring_the_limit_below_what_the_server_takes_and_it_keeps_working(simulate):
    limits, answers, server = simulate(noisy(1), 200, refuse_above=20)
    assert max(limits[20:]) <= 40
    assert answers[-1] >= 0.55 * 20 * 200
    assert server.refusals <= 0.5 * server.answers


def at(now):
    """Return a clock and the list that holds its time."""
    held = [now]
    return held, lambda: held[0]


def test_a_burst_of_refusals_shrinks_once_per_round_trip():
    held, clock = at(100.0)
    pace = Pace(PaceConfig(initial=100), clock)
    for _ in range(50):
        pace.answered(2.0, 10)
    for _ in range(100):
        pace.refused(None)
    assert pace.limit == 70
    held[0] += 1.9
    pace.refused(None)
    assert pace.limit == 70
    held[0] += 0.2
    pace.refused(None)
    assert pace.limit == 49


def test_the_limit_never_leaves_its_bounds():
    held, clock = at(0.0)
    pace = Pace(PaceConfig(initial=32, minimum=3, maximum=8), clock)
    assert pace.limit == 8
    for _ in range(40):
        held[0] += 200
        pace.refused(None)
    assert pace.limit == 3


def test_a_few_failures_among_answers_change_nothing_and_an_outage_shrinks_the_limit():
    held, clock = at(0.0)
    pace = Pace(PaceConfig(initial=64), clock)
    for _ in range(30):
        pace.answered(0.0, 10)
        pace.failed()
    assert pace.limit == 64
    for _ in range(10):
        pace.failed()
    assert pace.limit == 44


def test_after_an_outage_the_limit_grows_back_as_fast_as_at_the_start(virtually):
    async def main(clock):
        pace = Pace(PaceConfig(initial=64), clock)
        for _ in range(9):
            for _ in range(17):
                pace.failed()
            await asyncio.sleep(1)
        low = pace.limit

        async def call():
            async with pace.slot():
                await asyncio.sleep(1)
                pace.answered(1.0, 100)

        begin = clock()
        tasks = [asyncio.ensure_future(call()) for _ in range(1500)]
        while pace.limit < 256:
            await asyncio.sleep(1)
        took = clock() - begin
        await asyncio.gather(*tasks)
        return low, took

    low, took = virtually(main)
    assert low == 1
    assert took <= 40


def test_an_endpoint_without_demand_is_not_judged():
    held, clock = at(0.0)
    pace = Pace(PaceConfig(initial=32), clock)
    for _ in range(500):
        held[0] += 1.0
        pace.answered(1.0, 10)
    assert pace.limit == 32
