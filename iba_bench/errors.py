"""Errors that a user can act on.

Every message names the place, the value and the fix. The command prints such an error without a traceback and exits 2.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """A mistake of the user's: printed as one clear message, exit code 2."""


class CheckFailed(Exception):
    """A gate or check refused what it was shown: exit code 1."""


class InstanceRefused(Exception):
    """One instance (task, persona attempt) could not be built fairly and is drawn again.

    Args:
        reason: A short slug, counted in the manifest.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def near_match(name: str, known: Iterable[str]) -> str:
    """Say what was probably meant and list what exists."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"{hint}valid: {', '.join(names)}"
