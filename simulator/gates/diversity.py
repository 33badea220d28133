"""Gate 10, no duplicates and diversity.

No task stands twice (instruction, environment, constraints), no persona lives through the same session twice, no wording of a dev
persona is that of a test persona, in the texts and in the catalogs. Values and traits are spread, no catalog line carries the run,
and the user turns keep the text figures of ``figures``.

A limit on a share is judged by the point estimate where there are enough cases; below that by its exact binomial tail, shared out
over all the values or lines compared, so that a small run is not refused for the luck of one among thousands.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from personas.life_events import load_life_events
from personas.population import load_population
from scenarios.library import Library, load_library
from scenarios.line import Line
from simulator.gates.clauses import plain
from simulator.gates.evidence import value_id
from simulator.gates.failure import Failure
from simulator.gates.figures import figures
from simulator.gates.limits import ALPHA, ENOUGH, binomial_tail
from simulator.gates.verdict import Findings, Verdict
from simulator.gates.view import PersonaView, TaskView
from simulator.gates.voiced import line_of

TURNS_A_TASK = 3
NOISE_KEPT = 60
WORDING, LINE = 8, 6
SPREAD = {2: 0.6, 3: 0.5}
SPREAD_MANY = 0.4
LINE_SHARE, LINE_SLACK, FRAME_SLACK = 0.01, 4.0, 2.0
LEAST_DISTINCT = {"distinct2": 0.35, "distinct3": 0.60}
MOST = {"exact_repeats": 0.02, "near_repeats": 0.06, "top_opening": 0.03}
BANKS = ("explicit", "hinted", "served", "explicit_dislikes", "hinted_dislikes", "served_dislikes")


def check(view: PersonaView, library: Library) -> Iterator[Failure]:
    """Yield sessions and tasks that one persona has twice."""
    del library
    for key in _again([(s["session_id"], _session_text(s)) for s in view.sessions]):
        yield Failure(10, "a session repeats", place=key)
    for key in _again([(task.task_id, task_key(task)) for task in view.tasks]):
        yield Failure(10, "a task repeats", key)


def _again(items: Iterable[tuple[str, str]]) -> Iterator[str]:
    seen: set[str] = set()
    for key, text in items:
        if text in seen:
            yield key
        seen.add(text)


def _session_text(session: Mapping[str, Any]) -> str:
    return "\n".join(f"{turn['role']}: {turn['content']}" for turn in session["turns"])


def short_hash(text: str, length: int) -> str:
    """Return ``length`` letters of a text's hash, six bits each."""
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode()[:length]


def task_key(task: TaskView) -> str:
    """Return a hash of what a task is: instruction, environment and constraints, ids left out."""
    things = [{key: value for key, value in entity.items() if key != "id"} for entity in task.entities]
    wanted = [[c["dimension"], c["scope"], c["holder"], c["predicate"], c["strength"]] for c in task.constraints]
    rows = [sorted(json.dumps(item, sort_keys=True) for item in items) for items in (things, wanted)]
    return short_hash(json.dumps([task.row["scenario_id"], plain(task.row["instruction"]), *rows]), 16)


# --- one persona -----------------------------------------------------------------------


def summary(view: PersonaView, library: Library) -> dict[str, Any]:
    """Return what is compared over the whole run; hashes of one kind stand in one string.

    Of noise turns the ones with the smallest hashes are kept, so that two personas that share many share some that are kept.
    """
    noise = {row["turn_id"] for row in view.annotations if row["noise_kind"] is not None}
    said = sorted({short_hash(plain(view.turns[key]["content"]), WORDING) for key in noise if view.turns[key]["role"] == "user"})
    lines = (line_of(row, view, library) for row in view.voiced if row["cue_type"] != "end")
    return {
        "split": view.tasks[0].row["split"] if view.tasks else None,
        "tasks": [task_key(task) for task in view.tasks],
        "cues": "".join(sorted({short_hash(text, WORDING) for text in _spans(view)})),
        "noise": "".join(said[:NOISE_KEPT]),
        "instructions": "".join(short_hash(plain(task.row["instruction"]), WORDING) for task in view.tasks),
        "lines": "".join(short_hash(line.say, LINE) for line in lines if line),
        "base": _base(view),
        "traits": json.loads(view.persona["traits"]),
        "turns": _sample(view),
    }


