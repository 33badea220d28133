"""How often the measures agree with a reader: sensitivity and specificity over labelled texts.

A pool is JSON lines ``{id, text, labels, mentions, avoids, facts}``: what a person who read the text says it is. Every label becomes one case for
each value of its measure (a text in the first person must hold for ``first`` and fail for ``second`` and ``third``).
``python -m scenarios.text.scoreboard POOL [KNOWN]`` prints the table; cases listed in KNOWN (JSON lines of id, spec) are counted like all others.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from scenarios.text import spec as specs
from scenarios.text.check import check, parse_spec

_OPENINGS = {
    "opening_of_explanation": ("definition_first", "story_first", "question_first"),
    "opening_of_report": ("total_first", "biggest_change", "savings_first", "warning_first"),
    "opening_of_post": ("anecdote", "statistic", "quotation", "bold_claim"),
}
_LENGTHS = {"brief": {"at_most": 90}, "middling": {"at_least": 120, "at_most": 200}, "long": {"at_least": 260}}
_EMOJI = ((0, 0, {"at_most": 0}), (1, 1, {"at_least": 1, "at_most": 1}), (3, 10**6, {"at_least": 3}))
_KINDED: dict[str, type[Any]] = {
    "person": specs.PersonSpec, "layout": specs.LayoutSpec, "greeting": specs.GreetingSpec, "sign_off": specs.SignOffSpec,
    "spelling": specs.SpellingSpec, "units": specs.UnitsSpec, "currency": specs.CurrencySpec, "rounding": specs.RoundingSpec,
    "date_format": specs.DateFormatSpec, "reading_level": specs.ReadingLevelSpec, "tone": specs.ToneSpec, "title": specs.TitleSpec,
    "ending": specs.EndingSpec, "notation": specs.NotationSpec,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """A spec, a text, and what a reader says: does it hold?"""

    text_id: str
    spec: dict[str, Any]
    text: str
    holds: bool

    @property
    def measure(self) -> str:
        """The measure's name."""
        return str(self.spec["measure"])


@dataclass(frozen=True, slots=True)
class Score:
    """Agreement of one measure with the labels."""

    texts: int
    positives: int
    negatives: int
    sensitivity: float
    specificity: float


def _values(measure: str) -> tuple[str, ...]:
    return get_args(_KINDED[measure].model_fields["value"].annotation)


def _label_specs(name: str, label: Any) -> Iterator[tuple[dict[str, Any], bool]]:
    if name == "emoji":
        for low, high, ends in _EMOJI:
            yield {"measure": "emoji", **ends}, low <= label <= high
    elif name == "length":
        for key, ends in _LENGTHS.items():
            yield {"measure": "words", **ends}, key == label
    else:
        measure = "opening" if name in _OPENINGS else name
        for value in _OPENINGS.get(name) or _values(name):
            yield {"measure": measure, "is": value}, value == label


def _word_specs(row: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], bool]]:
    for phrase, present in row.get("mentions", {}).items():
        yield {"measure": "mentions", "any_of": [phrase]}, present
        yield {"measure": "mentions", "none_of": [phrase]}, not present
    for word, absent in row.get("avoids", {}).items():
        yield {"measure": "avoids", "words": [word]}, absent
    for fact, present in row.get("facts", {}).items():
        yield {"measure": "facts", "required": [fact]}, present


def cases_of(rows: Iterable[Mapping[str, Any]]) -> Iterator[Case]:
    """Yield every case of the labelled texts."""
    for row in rows:
        for name, label in row["labels"].items():
            for spec, holds in _label_specs(name, label):
                yield Case(row["id"], spec, row["text"], holds)
        for spec, holds in _word_specs(row):
            yield Case(row["id"], spec, row["text"], holds)


def disagreements(cases: Iterable[Case]) -> list[Case]:
    """Return the cases in which the measure says other than the reader."""
    return [case for case in cases if check(parse_spec(case.spec), case.text).holds != case.holds]


def scores(cases: Iterable[Case]) -> dict[str, Score]:
    """Return the score of every measure, by name in alphabetical order."""
    by_measure: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        by_measure[case.measure].append(case)
    return {measure: _score(found) for measure, found in sorted(by_measure.items())}


def _score(cases: list[Case]) -> Score:
    wrong = disagreements(cases)
    positives = sum(case.holds for case in cases)
    missed = sum(case.holds for case in wrong)
    negatives = len(cases) - positives
    passed = len(wrong) - missed
    texts = len({case.text_id for case in cases})
    return Score(texts, positives, negatives, 1 - missed / max(positives, 1), 1 - passed / max(negatives, 1))


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON-lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def table(found: Mapping[str, Score]) -> str:
    """Return the scores as a Markdown table."""
    lines = ["| measure | texts | positives | negatives | sensitivity | specificity |", "|---|---|---|---|---|---|"]
    for measure, score in found.items():
        counts = f"{score.texts} | {score.positives} | {score.negatives}"
        lines.append(f"| {measure} | {counts} | {score.sensitivity:.3f} | {score.specificity:.3f} |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Print the table and the disagreements of a pool."""
    cases = list(cases_of(read_lines(Path(arguments[0]))))
    print(table(scores(cases)))
    for case in disagreements(cases):
        verdict = check(parse_spec(case.spec), case.text)
        print(f"{case.text_id} {json.dumps(case.spec)} labelled {case.holds}: {verdict.reason}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
