"""Gate 9: noise that voices a preference, or stands where it must not, is caught; slips are forgiven."""

from __future__ import annotations

import json

import pytest

from scenarios.line import LineParts
from simulator.gates import distractors
from simulator.gates.clauses import clause, found, plain, slip_match, with_phrase
from simulator.gates.distractors import index_of
from simulator.gates.evidence import value_id

FILLS = {"person": "my friend Robin", "day": "Thursday the 5th", "soon": "Tuesday the 9th", "city": "Harlow", "street": "Mill Lane"}


class Draw:
    """Draws the first alternative, or the last."""

    def __init__(self, place: float = 0.0) -> None:
        self.place = place

    def random(self) -> float:
        return self.place


def drawn(say, place=0.0, **given):
    return LineParts(say).draw(Draw(place), lambda name: (FILLS | given).get(name, "the old ferryman"))


def reasons(view, library):
    return {failure.reason for failure in distractors.check(view, library)}


def kinds_of(view):
    return {row["turn_id"]: row["noise_kind"] for row in view.annotations if row["noise_kind"]}


def noise_turn(view, role="user", kinds=None):
    """Return a noise turn of one of the kinds and its annotation, in a session that shows nothing implicitly."""
    rows = {row["turn_id"]: row for row in view.annotations if row["noise_kind"]}
    shown = {row["session_id"] for row in view.voiced}
    for session in view.sessions:
        for turn in session["turns"]:
            row = rows.get(turn["turn_id"])
            if row and turn["role"] == role and session["session_id"] not in shown and kinds in (None, row["noise_kind"]):
                return turn, row
    pytest.skip("the sample has no such noise turn")


def exposed(view, library, polarity="likes"):
    """Return a dimension that a task exposes, and one of its values that is no gold."""
    gold = {(c["dimension"], json.dumps(c["predicate"].get("value"))) for task in view.tasks for c in task.constraints}
    for task in view.tasks:
        for dimension in task.exposed(library):
            for key, value in dimension.values.items():
                if dimension.polarity == polarity and (dimension.id, json.dumps(dimension.public(key))) not in gold:
                    return dimension, value
    raise AssertionError


def noise_line(view, library, kind, part=0):
    split = view.tasks[0].row["split"]
    return next(e.lines[part] for e in library.noise.kinds[kind] if e.split == split and "{phrase}" in e.lines[part].say)


# --- what is right ---------------------------------------------------------------------


def test_real_personas_pass(views, library):
    assert [failure for view in views for failure in distractors.check(view, library)] == []
    assert sum(len(kinds_of(view)) for view in views) > 50


def test_a_view_without_noise_passes(view, library):
    kinds = kinds_of(view)
    for session in view.sessions:
        session["turns"] = [turn for turn in session["turns"] if turn["turn_id"] not in kinds]
    view.annotations = [row for row in view.annotations if row["turn_id"] not in kinds]
    assert reasons(view, library) == set()


def test_a_disclaimed_value_passes_even_with_slips(view, library):
    turn, row = noise_turn(view)
    _, value = exposed(view, library)
    text = drawn(noise_line(view, library, "hypothetical").say, phrase=value.phrase)
    row["noise_kind"] = "hypothetical"
    words = text.split()
    long = max(words, key=len)
    for written in (text, text.replace(long, long[:1] + long[2:]), " ".join([words[0], *words]), f"Right. {text} 😀"):
        turn["content"] = written
        assert reasons(view, library) == set(), written


# --- what is not -----------------------------------------------------------------------


def test_a_cue_line_pasted_into_noise(view, library):
    _, value = exposed(view, library)
    turn, _ = noise_turn(view)
    for line in (*value.cues, *value.served):
        turn["content"] = f"The lift is stuck again. {drawn(line.say)} So much for that."
        assert "noise holds a decisive clause" in reasons(view, library), line.say


def test_a_cue_line_spread_over_a_clean_turn_and_noise(view, library):
    _, value = exposed(view, library)
    kinds = kinds_of(view)
    text = next(drawn(line.say) for line in value.cues if len(clause(line.say).anchor.split()) > 4)
    for session in view.sessions:
        for before, turn in zip(session["turns"], session["turns"][1:], strict=False):
            if turn["turn_id"] in kinds and before["turn_id"] not in kinds:
                words = text.split()
                before["content"], turn["content"] = " ".join(words[:8]), " ".join(words[8:])
                assert "noise holds a decisive clause" in reasons(view, library)
                return
    pytest.skip("all noise of the sample has sessions of its own")


