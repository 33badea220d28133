"""Reading a structured answer: strict JSON, JSON within prose, coercion; and the strict JSON schema that goes with the question.

Each rung only rewrites what the model said: no rung makes up a value for a required field, and where two readings are possible there is none.
Reading is linear in the length of the answer, whatever it holds. Shapes must be expressible as a strict schema: no recursion, no open mappings.
"""

from __future__ import annotations

import collections
import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from iba_bench.models.coercion import coerced

Model = TypeVar("Model", bound=BaseModel)
Rung = Literal["native", "fenced", "coerced"]

_THINK = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_OPENER = re.compile(r"""\{(?=\s*["'])|\[(?=\s*[\[{])""")
# An unclosed string runs to the end: were it no match, the search would start anew at each later quote.
_STRING = r""""[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|'[^'\\]*+(?:\\.[^'\\]*+)*+(?:'|\\?\Z)"""
_BRACKETS = re.compile(_STRING + r"|[\[{]++|[\]}]++", re.DOTALL)
_LOOSE = re.compile(_STRING + r"|\b(?:True|False|None)\b|,(?=\s*+[\]}])", re.DOTALL)
_PYTHON = {"True": "true", "False": "false", "None": "null", ",": ""}
_MOST_SPANS = 8
_MOST_ERRORS = 1_000  # pydantic has no way to list a few: many thousands take seconds


class Unreadable(ValueError):
    """No rung could read the text; the message says what is wrong, in words for the model that wrote it."""


@functools.cache
def strict_schema(shape: type[BaseModel]) -> Mapping[str, Any]:
    """Return the JSON schema of ``shape`` in strict form: references inlined, all fields required, no further ones allowed.

    Raises:
        ValueError: ``shape`` is recursive, or has a mapping with open keys or a field of any type: no strict schema says that.
    """
    return _strict(_inlined(shape), shape.__name__)


@functools.cache
def _inlined(shape: type[BaseModel]) -> dict[str, Any]:
    schema = shape.model_json_schema()
    return _inline(schema, schema.get("$defs", {}), (shape.__name__,))


def _inline(schema: dict[str, Any], defs: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name in path:
            raise ValueError(f"{path[0]}: '{name}' holds itself; a strict schema has no recursion, so give it a fixed depth")
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        return _inline({**defs[name], **siblings}, defs, (*path, name))
    return _each(schema, lambda part: _inline(part, defs, path))


def _each(schema: dict[str, Any], change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """Apply ``change`` to the direct subschemas, knowing that a field may be called ``items`` or ``title`` too."""
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            out[key] = {name: change(part) for name, part in value.items()}
        elif key in ("anyOf", "oneOf", "prefixItems"):
            out["anyOf" if key == "oneOf" else key] = [change(part) for part in value]
        elif key == "items" and isinstance(value, dict):
            out[key] = change(value)
        elif key not in ("$defs", "discriminator", "title"):
            out[key] = value
    return out


def _strict(schema: dict[str, Any], where: str) -> dict[str, Any]:
    if schema.get("type") == "object" and "properties" not in schema:
        raise ValueError(f"{where}: a mapping with open keys has no strict schema; use a list of objects")
    if not any(key in schema for key in ("type", "anyOf", "enum", "const")):
        raise ValueError(f"{where}: a field of any type has no strict schema; give it a type")
    out = _each(schema, lambda part: _strict(part, where))
    out.pop("default", None)
    if "properties" in out:
        out |= {"required": list(out["properties"]), "additionalProperties": False}
    return out


def read(content: str, shape: type[Model]) -> tuple[Model, Rung]:
    """Read an answer by the rungs that need no further call.

    Raises:
        Unreadable: no rung could, with what is wrong after all coercion.
    """
    whole: list[str] = []
    try:
        data = _json(content)
        whole = [content] if isinstance(data, dict | list) else []
        return _validated(data, shape), "native"
    except (ValueError, RecursionError):
        # The last part: a chat template may have opened the block, so that only its end stands in the answer.
        spans = whole or list(_spans(_THINK.sub("", content).rpartition("</think>")[2]))
    for span in spans if not whole else ():
        try:
            return _validated(_json(span), shape), "fenced"
        except (ValueError, RecursionError):
            continue
    problem = "it holds no complete JSON object"
    for rank, span in enumerate(spans):
        try:
            return _validated(coerced(_json(_LOOSE.sub(_as_json, span), strict=False), _inlined(shape)), shape), "coerced"
        except (ValueError, RecursionError) as error:
            problem = _in_plain_words(error) if rank == 0 else problem
    raise Unreadable(problem)


def _spans(text: str) -> Iterator[str]:
    """Return the outermost balanced brackets, last first; what an unclosed bracket holds is no answer and gives none."""
    found: collections.deque[str] = collections.deque(maxlen=_MOST_SPANS)
    end: int | None = 0
    while end is not None and (opener := _OPENER.search(text, end)):
        end = _balanced_end(text, opener.start())
        if end is not None:
            found.append(text[opener.start() : end])
    return reversed(found)


def _balanced_end(text: str, start: int) -> int | None:
    depth = 0
    for token in _BRACKETS.finditer(text, start):
        first, length = text[token.start()], token.end() - token.start()
        if first in "[{":
            depth += length
        elif first in "]}":
            if length >= depth:
                return token.start() + depth
            depth -= length
    return None


def _as_json(token: re.Match[str]) -> str:
    text = token.group()
    if text[0] != "'":
        return _PYTHON.get(text, text)
    return '"' + re.sub(r'\\.|"', lambda part: {r"\'": "'", '"': r"\""}.get(part.group(), part.group()), text[1:-1]) + '"'


def _json(text: str, *, strict: bool = True) -> Any:
    return json.loads(text, object_pairs_hook=_pairs, parse_constant=_no_constant, strict=strict)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out and out[key] != value:
            raise Unreadable(f"the key {key[:60]!r} is given twice with different values")
        out[key] = value
    return out


def _no_constant(name: str) -> NoReturn:
    raise Unreadable(f"{name} is not a JSON value")


def _validated(data: Any, shape: type[Model]) -> Model:
    # Strict on every rung: pydantic's lax mode would read 3 as a moment of the year 1970.
    return shape.model_validate_json(json.dumps(data, allow_nan=False), strict=True)


def _in_plain_words(error: Exception) -> str:
    if isinstance(error, ValidationError) and error.error_count() > _MOST_ERRORS:
        return f"{error.error_count()} of its values do not follow the schema"
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[:5]
        said = [f"{'.'.join(map(str, item['loc'])) or 'the answer'}: {item['msg']}{_given(item)}" for item in first]
        return "; ".join([*said, *([f"{error.error_count() - 5} more"] if error.error_count() > 5 else [])])
    if isinstance(error, RecursionError):
        return "its JSON is nested too deeply"
    return str(error) if isinstance(error, Unreadable) else f"its JSON is broken: {error}"


def _given(item: Mapping[str, Any]) -> str:
    return "" if item["type"] in ("missing", "json_invalid") else f" (it was {repr(item['input'])[:60]})"
