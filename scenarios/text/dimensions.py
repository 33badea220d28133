"""Where text dimensions meet measures: dimension -> value -> spec, read from ``dimension_checks.yaml``."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from iba_bench.errors import UserError, near_match
from iba_bench.yaml_source import YamlSource
from scenarios.text.check import parse_spec
from scenarios.text.spec import TextSpec

PATH = Path(__file__).parent / "dimension_checks.yaml"


@lru_cache(maxsize=1)
def _table() -> dict[tuple[str, str], TextSpec]:
    data = YamlSource(PATH, "scenarios/text/dimension_checks.yaml").data
    return {(key, value): parse_spec(spec) for key, values in data.items() for value, spec in values.items()}


def dimension_spec(dimension: str, value: str) -> TextSpec:
    """Return what a text must measure to show a value of a text dimension."""
    table = _table()
    if (dimension, value) not in table:
        known = near_match(f"{dimension}.{value}", [".".join(key) for key in table])
        raise UserError(f"scenarios/text/dimension_checks.yaml: no check for {dimension}.{value}; {known}")
    return table[dimension, value]
