"""What a scenario file holds, as frozen models. The format is explained in ``docs/scenario-format.md``."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from scenarios.line import CueLine, Exchange, Frozen, Line, LogLine, Say

DOMAINS = (
    "dining", "travel", "shopping", "healthcare", "planning", "finance", "learning", "entertainment", "communication",
)  # fmt: skip


class Value(Frozen):
    """One value of a dimension and all the ways to show it."""

    id: str
    label: str = Field(min_length=2)
    phrase: str = Field(min_length=2, description="noun phrase with the label, for shared frames")
    synonyms: tuple[str, ...] = ()
    gloss: str = Field(min_length=8, description="what a tool schema says of it")
    weight: float = Field(gt=0, le=1)
    lifts: dict[str, float] = {}
    cues: tuple[CueLine, ...]
    served: tuple[CueLine, ...] = ()
    logs: tuple[LogLine, ...] = ()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Label and synonyms: what must not be said in an implicit session."""
        return (self.label, *self.synonyms)

    @field_validator("lifts")
    @classmethod
    def _lifts(cls, lifts: dict[str, float]) -> dict[str, float]:
        for key, factor in lifts.items():
            if "=" not in key or not 0 <= factor <= 20:
                raise ValueError(f"lift '{key}: {factor}' must read 'trait=value: factor' with a factor from 0 to 20")
        return lifts


class Dimension(Frozen):
    """One thing a user can have a preference about."""

    id: str
    label: str
    type: Literal["categorical", "ordinal", "numeric", "boolean", "set"]
    unit: str | None = None
    single_valued: bool = True
    safety: bool = False
    polarity: Literal["likes", "dislikes"] = "likes"
    about: Literal["consumer", "principal"] = "consumer"
    servable: bool = False
    slot: Literal["entity", "argument", "text"]
    parameter: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    description: str
    values: dict[str, Value]

    @model_validator(mode="before")
    @classmethod
    def _ids(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("values"), dict):
            values = {key: {"id": key, **value} if isinstance(value, dict) else value for key, value in data["values"].items()}
            return {**data, "values": values}
        return data

    @model_validator(mode="after")
    def _shape(self) -> Dimension:
        if len(self.values) < 2:
            raise ValueError("needs at least two values")
        if self.type == "numeric":
            if not self.unit:
                raise ValueError("a numeric dimension needs its unit")
            for key in self.values:
                if not key.replace(".", "", 1).isdigit():
                    raise ValueError(f"value id '{key}' must be a number")
        if self.servable and not all(value.served for value in self.values.values()):
            raise ValueError("servable: every value needs 'served' lines")
        return self

    @property
    def domain(self) -> str:
        """The domain part of the id."""
        return self.id.split(".")[0]

    @cached_property
    def popular(self) -> str:
        """The value with the largest weight in the population table."""
        return max(self.values, key=lambda key: self.values[key].weight)

    def public(self, value_id: str) -> str | int | float:
        """Return what an entity or a parameter carries for a value: a number if numeric, else the id."""
        if self.type != "numeric":
            return value_id
        number = float(value_id)
        return int(number) if number.is_integer() else number


class Talk(Frozen):
    """The neutral parts of a conversation about the job."""

    openings: tuple[Line, ...]
    situations: tuple[Line, ...]
    requests: tuple[Line, ...]
    exchanges: tuple[Exchange, ...]
    closings: tuple[Line, ...]
    offers: tuple[Line, ...]
    acknowledgements: tuple[Line, ...]
    farewells: tuple[Line, ...]


class Attribute(Frozen):
    """A neutral fact of an entity."""

    type: Literal["number", "integer", "text"]
    description: str
    unit: str | None = None
    low: float | None = None
    high: float | None = None
    step: float | None = None
    pool: str | None = None

    @model_validator(mode="after")
    def _range(self) -> Attribute:
        if self.type == "text":
            if not self.pool:
                raise ValueError("a text attribute names a pool of fills")
        elif self.low is None or self.high is None or not self.step or self.low >= self.high:
            raise ValueError("a number needs low < high and a step above 0")
        return self


