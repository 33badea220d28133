"""A run: from a config to a gated, released folder. Resumes where it was; a finished run is not done again."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from iba_bench.errors import CheckFailed
from iba_bench.storage import read_json, sha256, write_text
from iba_bench.tables import SCHEMA_VERSION
from iba_bench.workers import progress, spread
from scenarios.library import load_library
from simulator.config import GenerateConfig
from simulator.gates.population import check_population
from simulator.gates.run import all_verdicts
from simulator.gates.verdict import Verdict
from simulator.preflight import check_demands, check_disk
from simulator.release.card import card_text
from simulator.shards import WORK, done_record, make_shard, set_up, shard_numbers, summary_path

PACKAGES = ("iba_bench", "scenarios", "personas", "simulator")
PINNED = ("faker", "networkx", "pyarrow", "pydantic", "tiktoken", "autogen-agentchat")


def code_digest() -> str:
    """Return a digest of code and catalogs: what besides the config decides the bytes."""
    digest, root = hashlib.sha256(), Path(__file__).parent.parent
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*")):
            if path.suffix in (".py", ".yaml") and "__pycache__" not in path.parts:
                digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def canonical_config(config: GenerateConfig) -> str:
    """Return the config as canonical JSON."""
    return json.dumps(config.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))


def run_id_of(config: GenerateConfig) -> str:
    """Return the run's id: a hash of config, code and schema."""
    parts = (canonical_config(config), code_digest(), SCHEMA_VERSION)
    return "r" + hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def clean_id_of(config: GenerateConfig) -> str:
    """Return the id that all noise levels of the same clean data share."""
    data = config.model_dump(mode="json")
    del data["noise"]
    parts = (json.dumps(data, sort_keys=True), code_digest(), SCHEMA_VERSION)
    return "c" + hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def generate(config: GenerateConfig, out: Path, workers: int) -> Path:
    """Make the run and return its folder.

    Raises:
        UserError: for impossible demands, before any work.
        CheckFailed: if a gate refuses the release; the manifest says so.
    """
    library = load_library()
    check_demands(config, library)
    folder = out / run_id_of(config)
    manifest = folder / "manifest.json"
    if manifest.exists():
        print(f"{folder.name} is finished already", file=sys.stderr)
        return _checked(folder, read_json(manifest))
    check_disk(config, folder)
    records = _shards(config, folder, workers)
    expected = expectations(config, records)
    summaries = [item for first in shard_numbers(config.benchmark.personas) for item in read_json(summary_path(folder, first))]
    verdicts = all_verdicts([], check_population(summaries, expected))
    data = manifest_of(config, folder, records, verdicts, expected)
    write_text(folder / "README.md", card_text(data))
    data["files"]["README.md"] = sha256(folder / "README.md")
    write_text(manifest, json.dumps(data, indent=2, sort_keys=True) + "\n")
    shutil.rmtree(folder / WORK, ignore_errors=True)
    return _checked(folder, data)


def _checked(folder: Path, manifest: Mapping[str, Any]) -> Path:
    refused = [gate for gate in manifest["gates"] if not gate["passed"]]
    if refused:
        shown = "\n".join(f"  gate {g['gate']} ({g['name']}): {'; '.join(g['failures'][:3])}" for g in refused)
        raise CheckFailed(f"{folder}: refused by {len(refused)} gate(s)\n{shown}")
    return folder


def _shards(config: GenerateConfig, folder: Path, workers: int) -> list[dict[str, Any]]:
    numbers = shard_numbers(config.benchmark.personas)
    records = {first: record for first in numbers if (record := done_record(folder, first))}
    todo = [first for first in numbers if first not in records]
    _sweep_up(folder)
    with progress("personas", config.benchmark.personas) as advance:
        advance(sum(record["personas"] for record in records.values()))
        for record in spread(make_shard, todo, workers, set_up, (config, str(folder), workers)):
            records[record["first"]] = record
            advance(record["personas"])
    return [records[first] for first in numbers]


def _sweep_up(folder: Path) -> None:
    """Remove temporary files that a killed process left behind."""
    for path in folder.rglob(".*.tmp"):
        path.unlink(missing_ok=True)


def expectations(config: GenerateConfig, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the config promises, for the count gate, and what the shards measured."""
    tokens = Counter[str]()
    for record in records:
        tokens.update(record["tokens"])
    return {
        "personas": config.benchmark.personas,
        "tasks": config.benchmark.tasks,
        "quota": config.quota,
        "scenarios": list(config.scenarios),
        "missing_info": config.missing_info,
        "noise_level": config.noise.level,
        "noise_adversarial": config.noise.adversarial,
        "history_tokens": config.history.tokens,
        "drift": config.drift.model_dump(mode="json"),
        "cues": config.cues.model_dump(mode="json"),
        "tokens": dict(tokens),
        "failed": [failure for record in records for failure in record["failed"]],
    }


def manifest_of(config: GenerateConfig, folder: Path, records: Sequence[Mapping[str, Any]], verdicts: Sequence[Verdict],
                expected: Mapping[str, Any]) -> dict[str, Any]:  # fmt: skip
    """Return the manifest: config, ids, versions, counts, gate verdicts, drops, a sha256 per file."""
    rows, refused, words = Counter[str](), Counter[str](), Counter[str]()
    for record in records:
        rows.update(record["rows"])
        refused.update(record["refused"])
        words.update(record["words"])
    tokens = expected["tokens"]
    total = max(tokens.get("clean", 0) + tokens.get("noise", 0), 1)
    return {
        "run_id": folder.name,
        "clean_id": clean_id_of(config),
        "schema_version": SCHEMA_VERSION,
        "config": config.model_dump(mode="json"),
        "code": code_digest(),
        "versions": {"iba-bench": version("iba-bench"), **{name: version(name) for name in PINNED}},
        "counts": dict(rows),
        "tokens": {
            **tokens,
            "noise_share": round(tokens.get("noise", 0) / total, 4),
            "adversarial_share": round(tokens.get("adversarial", 0) / max(tokens.get("noise", 0), 1), 4),
        },
        "gates": [verdict.as_dict() for verdict in verdicts],
        "passed": all(verdict.passed for verdict in verdicts),
        "refused": dict(sorted(refused.items())),
        "words": dict(sorted(words.items())),
        "failed_personas": expected["failed"],
        "expected": {key: value for key, value in expected.items() if key != "failed"},
        "files": {name: digest for record in records for name, digest in sorted(record["files"].items())},
    }