def test_a_cue_line_in_a_clean_neighbour_is_no_noise(view, library):
    _, value = exposed(view, library)
    kinds = kinds_of(view)
    for session in view.sessions:
        for before, turn in zip(session["turns"], session["turns"][1:], strict=False):
            if turn["turn_id"] in kinds and before["turn_id"] not in kinds:
                before["content"] = drawn(value.cues[0].say)
                assert "noise holds a decisive clause" not in reasons(view, library)
                return
    pytest.skip("all noise of the sample has sessions of its own")


def test_a_gloss_in_noise(view, library):
    index = index_of(library)
    glosses = [t for tellings in index.tellings.values() for t in tellings if t.say is None]
    shown = {dimension.id for task in view.tasks for dimension in task.exposed(library)}
    telling = next(t for t in glosses if t.dimension in shown)
    turn, _ = noise_turn(view, kinds="small_talk")
    turn["content"] = f"By the way: {library.value(telling.dimension, telling.value).gloss}."
    assert "noise holds a gloss" in reasons(view, library)


def test_a_frame_with_a_value(view, library):
    _, value = exposed(view, library)
    turn, row = noise_turn(view)
    row["noise_kind"] = "one_off"
    for frame in (*library.frames.explicit, *library.frames.hinted):
        turn["content"] = drawn(frame.say, phrase=value.phrase)
        assert "noise holds a frame with a value" in reasons(view, library), frame.say


@pytest.mark.parametrize("kind", ["third_party", "hypothetical", "sarcasm", "one_off", "stale_echo"])
def test_a_disclaimer_cut_off(view, library, kind):
    _, value = exposed(view, library)
    line = noise_line(view, library, kind)
    turn, row = noise_turn(view)
    row["noise_kind"] = kind
    whole = drawn(line.say, phrase=value.phrase)
    turn["content"] = whole
    assert reasons(view, library) == set()
    words = whole.split()
    turn["content"] = " ".join(words[:-3]) if not whole.rstrip(".").endswith(value.phrase) else " ".join(words[3:])
    assert "noise names a value outside its catalog line" in reasons(view, library)


def test_a_disclaimer_with_a_word_that_turns_it(views, library):
    view = next(view for view in views if view.tasks[0].row["split"] == "test")
    _, value = exposed(view, library)
    line = next(e.lines[0] for e in library.noise.kinds["third_party"] if "not me" in e.user and e.split == "test")
    turn, row = noise_turn(view)
    row["noise_kind"] = "third_party"
    turn["content"] = drawn(line.say, phrase=value.phrase).replace("not me", "and me")
    assert "noise names a value outside its catalog line" in reasons(view, library)


def test_a_disclaimer_of_another_kind(view, library):
    _, value = exposed(view, library)
    turn, row = noise_turn(view)
    row["noise_kind"] = "sarcasm"
    turn["content"] = drawn(noise_line(view, library, "stale_echo").say, phrase=value.phrase)
    assert "noise names a value outside its catalog line" in reasons(view, library)


def test_a_second_value_beside_the_disclaimed_one(view, library):
    dimension, value = exposed(view, library)
    other = next(v for key, v in dimension.values.items() if key != value.id)
    turn, row = noise_turn(view)
    row["noise_kind"] = "stale_echo"
    text = drawn(noise_line(view, library, "stale_echo").say, phrase=value.phrase)
    turn["content"] = f"{text} Nowadays {other.label} is what counts."
    assert "noise names a value outside its catalog line" in reasons(view, library)


def test_noise_about_a_gold_value(view, library):
    constraint = next(c for task in view.tasks for c in task.constraints if "value" in c["predicate"])
    dimension = library.dimensions[constraint["dimension"]]
    gold = next(v for key, v in dimension.values.items() if dimension.public(key) == constraint["predicate"]["value"])
    turn, row = noise_turn(view)
    row["noise_kind"] = "sarcasm"
    turn["content"] = drawn(noise_line(view, library, "sarcasm").say, phrase=gold.phrase)
    assert "noise speaks of a gold value" in reasons(view, library)


