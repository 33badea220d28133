"""Figures of text diversity, each on a fixed amount of text, so that runs of any size compare.

distinct-k (Li et al. 2016): different k-grams among the first 40,000. Exact repeats: of the first 4,000 turns of eight words or more,
those that were there before. Near repeats: of the first 1,500 of these, those that share half of their trigrams or more (Jaccard)
with an earlier one; each is compared with the twenty that share most. Top opening: the share of the commonest first three words
among 4,000 turns.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

GRAMS, TURNS, NEAR = 40_000, 4_000, 1_500
SHORTEST, LONG, CLOSEST, SIMILAR = 5, 8, 20, 0.5
_WORD = re.compile(r"[a-z0-9']+")
Words = list[str]


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured.

    Attributes:
        turns: Turns of five words or more.
        words_per_turn: Their mean length.
        distinct2: Different bigrams, as a share.
        distinct3: Different trigrams, as a share.
        exact_repeats: Share of long turns that repeat an earlier one.
        near_repeats: Share of long turns that nearly do.
        top_opening: Share of the commonest three first words.
        enough_text: Whether every figure is on its full amount of text.
    """

    turns: int
    words_per_turn: float
    distinct2: float
    distinct3: float
    exact_repeats: float
    near_repeats: float
    top_opening: float
    enough_text: bool


def figures(texts: Iterable[str], seed: int = 0) -> Figures:
    """Return the figures of user turns; they are taken in an order drawn from ``seed``."""
    turns = [words for text in texts if len(words := _WORD.findall(text.lower())) >= SHORTEST]
    random.Random(seed).shuffle(turns)
    long = [words for words in turns if len(words) >= LONG][:TURNS]
    (distinct2, grams2), (distinct3, grams3) = (_distinct(turns, k) for k in (2, 3))
    openings = Counter(tuple(words[:3]) for words in turns[:TURNS])
    return Figures(
        turns=len(turns),
        words_per_turn=round(sum(map(len, turns)) / max(len(turns), 1), 1),
        distinct2=distinct2,
        distinct3=distinct3,
        exact_repeats=round((len(long) - len(set(map(tuple, long)))) / max(len(long), 1), 4),
        near_repeats=_near_repeats(long[:NEAR]),
        top_opening=round(max(openings.values(), default=0) / max(min(len(turns), TURNS), 1), 4),
        enough_text=min(grams2, grams3) == GRAMS and len(long) == TURNS,
    )


def _distinct(turns: Sequence[Words], k: int) -> tuple[float, int]:
    seen: set[tuple[str, ...]] = set()
    total = 0
    for words in turns:
        count = min(len(words) - k + 1, GRAMS - total)
        seen.update(tuple(words[place : place + k]) for place in range(count))
        total += max(count, 0)
        if total == GRAMS:
            break
    return round(len(seen) / max(total, 1), 3), total


def _near_repeats(turns: Sequence[Words]) -> float:
    shingles = [{tuple(words[place : place + 3]) for place in range(len(words) - 2)} for words in turns]
    index: dict[tuple[str, ...], list[int]] = defaultdict(list)
    near = 0
    for number, shingle in enumerate(shingles):
        ordered = sorted(shingle)
        shared = Counter(other for gram in ordered for other in index[gram])
        near += any(count / len(shingle | shingles[other]) >= SIMILAR for other, count in shared.most_common(CLOSEST))
        for gram in ordered:
            index[gram].append(number)
    return round(near / max(len(shingles), 1), 4)
