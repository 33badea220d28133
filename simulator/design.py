"""A persona's life on paper: which tasks come when, what the ledger holds, and what must be voiced by when.

Tested and untested scenarios are treated alike: each has a *focus* (the moment of its task, or where a task could have been), so that being voiced says nothing about
being tested.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from iba_bench.errors import InstanceRefused
from iba_bench.streams import opaque_id, pick, shuffled, weighted
from personas.ledger import ALWAYS, SELF, Entry
from personas.life_events import Effect, LifeEvent
from personas.persona import Persona
from scenarios.library import Library
from scenarios.models import Dimension
from simulator.calendar import DAY, HOUR, Calendar
from simulator.config import GenerateConfig
from simulator.life import DATE_SCOPES, STRESSED, Design, Focus, Happening, Want

FOREVER = -60 * DAY


class Designer:
    """Draws one persona's design; all state is local to the persona."""

    def __init__(
        self, rng: random.Random, persona: Persona, library: Library, events: Mapping[str, LifeEvent],
        config: GenerateConfig, calendar: Calendar,
    ) -> None:  # fmt: skip
        self.rng, self.persona, self.library, self.events = rng, persona, library, events
        self.config, self.calendar = config, calendar
        self.span = config.history.days * DAY
        self.out = Design()
        self.base: dict[tuple[str, str], Entry] = {}
        self.deadline: dict[str, int] = {}

    def draw(self) -> Design:
        """Return the whole design."""
        self.out.foci = self._foci()
        for focus in self.out.foci:
            for key in self.library.exposed[focus.scenario]:
                self.deadline[key] = min(focus.at, self.deadline.get(key, focus.at))
        shared = self._shared_writing()
        for focus in self.out.foci:
            for dimension, strength in self._chosen(focus, shared):
                if (dimension.id, SELF) not in self.base:
                    self._life_of(dimension, strength)
            if focus.served:
                self._served(focus)
            if focus.scope:
                self._scoped(focus)
        for focus in shuffled(self.rng, self.out.foci):
            if self.rng.random() < self.config.drift.states:
                self._happening(focus)
        return self.out

    # --- when ---------------------------------------------------------------

    def _rotation(self) -> list[str]:
        names, quota = list(self.library.scenarios), self.config.quota
        count = min(quota + self.config.history.untested, max(quota, len(names)))
        return [names[(self.persona.index * quota + k) % len(names)] for k in range(count)]

    def _foci(self) -> list[Focus]:
        rotation = self._rotation()
        windows = shuffled(self.rng, range(len(rotation)))
        width = (self.span - self.span // 4) // len(rotation)
        api = [k for k in range(self.config.quota) if self.library.scenarios[rotation[k]].kind == "api"]
        missing = self._missing(api)
        out = [self._focus(name, k, self.span // 4 + windows[k] * width, width, k == missing) for k, name in enumerate(rotation)]
        order = sorted((focus.at, k) for k, focus in enumerate(out) if focus.task is not None)
        number = {k: place for place, (_, k) in enumerate(order)}
        return [Focus(f.scenario, f.at, number.get(k), f.kind, f.missing, f.served, f.scope, f.scope_on) for k, f in enumerate(out)]

    def _missing(self, api: list[int]) -> int | None:
        share = self.config.missing_info * self.config.quota
        index = self.persona.index
        due = int((index + 1) * share + 1e-9) > int(index * share + 1e-9)
        return pick(self.rng, api) if due and api else None

    def _focus(self, name: str, k: int, begin: int, width: int, missing: bool) -> Focus:
        rng, scenario, drift = self.rng, self.library.scenarios[name], self.config.drift
        rank = scenario.ranks and (self.persona.index + k) % 2 == 1 and not missing
        kind = "rank" if rank else scenario.kind
        served = None
        if any(d.servable for d in scenario.dimensions.values()) and not missing and rng.random() < drift.served:
            served = pick(rng, [r for r in self.persona.social if not r.is_child])
        scope, on = None, rng.random() < 0.6
        if rng.random() < drift.scoped:
            scope = pick(rng, self._scopes())
        at = self._moment(begin, width, scope, on)
        if scope in DATE_SCOPES:
            on = scope in self.calendar.scopes(at)
        return Focus(name, at, k if k < self.config.quota else None, kind, missing, served, scope, on)

    def _scopes(self) -> list[str]:
        out = ["weekend", "weekday", STRESSED]
        if self.persona.traits["household"] == "family":
            out += ["with_children", "with_children"]
        if self.persona.traits["work"] in ("office", "shift", "self_employed"):
            out.append("work")
        return out + [kind for kind in ("fridays", "start_of_month") if self.config.drift.kinds.get("recurring")]

    def _moment(self, begin: int, width: int, scope: str | None, on: bool) -> int:
        days = shuffled(self.rng, range(begin // DAY + 1, (begin + width) // DAY))
        if scope in DATE_SCOPES:
            fit = [day for day in days if (scope in self.calendar.scopes(day * DAY)) == on]
            days = fit or days
        if not days:
            raise InstanceRefused("window_too_narrow")
        return days[0] * DAY + int(self.rng.uniform(9, 20) * 12) * HOUR // 12

    # --- what is held -------------------------------------------------------

    def _shared_writing(self) -> set[str]:
        """Choose the shared dimensions that are evidenced: two or three for each text scenario."""
        groups = [set(self.library.scenarios[f.scenario].applies) for f in self.out.foci if self.library.scenarios[f.scenario].applies]
        pool = sorted(set().union(*groups)) if groups else []
        for _ in range(200):
            chosen: set[str] = set()
            for dimension in shuffled(self.rng, pool)[: self.rng.randint(2, 8)]:
                if all(len((chosen | {dimension}) & group) <= 3 for group in groups if dimension in group):
                    chosen.add(dimension)
            if all(len(chosen & group) >= 2 for group in groups):
                return chosen
        if groups:
            raise InstanceRefused("no_shared_dimensions")
        return set()

    def _chosen(self, focus: Focus, shared: set[str]) -> list[tuple[Dimension, str]]:
        scenario = self.library.scenarios[focus.scenario]
        own = shuffled(self.rng, list(scenario.dimensions.values()))
        if scenario.kind == "text":
            first = self.rng.random() < 0.4
            common = [(self.library.dimensions[key], "must") for key in scenario.applies if key in shared]
            return common + [(d, "prefer" if first and i == 0 else "must") for i, d in enumerate(own[:2])]
        count = min(self.config.history.entries_per_scenario, len(own) - 1)
        if focus.served:
            own.sort(key=lambda d: (d.about != "principal", not d.servable))
        return [(d, "must" if d.safety or self.rng.random() < 0.8 else "prefer") for d in own[:count]]

    def _weights(self, dimension: Dimension) -> dict[str, float]:
        """Return the values that this persona can have, with their weights: table times lifts."""
        out = {}
        for key, value in dimension.values.items():
            weight = value.weight
            for lift, factor in value.lifts.items():
                trait, _, level = lift.partition("=")
                held = self.persona.locale if trait == "locale" else self.persona.traits.get(trait)
                weight *= factor if held == level else 1.0
            if weight > 0:
                out[key] = weight
        return out

    def _value(self, dimension: Dimension, exclude: set[str]) -> str:
        weights = {key: weight for key, weight in self._weights(dimension).items() if key not in exclude}
        if not weights:
            raise InstanceRefused("no_value_left")
        return weighted(self.rng, list(weights), list(weights.values()))

    def _entry(
        self, dimension: Dimension, value: str, strength: str, begin: int, end: int | None, cause: str, *, scope: str = ALWAYS, horizon: str = "long",
        holder: str = SELF, supersedes: str | None = None, safety: bool | None = None, sure_to: int | None = None, sure_after: int | None = None,
    ) -> Entry:  # fmt: skip
        entry = Entry(
            entry_id=opaque_id("e", self.config.seed, self.persona.persona_id, len(self.out.entries), self.rng.random()),
            dimension=dimension.id, scope=scope, value=value, polarity=dimension.polarity, strength=strength, horizon=horizon, holder=holder,
            valid_from=begin, valid_to=end, known_from=None, cause=cause, supersedes=supersedes,
            safety=dimension.safety if safety is None else safety, sure_to=sure_to, sure_after=sure_after,
        )  # fmt: skip
        self.out.entries.append(entry)
        return entry

    def _want(self, entry: Entry, after: int, before: int, count: int, happening: Happening | None = None, *, ends: bool = False) -> None:
        self.out.wants.append(Want(entry, max(after, 0) + HOUR, before - HOUR, count, happening, ends))

    def _want_later(self, entry: Entry, focus: int) -> None:
        """Voice some entries once more after their focus."""
        if self.rng.random() < self.config.history.voiced_later:
            self._want(entry, focus, self.span, 1)

    def _count(self, least: int = 1) -> int:
        mean = self.config.history.cues_per_entry
        count = int(mean + self.rng.random())
        return max(least, count + (self.rng.choice((-1, 0, 0, 1)) if mean >= 3 else 0))

    def _life_of(self, dimension: Dimension, strength: str) -> None:
        """Draw the long-term entries of a dimension, with its drift."""
        focus, value = self.deadline[dimension.id], self._value(dimension, set())
        kind = self._drift_kind(dimension)
        if kind in (None, "recurring"):
            entry = self._entry(dimension, value, strength, FOREVER, None, "base")
            self._want(entry, 0, focus, self._count(2))
            self._want_later(entry, focus)
            self.base[dimension.id, SELF] = entry
            if kind == "recurring":
                scope = pick(self.rng, ("fridays", "start_of_month"))
                begin = int(focus * self.rng.uniform(0.1, 0.4))
                self._scoped_entry(dimension, value, strength, scope, begin, focus, "drift:recurring")
            return
        path, turns = self._path(dimension, value, str(kind), focus)
        self._walk(dimension, strength, str(kind), path, turns, focus)

    def _drift_kind(self, dimension: Dimension) -> str | None:
        drift = self.config.drift
        if not drift.kinds or self.rng.random() >= drift.share or dimension.type == "set":
            return None
        if len(self._weights(dimension)) < 2:
            return None
        kind = weighted(self.rng, list(drift.kinds), list(drift.kinds.values()))
        if kind == "gradual" and (dimension.type not in ("ordinal", "numeric") or len(dimension.values) < 3):
            return "abrupt" if "abrupt" in drift.kinds else None
        return kind

    def _path(self, dimension: Dimension, value: str, kind: str, focus: int) -> tuple[list[str], list[int]]:
        """Return the values in order and the moments of change."""
        rng = self.rng
        if kind == "gradual":
            order = list(dimension.values)
            place = order.index(value)
            step = 1 if place < 2 and (place == 0 or rng.random() < 0.5) else -1
            stops = [order[i] for i in range(place, place + 3 * step, step) if 0 <= i < len(order)]
            marks = [0.3, 0.58] if len(stops) == 3 else [0.45]
        elif kind in ("reversal", "expiry"):
            stops, marks = [value, self._value(dimension, {value}), value], [0.3, 0.6]
        else:
            stops, marks = [value, self._value(dimension, {value})], [0.5]
        return stops, [int(focus * (mark + rng.uniform(-0.06, 0.08))) for mark in marks[: len(stops) - 1]]

    def _walk(self, dimension: Dimension, strength: str, kind: str, path: list[str], turns: list[int], focus: int) -> None:
        if kind == "expiry":
            return self._expiry(dimension, strength, path, turns, focus)
        edges, previous = [FOREVER, *turns], None
        for place, value in enumerate(path):
            last = place == len(path) - 1
            end = None if last else turns[place]
            cause = "base" if place == 0 else f"drift:{kind}"
            supersedes = previous.entry_id if previous else None
            previous = self._entry(dimension, value, strength, edges[place], end, cause, supersedes=supersedes)
            count = self._count(2) if last else max(1, self._count() - 1)
            self._want(previous, edges[place], focus if end is None else end, count)
        assert previous is not None
        self._want_later(previous, focus)
        self.base[dimension.id, SELF] = previous

    def _expiry(self, dimension: Dimension, strength: str, path: list[str], turns: list[int], focus: int) -> None:
        base = self._entry(dimension, path[0], strength, FOREVER, None, "base")
        self._want(base, 0, turns[0], self._count(2))
        override = self._entry(dimension, path[1], strength, turns[0], turns[1], "drift:expiry", supersedes=base.entry_id)
        self._want(override, turns[0], turns[1], max(1, self._count() - 1))
        self._want(override, turns[1], min(turns[1] + 20 * DAY, focus), 1, ends=True)
        self.base[dimension.id, SELF] = base

    def _scoped(self, focus: Focus) -> None:
        scenario = self.library.scenarios[focus.scenario]
        held = [
            d
            for d in scenario.dimensions.values()
            if (d.id, SELF) in self.base and d.type != "set" and not d.safety and not (focus.served and d.servable)
        ]
        if not held:
            return
        dimension = pick(self.rng, held)
        base = self.base[dimension.id, SELF]
        if len(self._weights(dimension)) < 2:
            return
        if not any(e.dimension == dimension.id and e.scope != ALWAYS for e in self.out.entries):
            self._scoped_entry(dimension, base.value, base.strength, str(focus.scope), FOREVER, focus.at, "scope")

    def _scoped_entry(self, dimension: Dimension, value: str, strength: str, scope: str, begin: int, focus: int,
                      cause: str) -> None:  # fmt: skip
        other = self._value(dimension, {value})
        entry = self._entry(dimension, other, strength, begin, None, cause, scope=scope)
        self._want(entry, begin, focus, self._count(2))
        self._want_later(entry, focus)

    def _served(self, focus: Focus) -> None:
        assert focus.served is not None
        for dimension in self.library.scenarios[focus.scenario].dimensions.values():
            if dimension.servable:
                own = self.base.get((dimension.id, SELF))
                differs = own is not None and len(self._weights(dimension)) > 1 and self.rng.random() < 0.7
                value = self._value(dimension, {own.value} if own and differs else set())
                entry = self._entry(dimension, value, "must", FOREVER, None, "served", holder=focus.served.mention)
                self._want(entry, 0, focus.at, self._count(2))

    # --- what happens -------------------------------------------------------

    def _happening(self, focus: Focus) -> None:
        """Attach a life event that touches the scenario: in force at its focus, or already over."""
        used = {happening.event.id for happening in self.out.happenings}
        fitting = [
            event for key, event in self.events.items() if key not in used and event.suits(self.persona.traits) and self._touches(event, focus)
        ]
        if not fitting:
            return
        event = weighted(self.rng, fitting, [event.rate for event in fitting])
        if self.rng.random() < 0.62:
            ago = self.rng.uniform(1.5, min(event.earliest - 0.4, 13))
            onset, end = focus.at - int(ago * DAY), focus.at + int(self.rng.uniform(0.6, 9) * DAY)
            end = max(onset + event.earliest * DAY, min(end, onset + event.latest * DAY))
            happening = Happening(event, onset, end, self.rng.random() < 0.5)
        else:
            length = int(self.rng.uniform(event.earliest, event.latest) * DAY)
            end = focus.at - int(self.rng.uniform(3, 12) * DAY)
            happening = Happening(event, end - length, end, True)
        if happening.onset > 2 * DAY and self._free(happening):
            self._happen(happening)

    def _touches(self, event: LifeEvent, focus: Focus) -> bool:
        exposed = self.library.exposed[focus.scenario]
        return any(
            effect.dimension in exposed and (effect.dimension, SELF) in self.base and self.base[effect.dimension, SELF].value != effect.value
            for effect in event.effects
        )

    def _free(self, new: Happening) -> bool:
        """Whether no other state moves the same dimensions at about the same time, and nobody is called calm in the midst of it."""
        if any(new.upsets(focus) for focus in self.out.foci):
            return False
        touched = {effect.dimension for effect in new.event.effects}
        for old in self.out.happenings:
            if touched & {effect.dimension for effect in old.event.effects}:
                late, early = max(old.sure_after, old.end), max(new.sure_after, new.end)
                if new.onset < late + 2 * DAY and old.onset < early + 2 * DAY:
                    return False
        return True

    def _happen(self, happening: Happening) -> None:
        self.out.happenings.append(happening)
        first: Entry | None = None
        for effect in happening.event.effects:
            held = self.base.get((effect.dimension, SELF))
            if held is None or held.value == effect.value or held.valid_from > happening.onset:
                continue
            entry = self._state(effect, happening)
            before = min(happening.end, happening.onset + 26 * DAY, self._next_focus(effect, happening))
            self._want(entry, happening.onset, before, 2, happening=happening)
            first = first or entry
        if first and happening.end_voiced and happening.end < self.span - 8 * DAY:
            self._want(first, happening.end, happening.end + 6 * DAY, 1, happening=happening, ends=True)

    def _next_focus(self, effect: Effect, happening: Happening) -> int:
        """Return the first focus after the onset that exposes the dimension: its evidence must come before."""
        times = [f.at for f in self.out.foci if effect.dimension in self.library.exposed[f.scenario]]
        return min((at for at in times if at > happening.onset + DAY), default=self.span)

    def _state(self, effect: Effect, happening: Happening) -> Entry:
        dimension = self.library.dimensions[effect.dimension]
        safety = effect.safety and dimension.safety
        return self._entry(
            dimension, effect.value, effect.strength, happening.onset, happening.end, f"event:{happening.event.id}",
            horizon="short", safety=safety, sure_to=happening.sure_to, sure_after=happening.sure_after,
        )  # fmt: skip
