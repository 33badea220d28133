"""The language of lines: ``[one|two]`` alternatives and ``{fill}`` parts.

A `Line` is compiled once; drawing one is a walk over its parts. The fixed parts are also what a gate looks for in a rendered turn.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

Part = str | tuple[str, ...] | None
_TOKEN = re.compile(r"\[([^\[\]]*)\]|\{([a-z_]+)\}")
_SENTENCE_START = re.compile(r"([.!?]\s+|\n)([a-z])")
GLOBAL_FILLS = ("person", "day", "soon", "city", "street")
Split = Literal["dev", "test"]


class LineParts:
    """The compiled form: text, alternatives (tuple) and fills (by name, in order)."""

    __slots__ = ("parts", "fills", "_sentences")

    def __init__(self, say: str) -> None:
        self.parts: list[Part] = []
        self.fills: list[str] = []
        position = 0
        for match in _TOKEN.finditer(say):
            if match.start() > position:
                self.parts.append(say[position : match.start()])
            if match.group(2):
                self.parts.append(None)
                self.fills.append(match.group(2))
            else:
                self.parts.append(tuple(match.group(1).split("|")))
            position = match.end()
        if position < len(say):
            self.parts.append(say[position:])
        self._sentences = _has_inner_start(self.parts)

    def draw(self, rng: random.Random, fill: Callable[[str], str]) -> str:
        """Return one rendering: alternatives drawn from ``rng``, fills asked from ``fill``."""
        out: list[str] = []
        fills = iter(self.fills)
        for part in self.parts:
            if part is None:
                out.append(fill(next(fills)))
            elif isinstance(part, tuple):
                out.append(part[int(rng.random() * len(part))])
            else:
                out.append(part)
        text = "".join(out)
        return capitalised(text) if self._sentences else text[:1].upper() + text[1:]


def _has_inner_start(parts: list[Part]) -> bool:
    """Whether a sentence within the line may begin in lower case: after a stop, with letters of the line's own or with what fills a part."""
    sample = "".join(part if isinstance(part, str) else "|".join(("a", *(part or ()))) for part in parts)
    return _SENTENCE_START.search(sample) is not None or re.search(r"[.!?]\|", sample) is not None


def capitalised(text: str) -> str:
    """Return ``text`` with a capital at the start of every sentence."""
    if text and text[0].islower():
        text = text[0].upper() + text[1:]
    return _SENTENCE_START.sub(lambda match: match.group(1) + match.group(2).upper(), text)


def variable_parts(say: str) -> int:
    """Return how many parts of the line vary."""
    return len(_TOKEN.findall(say))


def every_word(say: str) -> str:
    """Return the line's text with all alternatives side by side, for searching words in it."""
    return _TOKEN.sub(lambda match: " / ".join(match.group(1).split("|")) if match.group(2) is None else " _ ", say)


class Frozen(BaseModel):
    """Base of the data models: frozen, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


def _check_say(say: Any) -> Any:
    if not isinstance(say, str):
        raise ValueError("must be text; quote it")
    for match in _TOKEN.finditer(say):
        alternatives = match.group(1)
        if match.group(2) is None and ("|" not in alternatives or not all(alternatives.split("|"))):
            raise ValueError(f"alternatives '[{alternatives}]' need at least two, none empty")
        if match.group(2) is None and "{" in alternatives:
            raise ValueError(f"alternatives '[{alternatives}]' hold a fill; put the fill outside the brackets")
    rest = _TOKEN.sub("", say)
    if re.search(r"[\[\]{}|]", rest):
        raise ValueError("stray bracket, brace or bar; alternatives do not nest, fills are {lower_case}")
    return say


Say = Annotated[str, BeforeValidator(_check_say), Field(min_length=4, max_length=400)]


class Line(Frozen):
    """A line of talk."""

    say: Say
    split: Split = "test"

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, data: Any) -> Any:
        return {"say": data} if isinstance(data, str) else data

    @cached_property
    def parts(self) -> LineParts:
        """The compiled line, made at first use."""
        return LineParts(self.say)


class CueLine(Line):
    """A line that voices a value: how (type) and how strongly."""

    type: Literal["correction", "choice", "rejection", "complaint", "habit", "aside", "reaction", "comparison", "circumstance"]
    strength: Literal["must", "prefer"] = "must"


class LogLine(Line):
    """A behaviour-log pattern: an event verb and what the app noted."""

    event: Literal["search", "browse", "add_to_cart", "order", "rate", "review", "cancel", "watch", "listen"]

    @model_validator(mode="before")
    @classmethod
    def _text(cls, data: Any) -> Any:
        if isinstance(data, dict) and "text" in data:
            data = dict(data)
            data["say"] = data.pop("text")
        return data


class Exchange(Frozen):
    """A neutral question of the user's and the assistant's answer."""

    ask: Say
    answer: Say
    split: Split = "test"

    @cached_property
    def lines(self) -> tuple[Line, Line]:
        """Both as lines."""
        return Line(say=self.ask, split=self.split), Line(say=self.answer, split=self.split)