def _spans(view: PersonaView) -> Iterator[str]:
    for row in view.voiced:
        if row["span_start"] is not None:
            yield plain(view.turns[row["turn_id"]]["content"][row["span_start"] : row["span_end"]])


def _base(view: PersonaView) -> dict[str, list[str]]:
    out: dict[str, list[str]] = defaultdict(list)
    for entry in view.ledger:
        if entry["cause"] == "base" and entry["holder"] == "self":
            out[entry["dimension"]].append(value_id(entry["value"]))
    return dict(out)


def _sample(view: PersonaView) -> list[str]:
    """Return the user turns with the smallest hashes of their ids."""
    ids = sorted((short_hash(key, 12), key) for key, turn in view.turns.items() if turn["role"] == "user")
    return [view.turns[key]["content"] for _, key in ids[: TURNS_A_TASK * len(view.tasks)]]


# --- the whole run ---------------------------------------------------------------------


def population(summaries: Sequence[Mapping[str, Any]], expected: Mapping[str, Any]) -> Iterable[Verdict]:
    """Return whether the run repeats itself."""
    parts = [summary["diversity"] for summary in summaries if "diversity" in summary]
    library, out = load_library(), Findings()
    if not parts:
        out.failures.append("nothing was measured")
        return [out.verdict(10, "no duplicates, diversity")]
    _duplicates(parts, out)
    _shared_wordings(parts, out)
    _catalog_splits(library, out)
    _spread(parts, library, out)
    _line_shares(parts, library, expected, out)
    _text_figures(parts, out)
    return [out.verdict(10, "no duplicates, diversity")]


def _duplicates(parts: Sequence[Mapping[str, Any]], out: Findings) -> None:
    counts = Counter(key for part in parts for key in part["tasks"])
    again = counts.total() - len(counts)
    out.measured["tasks_again"], out.limits["tasks_again"] = again, 0.0
    if again:
        out.failures.append(f"{again} tasks stand twice")


def _shared_wordings(parts: Sequence[Mapping[str, Any]], out: Findings) -> None:
    for field in ("cues", "noise", "instructions"):
        said: dict[str, set[str]] = {"dev": set(), "test": set()}
        for part in parts:
            if part["split"] in said:
                said[part["split"]].update(_cut(part[field], WORDING))
        shared = len(said["dev"] & said["test"])
        out.measured[f"{field}_shared"], out.limits[f"{field}_shared"] = shared, 0.0
        if shared:
            out.failures.append(f"{shared} wordings of {field} are shared between dev and test")


def _cut(text: str, length: int) -> list[str]:
    return [text[place : place + length] for place in range(0, len(text), length)]


def library_lines(library: Library) -> Iterator[Line]:
    """Yield every line that belongs to a split."""
    for dimension in library.dimensions.values():
        for value in dimension.values.values():
            yield from (*value.cues, *value.served, *value.logs)
    for bank in BANKS:
        yield from getattr(library.frames, bank)
    for scope in (*library.scopes.scopes.values(), library.scopes.always):
        yield from scope.clauses
    for kind in library.noise.kinds.values():
        for entry in kind:
            yield entry.lines[0]
    for scenario in library.scenarios.values():
        yield from scenario.tasks
    yield from library.plain.expiry
    for event in load_life_events().values():
        yield from (*event.mentions, *event.ends)


def _catalog_splits(library: Library, out: Findings) -> None:
    said: dict[str, set[str]] = {"dev": set(), "test": set()}
    for line in library_lines(library):
        said[line.split].add(plain(line.say))
    shared = sorted(said["dev"] & said["test"])
    out.measured["lines_shared"], out.limits["lines_shared"] = len(shared), 0.0
    out.failures += [f"a line of the catalogs is both dev and test: {say!r}" for say in shared[:5]]


def too_many(hits: int, n: int, limit: float, compared: int, enough: bool) -> bool:
    """Whether the largest of ``compared`` shares, ``hits`` of ``n``, is over its limit."""
    if n == 0 or hits / n <= limit:
        return False
    return enough or binomial_tail(hits, n, limit) < ALPHA / max(compared, 1)


