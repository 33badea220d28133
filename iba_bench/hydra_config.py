"""Hydra at the edge: compose YAML with overrides, expand sweeps, and say errors in our own words.

Hydra makes no folders and logs nothing here; what it composes becomes a pydantic model elsewhere.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

from iba_bench.errors import UserError, near_match


def compose(name: str, overrides: Sequence[str]) -> dict[str, Any]:
    """Compose one config as plain data.

    Raises:
        UserError: naming the override, what is valid, and a near match.
    """
    from hydra import compose as hydra_compose
    from hydra import initialize_config_module
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    with initialize_config_module("conf", version_base="1.3"):
        try:
            config = hydra_compose(name, overrides=list(overrides))
            return OmegaConf.to_container(config, resolve=True)  # type: ignore[return-value]
        except (HydraException, OmegaConfBaseException) as error:
            raise UserError(_explained(name, overrides, str(error))) from None


def _explained(name: str, overrides: Sequence[str], message: str) -> str:
    from hydra import compose as hydra_compose
    from omegaconf import OmegaConf

    whole: Any = OmegaConf.to_container(hydra_compose(name))
    for override in overrides:
        key, _, value = override.partition("=")
        key = key.lstrip("+~")
        head = key.split("@")[0].split(".")[0]
        options = _options(head)
        if head not in whole and not options:
            return f"override '{override}': unknown key '{head}'; {near_match(head, [*whole, *_groups()])}"
        if options and "." not in key and value not in options and not value.startswith("{"):
            return f"override '{override}': '{head}' has no option '{value}'; {near_match(value, options)}"
        if "." in key and isinstance(whole.get(head), dict):
            leaf = key.split(".")[1]
            if leaf not in whole[head]:
                return f"override '{override}': '{head}' has no key '{leaf}'; {near_match(leaf, whole[head])}"
    return "the overrides cannot be composed: " + re.sub(r"\s+", " ", message)[:300]


def _groups() -> list[str]:
    from importlib.resources import files

    return sorted(item.name for item in files("conf").iterdir() if item.is_dir() and not item.name.startswith("_"))


def _options(group: str) -> list[str]:
    from importlib.resources import files

    folder = files("conf") / group
    if not folder.is_dir():
        return []
    return sorted(item.name.removesuffix(".yaml") for item in folder.iterdir() if item.name.endswith(".yaml"))


def sweep(overrides: Sequence[str]) -> list[list[str]]:
    """Expand choice and range sweeps into the overrides of every job, in order."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        parsed = OverridesParser.create().parse_overrides(list(overrides))
    except HydraException as error:
        shown = re.sub(r"\s+", " ", str(error))[:300]
        raise UserError(f"an override cannot be read: {shown}; write KEY=VALUE") from None
    choices = []
    for override in parsed:
        if override.is_sweep_override():
            choices.append([f"{override.get_key_element()}={value}" for value in override.sweep_string_iterator()])
        else:
            choices.append([str(override.input_line)])
    return [list(job) for job in itertools.product(*choices)]
