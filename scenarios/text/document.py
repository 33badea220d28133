"""A text taken apart once: title, greeting zone, blocks, sentences, words.

Everything is found line by line with patterns that cannot backtrack far, so time grows with length only. Markup is read as people type it,
not as Markdown strictly defines it. ``parse`` is pure and remembers the last texts, for many measures look at one text.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from scenarios.text import letter

MAX_CHARS = 20_000
Kind = Literal["heading", "bullet", "numbered", "table", "quote", "rule", "plain"]

_TYPOGRAPHY = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2011": "-",
     "\x00": " ", "\u200b": "", "\ufeff": "", "\r": "\n", "\t": " ", "\x0b": "\n", "\x0c": "\n", "\u2028": "\n"}
)  # fmt: skip
_HEADING = re.compile(r"#{1,6} +\S")
_BOLD_LINE = re.compile(r"(\*\*|__)[^*_\n]{2,80}(\*\*|__):?$")
_BULLET = re.compile(r"[-*+\u2022\u25aa\u25e6\u2013\u00b7] +\S")
_NUMBERED = re.compile(r"(?:\d{1,2}|[a-h])[.)] +\S|Step \d{1,2}[.:]", re.IGNORECASE)
_RULE = re.compile(r"[-*_=]{3,}$")
_MARKS = re.compile(r"^(?:#{1,6} +|> ?|[-*+\u2022\u25aa\u25e6\u2013\u00b7] +|(?:\d{1,2}|[a-h])[.)] +)+")
_LABEL = re.compile(r"^(?:title|headline|subject|subject line|re) ?: *(?=\S)", re.IGNORECASE)
_INLINE_CODE = re.compile(r"`[^`\n]{1,200}`")
_EMPHASIS = re.compile(r"\*\*|__|(?<![\w*])\*(?=[\w\"'(])|(?<=[\w.,!?\"')])\*(?![\w*])|(?<!\w)_(?=\w)|(?<=\w)_(?!\w)")
_LINK = re.compile(r"\[([^\]\n]{1,200})\]\([^)\n]{1,400}\)")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|vs|etc|approx|no|No|e\.g|i\.e|a\.m|p\.m|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec)\.$")
_STOP = re.compile(r"[.!?\u2026]+[\"')\]*_]{0,3}(?=\s)")
_EMOJI_TAIL = re.compile(r"[^\w\s.,;:!?\"'()\[\]%\u00a3$\u20ac/*-]+$")
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Block:
    """One line with its kind; `text` is without list marks and emphasis."""

    kind: Kind
    text: str
    paragraph: int


@dataclass(frozen=True, slots=True)
class Document:
    """A text, taken apart.

    Attributes:
        raw: The text as given.
        text: Typography made plain, code fences removed, line breaks kept.
        title: The headline, or "".
        blocks: All lines but the title, greeting and sign-off included.
        core: The lines without title, greeting, sign-off.
        greeting: Kind of salutation: none, casual, formal.
        sign_off: Kind of closing formula: none, casual, formal.
        sentences: Sentences of `core`, headings left out.
        words: Words of `text`, lower case.
        code: Fenced code blocks.
    """

    raw: str
    text: str
    title: str
    blocks: tuple[Block, ...]
    core: tuple[Block, ...]
    greeting: str
    sign_off: str
    sentences: tuple[str, ...]
    words: tuple[str, ...]
    code: tuple[str, ...]

    @property
    def prose(self) -> str:
        """The core's lines, one below the other."""
        return "\n".join(block.text for block in self.core)

    @property
    def last_paragraph(self) -> str:
        """The core's last paragraph."""
        if not self.core:
            return ""
        last = self.core[-1]
        if last.kind != "plain":
            return last.text
        return " ".join(b.text for b in self.core if b.paragraph == last.paragraph and b.kind == "plain")


def plain(text: str) -> str:
    """Return ``text`` with straight quotes, plain spaces, no control characters."""
    return unicodedata.normalize("NFC", text).replace("\r\n", "\n").translate(_TYPOGRAPHY)


def split_sentences(text: str) -> list[str]:
    """Return the sentences of one paragraph or line."""
    out: list[str] = []
    start = 0
    for match in _STOP.finditer(text):
        head = text[start : match.end()]
        follow = text[match.end() : match.end() + 3].lstrip()[:1]
        if _ABBREVIATION.search(head[-12:]) or follow.islower():
            continue
        if head.strip():
            out.append(head.strip())
        start = match.end()
    tail = text[start:].strip()
    if tail and out and not _WORD.search(tail):
        out[-1] = f"{out[-1]} {tail}"
    elif tail:
        out.append(tail)
    return out


