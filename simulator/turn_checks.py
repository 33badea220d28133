"""What can be told of a model's wording without another model: each check returns a reason in plain words, which goes back to the writer, or None.

They look for what must be there (the clause, the options), for what must not (names of values, invented people, dates and numbers, talk about the game, the
other side's part, an early end), and for words that no turn needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scenarios.check import NamePattern

LONGEST, SLACK = 3.0, 60  # a wording may have three times the words of its draft, and sixty more
_META = re.compile(
    r"\b(?:as an ai|language model|ai assistant|i am an ai|i'm an ai|chatbot|role-?play|my persona|the persona|system prompt|my instructions"
    r"|the direction(?:s)? (?:say|said|ask|tell)|as directed|word for word|draft|terminate)\b|^(?:direction|note)\b",
    re.IGNORECASE,
)
_LABELLED = re.compile(r"^\s*(?:\*{0,2})(?:user|customer|assistant|bot|agent|me|you|system)(?:\*{0,2})\s*:", re.IGNORECASE | re.MULTILINE)
_OFFERS_HELP = re.compile(
    r"\b(?:how (?:can|may) i (?:help|assist)|(?:can|may) i help you|happy to (?:help|assist)(?: you)?\b(?! me)|glad to assist|let me know if you need"
    r"|is there anything else (?:i can|you need))",
    re.IGNORECASE,
)
_ASKS_HELP = re.compile(r"\b(?:can|could|would) you (?:please )?(?:help me|book me|find me|order me|get me)\b", re.IGNORECASE)
_ENDS = re.compile(r"\b(?:good ?bye|bye(?: for now| bye)?|talk (?:to you )?(?:later|soon)|see you (?:later|soon)|that(?:'s| is) all for (?:now|today))\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_DAY = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|april|june|july|august|september|october|november|december"
    r"|yesterday|tomorrow|tonight|last (?:week|month|year|night)|next (?:week|month|year))\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<![.!?:\n\"\u201c] )(?<!^)(?<![\"\u201c(])\b(?!I\b|I['\u2019])[A-Z][\w'\u2019-]+")
_MARKUP = re.compile(r"^\s*(?:[-*#>]|\d+[.)])\s|\*\*|```|<[a-z/]", re.MULTILINE)
_QUOTES = "\"\u201c\u201d"


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a wording must keep to.

    Attributes:
        role: user, assistant or other.
        draft: The catalogs' wording.
        ends: Whether the turn ends the conversation.
        heard: Everything that was said before, and names that may be used.
        clause: The passage that must stand in it, or "".
        options: Names that must stand in it.
        unnamed: Finds names of values that must not be said, the clause left out.
    """

    role: str
    draft: str
    ends: bool
    heard: str
    clause: str = ""
    options: tuple[str, ...] = ()
    unnamed: Sequence[NamePattern] = ()


def tidied(text: str) -> str:
    """Return a wording without quotation marks around it, on one line."""
    text = " ".join(text.split())
    if len(text) > 1 and text[0] in _QUOTES and text[-1] in _QUOTES and not any(mark in text[1:-1] for mark in _QUOTES):
        text = text[1:-1].strip()
    return text


def place_of(clause: str, text: str) -> tuple[int, int] | None:
    """Return where the clause's words stand in a text, in order and with nothing but punctuation between; None unless they do so once."""
    words = [re.escape(word).replace("'", "['\u2019]") for word in _WORD.findall(clause.replace("\u2019", "'"))]
    found = list(re.finditer(r"(?<!\w)" + r"[^\w]+".join(words) + r"(?!\w)", text, re.IGNORECASE))
    return found[0].span() if len(found) == 1 else None


def problem_of(text: str, raw: str, bounds: Bounds) -> str | None:
    """Return why a wording cannot be used, or None.

    Args:
        text: The wording, tidied.
        raw: As the model wrote it.
        bounds: What it must keep to.
    """
    rest = text
    if bounds.clause:
        place = place_of(bounds.clause, text)
        if place is None:
            return f"it does not hold the passage once and word for word: \"{bounds.clause}\""
        rest = f"{text[: place[0]]} \u00a4 {text[place[1] :]}"
    missing = [name for name in bounds.options if name.lower() not in text.lower()]
    if missing:
        return f"it does not offer what it should: {missing[0]}"
    return _form(text, raw, bounds) or _part(text, bounds) or _named(rest, bounds) or _invented(rest, bounds)


def _form(text: str, raw: str, bounds: Bounds) -> str | None:
    words, most = len(_WORD.findall(text)), int(LONGEST * len(_WORD.findall(bounds.draft)) + SLACK)
    if not words:
        return "it is empty"
    if words > most:
        return f"it is too long: {words} words, at most {most} are needed"
    if _MARKUP.search(raw):
        return "it has markup; write plain text"
    if any(found.lower() not in bounds.draft.lower() for found in _matches(_META, text)):
        return "it speaks of the directions or of being a model"
    return "it names who speaks; write the message alone" if _LABELLED.search(raw) else None


def _part(text: str, bounds: Bounds) -> str | None:
    """Find what belongs to the other side, and an end before the end."""
    if bounds.role != "assistant" and _OFFERS_HELP.search(text) and not _OFFERS_HELP.search(bounds.draft):
        return "it offers help, but you are the customer"
    if bounds.role == "assistant" and _ASKS_HELP.search(text) and not _ASKS_HELP.search(bounds.draft):
        return "it asks for help, but you are the assistant"
    if not bounds.ends and _ENDS.search(text) and not _ENDS.search(bounds.draft):
        return "it ends the conversation, which goes on"
    return None


def _named(rest: str, bounds: Bounds) -> str | None:
    draft = bounds.draft.lower()
    for pattern in bounds.unnamed:
        text = rest
        while found := pattern.search(text):
            if found.group(0).lower() not in draft:
                return f"it says what must not be said here: \"{found.group(0)}\""
            text = text[found.end() :]
    return None


def _invented(rest: str, bounds: Bounds) -> str | None:
    known = f"{bounds.heard}\n{bounds.draft}\n{bounds.clause}\n{' '.join(bounds.options)}"
    for number in _NUMBER.findall(rest):
        if number not in known:
            return f"it brings in a number: {number}"
    lowered = known.lower()
    for found in _matches(_DAY, rest):
        if found.lower() not in lowered:
            return f"it brings in a time: {found}"
    for found in _matches(_NAME, rest):
        if found.strip("'\u2019-").lower().removesuffix("'s").removesuffix("\u2019s") not in lowered:
            return f"it brings in a name: {found}"
    return None


def _matches(pattern: re.Pattern[str], text: str) -> Iterable[str]:
    return (match.group(0) for match in pattern.finditer(text))