class EntityMaker(Frozen):
    """How the things to choose from are made."""

    noun: str
    names: tuple[str, ...] = Field(min_length=1)
    attributes: dict[str, Attribute]


class Tool(Frozen):
    """A read tool."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    description: str
    parameters: dict[str, dict[str, Any]] = {}
    errors: dict[str, str] = {}


class WriteTool(Tool):
    """An action that changes the state."""

    chooses: str | None = None


class Tools(Frozen):
    """The tools of a scenario; the first write does the job."""

    search: Tool | None = None
    details: Tool | None = None
    writes: tuple[WriteTool, ...] = Field(min_length=1)


class TaskLine(Line):
    """An underspecified instruction."""

    serves: bool = False
    rank: bool = False


class Scenario(Frozen):
    """One kind of job an assistant is asked to do."""

    scenario: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    domain: str
    kind: Literal["api", "text"]
    ranks: bool = False
    title: str
    summary: str
    job: str
    fills: dict[str, tuple[str, ...]]
    subject: tuple[str, ...] = Field(default=(), description="Fills that keep their value within a conversation and within a task: what it is about.")
    applies: tuple[str, ...] = ()
    dimensions: dict[str, Dimension]
    talk: Talk
    entity: EntityMaker | None = None
    tools: Tools | None = None
    tasks: tuple[TaskLine, ...]

    @model_validator(mode="before")
    @classmethod
    def _ids(cls, data: Any) -> Any:
        return with_ids(data)

    @model_validator(mode="after")
    def _kind(self) -> Scenario:
        if (self.kind == "api") != (self.tools is not None):
            raise ValueError("an api scenario has tools, a text scenario has none")
        for name in self.subject:
            if name not in self.fills:
                raise ValueError(f"subject '{name}' is no fill of the scenario; valid: {', '.join(self.fills)}")
        if self.domain not in DOMAINS:
            raise ValueError(f"unknown domain '{self.domain}'; valid: {', '.join(DOMAINS)}")
        return self


class DimensionFile(Frozen):
    """Dimensions shared by several scenarios, with the fills that their lines use."""

    fills: dict[str, tuple[str, ...]] = {}
    dimensions: dict[str, Dimension]

    @model_validator(mode="before")
    @classmethod
    def _ids(cls, data: Any) -> Any:
        return with_ids(data)


def with_ids(data: Any) -> Any:
    """Copy each dimension's key into its ``id`` field."""
    if isinstance(data, dict) and isinstance(data.get("dimensions"), dict):
        dimensions = {key: {"id": key, **value} if isinstance(value, dict) else value for key, value in data["dimensions"].items()}
        return {**data, "dimensions": dimensions}
    return data


class NoiseLine(Frozen):
    """A noise exchange: what the user says and the assistant's reply."""

    user: Say
    assistant: Say
    split: Literal["dev", "test"] = "test"

    @cached_property
    def lines(self) -> tuple[Line, Line]:
        """Both as lines."""
        return Line(say=self.user, split=self.split), Line(say=self.assistant, split=self.split)


class ScopeBank(Frozen):
    """Sentences that limit a preference to a condition, and that tell whether it holds for a task."""

    clauses: tuple[Line, ...]
    on: tuple[Line, ...] = ()
    off: tuple[Line, ...] = ()


class Frames(Frozen):
    """Shared frames that are filled with a value's phrase."""

    explicit: tuple[CueLine, ...]
    hinted: tuple[CueLine, ...]
    served: tuple[CueLine, ...]
    explicit_dislikes: tuple[CueLine, ...]
    hinted_dislikes: tuple[CueLine, ...]
    served_dislikes: tuple[CueLine, ...]
    fills: dict[str, tuple[str, ...]] = {}
