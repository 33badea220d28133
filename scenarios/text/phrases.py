"""Words and facts: what is mentioned, what is avoided, what is required."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache

from scenarios.text.dates import dates_in
from scenarios.text.document import Document
from scenarios.text.finding import Finding, finding
from scenarios.text.lexicon import whole
from scenarios.text.numbers import numbers_in
from scenarios.text.quantities import Quantity, quantities_in
from scenarios.text.spec import AvoidsSpec, FactsSpec, MentionsSpec

_DIGIT = re.compile(r"\d")
_FIGURE = re.compile(r"[\u00a3$\u20ac]?-?\d[\d,. ]*\d%?|[\u00a3$\u20ac]?\d%?")
_MARKUP = re.compile(r"[*_`#]+")


@lru_cache(maxsize=512)
def inflections(word: str) -> tuple[str, ...]:
    """Return a word with its plural, verb and adverb forms (``delve``: delves, delved, delving)."""
    word = word.lower()
    last = word[-1:]
    forms = [word, word + "s", word + "'s", word + "ed", word + "ing", word + "ly"]
    if last == "e":
        forms += [word + "d", word[:-1] + "ing", word[:-1] + "y"]
    if last == "y":
        forms += [word[:-1] + "ies", word[:-1] + "ied", word[:-1] + "ily"]
    if word.endswith(("s", "x", "z", "ch", "sh")):
        forms.append(word + "es")
    if re.search(r"[^aeiou][aeiou][bdglmnprt]$", word):
        forms += [word + last + "ed", word + last + "ing"]
    return tuple(forms)


@lru_cache(maxsize=1024)
def _pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    return whole(re.escape(phrase).replace("\\ ", " ") for phrase in phrases)


def _clean(text: str) -> str:
    return _MARKUP.sub("", text)


def without(text: str, facts: Iterable[str]) -> str:
    """Return ``text`` without the given facts where they stand word for word."""
    for fact in facts:
        if fact.strip():
            text = re.sub(re.escape(fact.strip()), " ", text, flags=re.IGNORECASE)
    return text


def _place(doc: Document, where: str) -> str:
    if where == "title":
        return doc.title
    if where == "first_sentence":
        return doc.sentences[0] if doc.sentences else ""
    return doc.last_paragraph if where == "last_paragraph" else _clean(doc.text)


def _forms(entry: str, inflected: bool) -> tuple[str, ...]:
    return inflections(entry) if inflected else (entry,)


def mentions(spec: MentionsSpec, doc: Document) -> Finding:
    """Count the different entries that occur; forbidden ones are looked for everywhere."""
    text, place = _clean(doc.text), _place(doc, spec.where)
    forbidden = [entry for entry in spec.none_of if _pattern(_forms(entry, spec.inflected)).search(text)]
    hits = [entry for entry in spec.any_of if _pattern(_forms(entry, spec.inflected)).search(place)]
    needed = spec.at_least if spec.any_of else 0
    found = f"{len(hits)} of the phrases ({', '.join(hits[:4]) or 'none'})"
    found += f" and the unwanted '{forbidden[0]}'" if forbidden else ""
    wanted = f"at least {needed} of {len(spec.any_of)} phrases {spec.where.replace('_', ' ')}"
    return finding(len(hits) >= needed and not forbidden, found, wanted + (" and no unwanted one" if spec.none_of else ""))


def avoids(spec: AvoidsSpec, doc: Document, facts: tuple[str, ...]) -> Finding:
    """Look for the words in any inflection, given facts left out."""
    forms = tuple(form for word in spec.words for form in inflections(word))
    hit = _pattern(forms).search(without(_clean(doc.text), facts))
    found = f"the word '{hit.group(0)}'" if hit else "none of the words"
    return finding(hit is None, found, f"no form of {', '.join(spec.words[:6])}")


@dataclass(frozen=True)
class _Contents:
    """What a text holds that can be said in several ways."""

    text: str

    @cached_property
    def dates(self) -> frozenset[tuple[int, int]]:
        return frozenset((date.month, date.day) for date in dates_in(self.text))

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        return tuple(quantities_in(self.text))

    @cached_property
    def numbers(self) -> tuple[Decimal, ...]:
        return tuple(numbers_in(self.text))


@lru_cache(maxsize=1024)
def _contents(text: str) -> _Contents:
    return _Contents(text)


def _same(quantity: Quantity, other: Quantity) -> bool:
    if quantity.kind != other.kind or quantity.size is None or other.size is None:
        return False
    return abs(quantity.size - other.size) <= 0.03 * max(abs(quantity.size), abs(other.size))


def _has_numbers(wanted: tuple[Decimal, ...], have: tuple[Decimal, ...], within: float) -> bool:
    margin = Decimal(str(within))
    return all(any(abs(number - other) <= margin for other in have) for number in wanted)


def _has_words(fact: str, text: str) -> bool:
    rest = [part.strip(" ,.;:") for part in _FIGURE.split(fact)]
    return all(_pattern((part,)).search(text) for part in rest if re.search(r"\w", part))


def has_fact(fact: str, doc: Document, within: float = 0.0) -> bool:
    """Whether a fact is in the text: a date in any format, a quantity in any unit, a number in any form, else the phrase."""
    have, wanted = _contents(_clean("\n".join((doc.text, *doc.code)))), _contents(fact)
    if wanted.dates:
        return wanted.dates <= have.dates
    if quantities := [quantity for quantity in wanted.quantities if quantity.size is not None]:
        return all(any(_same(quantity, other) for other in have.quantities) for quantity in quantities)
    if _pattern((fact.strip(),)).search(have.text):
        return True
    if not _DIGIT.search(fact):
        return False
    return _has_numbers(wanted.numbers, have.numbers, within) and _has_words(fact, have.text)


def facts_present(spec: FactsSpec, doc: Document, facts: tuple[str, ...]) -> Finding:
    """Look for the spec's facts and the given ones."""
    required = dict.fromkeys(fact for fact in (*spec.required, *facts) if fact.strip())
    missing = [fact for fact in required if not has_fact(fact, doc, spec.within)]
    found = f"{len(required) - len(missing)} of {len(required)} facts"
    found += f" without '{missing[0]}'" if missing else ""
    return finding(not missing, found, "all of them")
