"""Whole personas: coherent, quick to draw, the same bytes everywhere."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections import Counter

import pytest
from pydantic import ValidationError

from iba_bench.streams import stream
from personas.identity import load_identity
from personas.persona import Persona
from personas.population import Population, draw_persona, load_population
from personas.social import SELF, circle_graph, companions
from personas.spelling import americanised

DIGEST = """
import hashlib
from iba_bench.streams import stream
from personas.population import draw_persona, load_population
population = load_population()
out = hashlib.sha256()
for index in range(60):
    persona = draw_persona(stream(7, "persona", index), population, index, f"p{index}")
    out.update(persona.model_dump_json().encode())
print(out.hexdigest())
"""


@pytest.fixture(scope="module")
def population() -> Population:
    return load_population()


@pytest.fixture(scope="module")
def personas(population: Population) -> list[Persona]:
    return [draw_persona(stream(7, "persona", index), population, index, f"p{index}") for index in range(800)]


def relations(persona: Persona) -> Counter[str]:
    return Counter(person.relation for person in persona.social)


def age(persona: Persona) -> int:
    return 2025 - persona.background.birth_year


def test_same_bytes_for_every_hash_seed(personas: list[Persona]) -> None:
    expected = hashlib.sha256("".join(persona.model_dump_json() for persona in personas[:60]).encode()).hexdigest()
    for seed in ("0", "1", "4242"):
        run = subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
        )
        assert run.stdout.strip() == expected, run.stderr


def test_the_order_of_drawing_changes_nothing(population: Population, personas: list[Persona]) -> None:
    again = {index: draw_persona(stream(7, "persona", index), population, index, f"p{index}") for index in (50, 3, 17)}
    assert all(persona == personas[index] for index, persona in again.items())


def test_a_persona_survives_json(personas: list[Persona]) -> None:
    assert all(Persona.model_validate_json(persona.model_dump_json()) == persona for persona in personas[:50])


def test_a_persona_is_frozen(personas: list[Persona]) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(personas[0], "city", "Elsewhere")  # noqa: B010 - plain assignment is what mypy refuses


def test_drawing_is_fast(population: Population) -> None:
    best = 1.0
    for _ in range(3):
        began = time.perf_counter()
        for index in range(100):
            draw_persona(stream("speed", index), population, index, "p")
        best = min(best, (time.perf_counter() - began) / 100)
    assert best < 3e-3


def test_age_fits_the_band(population: Population, personas: list[Persona]) -> None:
    for persona in personas:
        low, high = population.tables.ages[persona.traits["age_band"]]
        assert low <= age(persona) <= high
        assert persona.traits["work"] != "retired" or age(persona) >= 57


def test_place_and_zone_belong_together(personas: list[Persona]) -> None:
    places = load_identity().places
    for persona in personas:
        found = {city.city: city.timezone for city in places[persona.locale].cities}
        assert found[persona.city] == persona.timezone
        assert persona.street in places[persona.locale].streets


def test_all_locales_and_their_cities_occur(personas: list[Persona]) -> None:
    seen = {locale: Counter(p.city for p in personas if p.locale == locale) for locale in load_identity().places}
    assert all(len(cities) >= 8 for cities in seen.values())


def test_occupations_fit_work_age_and_household(personas: list[Persona]) -> None:
    jobs = load_identity().occupations
    for persona in personas:
        job = next(job for job in jobs[persona.traits["work"]] if job.title == persona.background.occupation)
        assert job.fits(persona.traits)


def test_names_fit_pronouns_and_era(personas: list[Persona]) -> None:
    names = load_identity().names
    for persona in personas:
        wrong = names.before_1980 if persona.background.birth_year > 1980 else names.after_1980
        assert persona.first_name not in wrong and persona.first_name not in names.avoid
    assert {persona.background.pronouns for persona in personas} == {"she/her", "he/him", "they/them"}


def test_no_name_is_everywhere(personas: list[Persona]) -> None:
    assert Counter(persona.display_name for persona in personas).most_common(1)[0][1] <= 2
    assert Counter(persona.first_name for persona in personas).most_common(1)[0][1] / len(personas) < 0.03


def test_first_names_are_unique_within_a_life(personas: list[Persona]) -> None:
    for persona in personas:
        names = [persona.first_name, *(person.name for person in persona.social)]
        assert len(set(names)) == len(names)
        assert len({person.mention for person in persona.social}) == len(persona.social)


def test_circles_have_six_to_ten_people_of_every_group(personas: list[Persona]) -> None:
    for persona in personas:
        assert 6 <= len(persona.social) <= 10
        groups = [person.group for person in persona.social]
        assert {"family", "friend", "colleague"} <= set(groups)
        order = ("household", "family", "friend", "colleague")
        assert groups == sorted(groups, key=order.index)


def test_a_mention_holds_the_name_and_nothing_that_is_spelled_two_ways(personas: list[Persona]) -> None:
    for person in (person for persona in personas for person in persona.social):
        assert person.name in person.mention
        assert americanised(person.mention) == person.mention


def test_household_trait_and_home_agree(personas: list[Persona]) -> None:
    for persona in personas:
        home = persona.companions
        children = [person for person in home if person.is_child]
        partners = [person for person in home if person.relation in ("wife", "husband", "partner", "girlfriend", "boyfriend")]
        match persona.traits["household"]:
            case "alone":
                assert home == ()
            case "couple":
                assert len(home) == len(partners) == 1
            case "family":
                assert children
            case "shared":
                assert home and not children and not partners


def test_only_the_household_lives_there(personas: list[Persona]) -> None:
    for person in (person for persona in personas for person in persona.social):
        assert person.lives_with == (person.group == "household")


def test_relations_fit_the_age(personas: list[Persona]) -> None:
    for persona in personas:
        has, band = relations(persona), persona.traits["age_band"]
        if band == "senior":
            assert not {"mother", "father", "grandmother", "grandfather", "aunt", "uncle"} & has.keys()
        else:
            assert not {"grandson", "granddaughter"} & has.keys()
        assert max(has["mother"], has["father"], has["manager"]) <= 1


def test_colleagues_fit_the_work(personas: list[Persona]) -> None:
    own = {
        "manager": ("office",),
        "client": ("self_employed",),
        "former colleague": ("retired",),
        "tutor": ("student",),
    }
    for persona in personas:
        for relation in relations(persona):
            assert relation not in own or persona.traits["work"] in own[relation]


def test_the_circle_is_a_graph_of_who_knows_whom(personas: list[Persona]) -> None:
    persona = next(p for p in personas if p.traits["household"] == "family" and len(p.companions) >= 2)
    graph = circle_graph(persona.social)
    first, second = persona.companions[:2]
    colleague = next(person for person in persona.social if person.group == "colleague")
    assert sorted(graph.neighbors(SELF)) == sorted(person.name for person in persona.social)
    assert second in companions(graph, first.name)
    assert colleague not in companions(graph, first.name)


def test_voices_fit_people(personas: list[Persona]) -> None:
    for persona in personas:
        if persona.locale != "en_CA":
            assert persona.voice.spelling == ("american" if persona.locale == "en_US" else "british")
        assert 0 <= persona.voice.typo_rate <= 0.04
        assert 2 <= len(persona.voice.pet_phrases) <= 4
    canadians = Counter(persona.voice.spelling for persona in personas if persona.locale == "en_CA")
    assert min(canadians["american"], canadians["british"]) / canadians.total() > 0.3


def test_quota_is_named_on_the_persona(personas: list[Persona]) -> None:
    assert {personas[3].quota, personas[10].quota} == {"health=hard_of_hearing", "health=diabetes"}
    assert personas[0].quota is None
