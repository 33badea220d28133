"""What models are told: named texts in ``prompts.yaml``, filled in without a second look at what is filled in."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from string import Template

from pydantic import RootModel

from iba_bench.yaml_source import YamlSource


class Prompts(RootModel[dict[str, str]]):
    """Templates by name."""


@cache
def _templates() -> dict[str, Template]:
    source = YamlSource(Path(__file__).with_name("prompts.yaml"), "simulator/prompts.yaml")
    return {name: Template(text.strip()) for name, text in source.parse(Prompts).root.items()}


def prompt(template: str, /, **parts: object) -> str:
    """Return a prompt filled in; a part that is missing or unknown is a mistake in the code."""
    return _templates()[template].substitute({key: str(value) for key, value in parts.items()})
