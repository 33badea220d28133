"""From parts to a page: paragraphs, headings, bullets or numbers."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Part:
    """A section under way: its heading and its points, each one or more sentences."""

    heading: str
    points: list[list[str]] = field(default_factory=list)

    def add(self, sentence: str) -> None:
        """Add an optional sentence: to the last point while that is short, else as a point of its own."""
        if self.points and len(self.points[-1]) == 1:
            self.points[-1].append(sentence)
        else:
            self.points.append([sentence])

    @property
    def lines(self) -> list[str]:
        """The points, each as one line."""
        return [" ".join(point) for point in self.points]


@dataclass(slots=True)
class Draft:
    """A text under way, by place."""

    title: list[str] = field(default_factory=list)
    greeting: list[str] = field(default_factory=list)
    lead: list[str] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    notes: Part | None = None
    block: list[str] = field(default_factory=list)
    close: list[str] = field(default_factory=list)
    sign_off: list[str] = field(default_factory=list)


def body_of(parts: list[Part], layout: str) -> list[str]:
    """Return the body's blocks (`bullets`, `numbered`, `headings`, `paragraphs`)."""
    filled = [part for part in parts if part.points]
    if layout == "headings":
        return [f"## {part.heading}\n\n{' '.join(part.lines)}" for part in filled]
    if layout == "paragraphs":
        return [" ".join(part.lines) for part in filled]
    lines = [line for part in filled for line in part.lines]
    marks = [f"{number}." for number in range(1, len(lines) + 1)] if layout == "numbered" else ["-"] * len(lines)
    return ["\n".join(f"{mark} {line}" for mark, line in zip(marks, lines, strict=True))]


def _middle(draft: Draft, layout: str) -> list[str]:
    """Return body, block and notes; a list is one list, so the block comes after its last line."""
    notes = [draft.notes] if draft.notes else []
    if layout in ("bullets", "numbered"):
        return [*body_of([*draft.parts, *notes], layout), *draft.block]
    return [*body_of(draft.parts, layout), *draft.block, *body_of(notes, layout)]


def page(draft: Draft, layout: str) -> str:
    """Return the finished text."""
    title = [f"# {line}" for line in draft.title]
    lead, close = " ".join(draft.lead), " ".join(draft.close)
    blocks = [*title, *draft.greeting, lead, *_middle(draft, layout), close, *draft.sign_off]
    return "\n\n".join(block for block in blocks if block)
