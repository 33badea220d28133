import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from scenarios.line import CueLine, Line, LineParts, capitalised, every_word, variable_parts


def test_a_line_draws_alternatives_and_asks_for_fills():
    parts = LineParts("the {dish} was [cold|late], {person} said")
    drawn = {parts.draw(random.Random(seed), lambda name: f"<{name}>") for seed in range(20)}
    assert drawn == {"The <dish> was cold, <person> said", "The <dish> was late, <person> said"}


def test_every_sentence_begins_with_a_capital():
    assert capitalised("my sister came. then she left? yes") == "My sister came. Then she left? Yes"


def test_what_varies_is_counted_and_every_word_is_searched():
    assert variable_parts("{a} and [b|c] and d") == 2
    assert every_word("a [b|c] {d}") == "a b / c  _ "


@pytest.mark.parametrize(
    "say", ["one [two", "a {Big} fill", "an [empty|] way", "a [single] one", "nested [a|[b|c]]", "a fill [in {city}|there] inside", "bar | alone", 7]
)
def test_a_malformed_line_is_refused(say):
    with pytest.raises(ValidationError):
        Line(say=say)


def test_an_unknown_cue_type_is_refused():
    with pytest.raises(ValidationError, match="correction"):
        CueLine(say="a line [of|with] words", type="hunch")


@given(st.text(max_size=80))
def test_any_text_is_accepted_or_refused_but_never_crashes(text):
    try:
        line = Line(say=text)
    except ValidationError:
        return
    line.parts.draw(random.Random(0), lambda name: name)