def _spread(parts: Sequence[Mapping[str, Any]], library: Library, out: Findings) -> None:
    held: dict[str, Counter[str]] = defaultdict(Counter)
    holders = Counter[str]()
    for part in parts:
        for dimension, values in part["base"].items():
            holders[dimension] += 1
            held[dimension].update(set(values))
    levels = {key: len(library.dimensions[key].values) for key in sorted(held) if key in library.dimensions}
    _largest("value", {key: held[key] for key in levels}, holders, {k: SPREAD.get(n, SPREAD_MANY) for k, n in levels.items()}, out)
    traits: dict[str, Counter[str]] = defaultdict(Counter)
    for part in parts:
        for trait, value in part["traits"].items():
            traits[trait][value] += 1
    sizes = {name: len(trait.values) for name, trait in load_population().tables.traits.items() if name in traits}
    limits = {name: SPREAD_MANY if size > 3 else SPREAD[2] for name, size in sizes.items() if size != 3}
    _largest("trait", {key: traits[key] for key in limits}, Counter({key: traits[key].total() for key in limits}), limits, out)


def _largest(what: str, counts: Mapping[str, Counter[str]], n: Counter[str], limits: Mapping[str, float], out: Findings) -> None:
    """Hold every value's share against its limit; the one that comes nearest to it is reported."""
    compared, nearest = sum(map(len, counts.values())), 0.0
    out.limits[f"{what}_share_of_limit"] = 1.0
    for key, counted in counts.items():
        value, hits = max(counted.items(), key=lambda item: (item[1], item[0]))
        if n[key] >= ENOUGH:
            nearest = max(nearest, hits / n[key] / limits[key])
        if too_many(hits, n[key], limits[key], compared, n[key] >= ENOUGH):
            out.failures.append(f"{what} {key}={value}: {hits} of {n[key]} personas, at most {limits[key]:.0%}")
    out.measured[f"{what}_share_of_limit"] = nearest


@lru_cache(maxsize=2)
def _line_groups(library_digest: str, names: tuple[str, ...]) -> tuple[dict[str, tuple[str, int]], int]:
    """Return each frame's group and its size, by line hash, and how many lines of their own the scenarios can use."""
    del library_digest
    library = load_library()
    groups: dict[str, list[str]] = defaultdict(list)
    for bank in BANKS:
        for line in getattr(library.frames, bank):
            groups[f"{bank} {line.strength} {line.split}"].append(short_hash(line.say, LINE))
    frames = {key: (group, len(keys)) for group, keys in groups.items() for key in keys}
    used = {key for name in names or library.scenarios for key in library.exposed.get(name, ())}
    values = [value for key in sorted(used) for value in library.dimensions[key].values.values()]
    return frames, sum(len(value.cues) + len(value.logs) for value in values)


def _line_shares(parts: Sequence[Mapping[str, Any]], library: Library, expected: Mapping[str, Any], out: Findings) -> None:
    """Own lines: at most 1 % of all cue turns. Frames, of which there are few by design: at most twice an even share of their bank."""
    frames, available = _line_groups(library.digest, tuple(expected.get("scenarios", ())))
    counts = Counter(key for part in parts for key in _cut(part["lines"], LINE))
    enough = sum(len(part["tasks"]) for part in parts) >= ENOUGH
    bound = max(LINE_SHARE, LINE_SLACK / max(available, 1))
    own = {key: count for key, count in counts.items() if key not in frames}
    top, total = max(own.values(), default=0), counts.total()
    out.measured["line_share"], out.limits["line_share"] = top / max(total, 1), bound
    if too_many(top, total, bound, len(own), enough):
        out.failures.append(f"one line voices {top} of {total} cue turns, at most {bound:.1%}")
    totals = Counter[str]()
    for key, (group, _) in frames.items():
        totals[group] += counts[key]
    for group, size in sorted(set(frames.values())):
        most = max(counts[key] for key, (other, _) in frames.items() if other == group)
        if too_many(most, totals[group], min(FRAME_SLACK / size, 1.0), len(frames), enough and totals[group] >= ENOUGH):
            out.failures.append(f"one frame of '{group}' voices {most} of its {totals[group]} turns; it has {size} frames")


def _text_figures(parts: Sequence[Mapping[str, Any]], out: Findings) -> None:
    measured = asdict(figures(turn for part in parts for turn in part["turns"]))
    enough = bool(measured.pop("enough_text"))
    out.measured |= measured | {"enough_text": int(enough)}
    if not enough:
        return
    out.limits |= LEAST_DISTINCT | MOST
    out.failures += [f"{name} is {measured[name]}, at least {least}" for name, least in LEAST_DISTINCT.items() if measured[name] < least]
    out.failures += [f"{name} is {measured[name]}, at most {most}" for name, most in MOST.items() if measured[name] > most]
