"""Outer shape: length, layout, emoji, notation."""

from __future__ import annotations

import re
from collections import Counter

import regex

from scenarios.text.document import Document

_TOKEN = re.compile(r"[^\W_]")
_PICTOGRAPH = regex.compile(r"\p{Extended_Pictographic}|\p{Regional_Indicator}|\u20e3")
_TEXT_SYMBOLS = frozenset(
    "\u00a9\u00ae\u2122\u2713\u2714\u2716\u2194\u2195\u21a9\u21aa\u25b6\u25c0\u203c\u2049\u2139\u3030\u2665\u2660\u2663\u2666\u2b05\u27a1"
)
_EQUATION = re.compile(
    r"\$(?!\d)[^$\n]{1,120}\$(?!\d)|\\(?:frac|sqrt|times|cdot|sum|int)\b|\w[\w)]{0,20} ?= ?[\w(\u221a\u03c0.\u00a3$-][^\n]{0,80}"
    r"|\d ?[\u00d7\u00f7*/^] ?\d+ ?[=\u2248]|\w[\u00b2\u00b3]|\w\^\w|\d ?[\u00d7\u00f7] ?\d"
)
_CODE_LIKE = re.compile(r"[a-z_]+\([^)\n]*\)|[\w\])] ?(?:==|\+=|:=|=>|!=) ?\w|^(?:for|while|if|def|print|return|import) .*[:)]$", re.MULTILINE)
_INLINE = re.compile(r"`[^`\n]{2,200}`")
_BEYOND_ASCII = re.compile(r"[0-9#*]?[^\x00-\x7f]+")  # a keycap begins with an ASCII sign


def word_count(doc: Document) -> int:
    """Return the number of words, list marks and bare symbols left out."""
    text = doc.text.replace("\u2014", " ").replace("|", " ") + " " + " ".join(doc.code)
    return sum(1 for token in text.split() if _TOKEN.search(token) and not re.fullmatch(r"\d{1,2}[.)]", token))


def emoji_count(doc: Document) -> int:
    """Return the number of emoji; text symbols such as the copyright sign are none."""
    if not _PICTOGRAPH.search(doc.raw):
        return 0
    import emoji

    found = (entry for run in _BEYOND_ASCII.findall(doc.raw) for entry in emoji.emoji_list(run))
    return sum(1 for entry in found if str(entry["emoji"]) not in _TEXT_SYMBOLS)


def _list_share(doc: Document, kind: str) -> float:
    listed = sum(len(block.text.split()) for block in doc.core if block.kind == kind)
    everything = sum(len(block.text.split()) for block in doc.core if block.kind != "heading")
    return listed / max(everything, 1)


def layout_of(doc: Document) -> tuple[str, str]:
    """Return the layout (bullets, numbered, headings, paragraphs, mixed, none) and what was found."""
    counts = Counter(block.kind for block in doc.core)
    bullets, numbered, headings, tables = (counts[kind] for kind in ("bullet", "numbered", "heading", "table"))
    found = f"{bullets} bullets, {numbered} numbered lines, {headings} headings, {tables} table rows"
    if not doc.core:
        return "none", found
    if not (bullets or numbered or headings):
        return "paragraphs" if counts["plain"] or counts["quote"] else "none", found
    if headings >= 2 and not bullets and not numbered:
        return "headings", found
    if bullets >= 2 and not numbered and not headings and _list_share(doc, "bullet") >= 0.4:
        return "bullets", found
    if numbered >= 2 and not bullets and not headings and _list_share(doc, "numbered") >= 0.4:
        return "numbered", found
    return "mixed", found


def notation_of(doc: Document) -> tuple[str, str]:
    """Return the notation (words_only, formula, code_snippet, small_table, mixed, none) and what was found."""
    rows = sum(block.kind == "table" for block in doc.blocks)
    code = len(doc.code) + sum(bool(_CODE_LIKE.search(span)) for span in _INLINE.findall(doc.text))
    outside = "\n".join(block.text for block in doc.blocks if block.kind != "table")
    formulas = len(_EQUATION.findall(_INLINE.sub(" ", outside) if code else outside))
    found = f"{formulas} formulas, {code} code snippets, {rows} table rows"
    kinds = [name for name, count in (("formula", formulas), ("code_snippet", code), ("small_table", rows >= 2)) if count]
    if not doc.words:
        return "none", found
    return ("mixed", found) if len(kinds) > 1 else ((kinds or ["words_only"])[0], found)
