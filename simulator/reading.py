"""Blind reading: another model says what a turn tells about the user, without knowing what it should tell. It must find just that."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from iba_bench.models.autogen import ChatCompletionClient, LLMMessage, SystemMessage, UserMessage
from iba_bench.streams import shuffled, stream
from scenarios.library import Library
from scenarios.models import Scenario
from simulator.history import Turn
from simulator.prompts import prompt

NOT_STATED = ("", "")
OTHERS = 3  # dimensions of other jobs among the statements
Claim = tuple[str, str]


class Reading(BaseModel):
    """The number of the statement that a message tells."""

    model_config = ConfigDict(extra="forbid")
    statement: int


class BlindReader:
    """Reads turns with the checker's model.

    Args:
        library: The catalogs.
        client: The checker's model; None to plan its calls.
        held: Dimensions that the persona holds something on. Some that the job does not ask about stand among the statements of every turn, so that one
            that does is no hint, and so that a turn is caught that tells of another job's preference.
    """

    def __init__(self, library: Library, client: ChatCompletionClient | None, held: Sequence[str] = ()) -> None:
        self.library, self.client, self.held = library, client, held

    async def misreading(self, turn: Turn, scenario: Scenario, text: str, before: str) -> str | None:
        """Return why a blind reader would take a turn for something else than it is, or None if the reading is right.

        Args:
            turn: The turn, with the cue that it voices, if any.
            scenario: What the session is about.
            text: The wording to be read.
            before: What was said right before.

        Raises:
            CallFailed: the checker gave no readable answer.
        """
        assert self.client is not None
        asked = UserMessage(content=self._asked(turn, scenario, text, before), source="director")
        messages: list[LLMMessage] = [SystemMessage(content=prompt("checker")), asked]
        result = await self.client.create(messages, json_output=Reading)
        number, order = Reading.model_validate_json(str(result.content)).statement, self._order(turn, scenario)
        read = order[number - 1] if 0 < number <= len(order) else None
        return None if read == self._told(turn) else self._reason(read, turn)

    def question(self, turn: Turn, scenario: Scenario, text: str, before: str) -> str:
        """Return all that the checker is told."""
        return prompt("checker") + self._asked(turn, scenario, text, before)

    def _asked(self, turn: Turn, scenario: Scenario, text: str, before: str) -> str:
        order = enumerate(self._order(turn, scenario), 1)
        return prompt("checked", before=before, message=text, options="\n".join(f"{n}. {self._statement(claim)}" for n, claim in order))

    def _order(self, turn: Turn, scenario: Scenario) -> list[Claim]:
        """Return the statements in an order that tells nothing."""
        return shuffled(stream("reading", turn.turn_id), self._claims(turn, scenario))

    @staticmethod
    def _told(turn: Turn) -> Claim:
        if turn.cue is None or turn.cue.manner == "end":
            return NOT_STATED
        return turn.cue.entry.dimension, turn.cue.entry.value

    def _claims(self, turn: Turn, scenario: Scenario) -> list[Claim]:
        asked = set(self.library.exposed[scenario.scenario])
        told = {turn.cue.entry.dimension} - asked if turn.cue else set[str]()
        others = shuffled(stream("other statements", turn.turn_id), sorted(set(self.held) - asked - told))[: OTHERS - len(told)]
        return [NOT_STATED, *((key, value) for key in sorted({*asked, *told, *others}) for value in self.library.dimensions[key].values)]

    def _statement(self, claim: Claim) -> str:
        if claim == NOT_STATED:
            return "not stated"
        dimension = self.library.dimensions[claim[0]]
        wish = "to be avoided" if dimension.polarity == "dislikes" else "wanted"
        return f"{dimension.label}: {dimension.values[claim[1]].gloss} ({wish})"

    def _reason(self, read: Claim | None, turn: Turn) -> str:
        if read is None or read == NOT_STATED:
            return "a reader does not find in it what the passage tells"
        if turn.cue is None:
            return f"a reader takes it to tell something of the customer, and it must tell nothing of the kind: {self._statement(read)}"
        return f"a reader takes it for something else: {self._statement(read)}"
