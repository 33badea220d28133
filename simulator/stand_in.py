"""A stand-in for models, for tests, demos and benchmarks: it does what the directions say, and reads turns by the catalogs' lines.

Run it with `python -m iba_bench.fake_server --answerer simulator.stand_in:StandIn`. Its answers depend on the request alone. It says nothing about how a model
would do: it shows that a run with models works.
"""

from __future__ import annotations

import json
import re
from typing import Any

from iba_bench.fake_server import Answer
from iba_bench.streams import pick, stream
from scenarios.library import Library, load_library
from simulator.gates.clauses import PHRASE, found, plain, with_phrase
from simulator.gates.distractors import Named, index_of

OPENERS = ("Right.", "So.", "Hm.", "Well now.", "Okay then.", "Here we are.", "One moment.", "Let me see.")
_QUOTED = re.compile(r': "(.*?)"$', re.MULTILINE)
_STATEMENT = re.compile(r"^\s*(\d+)\. (.*)$", re.MULTILINE)
_MESSAGE = re.compile(r'^The message: "(.*)"$', re.MULTILINE)


class StandIn:
    """Answers directions and questions of the rewording."""

    def __init__(self) -> None:
        self.library: Library = load_library()
        self.index = index_of(self.library)

    def answer(self, body: dict[str, Any]) -> Answer:
        """Return the answer to a request body."""
        asked = str(body["messages"][-1]["content"])
        if "Statements:" in asked:
            return Answer(json.dumps({"statement": self._read(asked)}))
        return Answer(self._written(asked))

    def _written(self, asked: str) -> str:
        quoted = _QUOTED.findall(asked)
        opener = pick(stream("stand-in", asked), OPENERS)
        if "word for word" in asked:
            clause, draft = (*quoted, "...")[:2]
            return f"{opener} {draft.replace('...', clause + '.', 1) if '...' in draft else clause + '.'}"
        draft = quoted[0] if quoted else "All right."
        return f"{opener} {draft}"

    def _read(self, asked: str) -> int:
        message = _MESSAGE.search(asked)
        text = plain(message.group(1) if message else "")
        claims = self._claims(text)
        statements = {words: int(number) for number, words in _STATEMENT.findall(asked)}
        for dimension, value in claims:
            dim = self.library.dimensions[dimension]
            start = f"{dim.label}: {dim.values[value].gloss} ("
            for words, number in statements.items():
                if words.startswith(start):
                    return number
        return statements["not stated"]

    def _claims(self, text: str) -> list[Named]:
        """Return what a text tells: by a line of the value's own, or by a frame with its phrase."""
        own = [(telling.dimension, telling.value) for telling in self.index.told(text, set(self.library.dimensions)) if telling.say]
        framed = []
        for dimension, value in sorted(self.index.named(text.split())):
            marked = with_phrase(text, self.library.value(dimension, value).phrase)
            if PHRASE in marked and any(found(frame.say, marked) for frame in self.index.frames):
                framed.append((dimension, value))
        return own + framed
