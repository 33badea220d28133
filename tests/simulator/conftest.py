"""One small run, made once per test process."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests_support import SMALL, iba, made


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of twenty personas with short histories."""
    return made(iba("generate", *SMALL, f"out={tmp_path_factory.mktemp('small')}"))
