"""Which models answer, and how they are called. Only what can change an answer decides a dataset's id."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from iba_bench.section import Section

Provider = Literal["openai", "openai_compatible", "azure", "anthropic"]
ROLES = ("persona", "assistant", "checker")
_KEYS = {"openai": "OPENAI_API_KEY", "azure": "AZURE_OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


class RoleModel(Section):
    """The model behind one role."""

    provider: Provider
    model: str = Field(default="", description="model name as the endpoint knows it")
    base_url: str = Field(default="", description="endpoint up to /v1, as in http://localhost:8000/v1; empty for the provider's own")
    api_version: str = Field(default="", description="Azure's API version")
    key_variable: str | None = Field(default=None, exclude=True, description="environment variable that holds the key; null for none")
    temperature: float | None = Field(default=None, ge=0, le=2, description="sampling temperature, 0 to 2; null: the server's default")
    top_p: float | None = Field(default=None, gt=0, le=1, description="nucleus sampling, above 0 to 1; null: the server's default")
    max_tokens: int = Field(default=400, ge=1, le=100_000, description="most tokens of one answer")
    seed: int | None = Field(default=None, description="sampling seed, for servers that have one")
    extra: dict[str, Any] = Field(default={}, description="further fields of the request body, sent as they are")
    native_schema: bool = Field(default=True, exclude=True, description="whether the server takes JSON schemas; false: they are put in words")
    free: bool = Field(default=False, exclude=True, description="whether calls cost nothing, as at a server of one's own")

    def sampling(self) -> dict[str, Any]:
        """Return the sampling fields of a request body."""
        given = {"temperature": self.temperature, "top_p": self.top_p, "max_tokens": self.max_tokens, "seed": self.seed}
        return {key: value for key, value in given.items() if value is not None} | self.extra

    @property
    def key_name(self) -> str | None:
        """The environment variable of the key: the one given, else the provider's usual one."""
        return self.key_variable or _KEYS.get(self.provider)


class BudgetLimits(Section):
    """What a run may use before it stops; it goes on with a higher limit."""

    tokens: int | None = Field(default=None, description="prompt and completion tokens together; null: no limit")
    money: float | None = Field(default=None, description="US dollars by the price table; null: no limit")


class ModelConfig(Section):
    """Who finds the words: the catalogs alone, or models whose every turn is checked.

    ``model``, ``base_url`` and ``api_version`` hold for all roles that use the provider of the group's name.
    """

    name: Literal["embedded", "openai", "openai_compatible", "azure", "anthropic"]
    model: str = Field(default="", exclude=True, description="model name for all roles")
    base_url: str = Field(default="", exclude=True, description="endpoint for all roles")
    api_version: str = Field(default="", exclude=True, description="Azure's API version for all roles")
    persona: RoleModel | None = None
    assistant: RoleModel | None = None
    checker: RoleModel | None = None
    tries: int = Field(default=3, ge=1, le=10, description="wordings asked for before the catalogs' own is taken")
    mode: Literal["live", "replay"] = Field(default="live", exclude=True, description="replay: from the record alone, no network")
    record: str | None = Field(default=None, exclude=True, description="the record of calls; null: calls.sqlite beside the runs")
    prices: str | None = Field(default=None, exclude=True, description="a price table of your own; null: conf/prices.yaml")
    concurrency: int = Field(default=64, ge=1, le=8192, exclude=True, description="most calls in flight, all workers together")
    attempts: int = Field(default=8, ge=1, le=50, exclude=True, description="attempts at one call before the run stops")
    first_timeout: float = Field(default=120.0, gt=0, exclude=True, description="seconds to wait for an answer before any latency is known")
    budget: BudgetLimits = Field(default=BudgetLimits(), exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _shared(cls, data: Any) -> Any:
        """Hand what holds for all roles to those of the group's provider that say nothing themselves."""
        if not isinstance(data, dict):
            return data
        out = dict(data)
        for role in ROLES:
            given = out.get(role)
            if isinstance(given, dict) and given.get("provider") == data.get("name"):
                common = {key: data.get(key) for key in ("model", "base_url", "api_version") if data.get(key) and not given.get(key)}
                out[role] = {**given, **common}
        return out

    @model_validator(mode="after")
    def _complete(self) -> ModelConfig:
        for role, model in self.roles.items():
            if not model.model:
                raise ValueError(f"{role} has no model; give model.model=NAME, or model.{role}.model=NAME for this role alone")
            if model.provider in ("openai_compatible", "azure") and not model.base_url:
                raise ValueError(f"{role} has no base_url; give model.base_url=URL, or model.{role}.base_url=URL for this role alone")
        if self.name != "embedded" and len(self.roles) != len(ROLES):
            raise ValueError(f"roles {', '.join(ROLES)} are needed, got {', '.join(self.roles) or 'none'}")
        return self

    @property
    def roles(self) -> dict[str, RoleModel]:
        """The models by role; empty for the embedded wording."""
        found = {role: getattr(self, role) for role in ROLES}
        return {role: model for role, model in found.items() if model is not None}

    def record_path(self, out: Path) -> Path:
        """Return where calls are recorded, for runs kept in ``out``."""
        return Path(self.record) if self.record else out / "calls.sqlite"
