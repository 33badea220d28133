"""Structured output as a ladder: strict JSON, JSON within prose, coercion, one repair call, a typed failure.

Each rung only rewrites what the model said: no rung makes up a value for a required field, and where two readings are possible the model is
asked again. Reading is linear in the length of the answer, whatever it holds. The JSON schema of the shape goes with the request; a server
that refuses one is told the schema in words from then on. Shapes must be expressible as a strict schema: no recursion, no open mappings.
"""

from __future__ import annotations

import asyncio
import collections
import functools
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from iba_bench.models.reply import CallFailed, Reply, Usage
from iba_bench.models.request import Message, Request

Model = TypeVar("Model", bound=BaseModel)
Rung = Literal["native", "fenced", "coerced", "repaired"]
Call = Callable[[Request], Awaitable[Reply]]

_REFUSAL = re.compile(r"response_format|json_schema|structured[ _]outputs?|guided_json", re.IGNORECASE)
_THINK = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_OPENER = re.compile(r"""\{(?=\s*["'])|\[(?=\s*[\[{])""")
# An unclosed string runs to the end: were it no match, the search would start anew at each later quote.
_STRING = r""""[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|'[^'\\]*+(?:\\.[^'\\]*+)*+(?:'|\\?\Z)"""
_BRACKETS = re.compile(_STRING + r"|[\[{]++|[\]}]++", re.DOTALL)
_LOOSE = re.compile(_STRING + r"|\b(?:True|False|None)\b|,(?=\s*+[\]}])", re.DOTALL)
_PYTHON = {"True": "true", "False": "false", "None": "null", ",": ""}
_INTEGER = re.compile(r"\s*[+-]?\d{1,18}(?:\.0+)?\s*", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?\d{1,18}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,2})?\s*", re.ASCII)
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}
_MOST_SPANS = 8
_MOST_ERRORS = 1_000  # pydantic has no way to list a few: many thousands take seconds
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "null": (type(None),), "array": (list,), "object": (dict,),
}  # fmt: skip
IN_WORDS = "Answer with one JSON object that follows this JSON schema, and with nothing else:\n"
REPAIR = "That answer cannot be used: {problem}.\nGive the whole answer again as one JSON object, corrected, and nothing else."


@dataclass(frozen=True, slots=True)
class Structured(Generic[Model]):
    """A validated answer.

    Attributes:
        value: The answer in the shape that was asked for.
        rung: The rung that could read it; ``repaired`` where a second call was needed.
        usages: Tokens of every call that it took, in order.
    """

    value: Model
    rung: Rung
    usages: tuple[Usage, ...]


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
            return _validated(_coerced(_json(_LOOSE.sub(_as_json, span), strict=False), _inlined(shape)), shape), "coerced"
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


def _coerced(value: Any, schema: Mapping[str, Any]) -> Any:
    """Bring a value closer to its schema; what cannot be read otherwise stays as it is for validation to refuse."""
    names = _names(schema)
    if "anyOf" in schema:
        return _branch(value, schema["anyOf"])
    if names:
        return _named(value, names)
    kind = schema.get("type", "")
    if kind == "array" and value is not None:
        items = value if isinstance(value, list) else [value]
        parts = schema.get("prefixItems", [])
        return [_coerced(item, parts[n] if n < len(parts) else schema.get("items", {})) for n, item in enumerate(items)]
    return _object(value, schema) if kind == "object" else _scalar(value, schema.get("format", kind))


def _scalar(value: Any, kind: str) -> Any:
    if kind == "string" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, str):
        return value
    if kind == "boolean":
        return _TRUTH.get(_folded(value), value)
    if kind == "integer" and _INTEGER.fullmatch(value):
        return int(value.partition(".")[0])
    return float(value) if kind == "number" and _NUMBER.fullmatch(value) else value


def _object(value: Any, schema: Mapping[str, Any]) -> Any:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return value
    required, out = schema.get("required", ()), {}
    for name, part in schema["properties"].items():
        item = _coerced(value.get(name), part) if name in value else None
        if name in value and (item is not None or name in required or _fits(None, part)):
            out[name] = item
    return out