def test_filler_with_what_one_would_ask_for(view, library):
    _, value = exposed(view, library)
    turn, _ = noise_turn(view, kinds="small_talk")
    turn["content"] = f"The tram was late and somebody shouted about {value.phrase} all the way to the bridge."
    assert reasons(view, library) == {"filler holds a value's phrase"}


def test_noise_that_names_what_its_session_shows(views, library):
    for view in views:
        kinds = kinds_of(view)
        for row in view.voiced:
            session = view.session_of[row["turn_id"]]
            noise = [turn for turn in session["turns"] if turn["turn_id"] in kinds and turn["role"] == "user"]
            if row["explicitness"] == "implicit" and row["cue_type"] != "end" and noise:
                value = library.value(row["dimension"], value_id(row["value"]))
                noise[0]["content"] = f"There's a sign on the door that says {value.label}, nobody knows why."
                assert "noise names what its session shows implicitly" in reasons(view, library)
                return
    pytest.skip("no session of the sample has both")


def test_a_repeat(view, library):
    kinds = kinds_of(view)
    turns = [turn for key, turn in view.turns.items() if key in kinds and turn["role"] == "user"]
    turns[-1]["content"] = turns[0]["content"]
    assert "a noise turn repeats" in reasons(view, library)


def test_noise_that_repeats_a_clean_turn(view, library):
    kinds = kinds_of(view)
    turn, _ = noise_turn(view)
    turn["content"] = next(turn["content"] for key, turn in view.turns.items() if key not in kinds and turn["role"] == "user")
    assert "a noise turn repeats" in reasons(view, library)


def test_noise_before_the_first_clean_turn(view, library):
    kinds = kinds_of(view)
    session = next(s for s in view.sessions if s["scenario_id"] is not None)
    noise, _ = noise_turn(view)
    assert noise["turn_id"] in kinds
    session["turns"].insert(0, noise)
    assert "noise before the first clean turn of a session" in reasons(view, library)


def test_a_noise_turn_out_of_order(view, library):
    kinds = kinds_of(view)
    session = next(s for s in view.sessions if all(turn["turn_id"] in kinds for turn in s["turns"]) and len(s["turns"]) > 1)
    session["turns"].reverse()
    assert "a noise turn is out of order" in reasons(view, library)


def test_a_session_of_noise_with_a_scenario(view, library):
    kinds = kinds_of(view)
    session = next(s for s in view.sessions if all(turn["turn_id"] in kinds for turn in s["turns"]))
    session["scenario_id"] = "food_delivery"
    assert reasons(view, library) == {"a session of noise alone has a scenario, or a clean one has none"}


def test_an_unknown_kind_and_a_noise_turn_with_a_value(view, library):
    _, row = noise_turn(view)
    row["noise_kind"] = "gossip"
    assert reasons(view, library) == {"unknown noise kind"}
    row |= {"noise_kind": "small_talk", "dimension": "dining.heat", "value": '"fiery"', "explicitness": "explicit", "cue_type": "aside"}
    view.__dict__.pop("voiced", None)
    assert "a noise turn is annotated as voicing something" in reasons(view, library)


# --- slips -------------------------------------------------------------------------------

LINE = "On {day} I went for {phrase}, [just that once|for once], because {person} had begged me; it won't become a habit."
SAID = "On Thursday I went for a window seat, just that once, because their aunt had begged me; it won't become a habit."


@pytest.mark.parametrize(
    ("old", "new"),
    [("because", "becuase"), ("because", "becase"), ("habit", "habbit"), ("begged", "begged begged"),
     ("window", "windiw"), ("won't", "won't won't"), ("went", "wemt"), ("become a habit", "becoem a habbit")],
)  # fmt: skip
def test_slips_are_undone(old, new):
    text = plain(SAID.replace(old, new))
    assert slip_match(LINE, text, "a window seat") or found(LINE, with_phrase(text, "a window seat"))


@pytest.mark.parametrize(("old", "new"), [("won't", "will"), ("just that once, ", ""), ("had begged me", "asked"), ("habit", "rule")])
def test_other_words_are_no_slips(old, new):
    text = plain(SAID.replace(old, new))
    assert not slip_match(LINE, text, "a window seat") and not found(LINE, with_phrase(text, "a window seat"))
