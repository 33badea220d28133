"""How a text begins and ends: title, opening, ending.

Openings are exclusive within one kind of text: an explanation (definition, story, question), a report (total, change, savings, warning), a
post (anecdote, statistic, quotation, claim). Endings are exclusive over all.
"""

from __future__ import annotations

import re

from scenarios.text.document import Document, split_sentences
from scenarios.text.numbers import DIGITS, SPELLED

_I = re.IGNORECASE
_HEAD = 500  # characters of the first sentence that are looked at
_FAMILIES = {
    "learning": ("definition_first", "story_first", "question_first"),
    "report": ("total_first", "biggest_change", "savings_first", "warning_first"),
    "post": ("anecdote", "statistic", "quotation", "bold_claim"),
}
_DEFINITION = re.compile(
    r"(?:(?:an?|the|in \w{1,20},? an?|in \w{1,20},) )?[\"']?(?:(?!(?:when|if|that|because)\b)[\w'-]{1,24}[\"']?,? ){1,5}?(?:\([^)]{1,60}\) |or [\w ]{2,30}, )?"
    r"(?:is|are|means|refers to|describes|denotes|is defined as|is called|is simply|is just)\b(?! (?:a (?:lie|myth|waste|bit of)|not|dead|wrong|why|what|how(?! (?:far|much|fast|many|long))|hard|easy|on|in))",
    _I,
)
_PERSONAL = re.compile(r"^(?:I|we|my|our|you|it|this|that|there|he|she|they|here|everyone|nobody)\b", _I)
_TIME = re.compile(
    r"\b(?:last (?:\w+day|week|month|year|spring|summer|autumn|winter|night|january|march|june|october)|yesterday|one (?:\w+ )?(?:morning|evening|afternoon|day|night|\w+day)|"
    r"on (?:mon|tues|wednes|thurs|fri|satur|sun)day|the other (?:day|week)|years? ago|weeks? ago|days ago|months? ago|when (?:I|we|my|she|he|\w+) (?:was|were|first|turned|moved|started)|"
    r"this morning|once|at (?:six|five|four|seven|half past|midnight)|the (?:first|last|day|night|morning|week) (?:time|I|my|we|that)|in (?:19|20)\d\d|the year (?:I|we|my))\b",
    _I,
)
_PAST = re.compile(
    r"\b(?:was|were|had|went|came|took|gave|told|said|asked|found|lost|put|stood|sat|ran|made|got|saw|heard|left|bought|brought|thought|knew|felt|began|broke|"
    r"fell|held|kept|met|rang|sent|spent|threw|woke|wrote|burnt|spilt|drove|tried|rode|caught|led|set|cut|hit|\w{2,}ed)\b",
    _I,
)
_WHO = re.compile(
    r"(?:\b(?:I|we|We|she|She|he|He|my|My|our|Our|her|his|they)\b|\b[A-Z][a-z]+ (?:\w+ed|put|went|took|bought|sat|stood|came|tried|saw|ran|found)\b|\ba \w+ (?:called|named) [A-Z])"
)
_MONEY_WORD = rf"(?:[\u00a3$\u20ac] ?\d|\b(?:GBP|USD|EUR) ?\d|\d ?(?:GBP|USD|EUR|pounds|dollars|euros)\b|\b{SPELLED} (?:pounds|dollars|euros))"
_TOTAL = re.compile(
    r"\b(?:total(?:s|led|ed)?|in all|all told|altogether|overall|(?:came|comes|add(?:s|ed)? up|amount(?:s|ed)?|ran) to|outgoings|spending (?:was|came|stood)|"
    r"(?:you|we|i|household|family) (?:\w+ )?spent|was spent|spent (?:[\u00a3$\u20ac]|in))\b",
    _I,
)
_CHANGE = re.compile(
    r"\b(?:(?:biggest|largest|sharpest|steepest|main|most (?:striking|noticeable|notable|dramatic)|single largest) (?:\w+ )?(?:change|rise|jump|fall|drop|increase|decrease|movement|mover|shift|swing|difference|climb|leap)|"
    r"(?:what|that) changed most|moved (?:the )?most|changed (?:the )?most|stands out|biggest mover|(?:rose|fell|jumped|climbed|dropped) (?:the )?(?:most|furthest|sharply)|(?:doubled|halved|tripled))\b",
    _I,
)
_SAVINGS = re.compile(r"\b(?:sav(?:ed|ing|ings|er)|put (?:aside|away|by)|set aside|rainy[- ]day|emergency fund|nest egg|tucked away)\b", _I)
_WARNING = re.compile(
    r"\b(?:warning|careful|caution|watch out|heads[- ]up|alert|over[- ]?spen[dt]\w*|over budget|overdr\w+|at risk|will run out|runs? (?:short|out|dry)|danger|beware|red flag|urgent|before anything else|shortfall|"
    r"problem|needs attention|bounce|too (?:high|much)|cannot (?:go on|last|continue)|trouble|attention|a word of)\b",
    _I,
)
_STATISTIC = re.compile(
    rf"\d ?%|\bper ?cent\b|\b(?:{SPELLED}|\d+) (?:in|out of) (?:every )?(?:{SPELLED}|\d+)\b|\b(?:half|a third|two[- ]thirds|a quarter|three[- ]quarters) of (?:all|us|the|people|adults|households|\w+s)\b"
    rf"|\b(?:{DIGITS}|{SPELLED}) (?:million|billion|thousand|tonnes|people|adults|households|hours a|times a|kilos)\b|\b(?:according to|survey|study|average (?:\w+ ){{1,3}}(?:spends|eats|owns|throws|uses|walks|checks|has))\b",
    _I,
)
_BOLD = re.compile(
    r"\b(?:never|nobody|no one|everyone|everybody|always|nothing|everything|the only|myth|lie|dead|wrong|overrated|underrated|worst|best(?! of all)|pointless|useless|waste|"
    r"stop|forget|don't need|do not need|doesn't work|does not work|don't work|ruin(?:s|ed|ing)?|kill(?:s|ing)?|better than|worse than|beats|nonsense|most \w+ (?:are|is|get|have|do)|must|should (?:be|never|all)|has no|have no|all \w+ (?:is|are)|"
    r"scam|no such thing|isn't|is not|aren't|are not|will (?:be|never|replace)|there is no)\b",
    _I,
)
_QUOTE_START = re.compile(
    r"\"[^\"\n]{12,400}[.,!?\u2026]?\"|\"[A-Z][^\"\n]{12,400}$|(?:as|in the words of) [A-Z][\w .']{1,50},? (?:\w+ ){0,3}(?:said|wrote|put it|says|used to say)?[,:]? ?\"",
    0,
)
_HOW_TO = re.compile(r"(?:[^:?]{1,60}: )?how (?:to|i|we|you can)\b", _I)
_NUMBER_TITLE = re.compile(
    rf"(?:(?:the|my|our|top|these|here are|just|only) ){{0,2}}(?:(?!20\d\d\b|19\d\d\b|one\b|a (?:hundred|thousand))(?:{DIGITS}|{SPELLED}))(?![-/%:]|st\b|nd\b|rd\b|th\b)(?! (?:days?|years?|weeks?|hours?|months?|minutes?)\b)(?: [\w'-]+){{2,3}}",
    _I,
)
_SUMMARY = re.compile(
    r"(?:so,? )?(?:in (?:short|sum|summary|brief|a nutshell|one (?:line|sentence|breath)|other words|essence)|to (?:sum (?:it )?up|summari[sz]e|recap|wrap up)|the (?:short version|upshot|takeaway|bottom line|gist|whole (?:idea|point|thing)|main (?:point|idea|thing)|key (?:point|idea|thing)|point (?:is|to)|moral|rule)|"
    r"put (?:simply|shortly|briefly)|overall|all in all|bottom line|summary|key (?:point|idea)|takeaway|long story short|if you (?:remember|keep|take) (?:only )?(?:one|a single)|remember(?: just)? (?:this|one)|that(?:'s| is) (?:all|the whole|really all)|to put it (?:simply|briefly)|and that(?:'s| is) (?:the|all|really))\b",
    _I,
)
_NEXT = re.compile(
    r"(?:(?:as a |for the |your |the |a good |a sensible |one )?(?<!the )next\b|next (?:step|thing|job)\b|now (?:try|take|have|go|do|pick|write|draw|work|it's|you)|try\b|from here|once (?:you|that|this)|when you(?:'re| are) ready|tomorrow|tonight|this week|before (?:next|the)|start (?:with|by)|have a go|practi[sc]e\b|to go further|after (?:this|that)|move on|go (?:and|on)|"
    r"pick (?:one|a|up)|take (?:a|the|one|ten|five)|grab|do (?:the|one|two|three)|write (?:down|out)|work through|see (?:if|whether) you can|measure|sketch|the step after)\b",
    _I,
)
_NEXT_ANY = re.compile(r"\b(?:next step|is next|come(?:s)? next|ready (?:for|to (?:try|move))|move on to|your next (?:job|task|move))\b", _I)
_READING = re.compile(
    r"\b(?:further reading|read(?:ing)? (?:more|further|on|next|chapter|the)|for more|more (?:on|about) (?:this|it)|chapter|textbook|library|book(?:s|let)?|article|website|worth (?:reading|a read|a look)|essay|paper by|guide by|good read|encyclopa?edia|pamphlet|lecture notes|look up|see also|reading list|page \d+|pages)\b",
    _I,
)
_SUBSCRIBE = re.compile(
    r"\b(?:subscribe|subscribers?|newsletter|sign (?:yourself )?up|signed up|mailing list|follow (?:me|us|along|the blog|this blog)|in(?:to)? your inbox|by email|hit (?:the )?follow|join (?:the|our|my) (?:list|mailing|\w+ readers)|RSS|notifications|leave your (?:email|address)|pop your (?:email|address))\b",
    _I,
)
_READERS = re.compile(
    r"\b(?:your (?:favou?rite|own|best|worst|trick|tips?|go-to|house|kitchen|family|experience|story|first|view|take|secret)|have you|do you|did you|would you|are you|what about you|how about you|to you|(?:which|one) of yours|in your|comments?|tell me|let me know|which of you|who else|anyone else|any of you|how do you|what do you|what did you|what would you|where do you|you(?:'ve| have) (?:ever|got)|readers|what's yours|yours|over to you)\b",
    _I,
)
_TEST = re.compile(
    r"\b(?:can you (?:say|explain|work|see|tell|name)|what (?:would )?happens?|why (?:does|do|is|are|would)|how (?:many|much|long|far|big|fast|would)|which of these|work out|what (?:is|are|would be) the|predict|true or false|quick check|check yourself)\b",
    _I,
)
_NOTE = re.compile(
    r"(?:(?:and|but|so|now|as for me|personally|on a personal note|today|tonight|this \w+|meanwhile|anyway),? )?(?:I(?:'m|'ve)?|my|me)\b(?! (?:owe|would|will|should|can report))",
    re.I,
)


