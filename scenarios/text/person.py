"""Grammatical person of the narration."""

from __future__ import annotations

import re

from scenarios.text.document import Document

_QUOTED = re.compile(r'"[^"\n]{1,400}"')
_FORMULA = re.compile(
    r"\b(?:thank you|thank-you|see you|let me know|let us know|tell me|email me|mind you|you know|if you like|how-are-you|"
    r"(?:world war|part|phase|chapter|type|class|grade|act|volume|elizabeth|charles|george|henry|level|tier|year) I)\b",
    re.IGNORECASE,
)
_FIRST = re.compile(r"\b(?:I(?! ?[=*/+)^\u00d7])(?:'(?:m|ve|d|ll))?|i'(?:m|ve|d|ll)|[Mm]e|[Mm]y|[Mm]yself|[Ww]e(?:'(?:re|ve|d|ll))?|[Uu]s|[Oo]urs?|[Oo]urselves|[Ll]et's)\b")
_SECOND = re.compile(r"\b(?:you(?:'(?:re|ve|d|ll))?|yours?|yourself|yourselves)\b", re.IGNORECASE)
_IMPERATIVE = re.compile(
    r"(?:please |first,? |then,? |now,? |next,? |finally,? )?(?:add|take|try|use|put|keep|check|make sure|remember|think|imagine|picture|suppose|start|begin|go|stop|"
    r"avoid|leave|let|set|cut|mix|stir|turn|open|move|write|read|look|count|pick|choose|cancel|switch|pay|book|plan|pour|press|hold|"
    r"divide|multiply|subtract|draw|ask|notice|consider|do not|don't|never|forget|bring|wait|watch|buy|save|spend|wash|plant|water|dig|give|call)\b(?! ?(?:is|was|are)\b)",
    re.IGNORECASE,
)


def person_of(doc: Document) -> tuple[str, str]:
    """Return the person (first, second, third, mixed, none) and what was found."""
    text = _FORMULA.sub(" ", _QUOTED.sub(" ", doc.prose))
    first, second = len(_FIRST.findall(text)), len(_SECOND.findall(text))
    orders = sum(bool(_IMPERATIVE.match(sentence)) for sentence in doc.sentences)
    found = f"{first} first-person and {second} second-person words, {orders} instructions"
    if len(doc.words) < 4:
        return "none", found
    if not first and not second:
        return ("third" if 3 * orders < len(doc.sentences) else "second"), found
    if first and first >= 2 * second:
        return "first", found
    return ("second" if second and second >= 2 * first else "mixed"), found
