import datetime
import enum
import json
import time
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from iba_bench.models.reading import Unreadable, read, strict_schema


class Size(enum.Enum):
    SMALL = "small"
    EXTRA_LARGE = "extra_large"


class Topping(BaseModel):
    name: str
    grams: int | None = None


class Order(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    drink: str
    count: int
    iced: bool = False
    size: Size = Size.SMALL
    notes: list[str] = []
    toppings: list[Topping] = []
    price: float | None = None


class Bare(BaseModel):
    text: str = ""


GOOD = '{"drink": "tea", "count": 2}'
TEA = Order(drink="tea", count=2)


# The schema


def test_the_schema_is_strict_at_every_level_and_holds_no_reference():
    schema = strict_schema(Order)
    text = json.dumps(schema)
    assert "$ref" not in text and "$defs" not in text and '"default"' not in text
    assert schema["required"] == ["drink", "count", "iced", "size", "notes", "toppings", "price"]
    assert schema["properties"]["toppings"] == {
        "type": "array",
        "items": {
            "type": "object", "required": ["name", "grams"], "additionalProperties": False,
            "properties": {"name": {"type": "string"}, "grams": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        },
    }  # fmt: skip
    assert schema["properties"]["size"] == {"type": "string", "enum": ["small", "extra_large"]}


def test_fields_named_like_schema_words_keep_their_names():
    class Odd(BaseModel):
        title: str
        items: list[int]
        default: int = 3
        properties: Bare

    assert list(strict_schema(Odd)["properties"]) == ["title", "items", "default", "properties"]
    assert strict_schema(Odd)["properties"]["properties"]["properties"] == {"text": {"type": "string"}}
    assert read('{"title": "t", "items": "4", "default": "5", "properties": {}}', Odd)[0] == Odd(title="t", items=[4], default=5, properties=Bare())


def test_one_of_with_a_discriminator_becomes_any_of():
    class Cat(BaseModel):
        kind: Literal["cat"]
        lives: int

    class Dog(BaseModel):
        kind: Literal["dog"]
        lives: int

    class Pet(BaseModel):
        pet: Cat | Dog = Field(discriminator="kind")

    assert list(strict_schema(Pet)["properties"]["pet"]) == ["anyOf"]
    assert read('{"pet": {"kind": "dog", "lives": "1"}}', Pet) == (Pet(pet=Dog(kind="dog", lives=1)), "coerced")


class Tree(BaseModel):
    children: list["Tree"]


class Open(BaseModel):
    counts: dict[str, int]


class AnyField(BaseModel):
    what: Any


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (Tree, "Tree: 'Tree' holds itself; a strict schema has no recursion, so give it a fixed depth"),
        (Open, "Open: a mapping with open keys has no strict schema; use a list of objects"),
        (AnyField, "AnyField: a field of any type has no strict schema; give it a type"),
    ],
)
def test_a_shape_that_no_strict_schema_can_say_is_refused(shape: type[BaseModel], said: str):
    with pytest.raises(ValueError) as caught:
        strict_schema(shape)
    assert str(caught.value) == said


# The rungs


def test_strict_json_is_read_natively():
    assert read(f"\n {GOOD} ", Order) == (TEA, "native")