def title_of(doc: Document) -> tuple[str, str]:
    """Return the kind of title (question, number, how_to, statement, none) and the title."""
    title = doc.title.strip(" \"'*")
    if not title:
        return "none", "no title"
    found = f"the title '{title[:80]}'"
    if re.search(r"\?[\"')]*\W*$", title):
        return "question", found
    if _HOW_TO.match(title):
        return "how_to", found
    return ("number" if _NUMBER_TITLE.match(title) else "statement"), found


def _is_story(head: str, both: str) -> bool:
    return bool(_PAST.search(head) and _WHO.search(head) and (_TIME.search(both) or len(_PAST.findall(both)) >= 2))


def _learning_opening(head: str, both: str) -> str:
    if head.endswith("?"):
        return "question_first"
    if _is_story(head, both):
        return "story_first"
    return "definition_first" if _DEFINITION.match(head) and not _PERSONAL.match(head) else "none"


def _report_opening(head: str) -> str:
    patterns = (("warning_first", _WARNING), ("biggest_change", _CHANGE), ("savings_first", _SAVINGS), ("total_first", _TOTAL))
    places = [(match.start(), kind) for kind, pattern in patterns if (match := pattern.search(head))]
    return min(places)[1] if places else "none"


def _post_opening(head: str, both: str, quoted: bool) -> str:
    if quoted or _QUOTE_START.match(head):
        return "quotation"
    if len(head.split()) <= 3:
        head = both
    if _STATISTIC.search(head):
        return "statistic"
    if _is_story(head, both):
        return "anecdote"
    return "bold_claim" if _BOLD.search(head) and not head.endswith("?") else "none"


