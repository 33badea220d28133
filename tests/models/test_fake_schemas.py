"""Filling JSON schemas: whatever comes out is valid, and what cannot be filled is refused by name."""

from __future__ import annotations

import datetime
import random
from typing import Any, Literal

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from iba_bench.fake_server import TextAnswerer, UnsupportedSchema
from iba_bench.fake_server.schemas import fill


class Dish(BaseModel):
    name: str = Field(min_length=3, max_length=12)
    price: float = Field(gt=0, lt=0.01)
    course: Literal["starter", "main"] | None
    parts: list[Dish] = []


class Menu(BaseModel):
    day: Literal["monday"]
    guests: int = Field(ge=5, le=5)
    dishes: list[Dish] = Field(min_length=2, max_length=3)
    note: str | None = None
    vegan: bool


def numbers() -> st.SearchStrategy[dict[str, Any]]:
    def bounded(kind: str, low: float, width: float, keys: tuple[str, str], step: Any) -> dict[str, Any]:
        return {"type": kind, keys[0]: low, keys[1]: low + width} | ({"multipleOf": step} if step else {})

    keys = st.tuples(st.sampled_from(["minimum", "exclusiveMinimum"]), st.sampled_from(["maximum", "exclusiveMaximum"]))
    whole = st.builds(bounded, st.just("integer"), st.integers(-999, 999), st.integers(8, 99), keys, st.sampled_from([None, 1, 3]))
    free = st.builds(bounded, st.just("number"), st.floats(-99, 99), st.floats(0.001, 99), keys, st.none())
    stepped = st.builds(bounded, st.just("number"), st.floats(-99, 99), st.floats(2, 9), keys, st.sampled_from([0.25, 0.5, 1]))
    return whole | free | stepped | st.sampled_from([{"type": "integer", "minimum": 7.5}, {"type": "number", "maximum": -3}, {"type": "integer"}])


def leaves() -> st.SearchStrategy[Any]:
    strings = st.builds(lambda low, more: {"type": "string", "minLength": low, "maxLength": low + more}, st.integers(0, 90), st.integers(0, 9))
    plain = st.sampled_from([True, {}, {"type": "null"}, {"type": "boolean"}, {"type": ["null", "string"]}, {"const": {"a": 1}}, {"type": "string"}])
    return numbers() | strings | plain | st.builds(lambda values: {"enum": values}, st.lists(st.text() | st.integers() | st.none(), min_size=1))


