"""What a model's wording is refused for, and what it is not: a table of each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scenarios.check import NamePattern
from simulator.turn_checks import Bounds, place_of, problem_of, tidied

NAMES = "Rafael Ortega Lisbon Rua da Rosa my cousin Roy"
TALK = f"{NAMES}\nI'd want it by Friday the 9th, for 3 people, at 7:30. O'Brien said it costs £1,200.\nThe Blue Heron has a table. It's a short walk from the bus."
CLAUSE = "Where my cousin Roy goes for peacock shades, I can't live with a bag that isn't the hue of a walnut"
COLOURS = NamePattern(["brown", "red", "tan", "plain", "dark colours", "small", "local", "no food"])
KINDS = {
    "ask": Bounds("user", "Does it open on Sunday, and who explains the rules?", False, TALK, unnamed=[COLOURS]),
    "cue": Bounds("user", f"Now for something else. {CLAUSE} 😌", False, TALK, clause=CLAUSE, unnamed=[COLOURS]),
    "priced": Bounds("user", "Keep it under £20, and 15% at most.", False, TALK, clause="Keep it under £20, and 15% at most"),
    "closing": Bounds("user", "That's it for me, thanks.", True, TALK),
    "partner": Bounds("other", "I'm joining from the train, is the list still open?", False, TALK),
    "offer": Bounds("assistant", "It's between Rafael's pick and The Grey Comet.", False, TALK, options=("Rafael's pick", "The Grey Comet")),
    "answer": Bounds("assistant", "Yes, it opens at seven, and the draft is kept.", False, TALK, unnamed=[COLOURS]),
    "farewell": Bounds("assistant", "All the best to you.", True, TALK),
}

PASSAGE = f"it does not hold the passage once and word for word: \"{CLAUSE}\""
PRICED = "it does not hold the passage once and word for word: \"Keep it under £20, and 15% at most\""
META = "it speaks of the directions or of being a model"
MARKUP = "it has markup; write plain text"
LABEL = "it names who speaks; write the message alone"
OFFERS = "it offers help, but you are the customer"
ASKS = "it asks for help, but you are the assistant"
ENDS = "it ends the conversation, which goes on"
EMPTY = "it is empty"
FOREIGN = "it is not in English"


def said(name):
    return f"it says what must not be said here: \"{name}\""


def name(found):
    return f"it brings in a name: {found}"


def number(found):
    return f"it brings in a number: {found}"


def time(found):
    return f"it brings in a time: {found}"


HOSTILE = [
    # the passage
    ("cue", "I can't live with a bag that isn't the hue of a walnut", PASSAGE),
    ("cue", CLAUSE.replace("can't", "cannot"), PASSAGE),
    ("cue", CLAUSE.replace("can't", "can"), PASSAGE),
    ("cue", CLAUSE.replace("hue", "colour"), PASSAGE),
    ("cue", CLAUSE.replace("a walnut", "walnut"), PASSAGE),
    ("cue", CLAUSE.replace("can't live", "can't really live"), PASSAGE),
    ("cue", f"{CLAUSE}'s shell", PASSAGE),
    ("cue", f"{CLAUSE}-tree", PASSAGE),
    ("cue", f"{CLAUSE}s", PASSAGE),
    ("cue", f"No{CLAUSE}", PASSAGE),
    ("cue", f"{CLAUSE}. As I said: {CLAUSE.lower()}.", PASSAGE),
    ("cue", " ".join(reversed(CLAUSE.split())), PASSAGE),
    ("cue", "", PASSAGE),
    ("priced", "Keep it under $20, and 15% at most.", PRICED),
    ("priced", "Keep it under 20, and 15% at most.", PRICED),
    ("priced", "Keep it under £20, and 15 at most.", PRICED),
    ("priced", "Keep it under £200, and 15% at most.", PRICED),
    # what an offer is about
    ("offer", "It's between Rafael's pick and the other one.", "it does not offer what it should: The Grey Comet"),
    ("offer", "It's the Grey Comet or something else.", "it does not offer what it should: Rafael's pick"),
    ("offer", "Rafael's picks or The Grey Comet?", "it does not offer what it should: Rafael's pick"),
    ("offer", "Rafael's pick or The Grey Comet, or else the Amber Fox?", name("Amber")),
    # form
    ("ask", "😊", EMPTY),
    ("ask", "...", EMPTY),
    ("ask", "word " * 91, "it is too long: 91 words, at most 90 are needed"),
    ("ask", "星期天开门吗？", FOREIGN),
    ("ask", "Открыто ли по воскресеньям?", FOREIGN),
    ("ask", "**Does** it open on Sunday?", MARKUP),
    ("ask", "# Question\nDoes it open on Sunday?", MARKUP),
    ("ask", "- does it open on Sunday?", MARKUP),
    ("ask", "First:\n1. Does it open on Sunday?", MARKUP),
    ("ask", "```\nDoes it open?\n```", MARKUP),
    ("ask", "*sighs* Does it open on Sunday?", MARKUP),
    ("ask", "<p>Does it open on Sunday?</p>", MARKUP),
    ("ask", "Does [the place] open on Sunday?", MARKUP),
    ("ask", "Does it open on Sunday, {name}?", MARKUP),
    ("ask", "See https://example.org for when it opens", MARKUP),
    # who speaks
    ("ask", "User: does it open on Sunday?", LABEL),
    ("ask", "  me : does it open on Sunday?", LABEL),
    ("ask", '"Customer: does it open on Sunday?"', LABEL),
    ("ask", "(Customer): does it open on Sunday?", LABEL),
    ("ask", "Does it open on Sunday?\n\nAssistant: it does.", LABEL),
    ("answer", "Response: it opens at seven.", LABEL),
    # the game
    ("ask", "As an AI language model I have no Sundays.", META),
    ("ask", "I\u2019m an AI, but does it open on Sunday?", META),
    ("ask", "As directed: does it open on Sunday?", META),
    ("ask", "Direction: ask whether it opens on Sunday", META),
    ("ask", "(Note: I kept to the point) Does it open on Sunday?", META),
    ("ask", "Here\u2019s the message: does it open on Sunday?", META),
    ("ask", "In my own words, does it open on Sunday?", META),
    ("ask", "Here is a draft: does it open on Sunday?", META),
    ("ask", "Does it open on Sunday? TERMINATE", META),
    ("ask", "I'm sorry, but I can't assist with that.", META),
    ("cue", f"The direction says I should add: {CLAUSE}", META),
    ("answer", "My persona would say that it opens at seven.", META),
    # the other side's part
    ("ask", "Hi, how can I help you today?", OFFERS),
    ("ask", "Does it open on Sunday? How can I help?", OFFERS),
    ("ask", "It does open on Sunday. I\u2019m happy to help!", OFFERS),
    ("ask", "Happy to help with the Sunday hours.", OFFERS),
    ("ask", "What can I do for you?", OFFERS),
    ("ask", "Let me know if you need anything else!", OFFERS),
    ("ask", "Does it open on Sunday? Let me know if you have any questions.", OFFERS),
    ("partner", "Is there anything else I can help with?", OFFERS),
    ("partner", "Thank you for reaching out, is the list open?", OFFERS),
    ("answer", "It opens at seven. Could you book me a seat?", ASKS),
    ("answer", "I need your help with the rules.", ASKS),
    ("answer", "Can you please help me choose?", ASKS),
    # an end before the end
    ("ask", "Does it open on Sunday? Bye!", ENDS),
    ("ask", "Good-bye then, does it open on Sunday?", ENDS),
    ("ask", "Ah. That\u2019s all for now.", ENDS),
    ("ask", "That's everything, thanks!", ENDS),
    ("ask", "Does it open? Talk soon 😊", ENDS),
    ("answer", "It opens at seven. Have a great day!", ENDS),
    ("answer", "It opens at seven, take care!", ENDS),
    ("answer", "It opens at seven. See you soon.", ENDS),
    ("answer", "It opens at seven. Good night!", ENDS),
    # names of values; the draft has "explains", which names nothing
    ("ask", "Does it open on Sunday, and is it plain?", said("plain")),
    ("ask", "Does the red one open on Sunday?", said("red")),
    ("ask", "DARK COLOURS on Sunday?", said("DARK COLOURS")),
    ("ask", "are the reds there on Sunday?", said("reds")),
    ("ask", "Does it open on Sunday, or is there no food?", said("no food")),
    ("cue", f"I mean brown. {CLAUSE}", said("brown")),
    ("answer", "Yes, at seven, in the small room.", said("small")),
    # what nobody spoke of
    ("ask", "Does it open on Sunday for 4?", number("4")),
    ("ask", "Does it open on Sunday at 30?", number("30")),
    ("ask", "Does it open on Sunday for 7.5 hours?", number("7.5")),
    ("ask", "Does it open on Sunday for six of us?", number("six")),
    ("ask", "Does it open on Sunday for £200?", number("200")),
    ("ask", "Does it open on Saturday?", time("Saturday")),
    ("ask", "does it open on saturdays?", time("saturdays")),
    ("ask", "Is it open on Sunday or next week?", time("next week")),
    ("ask", "I went there last night, who explains the rules?", time("last night")),
    ("ask", "Is it open in august?", time("august")),
    ("ask", "is it open in may?", time("in may")),
    ("ask", "is it open at christmas?", time("christmas")),
    ("ask", "Does it open on Sunday? My friend Clara asked.", name("Clara")),
    ("ask", "Does it open on Sunday for Clara's mother?", name("Clara's")),
    ("ask", "Clara told me that it opens on Sunday.", name("Clara")),
    ("ask", "I asked Dr. Patel whether it opens on Sunday.", name("Patel")),
    ("ask", "Does Ros explain the rules on Sunday?", name("Ros")),
    ("ask", "Does it open on Sunday in Élancourt?", name("Élancourt")),
    ("ask", "Is IKEA open on Sunday, or is BMW?", name("IKEA")),
    ("cue", f"{CLAUSE}, as Clara knows.", name("Clara")),
    ("partner", "I'm joining with Óscar, is the list still open?", name("Óscar")),
    ("answer", "Yes, it opens at seven in Porto.", name("Porto")),
]

HONEST = [
    ("cue", f"{CLAUSE}."),
    ("cue", CLAUSE.replace("'", "\u2019")),
    ("cue", CLAUSE.lower().replace(",", "")),
    ("cue", CLAUSE.replace(", ", " \u2013 ")),
    ("cue", f"Oh, and one thing: \"{CLAUSE}\""),
    ("cue", f"Right, while we're at it. {CLAUSE}! Anyway, where were we?"),
    ("cue", f"{CLAUSE} 😌 Could we go on?"),
    ("cue", f"{CLAUSE}\nThanks for noting it down"),
    ("cue", f"I'm off the point, I know... {CLAUSE}; Roy's like that"),
    ("cue", f"I've told the whole family, and nobody explained it better ({CLAUSE})."),
    ("cue", f"Not a walnut, mind you, I mean the rest: {CLAUSE}"),
    ("priced", "One limit: keep it under £20 and 15% at most, please."),
    ("priced", "Keep it under \u00a3 20, and 15 % at most."),
    ("ask", "I'm wondering, is it open on Sunday?"),
    ("ask", "I've a question, I'd like to know who explains it. I'll wait."),
    ("ask", "ok so is it open on sunday"),
    ("ask", "Great 😊 Could you tell me who explains the rules?"),
    ("ask", "Sounds good\nWho explains the rules on Sunday?"),
    ("ask", "Hmm \u2026 Does it open on Sunday? \U0001f64f\U0001f3fd"),
    ("ask", "\u201cOpen on Sunday?\u201d That's what Roy asked."),
    ("ask", "Is Rafael's place open on Sunday?"),
    ("ask", "Is Rafael\u2019s place open on Sunday?"),
    ("ask", "Do the Ortegas open on Sunday?"),
    ("ask", "Roy asked whether it opens on Sunday."),
    ("ask", "Was it O\u2019Brien who explains the rules in Lisbon?"),
    ("ask", "Does the Blue Heron open on Sunday, for 3?"),
    ("ask", "Is it open for three of us, at 07:30, on Sunday?"),
    ("ask", "Is 1200 the price on Sunday?"),
    ("ask", "Does it open on Friday the 9th instead, or for one or two of us?"),
    ("ask", "Do the smaller ones, locally made, get explained on Sunday? I stand by the credit."),
    ("ask", "How can I help my son with the rules on Sunday?"),
    ("ask", "My neighbour is always happy to help. Is it open on Sunday?"),
    ("ask", "Let me know if you need anything else from me."),
    ("ask", "I said goodbye to the old one, so is it open on Sunday?"),
    ("ask", "Can we talk later about who explains the rules?"),
    ("ask", "I take care of the rules myself, who else does on Sunday?"),
    ("ask", "We'd like to have a nice day out on Sunday."),
    ("ask", "I REALLY need to know: is it open on Sunday, PLEASE?"),
    ("ask", "Do they take a T-shirt and an X-ray on Sunday?"),
    ("ask", "Note that I only have Sunday. Is it open?"),
    ("ask", "I'd like two things <3 Who explains it, and is it open on Sunday?"),
    ("ask", "It may be open on Sunday, and we march on from there."),
    ("closing", "That's all, thanks. Bye!"),
    ("closing", "thanks, talk soon 👋"),
    ("partner", "Hi, I'm on the train! Is the list still open?"),
    ("partner", "Can you help me out, is the list open?"),
    ("offer", "Here are 2 options: Rafael's pick or The Grey Comet."),
    ("offer", "I have rafael\u2019s pick, and then there's the grey comet."),
    ("offer", "Happy to help! Would Rafael's pick or The Grey Comet suit you?"),
    ("answer", "Yes, it opens at 7, and your draft is kept."),
    ("answer", "Note that both drafts are kept; it opens at seven."),
    ("answer", "Can you help me understand which one you mean? It opens at 7:00."),
    ("answer", "I'm happy to help. It opens at seven \U0001f44d"),
    ("farewell", "Goodbye, Rafael, and have a great evening!"),
    ("farewell", "Take care. See you soon!"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "raw", "reason"), HOSTILE)
def test_a_hostile_wording_is_refused_with_its_reason(kind, raw, reason):
    assert problem_of(tidied(raw), raw, KINDS[kind]) == reason


@pytest.mark.parametrize(("kind", "raw"), HONEST)
def test_an_honest_wording_passes(kind, raw):
    assert problem_of(tidied(raw), raw, KINDS[kind]) is None


@pytest.mark.parametrize("kind", KINDS)
def test_the_draft_itself_passes(kind):
    assert problem_of(KINDS[kind].draft, KINDS[kind].draft, KINDS[kind]) is None


def test_the_tables_are_large_and_hold_nothing_twice():
    hostile, honest = {row[:2] for row in HOSTILE}, set(HONEST)
    assert (len(hostile), len(honest)) == (len(HOSTILE), len(HONEST))
    assert len(hostile) >= 60 and len(honest) >= 40


def test_one_missing_word_anywhere_in_the_passage_is_seen():
    words = CLAUSE.split()
    cut = [" ".join(words[:place] + words[place + 1 :]) for place in range(len(words))]
    assert [problem_of(text, text, KINDS["cue"]) for text in cut] == [PASSAGE] * len(words)


def test_a_name_of_the_passage_may_not_be_said_around_it_unless_the_draft_does():
    bounds = replace(KINDS["cue"], clause="I only buy brown bags", draft="I only buy brown bags. Roy knows.")
    assert problem_of("Roy knows. I only buy brown bags.", "", bounds) is None
    assert problem_of("Red? I only buy brown bags.", "", bounds) == said("Red")


def test_what_ends_or_helps_in_the_draft_may_do_so_in_the_wording():
    bounds = replace(KINDS["ask"], draft="Say goodbye. How can I help? Bye.")
    assert problem_of("Bye! How can I help?", "", bounds) is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("So: i only buy BROWN bags!", (4, 25)),
        ("I only, buy (brown) bags", (0, 24)),
        ("I only buy brown bags. I only buy brown bags", None),
        ("I only buy brown", None),
        ("", None),
    ],
)
def test_the_place_of_a_passage_covers_its_words_alone(text, place):
    assert place_of("I only buy brown bags", text) == place


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ('  "Is it open?"\n', "Is it open?"),
        ("\u201cIs it\n open?\u201d", "Is it open?"),
        ('"Is it" and "is it"', '"Is it" and "is it"'),
        ('"', '"'),
        ("", ""),
    ],
)
def test_quotation_marks_around_the_whole_are_taken_off(raw, text):
    assert tidied(raw) == text