def opening_of(doc: Document, wanted: str) -> tuple[str, str]:
    """Return the kind of opening, among those of the kind of text that ``wanted`` belongs to, and the first sentence."""
    head = doc.sentences[0][:_HEAD] if doc.sentences else ""
    both = " ".join(doc.sentences[:3])[: 2 * _HEAD]
    found = f"the opening '{head[:80]}'"
    if "formal" in (doc.greeting, doc.sign_off) and wanted not in _FAMILIES["report"]:
        head = both = "" if _is_story(head, both) else head
    if wanted in _FAMILIES["learning"]:
        return _learning_opening(head, both), found
    if wanted in _FAMILIES["report"]:
        return _report_opening(head), found
    return _post_opening(head, both, bool(doc.core) and doc.core[0].kind == "quote"), found


def _is_quotation(doc: Document, last: str) -> bool:
    if not doc.core:
        return False
    line = doc.core[-1]
    if line.kind == "quote" or (len(doc.core) > 1 and doc.core[-2].kind == "quote" and len(line.text.split()) < 6):
        return True
    return bool(
        re.search(r"\"[^\"\n]{12,400}\"(?: ?[-\u2013\u2014(]{0,2} ?[A-Z][\w .,'-]{1,50}\)?|,? (?:said|wrote|as) [^.\n]{2,60}\.)?$", line.text)
    ) or bool(re.search(r"(?:said|says|wrote|put it|line|words|writes)[^\"\n]{0,50}[:,]? \"[^\"\n]{8,300}\"?$", last))


