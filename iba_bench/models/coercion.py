"""Coercion: a value that is nearly what its JSON schema asks for, brought closer to it without making anything up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_INTEGER = re.compile(r"\s*[+-]?\d{1,18}(?:\.0+)?\s*", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?\d{1,18}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,2})?\s*", re.ASCII)
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "null": (type(None),), "array": (list,), "object": (dict,),
}  # fmt: skip


def coerced(value: Any, schema: Mapping[str, Any]) -> Any:
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
        return [coerced(item, parts[n] if n < len(parts) else schema.get("items", {})) for n, item in enumerate(items)]
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
        item = coerced(value.get(name), part) if name in value else None
        if name in value and (item is not None or name in required or _fits(None, part)):
            out[name] = item
    return out


def _branch(value: Any, branches: list[Mapping[str, Any]]) -> Any:
    if any(_fits(value, branch) for branch in branches if branch.get("type") not in ("array", "object")):
        return value
    tried = [coerced(value, branch) for branch in branches]
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
