"""The base of every config section."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A part of a config: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")
