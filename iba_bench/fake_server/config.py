"""The settings of the fake server, checked when made."""

from __future__ import annotations

from dataclasses import dataclass, field

from iba_bench.errors import UserError, near_match
from iba_bench.fake_server.answers import Answerer, TextAnswerer
from iba_bench.fake_server.faults import KINDS, FaultKind


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """How the server behaves.

    Attributes:
        answerer: What it says.
        port: TCP port; 0 lets the system choose.
        latency: Seconds from taking up a request to its answer.
        jitter: Up to so many seconds more, drawn by the body's digest.
        capacity: How many requests are worked on at a time, the others queue; None for no limit.
        share: Share of attempts that meet a fault, 0 to 1.
        kinds: Faults that are drawn from.
        seed: Seed of the faults.
        retry_after: Seconds that a 429 with Retry-After asks to wait.
        drip: Seconds that a dripping body takes.
        usage: Whether answers carry token counts.
        api_key: Bearer that is asked for; None for none.
        models: Model names that exist; empty accepts any.
        context_window: Tokens that a prompt may have; None for no limit.

    Raises:
        UserError: A value is out of range, or a kind unknown.
    """

    answerer: Answerer = field(default_factory=TextAnswerer)
    port: int = 0
    latency: float = 0.0
    jitter: float = 0.0
    capacity: int | None = None
    share: float = 0.0
    kinds: tuple[FaultKind, ...] = KINDS
    seed: int = 0
    retry_after: float = 0.5
    drip: float = 5.0
    usage: bool = True
    api_key: str | None = field(default=None, repr=False)
    models: tuple[str, ...] = ()
    context_window: int | None = None

    def __post_init__(self) -> None:
        for name in ("latency", "jitter", "retry_after", "drip"):
            check(0 <= getattr(self, name) < float("inf"), name, getattr(self, name), "give seconds, 0 or more")
        for name in ("capacity", "context_window"):
            check(getattr(self, name) is None or getattr(self, name) >= 1, name, getattr(self, name), "give 1 or more, or leave it out")
        check(0 <= self.share <= 1, "share", self.share, "give a share from 0 to 1")
        check(0 <= self.port < 65536, "port", self.port, "give 0 to 65535; 0 lets the system choose")
        for kind in self.kinds:
            check(kind in KINDS, "kinds", kind, near_match(kind, KINDS))

    def delay(self, digest: bytes) -> float:
        """Return the seconds that a request with this digest is worked on."""
        return self.latency + self.jitter * int.from_bytes(digest[:4]) / 2**32


def check(holds: bool, name: str, value: object, fix: str) -> None:
    """Raise a UserError that names a setting, its value and the fix, unless it ``holds``."""
    if not holds:
        raise UserError(f"fake server: {name}: {value!r} is not valid; {fix}")
