"""Publishing a run on the Hugging Face Hub: only what is missing is sent, the card is merged, the revision is tagged with the run id.

The push works in commits of a few dozen files. What a broken push had committed is found on the Hub by its hash and not sent again.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from iba_bench.errors import UserError
from iba_bench.storage import read_json
from simulator.release.card import BEGIN, END, card_body, front_matter
from simulator.release.check import read_front_matter

FILES_A_COMMIT = 48
OURS = ("data/", "gold/")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a push would do."""

    repo_id: str
    tag: str
    add: tuple[str, ...]
    keep: tuple[str, ...]
    remove: tuple[str, ...]
    card: str

    def describe(self) -> str:
        """Return the plan in words."""
        return (
            f"{self.repo_id}: send {len(self.add)} file(s) and the card, keep {len(self.keep)} that are there already, "
            f"remove {len(self.remove)}, tag {self.tag}"
        )


def merged_card(manifest: Mapping[str, Any], remote: str | None) -> str:
    """Return the card: our keys and our part of the page replaced, everything that others wrote kept."""
    ours, theirs = front_matter(manifest), read_front_matter(remote or "")
    merged = {**theirs, **ours}
    for key in ("tags", "task_categories", "language"):
        merged[key] = list(dict.fromkeys([*ours[key], *(theirs.get(key) or [])]))
    own = {config["config_name"] for config in ours["configs"]}
    merged["configs"] = ours["configs"] + [c for c in theirs.get("configs") or [] if c.get("config_name") not in own]
    page = f"{BEGIN}\n{card_body(manifest)}{END}"
    body = _body(remote or "")
    if BEGIN in body and END in body:
        body = body[: body.index(BEGIN)] + page + body[body.index(END) + len(END) :]
    else:
        body = f"{page}\n\n{body.strip()}" if body.strip() else page
    return f"---\n{yaml.safe_dump(merged, sort_keys=False, allow_unicode=True)}---\n\n{body.strip()}\n"


def _body(text: str) -> str:
    if not read_front_matter(text):
        return text
    return text[text.index("\n---", 4) + 4 :]


def _same(path: Path, remote: Any) -> bool:
    """Whether the Hub's file has our bytes: by sha256 if it is large there, else by git's blob id."""
    if remote.lfs is not None:
        return bool(remote.lfs.sha256 == hashlib.sha256(path.read_bytes()).hexdigest())
    raw = path.read_bytes()
    return bool(remote.blob_id == hashlib.sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest())


def plan_push(api: Any, run: Path, repo_id: str) -> Plan:
    """Compare the run with the Hub."""
    from huggingface_hub.errors import RepositoryNotFoundError

    manifest = read_json(run / "manifest.json")
    try:
        found = {item.path: item for item in api.list_repo_tree(repo_id, recursive=True, repo_type="dataset") if hasattr(item, "blob_id")}
    except RepositoryNotFoundError:
        found = {}
    remote_card = None
    if "README.md" in found:
        remote_card = Path(api.hf_hub_download(repo_id, "README.md", repo_type="dataset", force_download=True)).read_text(encoding="utf-8")
    names = [name for name in manifest["files"] if name != "README.md"] + ["manifest.json"]
    keep = tuple(name for name in names if name in found and _same(run / name, found[name]))
    add = tuple(name for name in names if name not in keep)
    remove = tuple(name for name in found if name.startswith(OURS) and name not in names)
    return Plan(repo_id, manifest["run_id"], add, keep, remove, merged_card(manifest, remote_card))


def push(run: Path, repo_id: str | None, *, private: bool, dry_run: bool, endpoint: str | None) -> Plan:
    """Publish a run that passed the release check.

    Raises:
        UserError: if the repository's name is missing, the token is refused, or the Hub cannot be reached.
    """
    import httpx2
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    if not repo_id:
        raise UserError("repo_id=OWNER/NAME is missing: name the dataset repository to push to")
    api = HfApi(endpoint=endpoint)
    try:
        plan = plan_push(api, run, repo_id)
        print(("would " if dry_run else "") + plan.describe(), file=sys.stderr)
        if not dry_run:
            api.create_repo(repo_id, repo_type="dataset", private=private, exist_ok=True)
            _commit(api, run, plan)
            api.create_tag(repo_id, tag=plan.tag, repo_type="dataset", exist_ok=True)
    except HFValidationError as error:
        raise UserError(f"repo_id={repo_id}: {error}") from None
    except HfHubHTTPError as error:
        status = getattr(error.response, "status_code", "?")
        fix = "set HF_TOKEN to a token that may write there" if status in (401, 403) else "run the same command again: what was sent is kept"
        raise UserError(f"the Hub answered {status} for {repo_id}; {fix}") from None
    except (OSError, httpx2.TransportError) as error:
        raise UserError(f"the Hub cannot be reached ({type(error).__name__}); run the same command again: what was sent is kept") from None
    return plan


def _chunks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), FILES_A_COMMIT):
        yield names[start : start + FILES_A_COMMIT]


def _commit(api: Any, run: Path, plan: Plan) -> None:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    for names in _chunks(plan.add):
        operations = [CommitOperationAdd(name, run / name) for name in names]
        api.create_commit(plan.repo_id, operations, commit_message=f"{plan.tag}: {len(names)} files", repo_type="dataset")
        print(f"sent {names[0]} to {names[-1]}", file=sys.stderr)
    last = [CommitOperationAdd("README.md", plan.card.encode()), *(CommitOperationDelete(name) for name in plan.remove)]
    api.create_commit(plan.repo_id, last, commit_message=f"{plan.tag}: card", repo_type="dataset")
