"""The released tables, each column stated once: name, type and meaning.

Writers and readers use these schemas, the documentation is generated from them (`python -m iba_bench.tables`), and a test catches a stale page.
Every column may be null only where its description says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

SCHEMA_VERSION = "1"
STRINGS = pa.list_(pa.string())


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, Arrow type and meaning."""

    name: str
    type: pa.DataType
    about: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table of the release."""

    name: str
    folder: str
    about: str
    columns: tuple[Column, ...]

    @property
    def schema(self) -> pa.Schema:
        """The explicit Arrow schema that files are written with."""
        return pa.schema([pa.field(column.name, column.type) for column in self.columns])


def _text(name: str, about: str) -> Column:
    return Column(name, pa.string(), about)


def _count(name: str, about: str) -> Column:
    return Column(name, pa.int32(), about)


def _struct(*fields: Column) -> pa.DataType:
    return pa.struct([pa.field(field.name, field.type) for field in fields])


_TURN = _struct(
    _text("turn_id", ""), _text("role", ""), _text("content", ""), _text("at", ""), _count("tokens", "")
)  # fmt: skip
_CONSTRAINT = _struct(
    _text("constraint_id", ""), _text("dimension", ""), _text("scope", ""), _text("holder", ""), _text("predicate", ""),
    _text("strength", ""), _text("horizon", ""), _text("entry_id", ""), Column("evidence", STRINGS, ""),
)  # fmt: skip
_EDIT = _struct(_text("turn_id", ""), _text("content", ""))

TASKS = Table("tasks", "data", "What an agent is asked. One row a task.", (
    _text("task_id", "opaque id"),
    _text("persona_id", "whose task it is"),
    _count("sequence_index", "0-based order of the persona's tasks in time"),
    _text("domain", "one of the nine domains"),
    _text("scenario_id", "the kind of job"),
    _text("action_kind", "api, text or rank"),
    _text("issued_at", "ISO 8601 with offset; an agent sees the sessions that started before"),
    _text("instruction", "the underspecified request"),
    _text("context", "JSON object: what the agent is told besides (local time, place; for rank: viewed ids)"),
    _text("tools", "JSON list of tool definitions: name, description, kind (search, details, write), parameters (JSON schema)"),
    _text("environment_id", "the sandbox the tools act on"),
    _text("split", "dev or test"),
))  # fmt: skip
HISTORIES = Table("histories", "data", "What happened before. One row a session.", (
    _text("persona_id", "whose history it is"),
    _text("session_id", "opaque id"),
    _count("session_index", "0-based order in time over clean and noise sessions"),
    _text("started_at", "ISO 8601 with offset; the time of the first turn"),
    _text("kind", "dialogue or behaviour"),
    _text("scenario_id", "the job talked about; null in a session that is all noise"),
    Column("turns", pa.list_(_TURN), "in order: turn_id, role (user, assistant, other, event), content, at (ISO 8601), tokens (cl100k_base)"),
))  # fmt: skip
ENVIRONMENTS = Table("environments", "data", "The sandboxes. One row an environment.", (
    _text("environment_id", "opaque id"),
    _text("scenario_id", "the kind of job"),
    _text("entities", "JSON list of objects, each with a unique `id`; for text: the one topic with its facts"),
))  # fmt: skip
PERSONAS = Table("personas", "gold", "Who the personas are. One row a persona.", (
    _text("persona_id", "opaque id"),
    _text("display_name", "full name"),
    _text("locale", "such as en_GB"),
    _text("timezone", "IANA name"),
    _text("background", "JSON object: birth year, pronouns, occupation, household, city"),
    _text("traits", "JSON object: trait -> value"),
    _text("voice", "JSON object: how the persona writes"),
    _text("social", "JSON list: people of the persona's circle"),
))  # fmt: skip
LEDGER = Table("ledger", "gold", "The source of truth. One row an entry.", (
    _text("entry_id", "opaque id"),
    _text("persona_id", "whose ledger it is in"),
    _text("dimension", "such as dining.heat"),
    _text("scope", "always, or the condition under which it holds"),
    _text("value", "JSON: value id, or a number for numeric dimensions"),
    _text("polarity", "likes or dislikes"),
    _text("strength", "must or prefer"),
    _text("horizon", "long or short"),
    _text("holder", "self, or the mention of the person whose taste it is"),
    _text("valid_from", "ISO 8601 with offset; when it begins to hold"),
    _text("valid_to", "when it ends to hold; null if it never does"),
    _text("known_from", "time of its first evidence turn; null if it is never voiced"),
    _text("cause", "base, drift:<kind>, scope, served or event:<id>"),
    _text("supersedes", "entry that it replaces; null if none"),
))  # fmt: skip
ANNOTATIONS = Table("annotations", "gold", "What each turn voices and who worded it. One row a turn, more where a turn ends several things.", (
    _text("turn_id", "the turn"),
    _text("session_id", "its session"),
    _text("persona_id", "its persona"),
    _text("cue_id", "the cue, equal across wording settings; null if the turn is no cue"),
    _text("entry_id", "the ledger entry it voices; null if none"),
    _text("dimension", "what the turn voices; null if nothing"),
    _text("scope", "scope as voiced; null if nothing is voiced"),
    _text("value", "JSON, as voiced; null with an `end` that only ends an earlier value"),
    _text("polarity", "as voiced"),
    _text("strength", "as voiced; behaviour logs voice prefer"),
    _text("horizon", "as voiced: short if the turn says that it is temporary"),
    _text("holder", "self, or the mention of another person"),
    _text("onset", "ISO 8601: since when, if the turn says so; null otherwise"),
    _text("end", "ISO 8601: until when, if the turn says so (latest plausible end of a state); null otherwise"),
    _text("cue_type", "correction, choice, rejection, complaint, habit, aside, reaction, comparison, circumstance or behaviour; `end` for a turn that ends a state"),
    _text("explicitness", "explicit, hinted or implicit, of the whole session for this value; null if no cue"),
    _text("noise_kind", "one of the nine noise kinds; null in a clean turn"),
    _text("injector", "noise, or null in a clean turn"),
    _count("span_start", "first character of the decisive clause, or of the noise; null if neither"),
    _count("span_end", "one past its last character"),
    _text("speaker", "who found the words: embedded or llm"),
    _count("tries", "wording tries"),
    _text("fallback_reason", "why a speaker gave up; null if it did not"),
))  # fmt: skip
SOLUTIONS = Table("solutions", "gold", "What is right, and the proof. One row a task.", (
    _text("task_id", "the task"),
    Column("challenges", STRINGS, "decided by: drift, state, cross_domain, conflict, third_party, scope; also missing_info, implicit_only"),
    _count("n_constraints", "number of constraints"),
    Column("constraints", pa.list_(_CONSTRAINT), "each with its predicate (JSON), entry and evidence turn ids"),
    _text("witness", "JSON list of actions that satisfies everything"),
    _text("rivals", "JSON object: slot (dimension id) -> value -> label of the wrong reading"),
    _text("explicit_instruction", "the same job with all constraints said"),
    _text("probes", "JSON list: constraint_id, question, options, answer (index)"),
    _text("disclosure", "JSON object: slot -> what the user says when asked about it"),
    _text("certificate", "JSON object: see docs/dataset.md"),
))  # fmt: skip
TWINS = Table("twins", "gold", "The same task over a history in which one decisive entry is flipped.", (
    _text("twin_id", "opaque id"),
    _text("task_id", "the task it mirrors"),
    _text("entry_id", "the flipped ledger entry"),
    Column("edits", pa.list_(_EDIT), "turns with new content; null content removes the turn"),
    _text("solution", "JSON object: constraints, witness and probes of the twin"),
))  # fmt: skip

TABLES = {table.name: table for table in (
    TASKS, HISTORIES, ENVIRONMENTS, PERSONAS, LEDGER, ANNOTATIONS, SOLUTIONS, TWINS,
)}  # fmt: skip


CERTIFICATE = {
    "evidence": "slot -> turn ids that voice its entry before the task",
    "minimal_cues": "slot -> the one turn that suffices: the latest",
    "feasible": "answers of the design: all, those open to somebody who knows no preference (blind), those that satisfy every must (aware); for text the share of the style grid",
    "random_success": "aware / all; 0 where only asking is right",
    "blind_success": "chance of the best answer without the history, by the design",
    "slots": "slot -> levels that environment and tools offer",
    "truth": "slot -> the right level",
    "popular": "slot -> the most common value of the population table",
    "decided_by": "slot -> what decides it",
    "missing": "the slot to ask about, or null",
    "twin": "the twin's id, or null",
    "scopes": "conditions that hold at the task's moment",
    "served": "the person whom the job is for, or null",
}


def describe() -> str:
    """Return the documentation of all tables as Markdown."""
    out = [f"# Dataset schema\n\nGenerated by `python -m iba_bench.tables`; schema version {SCHEMA_VERSION}.\n"]
    for table in TABLES.values():
        out.append(f"## {table.name}\n\n`{table.folder}/{table.name}/*.parquet`. {table.about}\n")
        out.append("| column | type | meaning |\n|---|---|---|")
        out.extend(f"| `{column.name}` | {_type_name(column.type)} | {column.about} |" for column in table.columns)
        out.append("")
    out.append(
        "## The certificate\n\nA JSON object in `solutions.certificate`; a slot is a dimension id. The verdicts of the gates are the same for all instances of a run (they passed) and stand in `manifest.json`.\n"
    )
    out.append("| key | meaning |\n|---|---|")
    out.extend(f"| `{key}` | {about} |" for key, about in CERTIFICATE.items())
    out.append("")
    return "\n".join(out)


def _type_name(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"list of {_type_name(kind.value_type)}"
    if pa.types.is_struct(kind):
        return "struct(" + ", ".join(kind.field(index).name for index in range(kind.num_fields)) + ")"
    return str(kind)


if __name__ == "__main__":
    print(describe())
