"""Composition: a plan of pieces and sections, filled by style, padded to the wanted length.

One mechanism for all scenarios; the words are the brief file's. Nothing is searched or retried: the material
is such that every combination of values comes out right, and a property test over them says so.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping

from scenarios.writer.briefs import brief_of
from scenarios.writer.layout import Draft, Part, page
from scenarios.writer.marks import Marks
from scenarios.writer.models import Brief, Passage, Topic

EMOJI = {"no_emoji": 0, "single_emoji": 1, "many_emoji": 3}
_TOKEN = re.compile(r"[^\W_]")


def _words(text: str) -> int:
    return sum(1 for token in text.replace("|", " ").split() if _TOKEN.search(token))


class _Pen:
    """Renders passages in one style and counts the words."""

    __slots__ = ("_rng", "_marks", "_values", "words")

    def __init__(self, brief: Brief, chosen: Mapping[str, str], rng: random.Random) -> None:
        self._rng, self._marks, self._values, self.words = (
            rng,
            Marks(brief, chosen),
            frozenset(chosen.values()),
            0,
        )

    def say(self, passage: Passage) -> str:
        """Return a rendered variant, or "" where the style leaves the passage out."""
        variants = passage.variants(self._values)
        if not variants:
            return ""
        text = self._marks.fill(variants[int(self._rng.random() * len(variants))])
        self.words += _words(text)
        return text


def _parts(topic: Topic, pen: _Pen) -> list[Part]:
    parts = []
    for section in topic.sections:
        said = [text for passage in section.say if (text := pen.say(passage))]
        parts.append(Part(section.heading, [[text] for text in said]))
    return parts


def _draft(brief: Brief, topic: Topic, chosen: Mapping[str, str], pen: _Pen) -> Draft:
    draft = Draft(parts=_parts(topic, pen))
    for piece in brief.plan:
        passage = brief.passage(topic, piece.piece, chosen[piece.dimension])
        text = pen.say(passage) if passage else ""
        if not text:
            continue
        if piece.place in ("first", "last"):
            draft.parts[0 if piece.place == "first" else -1].points.append([text])
        else:
            getattr(draft, piece.place).append(text)
    return draft


def _optional(brief: Brief, topic: Topic, draft: Draft, rng: random.Random) -> Iterator[tuple[Part, Passage]]:
    """Yield the optional passages with their places: the topic's own, section by section, then the rest."""
    for depth in range(max(len(section.more) for section in topic.sections)):
        for section, part in zip(topic.sections, draft.parts, strict=True):
            if depth < len(section.more):
                yield part, section.more[depth]
    draft.notes = notes = Part(brief.notes.heading)
    for passage in rng.sample(brief.notes.more, len(brief.notes.more)):
        yield notes, passage


def _lengthen(brief: Brief, topic: Topic, draft: Draft, pen: _Pen, target: int, rng: random.Random) -> None:
    for part, passage in _optional(brief, topic, draft, rng):
        if pen.words >= target:
            return
        if text := pen.say(passage):
            part.add(text)


def _adorn(brief: Brief, draft: Draft, count: int, rng: random.Random) -> None:
    places = [*(point for part in draft.parts for point in part.points), draft.lead]
    for index, emoji in enumerate(rng.sample(brief.emoji, count)):
        place = places[index % len(places)]
        place[-1] = f"{place[-1]} {emoji}"


def write(scenario: str | Brief, topic: Topic, style: Mapping[str, str], rng: random.Random) -> str:
    """Compose a text.

    Args:
        scenario: The text scenario's id, or its brief.
        topic: What to write about; one of the brief's topics.
        style: Value id by dimension id for some of the dimensions; the others take their neutral value.
        rng: Draws variants, emoji and the optional passages of longer texts.

    Returns:
        The text, in which every value of the style holds.

    Raises:
        UserError: If the style names an unknown dimension or value.
    """
    brief = brief_of(scenario) if isinstance(scenario, str) else scenario
    chosen = brief.choose(style)
    pen = _Pen(brief, chosen, rng)
    draft = _draft(brief, topic, chosen, pen)
    _lengthen(brief, topic, draft, pen, brief.words[chosen["writing.length"]], rng)
    _adorn(brief, draft, EMOJI[chosen.get("writing.emoji", "no_emoji")], rng)
    return page(draft, chosen["writing.layout"])
