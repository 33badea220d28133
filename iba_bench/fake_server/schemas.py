"""Fills JSON schemas with plain data, drawn from a given random stream.

Alternatives are taken in order: the first one wins. Keywords that the filler cannot honour are refused by name, never answered wrongly.
Limit: ``multipleOf`` is exact for whole numbers and for binary fractions such as 0.25.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import Any

from iba_bench.streams import pick

DEEP = 4
"""Nesting beyond which optional parts of a schema are left out, so that recursive schemas end."""
BOTTOM = 32
"""Nesting, or hops from reference to reference, beyond which a schema counts as endless."""
WORDS = (
    "amber lamp", "quiet corner", "paper map", "garden gate", "early train", "green kettle", "spare key", "wooden bench",
    "river path", "second cup", "old radio", "window seat", "blue notebook", "rain coat", "market stall", "short break",
)  # fmt: skip
REFUSED_KEYWORDS = (
    "pattern", "not", "if", "contains", "minProperties", "patternProperties", "propertyNames", "dependentRequired", "dependentSchemas", "prefixItems",
)  # fmt: skip
JOINED = ("$ref", "allOf", "anyOf", "oneOf")
JOIN: dict[str, Callable[[Any, Any], Any]] = {
    "properties": lambda one, other: one | {name: {"allOf": [one[name], sub]} if name in one else sub for name, sub in other.items()},
    "required": lambda one, other: [*one, *other],
    "enum": lambda one, other: [value for value in one if value in other],
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems"), min),
}


class UnsupportedSchema(ValueError):
    """A JSON schema that cannot be filled: it uses a refused keyword or allows no value."""


def fill(schema: Any, rng: random.Random) -> Any:
    """Return plain data that satisfies the JSON ``schema`` (draft 2020-12).

    Raises:
        UnsupportedSchema: A keyword is refused, a reference leads nowhere, or no value is allowed.
    """
    return _Filler(schema, rng).value(schema, 0)


class _Filler:
    """Fills one schema; ``root`` is where local references start."""

    def __init__(self, root: Any, rng: random.Random) -> None:
        self._root, self._rng = root, rng

    def value(self, schema: Any, depth: int) -> Any:
        if depth > BOTTOM:
            raise UnsupportedSchema("the schema requires itself without end")
        flat = self._flatten(schema, depth, 0)
        if "const" in flat:
            return flat["const"]
        if "enum" in flat:
            return pick(self._rng, _some(flat["enum"], "enum"))
        return self._typed(_kind(flat, depth), flat, depth)

    def _typed(self, kind: str, schema: Mapping[str, Any], depth: int) -> Any:
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, depth)
            case "string":
                return self._string(schema)
            case "integer" | "number":
                return _number(schema, self._rng, whole=kind == "integer")
            case "boolean":
                return self._rng.random() < 0.5
            case "null":
                return None
        raise UnsupportedSchema(f"unknown type {kind!r}")

    def _flatten(self, schema: Any, depth: int, hops: int) -> dict[str, Any]:
        """Join references and alternatives into one schema of plain keywords."""
        if schema is True:
            return {}
        if not isinstance(schema, dict) or hops > BOTTOM:
            raise UnsupportedSchema(f"no value satisfies the schema {schema!r}" if hops <= BOTTOM else "references without end")
        _refuse_keywords(schema)
        parts = [self._resolve(schema["$ref"])] if "$ref" in schema else []
        parts += schema.get("allOf", [])
        parts += [_alternative(_some(schema[keyword], keyword), depth) for keyword in ("anyOf", "oneOf") if keyword in schema]
        flat = {keyword: value for keyword, value in schema.items() if keyword not in JOINED}
        for part in parts:
            flat = _merged(flat, self._flatten(part, depth, hops + 1))
        return flat

    def _resolve(self, reference: str) -> Any:
        node = self._root
        for step in reference.split("/")[1:]:
            node = node.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(node, dict) else None
        if node is None or not reference.startswith("#"):
            raise UnsupportedSchema(f"reference {reference!r} leads nowhere")
        return node

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        required, properties = schema.get("required", []), dict(schema.get("properties", {}))
        for name in required:
            properties.setdefault(name, {})
        return {name: self.value(sub, depth + 1) for name, sub in properties.items() if name in required or depth <= DEEP}

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        least = schema.get("minItems", 0)
        most = min(schema.get("maxItems", least + 2), least if depth > DEEP else least + 2)
        wanted = max(least, min(most, 1 + int(self._rng.random() * most)))
        items: list[Any] = []
        for _ in range(wanted + BOTTOM):
            if len(items) == wanted:
                break
            item = self.value(schema.get("items", {}), depth + 1)
            if not schema.get("uniqueItems") or item not in items:
                items.append(item)
        if not least <= len(items) <= schema.get("maxItems", math.inf):
            raise UnsupportedSchema(f"found {len(items)} items that fit; minItems is {least}, maxItems {schema.get('maxItems', 'not given')}")
        return items

    def _string(self, schema: Mapping[str, Any]) -> str:
        shape = schema.get("format", "")
        if shape in ("date", "time", "date-time"):
            return self._date(shape)
        least, most = schema.get("minLength", 0), schema.get("maxLength", math.inf)
        if least > most:
            raise UnsupportedSchema(f"minLength {least} is more than maxLength {most}")
        text = f"{pick(self._rng, WORDS)} and {pick(self._rng, WORDS)}"
        text *= int(1 + least // len(text))
        return text if len(text) <= most else text[: int(most)]

    def _date(self, shape: str) -> str:
        year, month, day, hour, minute = (low + int(self._rng.random() * span) for low, span in ((2000, 30), (1, 12), (1, 28), (0, 24), (0, 60)))
        date, time = f"{year}-{month:02d}-{day:02d}", f"{hour:02d}:{minute:02d}:00Z"
        return {"date": date, "time": time, "date-time": f"{date}T{time}"}[shape]


def _some(options: list[Any], keyword: str) -> list[Any]:
    if not options:
        raise UnsupportedSchema(f"{keyword} leaves no value")
    return options


def _kind(schema: Mapping[str, Any], depth: int) -> str:
    """Return the type to fill: the first that is not null, or null where the nesting is deep."""
    kind: str | list[str] = schema.get("type", "object" if "properties" in schema else "string")
    kinds: list[str] = [kind] if isinstance(kind, str) else kind
    named = [name for name in kinds if name != "null"]
    return named[0] if named and ("null" not in kinds or depth <= DEEP) else "null"


def _alternative(options: list[Any], depth: int) -> Any:
    """Return the first option, or a null that stands among them where the nesting is deep."""
    nulls = [option for option in options if isinstance(option, dict) and option.get("type") == "null"]
    return nulls[0] if nulls and depth > DEEP else options[0]


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that asks for what both ask for."""
    shared = {keyword: JOIN[keyword](one[keyword], other[keyword]) for keyword in JOIN if keyword in one and keyword in other}
    return {**one, **other, **shared}


