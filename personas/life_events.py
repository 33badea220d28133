"""Life events: what starts states and changes dimensions across domains."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from iba_bench.yaml_source import YamlSource
from scenarios.line import Frozen, Line

PATH = Path(__file__).parent / "catalog" / "life_events.yaml"


class Effect(Frozen):
    """A dimension that an event moves while it lasts."""

    dimension: str
    value: str
    strength: Literal["must", "prefer"] = "must"
    safety: bool = False


class LifeEvent(Frozen):
    """One type of life event.

    Attributes:
        earliest: Days after its onset before which it is certainly not over.
        latest: Days after its onset after which it is certainly over.
        rate: Relative frequency.
        requires: Trait values that a persona must have.
        scenario: Scenarios in which one would mention it; empty: any.
        emotional: The emotional state that it brings, if any.
    """

    id: str
    label: str
    horizon: Literal["short"] = "short"
    earliest: int = Field(ge=3, le=120)
    latest: int = Field(ge=4, le=150)
    rate: float = Field(gt=0)
    requires: Mapping[str, tuple[str, ...]] = {}
    scenario: tuple[str, ...] = ()
    emotional: Literal["stressed"] | None = None
    effects: tuple[Effect, ...] = Field(min_length=1)
    mentions: tuple[Line, ...] = Field(min_length=8)
    ends: tuple[Line, ...] = Field(min_length=4)

    @model_validator(mode="after")
    def _order(self) -> LifeEvent:
        if self.earliest >= self.latest:
            raise ValueError(f"earliest ({self.earliest}) must be below latest ({self.latest})")
        return self

    def suits(self, traits: Mapping[str, str]) -> bool:
        """Whether it can happen to somebody with these traits."""
        return all(traits.get(name) in allowed for name, allowed in self.requires.items())


@lru_cache(maxsize=2)
def load_life_events(path: Path = PATH) -> dict[str, LifeEvent]:
    """Read the catalog of life events."""
    source = YamlSource(path, "personas/catalog/life_events.yaml")
    out = {}
    for key, data in source.data.items():
        if key == "fills":
            continue
        try:
            out[key] = source.parse(LifeEvent, {"id": key, **{k: v for k, v in (data or {}).items() if k != "lead"}})
        except Exception as error:
            raise type(error)(f"life event '{key}': {error}") from None
    return out


@lru_cache(maxsize=2)
def life_event_fills(path: Path = PATH) -> dict[str, tuple[str, ...]]:
    """Return the word pools that the events' lines use."""
    return {k: tuple(v) for k, v in YamlSource(path, "personas/catalog/life_events.yaml").data.get("fills", {}).items()}
