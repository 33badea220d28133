"""Edges of single measures that a pool of texts shows too rarely."""

from __future__ import annotations

import pytest

from scenarios.text import check, parse_spec
from scenarios.text.scoreboard import cases_of, scores


def holds(text: str, measure: str, facts: tuple[str, ...] = (), **options: object) -> bool:
    return check(parse_spec({"measure": measure, **options}), text, facts).holds


def test_words_are_counted_to_the_word() -> None:
    text = " ".join(["word"] * 90)
    assert holds(text, "words", at_most=90) and not holds(text + " more", "words", at_most=90)
    assert not holds(text, "words", at_least=91)


@pytest.mark.parametrize("text", ["It cost 1,450 in all.", "It cost 1450.", "It cost \u00a31,450.00."])
def test_numbers_are_compared_as_numbers(text: str) -> None:
    assert holds(text, "facts", required=["1450"])
    assert not holds(text, "facts", required=["145"])


def test_facts_may_change_their_dress_but_not_their_value() -> None:
    text = "On 2026-05-03 she ran 3.1 miles and paid 1,450."
    assert holds(text, "facts", required=["3 May", "5 km", "\u00a31,450"])
    assert not holds(text, "facts", required=["4 May"]) and not holds(text, "facts", required=["6 km"])
    assert holds(text, "facts", required=["1,452.30"], within=5)


def test_given_facts_are_required_and_do_not_count_as_style() -> None:
    name = ("Harbour Journey Centre",)
    text = "The Harbour Journey Centre shut. The color of the neighbor's door is gray."
    assert holds(text, "avoids", name, words=["journey"]) and not holds(text, "avoids", words=["journey"])
    assert holds(text, "spelling", name, **{"is": "american"})
    assert not holds("Nothing here.", "facts", name)


@pytest.mark.parametrize("form", ["delve", "delves", "Delved", "delving", "delve's", "*delving*", "delve-like"])
def test_an_avoided_word_is_found_in_every_inflection(form: str) -> None:
    assert not holds(f"They {form} in.", "avoids", words=["delve"])


@pytest.mark.parametrize("word", ["hackathon", "Hackney", "shack", "whack"])
def test_a_word_that_only_contains_an_avoided_one_is_none(word: str) -> None:
    assert holds(f"The {word} is old.", "avoids", words=["hack"])


def test_mentions_looks_where_it_is_told() -> None:
    text = "# A Fine Stew\n\nStart with leeks. Add salt.\n\nServe with bread."
    for where, word in (("title", "stew"), ("first_sentence", "leeks"), ("last_paragraph", "bread")):
        assert holds(text, "mentions", any_of=[word], where=where)
        assert not holds(text, "mentions", any_of=["salt"], where=where)


def test_an_amount_that_must_stay_exact_is_left_out_of_the_rounding() -> None:
    text = "The fine was \u00a335.50, the rent \u00a3840 and food \u00a3210."
    assert not holds(text, "rounding", **{"is": "nearest_ten"})
    assert holds(text, "rounding", **{"is": "nearest_ten", "except": ["\u00a335.50"]})


@pytest.mark.parametrize(
    ("text", "count"),
    [("\U0001f469\u200d\U0001f469\u200d\U0001f467", 1), ("\U0001f1ec\U0001f1e7", 1), ("\u2764\ufe0f\u2764\ufe0f", 2), ("\u00a9 :) \u2122", 0)],
)
def test_a_joined_emoji_is_one_and_a_text_symbol_none(text: str, count: int) -> None:
    assert holds("Hi " + text, "emoji", at_least=count, at_most=count)


def test_both_systems_of_units_pass_for_neither() -> None:
    text = "It is 5 km, or 3.1 miles."
    assert not holds(text, "units", **{"is": "metric"}) and not holds(text, "units", **{"is": "imperial"})


def test_a_reason_names_what_was_found_and_what_was_wanted() -> None:
    finding = check(parse_spec({"measure": "currency", "is": "code"}), "It cost \u00a35.")
    assert finding.reason == "Found 1 amounts by symbol (symbol); wanted code."


def test_scores_count_a_missed_positive_and_a_passed_negative() -> None:
    rows = [
        {"id": "a", "text": "I went to the shop.", "labels": {"person": "first"}},
        {"id": "b", "text": "I sat there for an hour.", "labels": {"person": "third"}},
    ]
    score = scores(cases_of(rows))["person"]
    assert (score.texts, score.positives, score.negatives) == (2, 2, 4)
    assert (score.sensitivity, score.specificity) == (0.5, 0.75)