@pytest.mark.parametrize(
    "content",
    [
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```\nHope this helps: {{enjoy}}!",
        f"Here's the order (it's \"5\" {{oz}}): {GOOD}",
        f"<think>maybe {{\"drink\": \"ale\", \"count\": 9}}? no</think>{GOOD}",
        f"so a tea</think>\n{GOOD}",
        f"<think>a<think>b</think>c</think>{GOOD}<think>{{'drink': 'ale', 'count': 9}}</think>",
        f"First draft: {{\"drink\": \"ale\", \"count\": 1}}. Better: {GOOD}",
        f"{GOOD}\nSource: {{\"note\": 1}}",
        f"{GOOD} <think>is it? {{\"drink\": \"ale\", \"count\": 9}}",
        f"\ufeff{GOOD}",
        f"{GOOD}\x00\x00",
    ],
)  # fmt: skip
def test_an_answer_within_fences_prose_or_after_thoughts_is_found(content: str):
    assert read(content, Order) == (TEA, "fenced")


@pytest.mark.parametrize("text", ["a } b", 'say \\"{\\"', "```json", "it's [fine", "\\\\"])
def test_brackets_and_quotes_within_strings_do_not_count(text: str):
    assert read(f'Well: {{"drink": "{text}", "count": 1}} done', Order) == (Order(drink=json.loads(f'"{text}"'), count=1), "fenced")


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ('{"drink": "tea", "count": "2"}', TEA),
        ('{"drink": "tea", "count": 2.0}', TEA),
        ('{"drink": "tea", "count": " +2.0 "}', TEA),
        ('{"drink": 7, "count": 2}', Order(drink="7", count=2)),
        ('{"drink": "tea", "count": 2, "iced": "Yes"}', Order(drink="tea", count=2, iced=True)),
        ('{"drink": "tea", "count": 2, "iced": "false"}', TEA),
        ('{"drink": "tea", "count": 2, "size": "Extra Large"}', Order(drink="tea", count=2, size=Size.EXTRA_LARGE)),
        ('{"drink": "tea", "count": 2, "size": "extra-large"}', Order(drink="tea", count=2, size=Size.EXTRA_LARGE)),
        ('{"drink": "tea", "count": 2, "notes": "hot"}', Order(drink="tea", count=2, notes=["hot"])),
        (
            '{"drink": "tea", "count": 2, "toppings": {"name": "mint", "grams": "3"}}',
            Order(drink="tea", count=2, toppings=[Topping(name="mint", grams=3)]),
        ),
        (
            '{"drink": "tea", "count": 2, "toppings": [{"name": "mint", "grams": "none"}]}',
            Order(drink="tea", count=2, toppings=[Topping(name="mint")]),
        ),
        ('{"drink": "tea", "count": 2, "iced": null, "size": null, "notes": null}', TEA),
        ('{"drink": "tea", "count": 2, "price": "3.50"}', Order(drink="tea", count=2, price=3.5)),
        ('{"drink": "tea", "count": 2, "price": ""}', TEA),
        ('{"drink": "tea", "count": 2, "waiter": "Ann"}', TEA),
        ('[{"drink": "tea", "count": 2}]', TEA),
        ('{"drink": "tea", "count": 2,}', TEA),
        ("{'drink': 'tea', 'count': 2, 'iced': False, 'price': None, }", TEA),
        ("{'drink': 'it\\'s \"x\"', 'count': 2}", Order(drink='it\'s "x"', count=2)),
        ('{"drink": "tea True, }", "count": 2, "iced": True}', Order(drink="tea True, }", count=2, iced=True)),
        ('{"drink": "green\ntea", "count": 2}', Order(drink="green\ntea", count=2)),
    ],
)
def test_a_nearly_right_answer_is_coerced(content: str, value: Order):
    assert read(content, Order) == (value, "coerced")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"count": 2}', "drink: Field required"),
        ('{"drink": null, "count": 2}', "drink: Input should be a valid string (it was None)"),
        ('{"drink": true, "count": 2}', "drink: Input should be a valid string (it was True)"),
        ('{"drink": "tea", "count": ""}', "count: Input should be a valid integer (it was '')"),
        ('{"drink": "tea", "count": "two"}', "count: Input should be a valid integer (it was 'two')"),
        ('{"drink": "tea", "count": 2.5}', "count: Input should be a valid integer (it was 2.5)"),
        ('{"drink": "tea", "count": true}', "count: Input should be a valid integer (it was True)"),
        ('{"drink": "tea", "count": 2, "iced": "maybe"}', "iced: Input should be a valid boolean (it was 'maybe')"),
        ('{"drink": "tea", "count": 2, "size": "huge"}', "size: Input should be 'small' or 'extra_large' (it was 'huge')"),
        ('{"drink": "tea", "count": 2, "toppings": [{"grams": 1}]}', "toppings.0.name: Field required"),
        ('{"drink": "tea", "count": 1, "count": 2}', "the key 'count' is given twice with different values"),
        ('{"drink": "tea", "count": 2, "price": NaN}', "NaN is not a JSON value"),
        ('{"drink": "tea", "count": 2, "price": -Infinity}', "-Infinity is not a JSON value"),
        ('{"drink": "tea", "count": 2, "price": 1e999}', "its JSON is broken: Out of range float values are not JSON compliant"),
        ('{"drink": "tea", "count": ' + "9" * 5000 + "}", "its JSON is broken: Exceeds the limit"),
        ('{"drink": "tea\\ud800", "count": 2}', "the answer: Invalid JSON: "),
        (GOOD[:-1] + ', "toppings": [', "it holds no complete JSON object"),
        (f"[{GOOD}, {GOOD}]", "the answer: Input should be an object (it was [{'drink': 'tea', 'count': 2}"),
        ("Fill the {} in: {'} and {}", "it holds no complete JSON object"),
        ('{"drink": "tea", "count": 2, "notes": [' + "1.5," * 1_001 + "1.5]}", "1002 of its values do not follow the schema"),
        ("", "it holds no complete JSON object"),
        ("null", "it holds no complete JSON object"),
        ("I cannot do that.", "it holds no complete JSON object"),
        ('{"drink": "tea" "count": 2}', "its JSON is broken: Expecting ',' delimiter: line 1 column 17 (char 16)"),
    ],
)
def test_what_would_need_an_invented_value_or_a_choice_is_unreadable(content: str, said: str):
    with pytest.raises(Unreadable) as caught:
        read(content, Order)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("value", ['"nan"', '"inf"', '"1e99999"', '"-Infinity"'])
def test_no_number_that_is_not_finite_gets_in_as_text(value: str):
    with pytest.raises(Unreadable):
        read(f'{{"drink": "tea", "count": 2, "price": {value}}}', Order)


def test_an_object_inside_an_unfinished_one_is_not_taken_for_the_answer():
    with pytest.raises(Unreadable, match="no complete JSON object"):
        read('{"orders": [{"text": "a"}, {"text": "b"}], "more": ', Bare)