def _question_kind(last: str, tail: str) -> str:
    if _READERS.search(tail) and not _TEST.search(last):
        return "question_to_readers"
    return "check_question"


def _statement_ending(last: str) -> str:
    if _SUBSCRIBE.search(last):
        return "call_to_subscribe"
    if _SUMMARY.match(last):
        return "summary_line"
    if _READING.search(last) and not re.search(r"\bmy (?:own )?book", last):
        return "further_reading"
    if _NEXT.match(last) or _NEXT_ANY.search(last):
        return "next_step"
    return "personal_note" if _NOTE.match(last) else "none"


def ending_of(doc: Document) -> tuple[str, str]:
    """Return the kind of ending and the last sentence."""
    tail = split_sentences(doc.last_paragraph) or [""]
    tail = [sentence[-_HEAD:] for sentence in tail]
    last = re.sub(r"^P\.? ?S\.?:? ", "", tail[-1])
    found = f"the ending '{last[-80:]}'"
    if _is_quotation(doc, last):
        return "quotation", found
    if _SUBSCRIBE.search(last):
        return "call_to_subscribe", found
    if re.search(r"\?\W*$", last):
        return _question_kind(last, " ".join(tail[-2:])), found
    if len(tail) > 1 and tail[-2].endswith("?") and re.search(r"\b(?:comments?|tell me|let me know|answers?|reply)\b", last, _I):
        return _question_kind(tail[-2], " ".join(tail[-2:])), found
    kind = _statement_ending(last)
    letter = "formal" in (doc.greeting, doc.sign_off) or doc.core[-1:] and doc.core[-1].kind != "plain"
    return ("none" if kind == "personal_note" and letter else kind), found
