"""The fake server's settings, its command line, and its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from typing import Any

import pytest

from iba_bench.errors import UserError
from iba_bench.fake_server import KINDS, ServerConfig, running
from iba_bench.fake_server.__main__ import load_answerer

REQUEST = b'{"model": "m", "messages": [{"role": "user", "content": "hello"}]}'


def test_the_key_is_not_shown_by_the_settings() -> None:
    assert "s3cret" not in repr(ServerConfig(api_key="s3cret"))


@pytest.mark.parametrize(("settings", "text"), [
    ({"share": 1.5}, "fake server: share: 1.5 is not valid; give a share from 0 to 1"),
    ({"latency": float("nan")}, "fake server: latency: nan is not valid; give seconds, 0 or more"),
    ({"capacity": 0}, "fake server: capacity: 0 is not valid; give 1 or more, or leave it out"),
    ({"kinds": ("resett",)}, "fake server: kinds: 'resett' is not valid; did you mean 'reset'? valid: " + ", ".join(sorted(KINDS))),
])  # fmt: skip
def test_a_wrong_setting_names_value_and_fix(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(UserError) as caught:
        ServerConfig(**settings)
    assert str(caught.value) == text


def test_a_taken_port_is_a_users_error_and_leaves_no_thread_behind() -> None:
    before = threading.active_count()
    with running(ServerConfig(usage=False)) as server:
        port = int(server.base_url.split(":")[2].removesuffix("/v1"))
        with pytest.raises(UserError, match=rf"cannot listen on 127\.0\.0\.1:{port}"), running(ServerConfig(port=port, usage=False)):
            pass
    assert threading.active_count() == before


@pytest.mark.parametrize(("path", "text"), [
    ("nothing", "--answerer: 'nothing' is not of the form package.module:Class"),
    ("no_such_module_x:A", "--answerer: cannot import 'no_such_module_x'"),
    ("iba_bench.fake_server:TextAnswere", "has no class 'TextAnswere'; did you mean 'TextAnswerer'?"),
    ("iba_bench.fake_server:FunctionCall", "has no method answer(body)"), ("iba_bench.fake_server:ScriptedAnswerer", "cannot be made without arguments"),
])  # fmt: skip
def test_a_wrong_answerer_on_the_command_line_is_explained(path: str, text: str) -> None:
    with pytest.raises(UserError) as caught:
        load_answerer(path)
    assert text in str(caught.value)


def program(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "iba_bench.fake_server", "--no-usage", *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=10)
    return process.returncode, out, err


def test_the_program_prints_its_address_alone_and_ends_with_its_stdin() -> None:
    process = program("--until-eof", "--faults", "1", "--kinds", "server_503")
    assert process.stdout and process.stdin
    url = process.stdout.readline().strip()
    with pytest.raises(urllib.error.HTTPError, match="503"):
        urllib.request.urlopen(urllib.request.Request(f"{url}/chat/completions", REQUEST))
    assert ended(process) == (0, "", "")


def test_an_interrupted_program_ends_without_a_traceback() -> None:
    process = program()
    assert process.stdout and process.stdout.readline().startswith("http://127.0.0.1:")
    process.send_signal(signal.SIGINT)
    assert ended(process) == (0, "", "")


def test_the_program_refuses_a_wrong_share_with_exit_code_two() -> None:
    assert ended(program("--faults", "7")) == (2, "", "fake server: share: 7.0 is not valid; give a share from 0 to 1\n")


def test_the_program_does_not_outlive_a_killed_parent_even_if_stdin_stays_open() -> None:
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-m', 'iba_bench.fake_server', '--no-usage', '--until-eof'], stdin=0, stdout=subprocess.PIPE, text=True)\n"
        "print(child.pid, child.stdout.readline(), flush=True)\ntime.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    child = int(parent.stdout.readline().split()[0])
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 5
    while not gone(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert gone(child), "the server outlived its parent"


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "Z"