def _kind(line: str) -> Kind:
    if _RULE.match(line):
        return "rule"
    if _HEADING.match(line) or _BOLD_LINE.match(line):
        return "heading"
    if line.startswith("|") or (line.count(" | ") >= 1 and line.count("|") >= 2):
        return "table"
    if line.startswith(">"):
        return "quote"
    if _BULLET.match(line):
        return "bullet"
    return "numbered" if _NUMBERED.match(line) else "plain"


def bare(line: str) -> str:
    """Return a line without list marks, emphasis and link targets."""
    return _EMPHASIS.sub("", _LINK.sub(r"\1", _MARKS.sub("", line))).strip()


def _without_code(text: str) -> tuple[str, tuple[str, ...]]:
    parts = text.split("```")
    code = tuple(part.strip() for part in parts[1::2] if part.strip())
    return "\n".join(parts[0::2]), code


def _lines(text: str) -> list[Block]:
    out: list[Block] = []
    paragraph = 0
    for line in text.split("\n"):
        stripped = line.strip()
        if not stripped:
            paragraph += 1
            continue
        out.append(Block(_kind(stripped), bare(stripped) or stripped, paragraph))
    return [block for block in out if block.kind != "rule"]


def _marker(line: str) -> str:
    return line[: len(line) - len(line.lstrip("#*_"))]


def _is_first_section(text: str) -> bool:
    """Whether the first line is a heading of the same rank as later ones, so that it is no title."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    ranks = [_marker(line) for line in lines if _kind(line) == "heading"]
    return _kind(lines[0]) == "heading" and len(ranks) > 1 and ranks.count(ranks[0]) > 1


def _is_title_case(text: str) -> bool:
    words = text.split()
    return 2 <= len(words) <= 10 and sum(word[:1].isupper() for word in words) >= 0.6 * len(words)


def _is_title(blocks: list[Block], text: str) -> bool:
    if len(blocks) < 2:
        return False
    first, second = blocks[0], blocks[1]
    if first.kind == "heading" or _LABEL.match(first.text):
        return not _is_first_section(text)
    if first.kind != "plain" or letter.greeting_of(first.text) or len(first.text.split()) > 16:
        return False
    apart = second.paragraph != first.paragraph or (_is_title_case(first.text) and len(second.text.split()) > 10)
    return apart and _EMOJI_TAIL.sub("", first.text).rstrip()[-1:] not in ".,:;"


def _short_heading(block: Block, before: Block | None, after: Block | None) -> bool:
    if block.kind != "plain" or after is None or not block.text[:1].isupper() or len(block.text.split()) > 6:
        return False
    if block.text[-1:] in ".,;!?:\"')" or (before is not None and before.paragraph == block.paragraph):
        return False
    return len(after.text.split()) > len(block.text.split()) and not letter.closing_of(block.text)


def _with_headings(blocks: list[Block]) -> list[Block]:
    out: list[Block] = []
    for index, block in enumerate(blocks):
        after = blocks[index + 1] if index + 1 < len(blocks) else None
        if _short_heading(block, blocks[index - 1] if index else None, after):
            block = Block("heading", block.text, block.paragraph)
        out.append(block)
    return out


def _sentences(core: tuple[Block, ...]) -> tuple[str, ...]:
    out: list[str] = []
    joined = ""
    before: Block | None = None
    for block in core:
        flows = before is not None and before.kind == block.kind == "plain" and before.paragraph == block.paragraph
        if not flows:
            out += split_sentences(joined)
            joined = ""
        joined = "" if block.kind == "heading" else f"{joined} {block.text}".strip()
        before = block
    return (*out, *split_sentences(joined))


@lru_cache(maxsize=128)
def parse(text: str) -> Document:
    """Take ``text`` apart; at most `MAX_CHARS` characters are expected."""
    prose, code = _without_code(plain(text))
    blocks = _lines(prose)
    title = ""
    if _is_title(blocks, prose):
        title = _LABEL.sub("", blocks[0].text)
        blocks = blocks[1:]
    greeting, rest = letter.cut_greeting([(block.text, block.kind) for block in blocks])
    opened = blocks[len(blocks) - len(rest) :]
    opened = [Block(b.kind, t, b.paragraph) for b, (t, _) in zip(opened, rest, strict=True)]
    sign_off, kept = letter.cut_sign_off([block.text for block in opened])
    closed = _with_headings([Block(b.kind, t, b.paragraph) for b, t in zip(opened, kept, strict=False)])
    core = tuple(block for block in closed if block.text)
    words = tuple(word.lower() for word in _WORD.findall(_INLINE_CODE.sub(" ", prose)))
    return Document(text, prose, title, tuple(blocks), core, greeting, sign_off, _sentences(core), words, code)
