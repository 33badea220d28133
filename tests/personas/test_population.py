"""Traits: shares, coherence, quotas, and every mistake that the loader must catch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from iba_bench.errors import InstanceRefused, UserError
from iba_bench.streams import stream
from personas.population import TRAITS, Population, draw_persona, draw_traits, load_population
from personas.spelling import CATALOG

SOURCE = (CATALOG / "population.yaml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def population() -> Population:
    return load_population()


@pytest.fixture(scope="module")
def drawn(population: Population) -> list[dict[str, str]]:
    return [draw_traits(stream("traits", index), population) for index in range(2000)]


def broken(tmp_path: Path, old: str, new: str) -> str:
    """Return the message for the catalog with ``old`` replaced by ``new``."""
    assert SOURCE.count(old) == 1, f"the test's anchor must be unique: {old}"
    path = tmp_path / "population.yaml"
    path.write_text(SOURCE.replace(old, new), encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load_population(path)
    return str(caught.value)


def test_every_trait_of_the_format_is_drawn(drawn: list[dict[str, str]]) -> None:
    assert all(sorted(traits) == sorted(TRAITS) for traits in drawn)


@pytest.mark.parametrize("trait", TRAITS)
def test_no_value_is_too_common(trait: str, population: Population, drawn: list[dict[str, str]]) -> None:
    values = population.graph.traits[trait].values
    counts = Counter(traits[trait] for traits in drawn)
    limit = 0.40 if len(values) >= 4 else 0.55 if len(values) == 3 else 0.60
    assert max(counts.values()) / len(drawn) <= limit
    assert sorted(counts) == sorted(values)


def test_nobody_is_incoherent(population: Population, drawn: list[dict[str, str]]) -> None:
    assert [traits for traits in drawn if population.incoherences(traits)] == []


def test_a_retired_student_age_is_incoherent(population: Population) -> None:
    traits = draw_traits(stream("x"), population) | {"work": "retired", "age_band": "young"}
    assert population.incoherences(traits) == ["nobody retires before 45 here"]


def test_traits_cause_one_another(drawn: list[dict[str, str]]) -> None:
    def share(given: tuple[str, str], wanted: tuple[str, str]) -> float:
        group = [traits for traits in drawn if traits[given[0]] == given[1]]
        return sum(traits[wanted[0]] == wanted[1] for traits in group) / len(group)

    assert share(("work", "shift"), ("chronotype", "owl")) > share(("work", "retired"), ("chronotype", "owl")) + 0.3
    assert share(("work", "student"), ("budget", "tight")) > share(("work", "office"), ("budget", "tight")) + 0.3
    assert share(("age_band", "senior"), ("health", "hard_of_hearing")) > 0.15
    assert share(("locale", "en_US"), ("mobility", "car")) > share(("locale", "en_GB"), ("mobility", "car"))


def test_drawn_shares_agree_with_exact_probabilities(population: Population, drawn: list[dict[str, str]]) -> None:
    for wanted in (
        {"work": ("shift",)},
        {"budget": ("tight",), "work": ("student",)},
        {"mobility": ("car",)},
    ):
        exact = population.graph.probability(wanted)
        seen = sum(all(traits[name] in values for name, values in wanted.items()) for traits in drawn)
        assert seen / len(drawn) == pytest.approx(exact, abs=0.04)


def test_quota_personas_have_what_they_are_reserved_for(population: Population) -> None:
    for quota in population.tables.quotas:
        for index in (quota.offset, quota.offset + quota.every):
            persona = draw_persona(stream("quota", index), population, index, "p")
            assert persona.quota == quota.label
            assert quota.traits.items() <= persona.traits.items()
            assert population.incoherences(persona.traits) == []


def test_who_is_reserved_depends_on_the_index_alone(population: Population) -> None:
    reserved = [index for index in range(80) if population.quota_of(index)]
    assert [index for index in range(400) if population.quota_of(index)][: len(reserved)] == reserved
    assert len(reserved) / 80 < 0.25
    assert population.quota_of(0) is None


def test_impossible_wishes_are_refused(population: Population) -> None:
    with pytest.raises(InstanceRefused, match="no_traits_for_quota"):
        draw_traits(stream("x"), population, {"work": "retired", "age_band": "young"})


HOSTILE = [
    (
        "parents: [age_band]\n    table:\n      young: {student: 0.45",
        "parents: [age_bnad]\n    table:\n      young: {student: 0.45",
        "traits.work.parents: unknown trait 'age_bnad'; did you mean 'age_band'?",
    ),
    (
        "  temperament:\n    values: [reserved, balanced, outgoing]\n    table:\n      always: {reserved",
        '  temperament:\n    values: [reserved, balanced, outgoing]\n    parents: [planning]\n    table:\n      "*": {reserved',
        "traits cause each other: ",
    ),
    (
        '      "senior, *": {alone: 0.42',
        '      "senior, retired": {alone: 0.42',
        "traits.household.table: no row for 'senior, student'; add one",
    ),
    (
        "{alone: 0.05, couple: 0.14, family: 0.76, shared: 0.05}",
        "{alone: 0.05, couple: 0.14, family: 0.76}",
        "traits.household.table.adult, caring: no weight for 'shared'; add one (0 if it cannot be)",
    ),
    (
        "{alone: 0.05, couple: 0.14, family: 0.76, shared: 0.05}",
        "{alone: 0, couple: 0, family: 0, shared: 0}",
        "all weights are 0; give one value a weight above 0",
    ),
    (
        "{alone: 0.05, couple: 0.14, family: 0.76, shared: 0.05}",
        "{alone: -1, couple: 2, family: 0, shared: 0}",
        "a weight is negative",
    ),
    (
        "{alone: 0.05, couple: 0.14, family: 0.76, shared: 0.05}",
        "{alone: .nan, couple: 2, family: 0, shared: 0}",
        "Input should be a valid number",
    ),
    (
        "{lark: 0.18, middle: 0.22, owl: 0.60}",
        "{lark: 0.18, middle: 0.22, owls: 0.60}",
        "unknown value 'owls'; did you mean 'owl'?",
    ),
    ('"*, young": {lark', '"*, yuong": {lark', "unknown value 'yuong' of age_band; did you mean 'young'?"),
    ('"*, young": {lark', '"young": {lark', "1 parts for 2 parents; name the row by 'work, age_band'"),
    (
        '      "*, outgoing": {planner',
        '      "family, balanced": {planner: 1, flexible: 0, spontaneous: 0}\n      "*, outgoing": {planner',
        "earlier rows match all of it; move it up or remove it",
    ),
    (
        "values: [lark, middle, owl]",
        "values: [lark, middle, owl, owl]",
        "a value is listed twice; remove one",
    ),
    ("  pet:\n", "  pets:\n", "trait 'pet' is missing; add it"),
    ("{traits: {health: diabetes}, every", "{traits: {health: gout}, every", "unknown value 'gout'"),
    (
        "{traits: {health: diabetes}, every",
        "{traits: {helth: diabetes}, every",
        "unknown trait 'helth'; did you mean 'health'?",
    ),
    ("every: 40, offset: 10}", "every: 40, offset: 43}", "quotas.1.offset: must be below every (40), got 43"),
    ("every: 40, offset: 10}", "every: 60, offset: 23}", "meet in one persona; change the offset"),
    (
        "{traits: {work: caring}, every",
        "{traits: {work: retired, age_band: young}, every",
        "has probability 0.0000, below 0.004",
    ),
    ("caring: 0.05, retired: 0}", "caring: 0.05, retired: 0.1}", "the tables draw this with probability"),
    (
        "never: {work: [student], age_band: [senior]}",
        "never: {work: [students], age_band: [senior]}",
        "unknown value 'students'",
    ),
    ("  senior: [65, 84]\n", "", "'senior' has no entry in ages; add one there"),
    ("reference_year: 2025", "reference_year: soon", "reference_year: Input should be a valid integer"),
]


@pytest.mark.parametrize(("old", "new", "expected"), HOSTILE, ids=[case[2][:48] for case in HOSTILE])
def test_a_mistake_in_the_tables_is_named_with_its_fix(old: str, new: str, expected: str, tmp_path: Path) -> None:
    assert expected in broken(tmp_path, old, new)


def test_an_error_names_file_line_and_field(tmp_path: Path) -> None:
    old = "{alone: 0.05, couple: 0.14, family: 0.76, shared: 0.05}"
    line = SOURCE[: SOURCE.index(old)].count("\n") + 1
    message = broken(tmp_path, old, "{alone: 0, couple: 0, family: 0, shared: 0}")
    assert message == (
        f"personas/catalog/population.yaml:{line}: traits.household.table.adult, caring: all weights are 0; give one value a weight above 0"
    )
