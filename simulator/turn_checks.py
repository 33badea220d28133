"""What can be told of a model's wording without another model: each check returns a reason in plain words, which goes back to the writer, or None.

They look for what must be there (the clause, the options), for what must not (names of values, invented people, dates and numbers, talk about the game, the
other side's part, an early end), and for words that no turn needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from scenarios.check import NamePattern

LONGEST, SLACK = 3.0, 60  # a wording may have three times the words of its draft, and sixty more
_META = re.compile(
    r"\b(?:as an ai|language model|ai (?:assistant|model)|i(?: am|'m) (?:just )?an ai|chat ?gpt|openai|chatbot|role-?play|(?:stay|remain|be) in character|my persona"
    r"|the persona|system prompt|my instructions|the instructions? (?:say|said|ask|tell)s?|as instructed|the (?:direction|note)s? (?:say|said|ask|tell)s?|as directed"
    r"|word for word|in my own words|the passage|drafts?|terminate|here(?:'s| is) (?:the|my|your|a) (?:next |new |revised |rewritten |reworded )?(?:message|reply|response|version)"
    r"|i(?:'m| am) (?:unable|not able) to (?:help|assist|comply)|i (?:can't|cannot|won't) (?:assist|comply|help (?:you )?with))\b"
    r"|^\W*(?:directions?|notes?)\s*[:\u2013-]",
    re.IGNORECASE,
)
_LABELLED = re.compile(
    r"^\W*(?:user|customer|client|assistant|bot|agent|me|you|system|human|ai|persona|partner|narrator|message|reply|response|answer)(?: \d)?"
    r"\W?\s*:",
    re.IGNORECASE | re.MULTILINE,
)
_NAMED_SPEAKER = re.compile(r"[\s*]*([A-Z][\w'-]+)\**\s*:")
_OFFERS_HELP = re.compile(
    r"\b(?:how (?:can|may|could) (?:i|we) (?:help|assist)(?: you\b| today\b|\s*[.?!]|$)|(?:can|may) i (?:help|assist) you\b|what (?:else )?can i (?:do for|help) you\b"
    r"|(?:i'm|i am|i'd be|i would be|we're|we are|we'd be) (?:always |more than |only too )?(?:happy|glad|pleased|here) to (?:help|assist)\b"
    r"|let me know if (?:you (?:need|want|have)|there is) (?:anything(?: else)?(?! (?:else |more )?from (?:me|us)\b)|any (?:questions|help)|(?:more|further|some) help|assistance)"
    r"|is there anything else (?:i can (?:do for|help|assist)|you(?:'d| would)? (?:like|need)(?! from (?:me|us)\b))"
    r"|be of (?:any |further )?(?:help|service|assistance)\b|feel free to (?:ask|reach out|contact)(?! me\b)|thank(?:s| you) for (?:contacting|reaching out|choosing))"
    r"|(?:^|[.!?] )(?:happy|glad) to (?:help|assist)\b",
    re.IGNORECASE,
)
_ASKS_HELP = re.compile(
    r"\b(?:(?:can|could|would|will) you (?:please )?(?:help me\b(?! (?:understand|see|narrow|with one))|(?:book|order|recommend|suggest) me\b"
    r"|find me (?!your|the)|get me (?:an?|one|some)\b)|i need (?:some |your |a bit of )?help\b|please (?:book|order|find|get) me\b)",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"\b(?:(?<!\ba )(?<!the )(?<!said )good[ -]?bye\b(?! (?:to|card|present|gift|party|note|letter|speech|cake)\b)|(?<!good[ -])bye\b(?!-)"
    r"|(?:talk|speak) (?:to you )?(?:later|soon)(?=\W*$|\s*[.!])|see you (?:later|soon)|catch you later|until next time|signing off"
    r"|that(?:'s| is|'ll be| will be) (?:all|everything)(?: for (?:now|today)\b| i need(?:ed)?\b|[,.!]? thank))"
    r"|(?:^|[.!?,] )(?:have an? (?:great|nice|good|lovely|wonderful|pleasant) (?:day|evening|afternoon|weekend|night|week|one)\b(?! (?:out|in|at|with)\b)"
    r"|(?:take care|good ?night)(?=\W*$|\s*[.!]))|(?:^|[.!?] )that(?:'s| is) (?:all|everything)\W*$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_CLAUSE_WORD = re.compile(rf"{_WORD.pattern}|[£$€%]")
_JOINED = re.compile("[-'\u2019][^\\W_]")  # walnut-tree is no walnut
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty".split()
)
_VALUES = {word: str(value) for value, word in enumerate(_NUMBER_WORDS)} | {
    word: str(value) for value, word in zip(range(30, 100, 10), "thirty forty fifty sixty seventy eighty ninety".split(), strict=True)
}
_DAY = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|april|june|july|august|september|october|november|december|christmas|easter"
    r"|(?:in|of|by|until|since|next|last|this|early|mid|late) (?:march|may)|(?:on|by|next) (?:mon|tues?|wed|thurs?|fri|sat)"
    r"|yesterday|tomorrow|tonight|last (?:week|month|year|night)|next (?:week|month|year)|(?:last|this|next) weekend)\b",
    re.IGNORECASE,
)
_NO_NAME = (  # words that people write with a capital, or in capitals, where no sentence begins: after an emoji, a line's end, for stress
    r"(?!(?i:I|A|An|The|And|But|So|Or|If|As|At|In|On|Of|To|For|From|With|By|Not|No|Yes|Yeah|Yep|Oh|Ok|Okay|Hi|Hey|Hello|Thanks|Thank|Cheers|Sorry|Please|Well|Sure"
    r"|Great|Good|Nice|Perfect|Lovely|Right|Now|Then|Also|Just|Still|Maybe|Perhaps|Anyway|Actually|Honestly|Can|Could|Would|Will|Shall|Should|Do|Does|Did|Don't"
    r"|Is|Are|Was|Were|Am|Be|Have|Has|Had|May|Might|Must|Let|Let's|What|When|Where|Who|Which|Why|How|It|Its|He|She|We|You|They|That|This|These|Those|There|Here"
    r"|My|Your|Our|His|Her|Their|Any|Some|All|Both|Either|Each|Every|One|Two|Really|Never|Always|Very|Only|Again|Too|Much|Must|Need|Want|Got|Sounds|Noted|Looking"
    r"|Everyone|Everybody|Nobody|Someone|Somebody|People|Dr|Mr|Mrs|Ms|TV|PM|PS|FYI|ASAP|BTW|LOL|OMG|PDF|ID|SMS|DIY|FAQ)\b|[A-Z]-[a-z])"
)
_NAME = re.compile(
    rf"(?:(?<=[\w,;&] )|(?<=[/@#])|(?<=\b[DM][rs]\. )|(?<=\bMrs\. )){_NO_NAME}[^\W\d_a-z][\w'-]+"
    rf"|(?:^|(?<=[.!?:] )){_NO_NAME}[^\W\d_a-z][\w'-]+(?= (?:and I|told|said|says|thinks|reckons|swears|recommends|recommended|suggests|suggested|mentioned|asked)\b)"
)
_MARKUP = re.compile(
    r"^\s*(?:[-*#>\u2022]|\d+[.)])\s|\*\*|`|</?[a-zA-Z]|(?<!\w)\*\w[^*\n]*\*|(?<!\w)_\w[^_\n]*_(?!\w)|\[[^\]\n]+\]|\{[^}\n]*\}|https?://|\bwww\.", re.MULTILINE
)
_FOREIGN = re.compile(r"[\u0370-\u1cff\u3040-\u31ff\u3400-\ud7ff]")  # letters of other scripts; emoji lie elsewhere
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
    wanted = [word.lower() for word in _CLAUSE_WORD.findall(_straight(clause))]
    tokens = [(match.group().lower(), *match.span()) for match in _CLAUSE_WORD.finditer(_straight(text))]
    words, size = [token[0] for token in tokens], len(wanted)
    places = [n for n in range(len(words) - size + 1) if words[n] == wanted[0] and words[n : n + size] == wanted]
    if len(places) != 1:
        return None
    start, end = tokens[places[0]][1], tokens[places[0] + size - 1][2]
    joined = _JOINED.match(text, end) or (start > 1 and _JOINED.match(text[start - 2 : start][::-1]))
    return None if joined else (start, end)


def problem_of(text: str, raw: str, bounds: Bounds) -> str | None:
    """Return why a wording cannot be used, or None.

    Args:
        text: The wording, tidied.
        raw: As the model wrote it.
        bounds: What it must keep to.
    """
    text, raw = _straight(text), _straight(raw)
    rest = text
    if bounds.clause:
        place = place_of(bounds.clause, text)
        if place is None:
            return f"it does not hold the passage once and word for word: \"{bounds.clause}\""
        rest = f"{text[: place[0]]} \u00a4 {text[place[1] :]}"
    missing = [name for name in bounds.options if not re.search(rf"(?<!\w){re.escape(_straight(name))}(?!\w)", text, re.IGNORECASE)]
    if missing:
        return f"it does not offer what it should: {missing[0]}"
    return _form(text, raw, bounds) or _part(text, bounds) or _named(rest, bounds) or _invented(rest, _known(bounds))


def _straight(text: str) -> str:
    return text.replace("\u2019", "'").replace("\u2018", "'")


def _known(bounds: Bounds) -> str:
    """Return all that may be spoken of; an offer may say how many it offers."""
    number = str(len(bounds.options) or "")
    return _straight("\n".join((bounds.heard, bounds.draft, bounds.clause, *bounds.options, number)))


def _form(text: str, raw: str, bounds: Bounds) -> str | None:
    words, most = len(_WORD.findall(text)), int(LONGEST * len(_WORD.findall(bounds.draft)) + SLACK)
    if not words:
        return "it is empty"
    if words > most:
        return f"it is too long: {words} words, at most {most} are needed"
    if _FOREIGN.search(text) and not _FOREIGN.search(bounds.draft):
        return "it is not in English"
    if _MARKUP.search(raw):
        return "it has markup; write plain text"
    known = _known(bounds).lower()
    if any(found.lower().removesuffix("s") not in known for found in _matches(_META, text)):
        return "it speaks of the directions or of being a model"
    named = _NAMED_SPEAKER.match(raw)
    if _LABELLED.search(raw) or _LABELLED.search(text) or (named and named.group(1).lower() in bounds.heard.lower().split()):
        return "it names who speaks; write the message alone"
    return None


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
    for pattern in bounds.unnamed:
        said = {name.lower() for name in _names(pattern, bounds.draft)}
        for name in _names(pattern, rest):
            if name.lower() not in said:
                return f"it says what must not be said here: \"{name}\""
    return None


def _names(pattern: NamePattern, text: str) -> Iterable[str]:
    while found := pattern.search(text):
        yield found.group(0)
        text = text[found.end() :]


def _invented(rest: str, known: str) -> str | None:
    lowered, lines = known.lower(), known.split("\n")
    figures = {value for line in lines for value in _values_in(line)}
    for number, value in _figures(rest):
        if value not in figures and number.lower() not in ("zero", "one", "two"):
            return f"it brings in a number: {number}"
    for found in _matches(_DAY, rest):
        if found.lower() not in lowered:
            return f"it brings in a time: {found}"
    words = {word for line in lines for word in _words_in(line)}
    for found in _matches(_NAME, rest):
        parts = [word.removesuffix("'s") for word in _WORD.findall(found.lower())]
        if found[0].isupper() and not all(part in words or part.removesuffix("s") in words for part in parts):
            return f"it brings in a name: {found}"
    return None


@lru_cache(maxsize=8192)
def _values_in(line: str) -> frozenset[str]:
    """Return the numbers of a line in one form; a line is looked at again with every turn that follows it."""
    return frozenset(value for _, value in _figures(line))


@lru_cache(maxsize=8192)
def _words_in(line: str) -> frozenset[str]:
    return frozenset(word.removesuffix("'s") for word in _WORD.findall(line.lower()))


def _figures(text: str) -> Iterable[tuple[str, str]]:
    """Yield the numbers in a text as written and in one form: 1,200 and 1200, 7:30 and 07.30, 7 and seven are the same."""
    for number in _matches(_NUMBER, text):
        value = re.sub(r",(?=\d{3}(?!\d))", "", number).replace(",", ".").replace(":", ".")
        yield number, value.removesuffix(".00").lstrip("0") or "0"
    for word in _matches(_WORD, text):
        if word.lower() in _VALUES:
            yield word, _VALUES[word.lower()]


def _matches(pattern: re.Pattern[str], text: str) -> Iterable[str]:
    return (match.group(0) for match in pattern.finditer(text))
