"""YAML read strictly, with line numbers where an error needs them.

The C composer makes nodes; we turn them into plain data ourselves and so refuse what a data file must not have: aliases, tags, duplicate keys.
Keys are always strings (a numeric value id stays what is written).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from iba_bench.errors import UserError

Model = TypeVar("Model", bound=BaseModel)
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
MAX_BYTES = 4_000_000


class YamlSource:
    """A parsed file: ``data`` and, for errors, the line of any place in it."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        self.path, self.name = path, name or str(path)
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise UserError(f"{self.name}: cannot be read ({error.strerror}); check the path") from None
        if len(raw) > MAX_BYTES:
            raise UserError(f"{self.name}: {len(raw):,} bytes, more than {MAX_BYTES:,}; split the file")
        try:
            self.root = yaml.compose(raw.decode("utf-8"), Loader=_LOADER)
        except UnicodeDecodeError as error:
            raise UserError(f"{self.name}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
        except (yaml.YAMLError, RecursionError) as error:
            mark = getattr(error, "problem_mark", None)
            line = f":{mark.line + 1}" if mark else ""
            problem = getattr(error, "problem", None) or "nested too deeply"
            raise UserError(f"{self.name}{line}: not valid YAML: {problem}; mend the syntax there") from None
        self._seen: set[int] = set()
        self.data = {} if self.root is None else self._plain(self.root, 0)

    def _fail(self, node: yaml.Node, problem: str) -> UserError:
        return UserError(f"{self.name}:{node.start_mark.line + 1}: {problem}")

    def _plain(self, node: yaml.Node, depth: int) -> Any:
        if id(node) in self._seen:
            raise self._fail(node, "aliases are not allowed; write the value out")
        self._seen.add(id(node))
        if depth > 24:
            raise self._fail(node, "nested more than 24 levels deep; flatten it")
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            return [self._plain(item, depth + 1) for item in node.value]
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, depth)
        raise self._fail(node, f"tag {node.tag!r} is not allowed; use plain values")

    def _mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self._fail(key, "a key must be plain text")
            if key.value in out:
                raise self._fail(key, f"duplicate key {key.value!r}; remove one")
            out[key.value] = self._plain(value, depth + 1)
        return out

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        kind, text = node.tag.removeprefix(_TAG), node.value
        if kind in ("str", "timestamp"):
            return text
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() in ("yes", "true", "on")
        try:
            if kind == "int" and len(text) < 20:
                return int(text)
            if kind == "float":
                return float(text)
        except ValueError:
            return text
        raise self._fail(node, f"{text[:40]!r} ({kind}) is not allowed here; quote it if it is text")

    def line_of(self, loc: Sequence[int | str]) -> int:
        """Return the line (from 1) of the deepest existing place on the path ``loc``."""
        node = self.root
        line = node.start_mark.line + 1 if node is not None else 1
        for part in loc:
            step = self._step(node, part)
            if step is None:
                continue
            line, node = step
        return line

    @staticmethod
    def _step(node: yaml.Node | None, part: int | str) -> tuple[int, yaml.Node] | None:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == str(part):
                    return key.start_mark.line + 1, value
        if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            return node.value[part].start_mark.line + 1, node.value[part]
        return None

    def error(self, loc: Sequence[int | str], problem: str) -> UserError:
        """Return the error for a place: file, line, field, problem with its fix."""
        field = ".".join(str(part) for part in loc)
        return UserError(f"{self.name}:{self.line_of(loc)}: {field}: {problem}")

    def parse(self, model: type[Model], data: Any = None) -> Model:
        """Validate the file (or ``data`` made of it) as ``model``; the first problem becomes a `UserError`."""
        try:
            return model.model_validate(self.data if data is None else data)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            value = "" if first["type"] in ("missing", "value_error") else f", got {str(first.get('input'))[:60]!r}"
            more = f" ({error.error_count() - 1} more)" if error.error_count() > 1 else ""
            raise self.error(first["loc"], f"{first['msg']}{value}{more}") from None
