"""Style by word lists and counts: spelling variety, tone, reading level.

Reading level is the Flesch-Kincaid grade (Kincaid et al. 1975, Navy report 8-75) and the share of words of three or more syllables, over our
own syllable count: textstat's needs a pronunciation table that it fetches at run time, which offline runs and byte-identity both forbid.
"""

from __future__ import annotations

import re
from functools import lru_cache

from scenarios.text.document import Document
from scenarios.text.lexicon import spelling_patterns, tone_patterns
from scenarios.text.shape import emoji_count

_VOWELS = re.compile(r"[aeiouy]+")
_SILENT = re.compile(r"(?:[^aeiouyl]e|[aeiouy]le|[^aeiouytd]ed|(?:[^aeiouyscxzghl]|[^cs]h|[aeiouy]l)es)$")
_SPLIT_VOWELS = re.compile(r"i[ao]|ua|uo|ying|iet|ium|[aeou]ing|sm$")
_JOINED = re.compile(r"tio|sio|cia|tia|cio|gio|qua|quo|gua|ia(?=ge)")
_HEARTS = re.compile("[\u2764\u2665\U0001f495-\U0001f49f\U0001f9e1\U0001f917\U0001f970\U0001fac2\U0001f90d\U0001f90e]")
_GRADE_PLAIN, _GRADE_EXPERT = 6.5, 10.5
_LONG_PLAIN, _LONG_EXPERT = 0.18, 0.17


@lru_cache(maxsize=8192)
def syllables(word: str) -> int:
    """Return an estimate of the syllables of a lower-case English word."""
    count = len(_VOWELS.findall(word)) + len(_SPLIT_VOWELS.findall(word)) - len(_JOINED.findall(word))
    return max(1, count - bool(_SILENT.search(word)))


def _is_name(text: str, match: re.Match[str]) -> bool:
    """Whether a capitalised word stands beside another one, as in Pearl Harbor or Labour Party."""
    if not match.group(0)[0].isupper():
        return False
    before, after = text[max(match.start() - 24, 0) : match.start()], text[match.end() : match.end() + 24]
    return bool(re.search(r"[A-Z][\w'-]+ $", before) or re.match(r" [A-Z][\w'-]+", after))


def _marks(text: str, title: str, pattern: re.Pattern[str]) -> list[str]:
    body = text if not title else text.replace(title, title.lower(), 1)
    return [match.group(0).lower() for match in pattern.finditer(body) if not _is_name(body, match)]


def spelling_of(doc: Document) -> tuple[str, str]:
    """Return the spelling variety (british, american, mixed, none) and what was found."""
    british, american = (_marks(doc.text, doc.title, pattern) for pattern in spelling_patterns())
    found = f"{len(british)} British and {len(american)} American marked words"
    if british and american:
        return "mixed", found
    if max(len(british), len(american)) < 2:
        return "none", found
    return ("british" if british else "american"), found


def _grade(doc: Document) -> tuple[float, float]:
    words = [word for sentence in doc.sentences for word in re.findall(r"[a-z]+(?:'[a-z]+)?", sentence.lower())]
    if not words:
        return 0.0, 0.0
    counts = [syllables(word) for word in words]
    grade = 0.39 * len(words) / len(doc.sentences) + 11.8 * sum(counts) / len(words) - 15.59
    return grade, sum(count >= 3 for count in counts) / len(words)


def reading_level_of(doc: Document) -> tuple[str, str]:
    """Return the reading level (plain, expert, between, none) and what was found."""
    grade, long_words = _grade(doc)
    found = f"grade {grade:.1f} with {long_words:.0%} long words"
    if len(doc.words) < 8:
        return "none", f"{len(doc.words)} words, too few to tell"
    if grade <= _GRADE_PLAIN and long_words <= _LONG_PLAIN:
        return "plain", found
    return ("expert" if grade >= _GRADE_EXPERT and long_words >= _LONG_EXPERT else "between"), found


def tone_of(doc: Document) -> tuple[str, str]:
    """Return the tone (warm, dry, upbeat, mixed, none) and what was found."""
    warm, upbeat = (len(pattern.findall(f"{doc.title}\n{doc.prose}")) for pattern in tone_patterns())
    shouts = doc.text.count("!")
    hundreds = max(len(doc.words) / 100, 1.0)
    found = f"{warm} warm and {upbeat} upbeat words, {shouts} exclamation marks, {emoji_count(doc)} emoji"
    hearts = len(_HEARTS.findall(doc.text))
    warm += hearts
    lively = upbeat + shouts + emoji_count(doc) - hearts
    if len(doc.words) < 4:
        return "none", found
    if warm / hundreds < 1.5 and lively / hundreds < 1.5:
        return "dry", found
    if warm >= 2 and warm > lively:
        return "warm", found
    return ("upbeat" if lively >= 2 and lively > warm and shouts + upbeat >= 2 else "mixed"), found
