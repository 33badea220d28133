"""Grammatical person of the narration.

The narrator's and the reader's pronouns are weighed against each other, subjects double, possessives least; a letter addresses somebody
anyway, so after a greeting the reader's count half. A text with both in balance is of neither person.
"""

from __future__ import annotations

import re

from scenarios.text.document import Document

_QUOTED = re.compile(r'"[^"\n]{1,400}"')
_FORMULA = re.compile(
    r"\b(?:thank you|thank-you|see you|let me know|let us know|tell me|email me|mind you|you know|if you like|how-are-you|"
    r"(?:world war|part|phase|chapter|type|class|grade|act|volume|elizabeth|charles|george|henry|level|tier|year) I)\b",
    re.IGNORECASE,
)
_FIRST = re.compile(
    r"\b(?:(?P<subject>I(?! ?[=*/+)^\u00d7])(?:'(?:m|ve|d|ll))?|i'(?:m|ve|d|ll)|[Ww]e(?:'(?:re|ve|d|ll))?)|[Mm]e|[Mm]y|[Mm]yself|[Uu]s|[Oo]urs?|[Oo]urselves|[Ll]et's)\b"
)
_SECOND = re.compile(r"\b(?:(?P<subject>you'(?:re|ve|d|ll))|(?P<object>you)|yours?|yourself|yourselves)\b", re.IGNORECASE)
_IMPERATIVE = re.compile(
    r"(?:please |first,? |then,? |now,? |next,? |finally,? )?(?:add|take|try|use|put|keep|check|make sure|remember|think|imagine|picture|suppose|start|begin|go|stop|"
    r"avoid|leave|let|set|cut|mix|stir|turn|open|move|write|read|look|count|pick|choose|cancel|switch|pay|book|plan|pour|press|hold|weigh|cream|bake|feed|clap|rub|poke|fold|space|wipe|ease|hang|have a go|warm|label|tuck|wet|roll|"
    r"divide|multiply|subtract|draw|ask|notice|consider|do not|don't|never|forget|bring|wait|watch|buy|save|spend|wash|plant|water|dig|give|call)\b(?! ?(?:is|was|are)\b)",
    re.IGNORECASE,
)


def person_of(doc: Document) -> tuple[str, str]:
    """Return the person (first, second, third, mixed, none) and what was found."""
    text = _FORMULA.sub(" ", _QUOTED.sub(" ", doc.prose))
    narrator = [2.0 if match.group("subject") else 1.0 for match in _FIRST.finditer(text)]
    reader = [2.0 if m.group("subject") else 1.5 if m.group("object") else 0.5 for m in _SECOND.finditer(text)]
    orders = sum(bool(_IMPERATIVE.match(sentence)) for sentence in doc.sentences)
    found = f"{len(narrator)} first-person and {len(reader)} second-person words, {orders} instructions"
    if len(doc.words) < 4:
        return "none", found
    if not narrator and not reader:
        return ("third" if 3 * orders <= len(doc.sentences) else "second"), found
    first = sum(narrator)
    second = sum(reader) * (0.5 if doc.greeting != "none" else 1.0) + orders
    if first >= 1.25 * second:
        return "first", found
    return ("second" if second >= 1.25 * first else "mixed"), found
