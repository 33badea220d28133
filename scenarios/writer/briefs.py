"""The brief files, read once."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from iba_bench.errors import UserError, near_match
from iba_bench.yaml_source import YamlSource
from scenarios.writer.models import Brief, Topic

CATALOG = Path(__file__).parents[1] / "catalog"


def read_brief(path: Path) -> Brief:
    """Read one brief file.

    Raises:
        UserError: If the file is no brief, with file, line, field and fix.
    """
    source = YamlSource(path, f"scenarios/catalog/{path.parent.name}/{path.name}")
    brief = source.parse(Brief)
    if f"{brief.scenario}.brief.yaml" != path.name:
        raise source.error(("scenario",), f"must be '{path.name.removesuffix('.brief.yaml')}', as the file is named")
    return brief


@cache
def _paths() -> dict[str, Path]:
    return {path.name.removesuffix(".brief.yaml"): path for path in sorted(CATALOG.glob("*/*.brief.yaml"))}


@cache
def brief_of(scenario: str) -> Brief:
    """Return the brief of a text scenario.

    Raises:
        UserError: If there is none.
    """
    if scenario not in _paths():
        raise UserError(f"scenario '{scenario}' has no brief file; {near_match(scenario, _paths())}")
    return read_brief(_paths()[scenario])


def topics_of(scenario: str) -> tuple[Topic, ...]:
    """Return the topics of a text scenario."""
    return brief_of(scenario).topics


@cache
def topic_by_id(scenario: str, topic_id: str) -> Topic:
    """Return one topic of a text scenario.

    Raises:
        UserError: If there is none of that id.
    """
    topics = {topic.id: topic for topic in topics_of(scenario)}
    if topic_id not in topics:
        raise UserError(f"scenario '{scenario}' has no topic '{topic_id}'; {near_match(topic_id, topics)}")
    return topics[topic_id]