def _refuse_keywords(schema: Mapping[str, Any]) -> None:
    refused = [keyword for keyword in REFUSED_KEYWORDS if keyword in schema]
    if refused:
        raise UnsupportedSchema(f"the keyword {refused[0]!r} cannot be honoured; use an enum or an answerer of your own")


def _number(schema: Mapping[str, Any], rng: random.Random, *, whole: bool) -> float:
    """Return a number within the schema's bounds: on its steps, or with two decimals where these fit."""
    step = schema.get("multipleOf", 1 if whole else None)
    if step is not None and (step <= 0 or (whole and step != int(step))):
        raise UnsupportedSchema(f"multipleOf {step!r} cannot be honoured for {'an integer' if whole else 'a number'}")
    low, high = _bounds(schema, 100 * (step or 1))
    if step is None:
        candidates = [round(low + rng.random() * (high - low), 2), low + (high - low) * (0.25 + 0.5 * rng.random()), low]
    else:
        first, last = math.ceil(low / step), math.floor(high / step)
        drawn = first + int(rng.random() * (last - first + 1))
        candidates = [index * step for index in (drawn, first, first + 1)]
    for candidate in candidates:
        if _within(candidate, schema):
            return int(candidate) if whole else candidate
    raise UnsupportedSchema(f"no number lies within the bounds of {dict(schema)}")


def _bounds(schema: Mapping[str, Any], span: float) -> tuple[float, float]:
    low = max(schema.get("minimum", -math.inf), schema.get("exclusiveMinimum", -math.inf))
    high = min(schema.get("maximum", math.inf), schema.get("exclusiveMaximum", math.inf))
    low = low if low > -math.inf else min(0, high - span)
    return low, high if high < math.inf else low + span


def _within(value: float, schema: Mapping[str, Any]) -> bool:
    closed = schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf)
    return bool(closed and schema.get("exclusiveMinimum", -math.inf) < value < schema.get("exclusiveMaximum", math.inf))
