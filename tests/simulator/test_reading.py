"""A blind reading passes when it finds what a turn tells and nothing else; the list it picks from gives nothing away."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from dataclasses import replace

import pytest
from autogen_core.models import CreateResult, RequestUsage
from pydantic import ValidationError

from iba_bench.models.autogen import ModelClient
from iba_bench.models.reply import CallFailed
from personas.ledger import ALWAYS, SELF, Entry
from scenarios.library import load_library
from simulator.director import Cue
from simulator.history import Turn
from simulator.reading import BlindReader, Reading
from simulator.wording import Said

LIBRARY = load_library()
SCENARIO = LIBRARY.scenarios["food_delivery"]
EXPOSED = LIBRARY.exposed["food_delivery"]
FOREIGN = next(key for key in LIBRARY.dimensions if key not in EXPOSED)
TEXT, BEFORE = "Leave it with the porter, he knows me.", "Where shall it go?"


class Checker(ModelClient):
    """A client that gives one answer and keeps what it was asked."""

    def __init__(self, content: str) -> None:
        self.content, self.asked = content, list[tuple[list[str], object]]()

    async def create(self, messages, *, json_output=None, **_):
        self.asked.append(([str(message.content) for message in messages], json_output))
        return CreateResult(finish_reason="stop", content=self.content, usage=RequestUsage(0, 0), cached=False)


class Silent(Checker):
    async def create(self, messages, **_):
        raise CallFailed("unstructured", "no rung could read it")


def entry_of(dimension: str, value: str) -> Entry:
    return Entry(
        entry_id="e_1", dimension=dimension, value=value, polarity="likes", scope=ALWAYS, strength="must", horizon="long", holder=SELF,
        valid_from=0, valid_to=None, known_from=None, cause="initial", supersedes=None,
    )  # fmt: skip


def turn_of(dimension: str | None = None, value: str | None = None, manner: str = "talk", number: int = 0) -> Turn:
    cue = Cue("c_1", entry_of(dimension, value), 0, manner, 0.5, 0.5, None) if dimension and value else None
    return Turn(f"t_{number}", "user", Said("the catalogs' words"), 0, 5, cue)


def question(turn: Turn) -> str:
    return BlindReader(LIBRARY, None).question(turn, SCENARIO, TEXT, BEFORE)


def statements(turn: Turn) -> list[str]:
    return re.findall(r"^\d+\. (.*)$", question(turn), re.MULTILINE)


def words(dimension: str, value: str) -> str:
    found = LIBRARY.dimensions[dimension]
    return f"{found.label}: {found.values[value].gloss} ({'to be avoided' if found.polarity == 'dislikes' else 'wanted'})"


def misread(turn: Turn, number: int) -> str | None:
    return asyncio.run(BlindReader(LIBRARY, Checker(json.dumps({"statement": number}))).misreading(turn, SCENARIO, TEXT, BEFORE))


def number_of(turn: Turn, statement: str) -> int:
    return statements(turn).index(statement) + 1


CUED = [(key, value) for key in EXPOSED for value in LIBRARY.dimensions[key].values] + [(FOREIGN, next(iter(LIBRARY.dimensions[FOREIGN].values)))]


@pytest.mark.parametrize(("dimension", "value"), CUED)
def test_only_the_statement_of_the_cue_is_a_right_reading(dimension, value):
    turn = turn_of(dimension, value)
    told = number_of(turn, words(dimension, value))
    passed = [number for number in range(1, len(statements(turn)) + 1) if misread(turn, number) is None]
    assert passed == [told]


def test_a_turn_without_a_cue_must_be_read_as_telling_nothing():
    turn = turn_of()
    passed = [number for number in range(1, len(statements(turn)) + 1) if misread(turn, number) is None]
    assert passed == [number_of(turn, "not stated")]


def test_a_turn_that_ends_a_state_must_be_read_as_telling_nothing():
    dimension, value = CUED[0]
    turn = turn_of(dimension, value, manner="end")
    assert misread(turn, number_of(turn, "not stated")) is None
    assert misread(turn, number_of(turn, words(dimension, value))) == "a reader takes it for something else: " + words(dimension, value)


def test_each_wrong_reading_gives_its_reason():
    (dimension, value), (other, another) = CUED[0], CUED[-2]
    turn, plain = turn_of(dimension, value), turn_of()
    nothing = "a reader does not find in it what the passage tells"
    told = f"a reader takes it to tell something of the customer, and it must tell nothing of the kind: {words(other, another)}"
    assert misread(turn, number_of(turn, "not stated")) == nothing
    assert misread(turn, number_of(turn, words(other, another))) == f"a reader takes it for something else: {words(other, another)}"
    assert misread(plain, number_of(plain, words(other, another))) == told


@pytest.mark.parametrize("turn", [turn_of(), turn_of(*CUED[0]), turn_of(*CUED[0], manner="end")])
@pytest.mark.parametrize("beyond", [-1_000_000, -1, 0, 1, 10**30])
def test_a_number_that_is_not_on_the_list_never_passes(turn, beyond):
    number = beyond if beyond < 1 else len(statements(turn)) + beyond
    assert misread(turn, number) == "a reader does not find in it what the passage tells"


def test_the_order_is_the_same_each_time_and_does_not_depend_on_the_value():
    assert question(turn_of(*CUED[0])) == question(turn_of(*CUED[0]))
    for key in EXPOSED:
        assert len({question(turn_of(key, value)) for value in LIBRARY.dimensions[key].values}) == 1


def test_the_order_is_another_for_other_turns_and_puts_nothing_in_a_favoured_place():
    dimension, value = CUED[0]
    size, turns = len(statements(turn_of(dimension, value))), 600
    for statement in (words(dimension, value), "not stated"):
        places = Counter(number_of(turn_of(dimension, value, number=number), statement) for number in range(turns))
        assert set(places) == set(range(1, size + 1))
        assert max(places.values()) < 3 * turns / size


@pytest.mark.parametrize("turn", [turn_of(), turn_of(*CUED[0]), turn_of(*CUED[-1])])
def test_all_values_are_offered_once_and_so_is_not_stated(turn):
    keys = dict.fromkeys([*EXPOSED, *([turn.cue.entry.dimension] if turn.cue else [])])
    expected = ["not stated", *(words(key, value) for key in keys for value in LIBRARY.dimensions[key].values)]
    assert sorted(statements(turn)) == sorted(expected)


def test_the_question_holds_message_and_what_was_said_before_but_not_the_draft():
    asked = question(turn_of(*CUED[0]))
    assert f'The message: "{TEXT}"' in asked and f'The assistant had said: "{BEFORE}"' in asked
    assert "the catalogs' words" not in asked


def test_the_answer_is_asked_for_as_a_number_of_one_statement():
    checker = Checker('{"statement": 1}')
    turn = turn_of()
    asyncio.run(BlindReader(LIBRARY, checker).misreading(turn, SCENARIO, TEXT, BEFORE))
    ((system, asked), schema), *others = checker.asked
    assert (system + asked, schema, others) == (question(turn), Reading, [])


@pytest.mark.parametrize("content", ['{"statement": "not stated"}', '{"statement": 1, "why": "so"}', "{}", '{"statement": 1.5}', '{"statement": null}'])
def test_a_reading_is_a_whole_number_and_nothing_else(content):
    with pytest.raises(ValidationError):
        Reading.model_validate_json(content)


def test_an_unreadable_answer_is_no_reading():
    with pytest.raises(CallFailed, match="no rung could read it"):
        asyncio.run(BlindReader(LIBRARY, Silent("")).misreading(turn_of(), SCENARIO, TEXT, BEFORE))


def test_a_template_mark_in_a_message_is_left_alone():
    turn = replace(turn_of(), turn_id="t_marks")
    asked = BlindReader(LIBRARY, None).question(turn, SCENARIO, "$options and ${before} cost $5", "$message")
    assert 'The message: "$options and ${before} cost $5"' in asked and 'The assistant had said: "$message"' in asked