def schemas() -> st.SearchStrategy[Any]:
    def deeper(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        names = st.lists(st.sampled_from(["a", "b", "c"]), unique=True)
        objects = st.builds(lambda properties, required: {"type": "object", "properties": properties, "required": required},
                            st.dictionaries(st.sampled_from(["a", "b"]), inner), names)  # fmt: skip
        arrays = st.builds(lambda items, low, more: {"type": "array", "items": items, "minItems": low, "maxItems": low + more},
                           inner, st.integers(0, 3), st.integers(0, 3))  # fmt: skip
        return objects | arrays | st.builds(lambda options: {"anyOf": options}, st.lists(inner, min_size=1, max_size=3))

    return st.recursive(leaves(), deeper, max_leaves=8)


@settings(max_examples=400, deadline=None, database=None, derandomize=True)
@given(schemas(), st.integers(0, 2**32))
def test_what_is_filled_satisfies_its_schema(schema: Any, seed: int) -> None:
    jsonschema.validate(fill(schema, random.Random(seed)), schema, jsonschema.Draft202012Validator)
    assert fill(schema, random.Random(seed)) == fill(schema, random.Random(seed))


def test_a_nested_recursive_pydantic_model_reads_what_is_filled() -> None:
    menus = [Menu.model_validate(fill(Menu.model_json_schema(), random.Random(seed))) for seed in range(30)]
    assert len({menu.model_dump_json() for menu in menus}) == 30
    assert {menu.vegan for menu in menus} == {True, False}


@pytest.mark.parametrize(("schema", "value"), [
    ({"anyOf": [{"const": 1}, {"const": 2}]}, 1),
    ({"anyOf": [{"const": 1}, {"type": "null"}]}, 1),
    ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"const": "x"}}}, "x"),
    ({"allOf": [{"minimum": 5, "type": "integer"}, {"maximum": 5, "minimum": 3}], "minimum": 1}, 5),
    ({"allOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]}, "b"),
    ({"properties": {"a": {"const": 1}}, "allOf": [{"properties": {"b": {"const": 2}}}]}, {"a": 1, "b": 2}),
    ({"properties": {"a": {"minimum": 4, "type": "integer"}}, "allOf": [{"properties": {"a": {"maximum": 4}}}]}, {"a": 4}),
    ({"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 1, "maxItems": 0, "allOf": [{"maxItems": 9}]}, None),
    ({"type": "object"}, {}), ({"type": "array", "maxItems": 0}, []),
])  # fmt: skip
def test_references_and_alternatives_are_joined(schema: Any, value: Any) -> None:
    if value is None:
        with pytest.raises(UnsupportedSchema, match="minItems is 1, maxItems 0"):
            fill(schema, random.Random(1))
    else:
        assert fill(schema, random.Random(1)) == value


def test_optional_recursion_comes_to_an_end() -> None:
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    assert fill(schema, random.Random(1)) == {"next": {"next": {"next": {"next": {"next": {}}}}}}


def test_open_bounds_are_not_reached() -> None:
    schema = {"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 3}
    assert {fill(schema, random.Random(seed)) for seed in range(50)} == {2}


def test_unique_items_differ_even_where_few_values_exist() -> None:
    schema = {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 3, "maxItems": 3}
    assert sorted(fill(schema, random.Random(1))) == [1, 2, 3]


@pytest.mark.parametrize(("schema", "text"), [
    ({"type": "string", "pattern": "^a+$"}, "the keyword 'pattern' cannot be honoured"),
    ({"anyOf": [{"not": {}}]}, "the keyword 'not' cannot be honoured"),
    ({"$ref": "#/$defs/none"}, "reference '#/$defs/none' leads nowhere"),
    ({"$ref": "other.json/$defs/a", "$defs": {"a": True}}, "reference 'other.json/$defs/a' leads nowhere"),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "references without end"),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"]}}}, "the schema requires itself without end"),
    ({"type": "integer", "minimum": 3, "maximum": 2}, "no number lies within"), ({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2}, "no number"),
    ({"type": "number", "multipleOf": 0}, "multipleOf 0 cannot be honoured"), ({"type": "integer", "multipleOf": 0.3}, "multipleOf 0.3 cannot be"),
    ({"type": "string", "minLength": 3, "maxLength": 2}, "minLength 3 is more than maxLength 2"), ({"type": "thing"}, "unknown type 'thing'"),
    ({"type": "array", "items": {"const": 1}, "minItems": 2, "uniqueItems": True}, "found 1 items that fit; minItems is 2"),
    ({"enum": []}, "enum leaves no value"), ({"anyOf": []}, "anyOf leaves no value"), (False, "no value satisfies the schema False"),
])  # fmt: skip
def test_what_cannot_be_filled_is_refused_by_name(schema: Any, text: str) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        fill(schema, random.Random(1))
    assert text in str(caught.value)


def test_dates_and_times_have_their_format() -> None:
    for seed in range(50):
        made = fill({"properties": {form: {"type": "string", "format": form} for form in ("date", "time", "date-time")}}, random.Random(seed))
        datetime.date.fromisoformat(made["date"])
        datetime.time.fromisoformat(made["time"])
        assert datetime.datetime.fromisoformat(made["date-time"]).tzinfo is not None


def test_the_default_answerer_follows_the_response_format() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}],
            "response_format": {"type": "json_schema", "json_schema": {"name": "menu", "schema": Menu.model_json_schema(), "strict": True}}}  # fmt: skip
    Menu.model_validate_json(TextAnswerer().answer(body).content)
