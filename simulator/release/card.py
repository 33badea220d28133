"""The dataset card: YAML front matter that the Hub reads, and a page for people. Made from the manifest alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from iba_bench.tables import TABLES

CANARY = "IBA-BENCH CANARY 7f3b1c52-8d0e-4f6a-9c1e-5a2d60e4b7f9"
LICENCE = "cc-by-4.0"


def front_matter(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the card's YAML: licence, sizes, tags and one config per table."""
    configs: list[dict[str, Any]] = []
    for table in TABLES.values():
        files: Any = f"{table.folder}/{table.name}/*.parquet"
        if table.name == "tasks":
            files = [{"split": split, "path": f"data/tasks/{split}-*.parquet"} for split in ("dev", "test")]
            configs.insert(0, {"config_name": "tasks", "default": True, "data_files": files})
        else:
            configs.append({"config_name": table.name, "data_files": [{"split": "train", "path": files}]})
    return {
        "license": LICENCE,
        "language": ["en"],
        "pretty_name": f"IBA-Bench {manifest['run_id']}",
        "size_categories": [size_category(manifest["counts"].get("tasks", 0))],
        "task_categories": ["text-generation", "question-answering"],
        "tags": ["personalization", "llm-agents", "benchmark", "synthetic", "memory"],
        "configs": configs,
    }


def size_category(tasks: int) -> str:
    """Return the Hub's size category."""
    for limit, name in ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K")):
        if tasks < limit:
            return name
    return "100K<n<1M"


def _words(manifest: Mapping[str, Any]) -> str:
    """Return who worded the talks, where models did."""
    words: Mapping[str, int] = manifest["words"]
    if not words:
        return ""
    turns = sum(words.values())
    model = manifest["config"]["model"]
    roles = ", ".join(f"{role} {model[role]['model']}" for role in ("persona", "assistant", "checker"))
    rates = "\n".join(f"| {'a model, ' if name.startswith('try ') else 'the catalogs: '}{name} | {n:,} | {n / turns:.1%} |" for name, n in sorted(words.items()))
    return f"""## Who found the words

Models ({roles}) worded the {turns:,} turns of the talks anew; each wording was checked, and the catalogs' own stands where none passed.

| words by | turns | share |
|---|---|---|
{rates}

"""


BEGIN, END = "<!-- iba-bench: generated, replaced on every push -->", "<!-- iba-bench: end -->"


def card_text(manifest: Mapping[str, Any]) -> str:
    """Return the whole card."""
    head = yaml.safe_dump(front_matter(manifest), sort_keys=False, allow_unicode=True)
    return f"---\n{head}---\n\n{BEGIN}\n{card_body(manifest)}{END}\n"


def card_body(manifest: Mapping[str, Any]) -> str:
    """Return the part for people."""
    counts, tokens, config = manifest["counts"], manifest["tokens"], manifest["config"]
    tasks = max(counts.get("tasks", 0), 1)
    sizes = "\n".join(f"| {name} | {counts.get(name, 0):,} |" for name in TABLES)
    gates = "\n".join(f"| {gate['gate']} | {gate['name']} | {'pass' if gate['passed'] else 'REFUSED'} |" for gate in manifest["gates"])
    return f"""# IBA-Bench {manifest["run_id"]}

Can an assistant agent act on what a user never said outright? {counts.get("personas", 0):,} simulated people talk to assistants over {config["history"]["days"]} days; {counts.get("tasks", 0):,}
tasks ask an agent to act on the preferences that hold at that moment. Ground truth is by construction: dialogue, tasks, gold answers and decoys are all compiled from a ledger of preferences, and every
instance passed the gates below. No model judges anything.

```python
from datasets import load_dataset
tasks = load_dataset("FOLDER_OR_REPO", "tasks")              # splits dev and test
histories = load_dataset("FOLDER_OR_REPO", "histories", split="train")
```

An agent may see `data/` only: one task, its tools over its environment, and the persona's sessions that started before `issued_at`. `gold/` is for grading.

| table | rows |
|---|---|
{sizes}

Clean tokens {tokens.get("clean", 0):,}; noise is {tokens["noise_share"]:.1%} of all tokens, {tokens["adversarial_share"]:.1%} of it adversarial. Noise level `{config["noise"]["name"]}`, cues `{config["cues"]["name"]}`, drift
`{config["drift"]["name"]}`. Variants with the same `clean_id` ({manifest["clean_id"]}) share clean turns, tasks and gold.

{_words(manifest)}## Gates

| gate | claim | verdict |
|---|---|---|
{gates}

## Known limits

- The people, places and words are synthetic, in English; wordings are composed from hand-written lines and are less varied than talk between people.
- Error bound: every gold value was derived again by an independent observer; with 0 errors in {tasks:,} tasks the one-sided 95 % upper bound on the error rate of the construction is {3 / tasks:.2%} (rule of three),
  over tasks drawn with this config and seed. It does not cover a flaw that the generator and the observer share.
- Text measures are rules with measured sensitivity and specificity (see the project's documentation); they can be wrong on unusual texts.

## Licence, canary, citation

Data under CC BY 4.0. Please keep this string out of training corpora: `{CANARY}`.

```
@misc{{iba-bench-{manifest["run_id"]}, title = {{IBA-Bench, run {manifest["run_id"]}}}, note = {{schema {manifest["schema_version"]}, generated with iba-bench {manifest["versions"]["iba-bench"]}}}}}
```
"""
