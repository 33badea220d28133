"""A wheel installed elsewhere finds its own conf and catalogs, in an empty folder and in one that has a conf of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests_support import ENTRY

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.xdist_group("noise")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    wheel = next(folder.glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.mark.parametrize("own_conf", [False, True])
def test_a_wheel_generates_tiny_anywhere(site, tmp_path, own_conf):
    if own_conf:
        (tmp_path / "conf").mkdir()
        (tmp_path / "conf" / "__init__.py").touch()
        (tmp_path / "conf" / "generate.yaml").write_text("nonsense: true\n")
    code = f"import sys; sys.path.insert(0, {str(site)!r}); sys.path.remove('') if '' in sys.path else None; {ENTRY}"
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, "-c", code, "generate", "benchmark=tiny", "history=short"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    run = tmp_path / done.stdout.strip()
    assert (run / "manifest.json").exists() and run.parent.name == "outputs"
    where = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(site)!r}); import conf, scenarios; print(conf.__file__, scenarios.__file__)"]
    assert str(site) in subprocess.run(where, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
