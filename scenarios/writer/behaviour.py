"""Behavioural correctness of a text: well-formed, and it does the stated job, preferences aside."""

from __future__ import annotations

import re

from scenarios.text import check
from scenarios.text.spec import FactsSpec
from scenarios.writer.models import Topic

FEWEST_WORDS = 20
MOST_CHARS = 20_000
_WORD = re.compile(r"[^\W_]+")


def _missing(topic: Topic, text: str) -> str:
    for fact in topic.facts:
        spec = FactsSpec(measure="facts", required=fact.must_contain, within=fact.within)
        if not check(spec, text).holds:
            return fact.id
    return ""


def behaves(topic: Topic, text: str) -> tuple[bool, str]:
    """Say whether a text does the job, preferences aside.

    Args:
        topic: What the text had to be about.
        text: Any string.

    Returns:
        The verdict, and the problem or "".
    """
    words = len(_WORD.findall(text[:MOST_CHARS]))
    if words < FEWEST_WORDS:
        return False, f"the text has {words} words, fewer than {FEWEST_WORDS}"
    if len(text) > MOST_CHARS:
        return False, f"the text has {len(text):,} characters, more than {MOST_CHARS:,}"
    if fact := _missing(topic, text):
        return False, f"the text lacks the fact '{fact}'"
    return True, ""
