"""Voices: what may change in a turn, what must not, and how fast it goes."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iba_bench.errors import UserError
from iba_bench.streams import stream
from personas.persona import Voice
from personas.spelling import CATALOG, americanised, load_spelling
from personas.voice import load_voices, normalise, render, slip

PLAIN = Voice(
    length="even",
    formality="neutral",
    punctuation="full",
    spelling="british",
    emoji="none",
    typo_rate=0.0,
    pet_phrases=("Thanks.", "Hello again."),
)


class Quiet(random.Random):
    """A stream that draws no phrase, emoji or typo."""

    def random(self) -> float:
        """Return the largest draw."""
        return 0.999999


QUIET = Quiet()
BANK = load_voices()
DECISIVE = "The colour of the neighbourhood theatre put me off, so I cancelled at the door."
TURN = f"I met my sister Nora on Thursday the 5th. {DECISIVE} Could you find somewhere else by Tuesday?"
SPAN = (TURN.index(DECISIVE), TURN.index(DECISIVE) + len(DECISIVE))


def voices() -> st.SearchStrategy[Voice]:
    return st.builds(
        Voice,
        length=st.sampled_from(["terse", "even", "chatty"]),
        formality=st.just("casual"),
        punctuation=st.sampled_from(["full", "light", "none"]),
        spelling=st.sampled_from(["british", "american"]),
        emoji=st.sampled_from(["none", "rare", "often"]),
        typo_rate=st.floats(0.0, 0.04),
        pet_phrases=st.just(("Thanks.", "Hello again.", "Righto.")),
    )


@given(voice=voices(), seed=st.integers(0, 10**6))
@settings(max_examples=400, deadline=None)
def test_the_decisive_words_stay_the_same_words_in_order(voice: Voice, seed: int) -> None:
    text, span = render(voice, TURN, random.Random(seed), decisive=SPAN)
    assert span is not None
    assert normalise(text[slice(*span)]) == normalise(DECISIVE)


@given(voice=voices(), seed=st.integers(0, 10**6), text=st.text(max_size=120), data=st.data())
@settings(max_examples=300, deadline=None)
def test_any_text_and_span_survive(voice: Voice, seed: int, text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    out, span = render(voice, text, random.Random(seed), decisive=(start, end))
    assert span is not None
    assert 0 <= span[0] <= span[1] <= len(out)


def test_a_decisive_clause_at_the_end_loses_its_full_stop_only() -> None:
    voice = PLAIN.model_copy(update={"punctuation": "light"})
    text = f"Hello there. {DECISIVE}"
    out, span = render(voice, text, QUIET, decisive=(13, len(text)))
    assert out == text[:-1]
    assert span == (13, len(text) - 1)


def test_without_a_decisive_clause_there_is_no_span() -> None:
    assert render(PLAIN, "Nothing to see here.", QUIET, decisive=None) == ("Nothing to see here.", None)


def test_lower_case_writers_keep_names_days_and_the_pronoun() -> None:
    voice = PLAIN.model_copy(update={"punctuation": "none"})
    text = "I asked Nora. The bus was late. Thursday is free. Grey Heron was shut. OK then. What now?"
    out, _ = render(voice, text, QUIET, decisive=None)
    assert out == "I asked Nora. the bus was late. Thursday is free. Grey Heron was shut. OK then. what now?"


def test_questions_and_dots_are_not_full_stops() -> None:
    voice = PLAIN.model_copy(update={"punctuation": "light"})
    for text in ("Is it open?", "Well...", "Stop!"):
        assert render(voice, text, QUIET, decisive=None)[0] == text


def test_american_spelling_keeps_case_and_leaves_names() -> None:
    text = "The colour was off. COLOUR matters. The Grey Heron is a theatre. Grey Street is grey."
    assert americanised(text) == ("The color was off. COLOR matters. The Grey Heron is a theater. Grey Street is gray.")


def test_only_whole_words_are_respelled() -> None:
    assert americanised("discolouration and greyhound") == "discolouration and greyhound"


def test_british_writers_keep_british_spelling() -> None:
    assert render(PLAIN, TURN, QUIET, decisive=SPAN) == (TURN, SPAN)


def test_the_spelling_table_is_large_and_reversible() -> None:
    table = load_spelling()
    assert len(table.pairs) >= 150
    assert len(table.british) == len(table.pairs)


def test_both_spellings_normalise_to_the_same_words() -> None:
    for british, american in load_spelling().pairs.items():
        assert normalise(f"The {american}!") == normalise(f"the {british}") == f"the {british}"


def test_normalise_undoes_case_punctuation_and_emoji() -> None:
    assert normalise("I\u2019d LIKE 4.5 km, please \U0001f642") == "i'd like 4.5 km please"


def test_pet_phrases_are_rare_and_whole_sentences() -> None:
    rng = stream("share")
    voice = PLAIN.model_copy(update={"length": "even"})
    with_phrase = sum(render(voice, TURN, rng, decisive=SPAN)[0] != TURN for _ in range(6000)) / 6000
    assert with_phrase == pytest.approx(1 / 12, abs=0.015)
    assert sum(len(group.say) for group in BANK.phrases) >= 120


def test_pet_phrases_tell_no_preference_and_no_strength() -> None:
    telling = re.compile(
        r"\b(like|love|hate|prefer|want|need|must|never|always|usually|"
        r"favou?rite|rather|please|if possible|maybe|perhaps|"
        r"today|tomorrow|yesterday|tonight|morning|evening|joking|kidding|seriously|honestly|not|no)\b",
        re.IGNORECASE,
    )
    assert [say for group in BANK.phrases for say in group.say if telling.search(say)] == []


def test_every_register_and_locale_has_phrases_enough() -> None:
    for formality in ("casual", "neutral", "formal"):
        for locale in BANK.spelling:
            assert len(BANK.phrases_for(formality, locale)) >= 30


def test_typos_stay_near_their_rate_and_spare_dates_and_names() -> None:
    voice = PLAIN.model_copy(update={"typo_rate": 0.04, "length": "terse", "pet_phrases": ("Thanks.", "Many thanks.")})
    rng = stream("typos")
    turns = [render(voice, TURN, rng, decisive=SPAN)[0] for _ in range(4000)]
    mistyped = [turn for turn in turns if not turn.startswith(TURN)]
    words_outside = len(TURN.split()) - len(DECISIVE.split())
    assert 0.3 < len(mistyped) / 4000 / (0.04 * words_outside) < 1.2
    assert all("my sister Nora on Thursday the 5th." in turn and "by Tuesday?" in turn for turn in mistyped)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=300, deadline=None)
def test_a_slip_changes_a_text_with_words_a_little(seed: int) -> None:
    text = "They said their hours change next week, so we wait for Nora on Thursday the 5th."
    out = slip(text, random.Random(seed))
    assert out != text
    assert abs(len(out) - len(text)) < 12
    assert "Thursday" in out and "5th" in out


def test_a_slip_needs_words() -> None:
    assert slip("12 + 3?", stream("x")) == "12 + 3?"


def test_rendering_is_fast() -> None:
    voice = PLAIN.model_copy(update={"spelling": "american", "punctuation": "none", "typo_rate": 0.02, "emoji": "often"})
    rng, best = stream("speed"), 1.0
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(1000):
            render(voice, TURN, rng, decisive=SPAN)
        best = min(best, (time.perf_counter() - began) / 1000)
    assert best < 100e-6, "budget is 25 us a turn on average on a quiet machine; four times that here"


HOSTILE = [
    (
        "spelling.yaml",
        "  colours: colors\n",
        "  colours: color\n",
        "'color' stands for 'colour' and 'colours'; keep one",
    ),
    (
        "spelling.yaml",
        "  colours: colors\n",
        "  colours: Colors\n",
        "must be two lower-case words; mend the pair",
    ),
    (
        "spelling.yaml",
        "  colours: colors\n",
        "  colours: colour\n",
        "'colour' is British in one pair and American in another",
    ),
]


@pytest.mark.parametrize(("name", "old", "new", "expected"), HOSTILE)
def test_a_mistake_in_the_spellings_is_named(name: str, old: str, new: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text((CATALOG / name).read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(UserError, match=re.escape(expected)):
        load_spelling(path)


def test_a_phrase_must_be_a_sentence_and_unique(tmp_path: Path) -> None:
    source = (CATALOG / "voices.yaml").read_text(encoding="utf-8")
    for old, new, expected in (
        ('"Many thanks."', '"many thanks"', "'many thanks' is no sentence"),
        ('"Many thanks."', '"Thanks again."', "the phrase 'Thanks again.' is listed twice; remove one"),
    ):
        path = tmp_path / "voices.yaml"
        path.write_text(source.replace(old, new), encoding="utf-8")
        with pytest.raises(UserError, match=re.escape(expected)):
            load_voices(path)