def test_two_enum_values_that_differ_only_in_spelling_are_not_guessed_between():
    class Pick(BaseModel):
        one: Literal["a b", "a_b"]

    assert read('{"one": "a_b"}', Pick) == (Pick(one="a_b"), "native")
    with pytest.raises(Unreadable):
        read('{"one": "A B"}', Pick)


def test_a_number_never_becomes_a_date():
    class Day(BaseModel):
        day: datetime.date
        at: datetime.datetime | None = None

    assert read('{"day": "2026-01-05"}', Day) == (Day(day=datetime.date(2026, 1, 5)), "native")
    for content in ('{"day": 20260105}', '{"day": "2026-01-05", "at": 3}'):
        with pytest.raises(Unreadable):
            read(content, Day)


class Cat(BaseModel):
    lives: int
    name: str = ""


class Dog(BaseModel):
    tricks: int
    name: str = ""


class Loose(BaseModel):
    numbers: list[int] | None = None
    pet: Cat | Dog | None = None
    flags: int | list[bool] = 0
    mood: Literal["none", "good"] | None = None


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ('{"numbers": ["3", 4]}', Loose(numbers=[3, 4])),
        ('{"numbers": "3"}', Loose(numbers=[3])),
        ('{"pet": {"tricks": "2"}}', Loose(pet=Dog(tricks=2))),
        ('{"pet": {"lives": "9", "tricks": null}}', Loose(pet=Cat(lives=9))),
        ('{"pet": "None", "numbers": ""}', Loose()),
        ('{"mood": "None"}', Loose(mood="none")),
        ('{"flags": "7"}', Loose(flags=7)),
        ('{"flags": true}', Loose(flags=[True])),
    ],
)
def test_the_branch_of_a_union_that_the_answer_fits_is_coerced(content: str, value: Loose):
    assert read(content, Loose) == (value, "coerced")


def test_of_several_unreadable_objects_the_last_is_complained_of():
    with pytest.raises(Unreadable, match="^count: Field required$"):
        read('{"count": 1} or rather {"drink": "tea"}', Order)


def test_text_where_text_or_a_list_may_stand_stays_text():
    class Either(BaseModel):
        what: str | list[str] | None = None

    assert read('{"what": "null"}', Either)[0] == Either(what="null")


def test_coercion_leaves_what_is_right_as_it_is():
    whole = Order(drink="tea", count=2, iced=True, size=Size.EXTRA_LARGE, notes=["a", ""], toppings=[Topping(name="x", grams=0)], price=0.0)
    assert read("Sure: " + whole.model_dump_json()[:-1] + ',"waiter":1}', Order) == (whole, "coerced")


HOSTILE = {
    "open braces": "{" * 2_000_000,
    "closing braces": "}" * 2_000_000,
    "braces": "{}" * 1_000_000,
    "quoted braces": '{""}' * 500_000,
    "open objects": '{"a":' * 400_000,
    "open lists": "[{" * 1_000_000,
    "nested lists": "[" * 1_000_000 + "]" * 1_000_000,
    "10k brackets": '{"a":' + "[" * 10_000 + "]" * 10_000 + "}",
    "nested objects": '{"a":' * 300_000 + "1" + "}" * 300_000,
    "quotes": '{"' + '"' * 2_000_000,
    "escaped quotes": '{"a' + '\\"' * 1_000_000,
    "escaped quotes in prose": '\\"' * 1_000_000 + GOOD[:-1],
    "single quotes": "{'" * 1_000_000,
    "backslashes": '{"' + "\\" * 2_000_001,
    "null bytes": "\x00" * 2_000_000,
    "commas": '{"a": [' + "," * 2_000_000 + "]}",
    "spaced commas": '{"a": [' + ", " * 1_000_000 + "]}",
    "spaces": "{" + " " * 2_000_000 + "x}",
    "opened thoughts": "<think>" * 280_000,
    "closed thoughts": "</think>" * 250_000,
    "fences": "```json\n" * 250_000,
    "objects": '{"text": 1} ' * 160_000,
    "digits": '{"text": ' + "9" * 2_000_000 + "}",
    "list of quotes": '{"text": [' + "'a'," * 500_000 + "]}",
    "many errors": '{"drink": "tea", "count": 2, "toppings": [' + '{"grams": 12345678},' * 95_000 + "{}]}",
    "many keys": "{" + ",".join(f'"{n}":0' for n in range(150_000)) + "}",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_two_megabytes_of_anything_are_refused_in_under_two_seconds(name: str):
    start = time.process_time()
    with pytest.raises(Unreadable):
        read(HOSTILE[name], Order)
    assert time.process_time() - start < 2


def test_a_shape_with_its_own_rules_is_held_to_them():
    class Rated(BaseModel):
        stars: int = Field(ge=1, le=5)

    with pytest.raises(Unreadable, match=r"^stars: Input should be less than or equal to 5 \(it was 9\)$"):
        read('{"stars": "9"}', Rated)
    with pytest.raises(ValidationError):
        Rated(stars=9)
