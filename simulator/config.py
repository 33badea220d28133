"""The generation config: what decides a dataset's bytes."""

from __future__ import annotations

import datetime as dt
from typing import Literal

from pydantic import Field, model_validator

from iba_bench.models.config import ModelConfig
from iba_bench.section import Section


class BenchmarkConfig(Section):
    """How many personas and tasks."""

    name: str
    personas: int = Field(ge=1, le=1_000_000, description="number of personas")
    tasks: int = Field(ge=1, description="number of tasks, a whole multiple of personas")


class HistoryConfig(Section):
    """How long a clean history is."""

    name: str
    tokens: int = Field(ge=2_000, le=5_000_000, description="clean tokens a persona, about")
    entries_per_scenario: int = Field(ge=3, le=12, description="long-term entries a persona has per scenario")
    cues_per_entry: float = Field(ge=2, le=12, description="evidence turns an entry gets before its focus, on average")
    voiced_later: float = Field(ge=0, le=1, description="share of the entries that are voiced once more after their focus")
    chattiness: float = Field(ge=0, le=1, description="share of the optional sentences that a voice would add, 0 to 1")
    untested: int = Field(ge=0, le=60, description="further scenarios that a persona talks about")
    days: int = Field(ge=60, le=1_500, description="span in days")


class NoiseConfig(Section):
    """How much noise, and how much of it is adversarial."""

    name: str
    level: float = Field(ge=0, lt=1, description="noise share of a history's tokens, from 0 to below 1")
    adversarial: float = Field(ge=0, le=1, description="adversarial share of the noise tokens, from 0 to 1")


class CuesConfig(Section):
    """How openly preferences are voiced."""

    name: str
    explicit: float = Field(ge=0, le=1, description="share of cues that state the label")
    hinted: float = Field(ge=0, le=1, description="share of cues that name the label without claiming it")
    all_implicit: float = Field(ge=0, le=1, description="share of entries of which every cue is implicit")
    behaviour: float = Field(ge=0, le=0.5, description="share of cues that are behaviour logs")
    elsewhere: float = Field(ge=0, le=1, description="share of entries voiced only in other domains")

    @model_validator(mode="after")
    def _shares(self) -> CuesConfig:
        if self.explicit + self.hinted > 1:
            raise ValueError(f"explicit + hinted must be at most 1, got {self.explicit + self.hinted}")
        return self


class DriftConfig(Section):
    """How long-term values change."""

    name: str
    share: float = Field(ge=0, le=0.8, description="share of long-term entries that drift")
    kinds: dict[Literal["abrupt", "gradual", "recurring", "reversal", "expiry"], float]
    states: float = Field(ge=0, le=1, description="share of scenarios with a life event near their task")
    scoped: float = Field(ge=0, le=1, description="share of scenarios with a scoped entry")
    served: float = Field(ge=0, le=1, description="share of servable scenarios that serve another person")


class GenerateConfig(Section):
    """Everything that decides the bytes of a dataset, and nothing else."""

    benchmark: BenchmarkConfig
    history: HistoryConfig
    noise: NoiseConfig
    cues: CuesConfig
    drift: DriftConfig
    model: ModelConfig
    seed: int = Field(ge=0, lt=2**63)
    start: dt.date
    missing_info: float = Field(ge=0, le=0.5, description="share of tasks that lack a decisive slot")
    scenarios: tuple[str, ...] = Field(default=(), description="scenario ids; empty: all of the catalog")

    @model_validator(mode="after")
    def _quota(self) -> GenerateConfig:
        if self.benchmark.tasks % self.benchmark.personas:
            raise ValueError(
                f"tasks ({self.benchmark.tasks}) must be a whole multiple of personas ({self.benchmark.personas}): every persona has the same quota"
            )
        return self

    @property
    def quota(self) -> int:
        """Tasks a persona."""
        return self.benchmark.tasks // self.benchmark.personas
