"""A rewording keeps what a history tells: bad words are tried again and then left to the catalogs, voices know no more than they may, twins still flip."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest
from autogen_core.models import CreateResult, RequestUsage

from iba_bench.errors import InstanceRefused
from iba_bench.models.autogen import ModelClient
from iba_bench.models.reply import CallFailed
from iba_bench.streams import pick, stream
from iba_bench.verb import composed
from simulator.factory import Draft, Materials, PersonaFactory, Tally
from simulator.gates import Failure, check_view
from simulator.history import History
from simulator.reading import BlindReader
from simulator.rewording import WORDED, Rewording, Worded, _Speaker, clause_of, passage_of
from simulator.stand_in import StandIn
from simulator.turn_checks import place_of, problem_of
from simulator.verbs.generate import split_config

SETTINGS = ["benchmark.personas=4", "benchmark.tasks=28", "history=short", "model=openai_compatible", "model.base_url=http://localhost:1/v1", "model.model=scripted"]
REFUSED = "As an AI I have nothing to say."
Answer = Callable[[str], str]


class Scripted(ModelClient):
    """A client whose answers are made up by a function of the last message; it keeps what it was asked, and counts."""

    def __init__(self, answer: Answer) -> None:
        self.answer, self.asked = answer, list[list[str]]()
        self.flying = self.most = 0

    async def create(self, messages, *, json_output=None, **_):
        asked = [str(message.content) for message in messages]
        self.asked.append(asked)
        self.flying += 1
        self.most = max(self.most, self.flying)
        await asyncio.sleep(0.002)
        self.flying -= 1
        content = self.answer(asked[-1])
        return CreateResult(finish_reason="stop", content=content, usage=RequestUsage(0, 0), cached=False)


@pytest.fixture(scope="module")
def config():
    return split_config(composed("generate", SETTINGS))[0]


@pytest.fixture(scope="module")
def materials():
    return Materials.load()


@pytest.fixture(scope="module")
def draft(config, materials) -> Draft:
    return asyncio.run(PersonaFactory(config, materials).settled(0, Tally()))[0]


@pytest.fixture(scope="module")
def stand_in() -> Answer:
    answerer = StandIn()
    return lambda asked: answerer.answer({"messages": [{"content": asked}]}).content


def scripted(answer: Answer, **others: Answer) -> dict[str, Scripted]:
    return {role: Scripted(others.get(role, answer)) for role in ("persona", "assistant", "checker")}


def reworded(draft: Draft, materials: Materials, clients, sessions=None, tries=3) -> dict[str, Worded]:
    history = History(list(sessions or draft.history.sessions))
    return asyncio.run(Rewording(draft.persona, materials.library, clients, tries).reword(history))


def talks(draft: Draft):
    return [session for session in draft.history.sessions if session.kind == "dialogue"]


def with_cues(draft: Draft):
    return next(session for session in talks(draft) if sum(bool(turn.cue and turn.said.wording) for turn in session.turns) > 1)


def spoken_by(session, *roles):
    return [turn for turn in session.turns if turn.role in roles]


# --- tries -----------------------------------------------------------------------------


def test_a_refused_wording_is_tried_again_with_its_reason(draft, materials, stand_in):
    session = with_cues(draft)
    clients = scripted(stand_in, persona=lambda asked: stand_in(asked) if "Your last try" in asked else REFUSED)
    worded = reworded(draft, materials, clients, [session])
    users = spoken_by(session, "user", "other")
    assert {turn.turn_id: (worded[turn.turn_id].tries, worded[turn.turn_id].fallback) for turn in users} == {turn.turn_id: (2, None) for turn in users}
    asked = clients["persona"].asked
    assert len(asked) == 2 * len(users)
    for turn, first, second in zip(users, asked[::2], asked[1::2], strict=True):
        again = f'{first[-1]}\nYour last try can\'t be used: {reason_for(turn)}. It was: "{REFUSED}"\nWrite the message anew.'
        assert second == [*first[:-1], again]
    assert all(REFUSED not in "\n".join(messages) for messages in asked[::2])


def test_after_all_tries_the_catalogs_words_stand_with_the_last_reason(draft, materials, stand_in):
    session = with_cues(draft)
    worded = reworded(draft, materials, scripted(stand_in, persona=lambda _: REFUSED), [session], tries=2)
    users = spoken_by(session, "user", "other")
    assert {turn.turn_id: worded[turn.turn_id] for turn in users} == {turn.turn_id: Worded(turn.said, 2, reason_for(turn)) for turn in users}


def reason_for(turn) -> str:
    clause = clause_of(turn)
    return f'it does not hold the passage once and word for word: "{clause}"' if clause else "it speaks of the directions or of being a model"


def test_a_reading_that_finds_something_else_is_a_reason_too(draft, materials, stand_in):
    session = with_cues(draft)
    worded = reworded(draft, materials, scripted(stand_in, checker=lambda _: '{"statement": 0}'), [session], tries=1)
    users = spoken_by(session, "user")
    reason = "a reader does not find in it what the passage tells"
    assert {turn.turn_id: worded[turn.turn_id] for turn in users} == {turn.turn_id: Worded(turn.said, 1, reason) for turn in users}


def test_only_the_user_is_read(draft, materials, stand_in):
    clients = scripted(stand_in)
    worded = reworded(draft, materials, clients)
    turns = {role: [t for s in talks(draft) for t in spoken_by(s, role)] for role in WORDED}
    assert {key: len(client.asked) for key, client in clients.items()} == {
        "persona": len(turns["user"]) + len(turns["other"]), "assistant": len(turns["assistant"]), "checker": len(turns["user"]),
    }  # fmt: skip
    assert {worded[turn.turn_id].fallback for found in turns.values() for turn in found} == {None}


@pytest.mark.parametrize("role", ["persona", "assistant", "checker"])
@pytest.mark.parametrize("kind", ["truncated", "empty", "unstructured"])
def test_a_failure_of_the_answer_leaves_the_catalogs_words(draft, materials, stand_in, role, kind):
    session = with_cues(draft)
    worded = reworded(draft, materials, scripted(stand_in, **{role: failing(kind)}), [session], tries=2)
    hit = spoken_by(session, "assistant") if role == "assistant" else spoken_by(session, "user", *(["other"] if role == "persona" else []))
    assert {turn.turn_id: worded[turn.turn_id] for turn in hit} == {turn.turn_id: Worded(turn.said, 2, kind) for turn in hit}
    assert {worded[turn.turn_id].fallback for turn in session.turns if turn not in hit} <= {None}


@pytest.mark.parametrize("role", ["persona", "assistant", "checker"])
@pytest.mark.parametrize("kind", ["server", "timeout", "connection", "rate_limit", "malformed", "auth", "budget", "not_recorded", "bad_request"])
def test_a_failure_of_the_endpoint_propagates(draft, materials, stand_in, role, kind):
    with pytest.raises(CallFailed) as failed:
        reworded(draft, materials, scripted(stand_in, **{role: failing(kind)}))
    assert failed.value.kind == kind


def failing(kind: str) -> Answer:
    def answer(_: str) -> str:
        raise CallFailed(kind, "as scripted")

    return answer


def test_the_same_answers_give_the_same_words_and_ask_the_same(draft, materials, stand_in):
    first, second = scripted(stand_in), scripted(stand_in)
    assert reworded(draft, materials, first) == reworded(draft, materials, second)
    assert {role: sorted(client.asked) for role, client in first.items()} == {role: sorted(client.asked) for role, client in second.items()}


def test_sessions_are_held_at_the_same_time(draft, materials, stand_in):
    clients = scripted(stand_in)
    reworded(draft, materials, clients)
    assert clients["persona"].most == len(talks(draft)) > 5


def test_turns_of_a_session_are_held_one_after_the_other(draft, materials, stand_in):
    clients = scripted(stand_in)
    reworded(draft, materials, clients, [with_cues(draft)])
    assert {client.most for client in clients.values()} == {1}


def test_logs_keep_the_catalogs_words(draft, materials, stand_in):
    first, *rest = talks(draft)
    clients = scripted(stand_in)
    worded = reworded(draft, materials, clients, [replace(first, kind="behaviour"), *rest[:2]])
    assert set(worded) == {turn.turn_id for session in rest[:2] for turn in session.turns}


# --- what voices know -----------------------------------------------------------------


def assistants_view(draft, materials, stand_in) -> Iterable[tuple[object, int, str, str]]:
    """Yield each request to the assistant's model: the session, the turn's place, what was asked, what had been said."""
    for session in talks(draft):
        clients = scripted(stand_in)
        worded = reworded(draft, materials, clients, [session])
        places = [place for place, turn in enumerate(session.turns) if turn.role == "assistant"]
        for place, asked in zip(places, clients["assistant"].asked, strict=True):
            yield session, place, "\n".join(asked[1:]), "\n".join(worded[turn.turn_id].said.text for turn in session.turns[:place])


def test_the_assistant_sees_nothing_of_what_is_still_to_be_said(draft, materials, stand_in):
    seen = 0
    for session, place, asked, heard in assistants_view(draft, materials, stand_in):
        later = [clause_of(turn) for turn in session.turns[place:] if clause_of(turn)]
        assert [clause for clause in later if clause.lower() in asked.lower()] == []
        assert "Direction:" not in asked and "None of these words" not in asked and "Statements:" not in asked
        assert heard.splitlines() == [] or heard.splitlines()[-1] in asked
        seen += len(later)
    assert seen > 20


def test_the_assistant_sees_no_name_of_a_value_that_was_not_said(draft, materials, stand_in):
    library = materials.library
    checked = 0
    for session, _, asked, heard in assistants_view(draft, materials, stand_in):
        drafts = "\n".join(turn.content for turn in session.turns if turn.role == "assistant")
        for turn in session.turns:
            if turn.cue and turn.said.openness == "implicit":
                pattern = library.names(turn.cue.entry.dimension, turn.cue.entry.value)
                assert pattern.search(asked) is None or pattern.search(f"{heard}\n{drafts}"), (turn.cue.entry, asked)
                checked += 1
    assert checked > 20


def test_the_persona_is_told_of_a_cue_at_its_turn_and_not_before(draft, materials, stand_in):
    session = with_cues(draft)
    clients = scripted(stand_in)
    reworded(draft, materials, clients, [session])
    users = [(place, turn) for place, turn in enumerate(session.turns) if turn.role == "user"]
    mine = [asked for asked in clients["persona"].asked if not asked[0].startswith("You write as somebody")]
    for (place, turn), asked in zip(users, mine, strict=True):
        assert clause_of(turn) in asked[-1]
        later = [clause_of(other) for other in session.turns[place + 1 :] if clause_of(other)]
        assert [clause for clause in later if clause in "\n".join(asked)] == []


def test_the_personas_system_prompt_holds_no_preference(config, draft, materials):
    other = another_life(config, materials)
    assert other.persona == draft.persona
    assert {e.value for e in other.compiler.entries} != {e.value for e in draft.compiler.entries}
    prompts = {session.scenario: system_prompts(draft, materials, session) for session in talks(draft)}
    again = {session.scenario: system_prompts(other, materials, session) for session in talks(other)}
    common = set(prompts) & set(again)
    assert len(common) > 1
    assert {name: prompts[name] for name in sorted(common)} == {name: again[name] for name in sorted(common)}
    clauses = [clause_of(turn) for session in talks(draft) for turn in session.turns if clause_of(turn)]
    glosses = [materials.library.value(entry.dimension, entry.value).gloss for entry in draft.compiler.entries]
    text = "\n".join(itertools.chain.from_iterable(prompts.values()))
    assert [words for words in [*clauses, *glosses] if words in text] == []


def another_life(config, materials) -> Draft:
    """Return the next attempt at the same persona that can be built."""
    for attempt in itertools.count(1):
        with contextlib.suppress(InstanceRefused):
            return asyncio.run(PersonaFactory(config, materials)._draft(0, attempt))
    raise AssertionError


def system_prompts(draft, materials, session) -> list[str]:
    rewording = Rewording(draft.persona, materials.library, {}, 1)
    return [rewording.system(next(beat for beat in rewording.beats(session) if beat.role == role)) for role in ("user", "assistant")]


def test_the_checker_is_not_told_who_is_asked_about_nor_what_is_expected(draft, materials, stand_in):
    session = with_cues(draft)
    clients = scripted(stand_in)
    reworded(draft, materials, clients, [session])
    for system, question in clients["checker"].asked:
        assert "passage" not in question and "Direction" not in question and draft.persona.first_name not in system
        assert re.search(r"^\d+\. not stated$", question, re.MULTILINE)


# --- spans and twins --------------------------------------------------------------------


def test_the_span_of_a_reworded_cue_covers_the_passage_and_nothing_else(draft, materials, stand_in):
    worded = reworded(draft, materials, scripted(stand_in, persona=lambda asked: f"Hm, {stand_in(asked)} Well then!"))
    cues = [turn for session in talks(draft) for turn in session.turns if clause_of(turn)]
    assert len(cues) > 20
    for turn in cues:
        said, clause = worded[turn.turn_id].said, clause_of(turn)
        assert worded[turn.turn_id].fallback is None
        assert said.text[slice(*said.span)].lower() == clause.lower()
        assert place_of(clause, said.text) == said.span
        assert said.text.startswith("Hm, ") and said.text.endswith(" Well then!")
        assert (said.openness, said.cue_type, said.strength) == (turn.said.openness, turn.said.cue_type, turn.said.strength)


def test_a_turn_without_a_cue_has_no_span(draft, materials, stand_in):
    worded = reworded(draft, materials, scripted(stand_in))
    assert {worded[t.turn_id].said.span for s in talks(draft) for t in s.turns if not t.cue} == {None}


@pytest.fixture(scope="module")
def made(config, materials, stand_in):
    around = scripted(stand_in, persona=lambda asked: f"{stand_in(asked)} {pick(stream('end', asked), ('Right?', 'You see.', 'There it is.'))}")
    return asyncio.run(PersonaFactory(config, materials, around).make(0))


def test_a_twin_flips_the_passage_within_the_models_words(made, materials):
    contents = contents_of(made)
    notes = {row["turn_id"]: row for row in made.bundle.annotations}
    flipped = 0
    for twin in made.bundle.twins.values():
        for edit in twin["edits"]:
            note, old = notes[edit["turn_id"]], contents[edit["turn_id"]]
            if note["speaker"] != "llm":
                continue
            before, after = old[: note["span_start"]], old[note["span_end"] :]
            assert edit["content"].startswith(before) and edit["content"].endswith(after) and edit["content"] != old
            assert len(edit["content"]) > len(before) + len(after)
            flipped += 1
    assert flipped > 5
    assert check_view(made.view, materials.library, (11,)) == []


def test_every_gate_passes_a_reworded_persona(made, materials):
    assert check_view(made.view, materials.library) == []
    assert made.tally.words["try 1"] > 0.9 * made.tally.words.total()


# --- what a gate refuses ------------------------------------------------------------------


def test_a_turn_that_a_gate_refuses_gets_the_catalogs_words_back(config, materials, draft, stand_in, monkeypatch):
    """Were the life event not asked for word for word, gate 6 would see that a model left it out."""
    monkeypatch.setattr("simulator.rewording.passage_of", clause_of)

    def bare(asked: str) -> str:
        passage = re.search(r'put in between: "(.*)"$', asked, re.MULTILINE)
        return f"Right. {passage.group(1)}." if passage else stand_in(asked)

    made = asyncio.run(PersonaFactory(config, materials, scripted(stand_in, persona=bare)).make(0))
    states = {t.turn_id: t.content for s in talks(draft) for t in s.turns if t.cue and t.cue.happening and t.cue.manner == "talk"}
    reason = "gate 6: the life event is not mentioned"
    assert {row["turn_id"]: (row["speaker"], row["tries"]) for row in made.bundle.annotations if row["fallback_reason"] == reason} == {
        turn_id: ("embedded", 1) for turn_id in states
    }
    contents = contents_of(made)
    assert states and {turn_id: contents[turn_id] for turn_id in states} == states
    assert made.tally.refused[f"rewording, {reason}"] == made.tally.words["gate 6"] == len(states)
    assert check_view(made.view, materials.library) == []


def contents_of(made) -> dict[str, str]:
    return {turn["turn_id"]: turn["content"] for row in made.bundle.sessions for turn in row["turns"]}


@pytest.mark.parametrize("named", ["turn", "session", "nothing"])
def test_what_a_failure_names_gets_the_catalogs_words_back_and_the_rest_keeps_the_models(config, materials, draft, stand_in, monkeypatch, named):
    session = talks(draft)[0]
    turn = session.turns[1]
    place = {"turn": turn.turn_id, "session": session.session_id, "nothing": ""}[named]
    checks: list[str] = []

    def refusing(view, library, only=()):
        said = next(t["content"] for row in view.sessions for t in row["turns"] if t["turn_id"] == turn.turn_id)
        checks.append(said)
        return check_view(view, library, only) + ([Failure(9, "made up", place=place)] if said != turn.content else [])

    monkeypatch.setattr("simulator.factory.check_view", refusing)
    made = asyncio.run(PersonaFactory(config, materials, scripted(stand_in)).make(0))
    everything = [t for s in talks(draft) for t in s.turns]
    back = {"turn": [turn], "session": session.turns, "nothing": everything}[named]
    contents = contents_of(made)
    assert sorted(t.turn_id for t in everything if contents[t.turn_id] == t.content) == sorted(t.turn_id for t in back)
    assert {row["turn_id"] for row in made.bundle.annotations if row["fallback_reason"] == "gate 9: made up"} == {t.turn_id for t in back}
    assert made.tally.words == Counter({"try 1": len(everything) - len(back), "gate 9": len(back)}) - Counter()
    assert turn.content in checks and len(set(checks)) == 2


def test_the_catalogs_words_pass_the_checks_that_a_model_must_pass(draft, materials):
    rewording = Rewording(draft.persona, materials.library, scripted(str), 1)
    problems = []
    for session in talks(draft):
        heard: list[tuple[str, str]] = []
        speakers = {role: _Speaker(rewording, rewording.beats(session)[0].scenario, role) for role in WORDED}
        for beat in rewording.beats(session):
            text = beat.turn.content
            problems.append(problem_of(text, text, speakers[beat.role]._bounds(beat, heard)))
            heard.append((beat.role, text))
    assert set(problems) == {None} and len(problems) > 100


def test_a_state_keeps_the_sentence_about_its_event(made, draft):
    events = [turn for s in talks(draft) for turn in s.turns if turn.cue and turn.cue.happening and turn.cue.manner == "talk"]
    contents = contents_of(made)
    assert events
    for turn in events:
        assert passage_of(turn) in contents[turn.turn_id] and clause_of(turn) != passage_of(turn)
    reworded = {row["turn_id"] for row in made.bundle.annotations if row["speaker"] == "llm"}
    assert {turn.turn_id for turn in events} <= reworded


def test_the_statements_of_a_turn_hold_as_many_other_dimensions_whether_its_cue_is_of_the_job_or_not(draft, materials):
    held = sorted({entry.dimension for entry in draft.compiler.entries})
    reader = BlindReader(materials.library, None, held)
    for session in talks(draft):
        asked = set(materials.library.exposed[session.scenario])
        for turn in session.turns:
            keys = {claim[0] for claim in reader._claims(turn, materials.library.scenarios[session.scenario])} - {""}
            assert len(keys - asked) == 3 and asked <= keys
