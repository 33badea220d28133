"""Gate 9, distractors: no noise turn, read alone or in order with its neighbours, voices a current preference against gold.

Noise turns are searched for the decisive clause of every cue and served line, for the glosses of the values and for frames filled
with a value, over all dimensions that the persona's tasks expose. Where adversarial noise names a value, it must do so in a catalog
line of its kind with all the words that disclaim it (slips are undone first). Noise names nothing that its session shows implicitly,
speaks of no gold value, never repeats and comes after a clean turn.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from personas.spelling import canonical
from scenarios.library import ADVERSARIAL, FILLER, Library
from scenarios.line import CueLine, Line, every_word
from scenarios.models import Dimension, Value
from simulator.gates.clauses import PHRASE, clause, found, heard_of, matches, plain, plain_words, slip_match, with_phrase
from simulator.gates.evidence import value_id
from simulator.gates.failure import Failure
from simulator.gates.view import PersonaView, Row, wanted_value

Named = tuple[str, str]
_SPELT = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Telling:
    """Words that voice a value: a line, or a gloss (``say`` is None)."""

    dimension: str
    value: str
    anchor: str
    say: str | None

    def within(self, text: str) -> bool:
        """Whether plain text holds it."""
        return f" {self.anchor} " in f" {text} " if self.say is None else found(self.say, text)


class Index:
    """All tellings and names of a library, each under one of its words: the rarest, for tellings.

    ``incidental`` are the values that the noise lines' own words name ("a walk by the river"), which says nothing of anybody's wish.
    """

    def __init__(self, library: Library) -> None:
        self.tellings: dict[str, list[Telling]] = defaultdict(list)
        self.names: dict[str, list[tuple[int, tuple[str, ...], Named]]] = defaultdict(list)
        self.phrases: dict[Named, frozenset[str]] = {}
        dimensions = library.dimensions
        tellings = [telling for dimension in dimensions.values() for telling in _tellings(dimension)]
        common = Counter(word for telling in tellings for word in set(telling.anchor.split()))
        for kind in library.noise.kinds.values():
            for entry in kind:
                common.update(word for line in entry.lines for word in clause(line.say).words)
        for telling in tellings:
            if telling.anchor:
                self.tellings[min(telling.anchor.split(), key=lambda word: (common[word], word))].append(telling)
        for dimension in dimensions.values():
            for value in dimension.values.values():
                self._add_names(dimension, value)
        frames = library.frames
        self.frames: tuple[CueLine, ...] = (
            *frames.explicit, *frames.hinted, *frames.served,
            *frames.explicit_dislikes, *frames.hinted_dislikes, *frames.served_dislikes,
        )  # fmt: skip
        self.noise = {
            (kind, part, split): tuple(entry.lines[part] for entry in entries if split in (None, entry.split))
            for kind, entries in library.noise.kinds.items() for part in (0, 1) for split in (None, "dev", "test")
        }  # fmt: skip
        said = (line for kind in library.noise.kinds.values() for entry in kind for line in entry.lines)
        self.incidental = {named for line in said for named in self.named(plain(every_word(line.say)).split())}

    def _add_names(self, dimension: Dimension, value: Value) -> None:
        self.phrases[dimension.id, value.id] = frozenset(plain(value.phrase).split())
        for name in value.names:
            words = plain(name).split()
            for form in {tuple(words), (*words[:-1], words[-1] + "s")}:
                place = form.index(max(form, key=len))
                self.names[form[place]].append((place, form, (dimension.id, value.id)))

    def named(self, tokens: Sequence[str]) -> set[Named]:
        """Return the values of which plain text says a label or synonym."""
        out = set()
        for place, token in enumerate(tokens):
            for offset, form, named in self.names.get(token, ()):
                begin = place - offset
                if begin >= 0 and tuple(tokens[begin : begin + len(form)]) == form:
                    out.add(named)
        return out

    def nearly_said(self, text: str) -> list[Named]:
        """Return the values of whose phrase plain text has all words, or all but one (two of a long one)."""
        tokens = set(text.split())
        return [named for named, words in self.phrases.items() if len(words - tokens) <= (2 if len(words) > 3 else 1)]

    def told(self, text: str, exposed: set[str]) -> Iterator[Telling]:
        """Yield what plain text voices about the dimensions exposed."""
        for word in sorted(set(text.split()) & self.tellings.keys()):
            for telling in self.tellings[word]:
                if telling.dimension in exposed and telling.anchor in text and telling.within(text):
                    yield telling


def _tellings(dimension: Dimension) -> Iterator[Telling]:
    phrases = [plain(value.phrase) for value in dimension.values.values()]
    for value in dimension.values.values():
        for line in (*value.cues, *value.served):
            yield Telling(dimension.id, value.id, clause(line.say).anchor, line.say)
        gloss = plain(value.gloss)
        if len(gloss.split()) > 1 and not any(gloss in phrase for phrase in phrases):
            yield Telling(dimension.id, value.id, gloss, None)


_INDEXES: dict[str, Index] = {}


def index_of(library: Library) -> Index:
    """Return the index of a library, made once a process."""
    if library.digest not in _INDEXES:
        _INDEXES.clear()
        _INDEXES[library.digest] = Index(library)
    return _INDEXES[library.digest]


def check(view: PersonaView, library: Library) -> Iterator[Failure]:
    """Yield every noise turn that could be taken for a preference, or stands where or as it must not."""
    kinds = {row["turn_id"]: row["noise_kind"] for row in view.annotations if row["noise_kind"] is not None}
    for row in view.voiced:
        if row["noise_kind"] is not None:
            yield Failure(9, "a noise turn is annotated as voicing something", place=row["turn_id"])
    if not kinds:
        return
    yield from _places(view, kinds)
    yield from _repeats(view, kinds)
    reader = _Reader(view, library, kinds)
    for session in view.sessions:
        yield from reader.session(session)


def _places(view: PersonaView, kinds: dict[str, str]) -> Iterator[Failure]:
    for session in view.sessions:
        noisy = [turn["turn_id"] in kinds for turn in session["turns"]]
        if any(noisy) and not all(noisy) and noisy[0]:
            yield Failure(9, "noise before the first clean turn of a session", place=session["session_id"])
        if all(noisy) != (session["scenario_id"] is None):
            yield Failure(9, "a session of noise alone has a scenario, or a clean one has none", place=session["session_id"])
        times = [view.at[turn["turn_id"]] for turn in session["turns"]]
        for turn, before, at in zip(session["turns"][1:], times, times[1:], strict=False):
            if turn["turn_id"] in kinds and at <= before:
                yield Failure(9, "a noise turn is out of order", place=turn["turn_id"])


def _repeats(view: PersonaView, kinds: dict[str, str]) -> Iterator[Failure]:
    clean = {turn["content"] for key, turn in view.turns.items() if turn["role"] == "user" and key not in kinds}
    said: set[str] = set()
    for key, turn in view.turns.items():
        if key in kinds and turn["role"] == "user":
            if turn["content"] in said or turn["content"] in clean:
                yield Failure(9, "a noise turn repeats", place=key, detail=repr(turn["content"]))
            said.add(turn["content"])


class _Reader:
    """Reads one persona's noise."""

    def __init__(self, view: PersonaView, library: Library, kinds: dict[str, str]) -> None:
        self.library, self.kinds, self.index = library, kinds, index_of(library)
        self.split = view.tasks[0].row["split"] if view.tasks else None
        pets = json.loads(view.persona["voice"])["pet_phrases"]
        self.pets, self.pet_words = _pet_pattern(pets), frozenset(word for pet in pets for word in plain(pet).split())
        background = json.loads(view.persona["background"])
        known = [person["mention"] for person in json.loads(view.persona["social"])] + [background["city"], background["street"]]
        self.proper = re.compile("|".join(re.escape(plain(name)) for name in known))
        self.exposed = {dimension.id for task in view.tasks for dimension in task.exposed(library)}
        self.gold = {named for task in view.tasks for constraint in task.constraints for named in _gold(constraint, library)}
        self.implicit: dict[str, set[Named]] = defaultdict(set)
        for row in view.voiced:
            if row["explicitness"] == "implicit" and row["cue_type"] != "end":
                self.implicit[row["session_id"]].add((row["dimension"], value_id(row["value"])))

    def session(self, session: Row) -> Iterator[Failure]:
        """Yield what is wrong with the noise of one session."""
        turns: Sequence[Row] = session["turns"]
        place = 0
        while place < len(turns):
            if turns[place]["turn_id"] not in self.kinds:
                place += 1
                continue
            end = place
            while end < len(turns) and turns[end]["turn_id"] in self.kinds:
                end += 1
            texts = [plain(turn["content"]) for turn in turns[max(place - 1, 0) : end + 1]]
            yield from self._in_order(texts, min(place, 1), end - place, turns[place]["turn_id"])
            for turn in turns[place:end]:
                yield from self._alone(turn, session["session_id"])
            place = end

    def _in_order(self, texts: Sequence[str], first: int, count: int, key: str) -> Iterator[Failure]:
        """Search a run of noise turns with the clean turn before and the one after it; what a clean turn says alone is its own affair."""
        noise, clean = " ".join(texts[first : first + count]), [*texts[:first], *texts[first + count :]]
        for telling in self.index.told(" ".join(texts), self.exposed):
            if telling.within(noise) or not any(telling.within(text) for text in clean):
                what = "gloss" if telling.say is None else "decisive clause"
                yield Failure(9, f"noise holds a {what}", place=key, detail=f"{telling.dimension}={telling.value}: {noise!r}")

    def _alone(self, turn: Row, session_id: str) -> Iterator[Failure]:
        key, kind = turn["turn_id"], self.kinds[turn["turn_id"]]
        if kind not in FILLER + ADVERSARIAL:
            yield Failure(9, "unknown noise kind", place=key, detail=str(kind))
            return
        text = plain(self.pets.sub("", turn["content"]))
        named = self._named(text)
        if not named:
            return
        shown = sorted(named & self.implicit[session_id])
        written = _SPELT.sub(lambda match: canonical(match.group().lower()), turn["content"]) if shown else ""
        for dimension, value in shown:
            if self.library.names(dimension, value).search(written):
                detail = f"{dimension}={value}: {text!r}"
                yield Failure(9, "noise names what its session shows implicitly", place=key, detail=detail)
        yield from self._framed(turn, text, named)
        if kind in FILLER:
            yield from self._phrased(turn, text, named)
            return
        about = self._disclaimed(turn, kind, named) if named - self.index.incidental else ()
        if about is None:
            yield Failure(9, "noise names a value outside its catalog line", place=key, detail=repr(turn["content"]))
        elif about in self.gold:
            yield Failure(9, "noise speaks of a gold value", place=key, detail=f"{about[0]}={about[1]}")

    def _phrased(self, turn: Row, text: str, named: set[Named]) -> Iterator[Failure]:
        """Filler may say a word that is also a value's name, but not what one would ask for."""
        for dimension, value in sorted(named):
            if plain_words(self.library.value(dimension, value).phrase) in text:
                yield Failure(9, "filler holds a value's phrase", place=turn["turn_id"], detail=f"{dimension}={value}")

    def _framed(self, turn: Row, text: str, named: set[Named]) -> Iterator[Failure]:
        for dimension, value in sorted(named):
            marked = with_phrase(text, self.library.value(dimension, value).phrase)
            if PHRASE in marked and heard_of(self.index.frames, marked):
                yield Failure(9, "noise holds a frame with a value", place=turn["turn_id"], detail=f"{dimension}={value}")

    def _disclaimed(self, turn: Row, kind: str, named: set[Named]) -> Named | tuple[()] | None:
        """Return the value that the turn's catalog line speaks of (empty if it has no place for one), or None if it is no such line."""
        lines = self.index.noise.get((kind, 0 if turn["role"] == "user" else 1, self.split), ())
        text = plain(turn["content"])
        for slipped in (False, True):
            for dimension, value in self.index.nearly_said(text) if slipped else sorted(named):
                phrase = self.library.value(dimension, value).phrase
                for line, match in _slip_matches(lines, text, phrase) if slipped else matches(lines, with_phrase(text, phrase)):
                    if not self._says_more(match):
                        return (dimension, value) if "{phrase}" in line.say else ()
        return None

    def _says_more(self, match: re.Match[str]) -> bool:
        """Whether the turn names a value outside its line."""
        around = f"{match.string[: match.start()]} | {match.string[match.end() :]}".split()
        rest = " ".join(token for token in around if token not in self.pet_words)
        return bool(self._named(rest) - self.index.incidental) or PHRASE in rest

    def _named(self, text: str) -> set[Named]:
        """Return the values that plain text names; names of people and places name none ("Louis from next door", "Station Road")."""
        return self.index.named(self.proper.sub(" _ ", text).split())


def _slip_matches(lines: tuple[Line, ...], text: str, phrase: str) -> Iterator[tuple[Line, re.Match[str]]]:
    for line in lines:
        if match := slip_match(line.say, text, phrase):
            yield line, match


def _pet_pattern(phrases: Sequence[str]) -> re.Pattern[str]:
    """Return what finds a persona's pet phrase before or after what is said."""
    options = "|".join(re.escape(phrase.rstrip(".!")) for phrase in phrases) or r"\b\B"
    return re.compile(rf"^(?:{options})[.!]?\s+|\s(?:{options})[.!]?(?=\W*$)", re.IGNORECASE)


def _gold(constraint: Row, library: Library) -> Iterator[Named]:
    dimension = library.dimensions[constraint["dimension"]]
    public = wanted_value(constraint, dimension)
    yield from ((dimension.id, key) for key in dimension.values if dimension.public(key) == public)