def _branch(value: Any, branches: list[Mapping[str, Any]]) -> Any:
    if any(_fits(value, branch) for branch in branches if branch.get("type") not in ("array", "object")):
        return value
    tried = [_coerced(value, branch) for branch in branches]
    fitting = [item for item, branch in zip(tried, branches, strict=True) if _fits(item, branch)]
    absent = isinstance(value, str) and _folded(value) in ("", "null", "none") and any(_fits(None, branch) for branch in branches)
    if absent and (not fitting or isinstance(fitting[0], list)):
        return None
    return fitting[0] if fitting else value


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value is of a schema's kind, as far as it takes to tell the branches of a union apart."""
    if "anyOf" in schema:
        return any(_fits(value, branch) for branch in schema["anyOf"])
    names = _names(schema)
    if names:
        return value in names
    kind = schema.get("type", "")
    if isinstance(value, bool) and kind in ("integer", "number"):
        return False
    if not isinstance(value, dict) or kind != "object":
        return isinstance(value, _TYPES.get(kind, (object,)))
    fields = schema.get("properties", {})
    return all(name in value for name in schema.get("required", ())) and all(_fits(value[name], fields[name]) for name in fields if name in value)


def _names(schema: Mapping[str, Any]) -> list[Any]:
    return list(schema.get("enum", [schema["const"]] if "const" in schema else []))


def _named(value: Any, names: list[Any]) -> Any:
    alike = [name for name in names if _folded(name) == _folded(value)]
    return alike[0] if isinstance(value, str | int) and len(alike) == 1 else value


def _folded(value: Any) -> str:
    return re.sub(r"[\s_-]+", "", str(value)).casefold()


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


class Ladder:
    """Asks for structured answers of one endpoint.

    Args:
        native: Whether to send a JSON schema at first. Off for an endpoint that is known to refuse one.

    The first question goes out alone, so that an endpoint that refuses schemas refuses once a run and not once a dialogue in flight.
    """

    def __init__(self, native: bool = True) -> None:
        self.native = native
        self._asked = False
        self._first = asyncio.Lock()

    async def ask(self, call: Call, request: Request, shape: type[Model]) -> Structured[Model]:
        """Ask, read, and where no rung could read the answer, ask once more.

        Raises:
            CallFailed: ``unstructured`` where the second answer is unreadable too; what ``call`` raises passes through.
            ValueError: ``shape`` has no strict schema.
        """
        sent, reply = await self._answer(call, request, strict_schema(shape))
        try:
            value, rung = read(reply.content, shape)
            return Structured(value, rung, (reply.usage,))
        except Unreadable as problem:
            again = await call(_repair(sent, reply.content, str(problem)))
        try:
            return Structured(read(again.content, shape)[0], "repaired", (reply.usage, again.usage))
        except Unreadable as problem:
            raise CallFailed("unstructured", f"{shape.__name__}: {problem}; the answer begins {again.content[:200]!r}") from None

    async def _answer(self, call: Call, request: Request, schema: Mapping[str, Any]) -> tuple[Request, Reply]:
        native = replace(request, schema=schema)
        reply = await self._alone_at_first(call, native)
        if reply is not None:
            return native, reply
        plain = _told_in_words(request, schema)
        return plain, await call(plain)

    async def _alone_at_first(self, call: Call, request: Request) -> Reply | None:
        if self.native and not self._asked:
            async with self._first:
                if not self._asked:
                    try:
                        return await self._with_schema(call, request)
                    finally:
                        self._asked = True
        return await self._with_schema(call, request)

    async def _with_schema(self, call: Call, request: Request) -> Reply | None:
        """Ask with a schema; None where that is no use."""
        if not self.native:
            return None
        try:
            return await call(request)
        except CallFailed as failure:
            refused = failure.kind == "bad_request" and _REFUSAL.search(failure.message) is not None
            # A replay has no refusals on record: what was asked after one is found under the request in words.
            if not refused and failure.kind != "not_recorded":
                raise
            self.native = self.native and not refused
            return None


def _told_in_words(request: Request, schema: Mapping[str, Any]) -> Request:
    text = IN_WORDS + json.dumps(schema, ensure_ascii=False)
    messages: list[Message] = list(request.messages)
    last = max((n for n, message in enumerate(messages) if message["role"] == "user"), default=None)
    if last is None:
        return replace(request, schema=None, messages=(*messages, {"role": "user", "content": text}))
    said = messages[last]["content"]
    whole = f"{said}\n\n{text}" if isinstance(said, str) else [*said, {"type": "text", "text": text}]
    messages[last] = {**messages[last], "content": whole}
    return replace(request, schema=None, messages=tuple(messages))


def _repair(sent: Request, answer: str, problem: str) -> Request:
    said: tuple[Message, ...] = ({"role": "assistant", "content": answer},) if answer.strip() else ()
    return replace(sent, messages=(*sent.messages, *said, {"role": "user", "content": REPAIR.replace("{problem}", problem)}))
