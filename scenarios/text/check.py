"""One check for all measures: take the text apart once, ask the measure, say what was found."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter

from scenarios.text import dates, edges, money, person, phrases, quantities, shape, style
from scenarios.text.document import MAX_CHARS, Document, parse
from scenarios.text.finding import Finding, finding
from scenarios.text.spec import (
    AvoidsSpec,
    CurrencySpec,
    DateFormatSpec,
    EmojiSpec,
    EndingSpec,
    FactsSpec,
    GreetingSpec,
    LayoutSpec,
    MentionsSpec,
    NotationSpec,
    OpeningSpec,
    PersonSpec,
    ReadingLevelSpec,
    RoundingSpec,
    SignOffSpec,
    SpellingSpec,
    TextSpec,
    TitleSpec,
    ToneSpec,
    UnitsSpec,
    WordsSpec,
)  # fmt: skip

_ADAPTER: TypeAdapter[TextSpec] = TypeAdapter(TextSpec)
Kinded = (
    PersonSpec | LayoutSpec | GreetingSpec | SignOffSpec | SpellingSpec | UnitsSpec | CurrencySpec | RoundingSpec | DateFormatSpec | ReadingLevelSpec
    | ToneSpec | TitleSpec | EndingSpec | OpeningSpec | NotationSpec
)  # fmt: skip


def parse_spec(data: Mapping[str, Any]) -> TextSpec:
    """Return the spec that the data describe; raises pydantic's ``ValidationError``."""
    return _ADAPTER.validate_python(data)


def _kind(spec: Kinded, doc: Document) -> tuple[str, str]:
    match spec:
        case PersonSpec():
            return person.person_of(doc)
        case LayoutSpec():
            return shape.layout_of(doc)
        case GreetingSpec():
            return doc.greeting, f"{doc.greeting} greeting"
        case SignOffSpec():
            return doc.sign_off, f"{doc.sign_off} sign-off"
        case UnitsSpec():
            return quantities.units_of(doc)
        case DateFormatSpec():
            return dates.date_format_of(doc)
        case CurrencySpec():
            return money.currency_of(doc)
        case RoundingSpec():
            return money.rounding_of(doc, spec.exempt)
        case _:
            return _kind_of_style(spec, doc)


def _kind_of_style(spec: Kinded, doc: Document) -> tuple[str, str]:
    match spec:
        case SpellingSpec():
            return style.spelling_of(doc)
        case ReadingLevelSpec():
            return style.reading_level_of(doc)
        case ToneSpec():
            return style.tone_of(doc)
        case TitleSpec():
            return edges.title_of(doc)
        case EndingSpec():
            return edges.ending_of(doc)
        case NotationSpec():
            return shape.notation_of(doc)
        case OpeningSpec():
            return edges.opening_of(doc, spec.value)
        case _:
            raise AssertionError(f"no measure for {spec!r}")


def _range(spec: WordsSpec | EmojiSpec, doc: Document) -> Finding:
    count = shape.word_count(doc) if isinstance(spec, WordsSpec) else shape.emoji_count(doc)
    low, high = spec.at_least, spec.at_most
    ends = [f"at least {low}" if low is not None else "", f"at most {high}" if high is not None else ""]
    holds = (low is None or count >= low) and (high is None or count <= high)
    return finding(holds, f"{count} {spec.measure}", " and ".join(end for end in ends if end))


def _of_kind(spec: Kinded, doc: Document) -> Finding:
    kind, found = _kind(spec, doc)
    if not any(char.isalnum() for char in doc.text):
        return finding(False, "no words", f"{spec.measure} {spec.value}")
    return finding(kind == spec.value, f"{found} ({kind.replace('_', ' ')})", spec.value.replace("_", " "))


def check(spec: TextSpec, text: str, facts: tuple[str, ...] = ()) -> Finding:
    """Measure a text.

    Args:
        spec: What is wanted.
        text: Any string; one over 20,000 characters holds for nothing.
        facts: What the brief made the writer carry: required by ``facts`` beside the spec's own, and disregarded, where it stands word for
            word, by ``avoids`` and ``spelling``.

    Returns:
        The verdict with its reason; no text raises.
    """
    if len(text) > MAX_CHARS:
        return finding(False, f"{len(text):,} characters", f"at most {MAX_CHARS:,}")
    return _measured(spec, text, facts)


@lru_cache(maxsize=1024)
def _measured(spec: TextSpec, text: str, facts: tuple[str, ...]) -> Finding:
    """Measure a text; remembered, for gates and graders ask the same of one text many times."""
    if isinstance(spec, SpellingSpec) and facts:
        text = phrases.without(text, facts)
    doc = parse(text)
    match spec:
        case WordsSpec() | EmojiSpec():
            return _range(spec, doc)
        case MentionsSpec():
            return phrases.mentions(spec, doc)
        case AvoidsSpec():
            return phrases.avoids(spec, doc, facts)
        case FactsSpec():
            return phrases.facts_present(spec, doc, facts)
        case _:
            return _of_kind(spec, doc)
