"""Salutations and closing formulas: found at the ends, and cut off so that other measures see the body."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NAMES = (
    r"(?:[ ,]+(?:to )?(?:[A-Z][\w'.-]*|(?i:there|all|both|everyone|everybody|folks|team|friends?|lovely|people|readers?|guys|gang|again|you|two|"
    r"lot|love|mate|pals?|my|the|dear|dears|fellow|and|&|sir|madam|or|of|colleagues?|neighbours?|neighbors?|members|parents|gardeners?|garden))){0,6}"
)
_STOPS = r"(?:[ ]*(?:[,!.:;]|\u2014|\u2013| - |$)|[ ]*[^\w\s\"'(%\u00a3$]|$)"
_CASUAL = re.compile(
    r"(?i:hi(?: hi)?|hey(?: hey)?|hello|hiya|heya|howdy|yo|morning|afternoon|evening|alright|hullo|ahoy|g'day|welcome back|'?ello|oi|"
    r"happy (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|weekend))\b(?![-'])" + _NAMES + _STOPS
)
_FORMAL = re.compile(
    r"(?i:dear|good (?:morning|afternoon|evening|day)|greetings|to whom it may concern|(?:esteemed|respected|honoured) [a-z]+|"
    r"(?:ladies and gentlemen|sir or madam|dear sirs?))\b(?![-'])" + _NAMES + _STOPS
)
_FORMAL_END = re.compile(
    r"(?:yours (?:sincerely|faithfully|truly|respectfully)|sincerely(?: yours)?|respectfully(?: yours)?|cordially|"
    r"(?:with )?(?:(?:very )?(?:kind|kindest|best|warm|warmest)[ ])?regards|(?:with )?(?:very )?(?:best|kind) wishes|"
    r"with (?:sincere |many |my )?(?:thanks|appreciation|gratitude)|(?:very )?truly yours|i remain)\b",
    re.IGNORECASE,
)
_CASUAL_END = re.compile(
    r"(?:cheers|thanks(?: (?:so much|a (?:lot|million|bunch)|again|for reading|in advance|loads|all|everyone|both))?|thx|many thanks|ta|"
    r"lots? of love|much love|all my love|love|hugs|big hugs|kisses|xo+|x{1,5}|all the best|all best|best|bye(?: for now)?|bye-bye|ciao|tara|"
    r"ttyl|ttfn|laters?|see (?:you|ya)(?: (?:soon|later|there|then|around|next \w+|on \w+|at \w+|tomorrow|in \w+))*|"
    r"(?:talk|speak|chat|more|catch up|write)(?: to you)? (?:soon|later|then)|catch you (?:later|soon)|take (?:care(?: of (?:yourself|yourselves|each other|one another))?|it easy)|"
    r"until (?:next (?:time|week|month)|then|soon|tomorrow)|till (?:next time|then|soon)|(?:stay|keep) (?:safe|warm|well|cosy|cozy|curious|dry)|"
    r"happy \w+ing|have a (?:good|great|lovely|nice) (?:one|day|week|weekend|evening)|peace|over and out|toodle-?pip|toodles|"
    r"your (?:friend|pal|mate)|warmly|fondly|yours)\b",
    re.IGNORECASE,
)
_TAIL = re.compile(r"[ ]*(?:[,.!\u2014\u2013:-]|[^\w\s]|$)")
_SIGNED = re.compile(r"(?:[-\u2013\u2014~]+ ?[A-Z][\w'. &-]{0,30}|[A-Z][\w'-]{1,15}(?: (?:x{1,5}|[A-Z]\.?|& [A-Z]\w+|and [A-Z]\w+))?)$")
_EDGE = re.compile(r"^[^\w\"'(*\u00a3$\u20ac]+")
_ENDS = re.compile(r"(?:[.!?)\"]|[^\w\s,;:])$")
_POSTSCRIPT = re.compile(r"P\.? ?S\.?\b", re.IGNORECASE)


def greeting_of(line: str) -> str:
    """Return casual or formal if the line begins with a salutation, else ""."""
    head = line[:120]
    if _FORMAL.match(head):
        return "formal"
    return "casual" if _CASUAL.match(head) else ""


def _salutation_end(line: str) -> int:
    match = _FORMAL.match(line[:120]) or _CASUAL.match(line[:120])
    return match.end() if match else 0


def cut_greeting(lines: Sequence[tuple[str, str]]) -> tuple[str, list[tuple[str, str]]]:
    """Return the kind of salutation and the (text, kind) lines without it."""
    if not lines or lines[0][1] in ("bullet", "numbered", "table"):
        return "none", list(lines)
    text, kind = lines[0]
    found = greeting_of(text)
    if not found:
        return "none", list(lines)
    rest = _EDGE.sub("", text[_salutation_end(text) :])
    return found, [(rest, kind), *lines[1:]] if rest else list(lines[1:])


def closing_of(line: str) -> str:
    """Return casual or formal if the line is a closing formula (with a name, at most), else ""."""
    head = line.strip().lstrip("\u2014\u2013-~ ")
    if len(head.split()) > 9:
        return ""
    for kind, pattern in (("formal", _FORMAL_END), ("casual", _CASUAL_END)):
        match = pattern.match(head)
        if match and _TAIL.match(head, match.end()) and len(head[match.end() :].split()) <= 5:
            return kind
    return ""


def _last_sentence(line: str) -> tuple[str, str]:
    cut = max(line.rfind(stop, 0, len(line) - 1) for stop in (". ", "! ", "? "))
    return (line[: cut + 1], line[cut + 2 :]) if cut > 0 else ("", line)


def _before_last(line: str) -> tuple[str, str]:
    """The line without its last two sentences, and those two (``Cheers! Tom`` is two)."""
    head, last = _last_sentence(line)
    earlier, second = _last_sentence(head) if head else ("", "")
    return earlier, f"{second} {last}".strip()


def _inline_closing(line: str) -> tuple[str, str] | None:
    head, last = _last_sentence(line)
    if not head and (match := re.search(r"[^\w\s.,;:!?\"'()-]\s+(?=[^\W\d_]+,? [A-Z]\w*$)", line)):
        head, last = line[: match.end()], line[match.end() :]
    elif match := re.search(r"[^\w\s.,;:!?\"'()-]\s+(?=[^\W\d_]+, [A-Z]\w*$)", last):
        head, last = line[: len(line) - len(last) + match.end()], last[match.end() :]
    if head and (kind := closing_of(last)):
        return kind, head
    earlier, pair = _before_last(line)
    if earlier and len(pair.split()) <= 5 and (kind := closing_of(pair)):
        return kind, earlier
    return None


def cut_sign_off(lines: Sequence[str]) -> tuple[str, list[str]]:
    """Return the kind of closing formula and the lines without it; a postscript is passed over."""
    body = [line for line in lines]
    end = len(body)
    while end > 1 and end > len(body) - 2 and _POSTSCRIPT.match(body[end - 1]):
        end -= 1
    for index in range(end - 1, max(end - 5, 0), -1):
        if kind := closing_of(body[index]):
            return kind, body[:index] + body[end:]
        if inline := _inline_closing(body[index]):
            return inline[0], [*body[:index], inline[1], *body[end:]]
        if len(body[index].split()) > 6:
            break
    if end and (found := _inline_closing(body[end - 1])):
        return found[0], [*body[: end - 1], found[1], *body[end:]]
    if end > 1 and _SIGNED.fullmatch(body[end - 1]) and _ENDS.search(body[end - 2]):
        return "casual", body[: end - 1] + body[end:]
    return "none", body
