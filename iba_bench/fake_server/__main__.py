"""The fake server as a program: ``python -m iba_bench.fake_server --port 0 --latency 0.5 --faults 0.2 --seed 7``.

Its base URL is the one line on stdout. It runs until it is interrupted, or with ``--until-eof`` until its stdin closes or its parent dies.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import importlib
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from typing import cast

from iba_bench.errors import UserError, near_match
from iba_bench.fake_server.answers import Answerer
from iba_bench.fake_server.config import ServerConfig
from iba_bench.fake_server.faults import KINDS
from iba_bench.fake_server.server import FakeServer

PARENT_CHECK = 0.5
"""Seconds between two looks at whether the parent still lives."""


def main(arguments: list[str] | None = None) -> int:
    """Run the program and return its exit code: 0, or 2 after a user's mistake."""
    parent = os.getppid()
    options = _parser().parse_args(arguments)
    try:
        config = _config(options)
        _prepare_process()
        asyncio.run(_serve(config, parent if options.until_eof else None))
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def load_answerer(path: str) -> Answerer:
    """Return an instance of the answerer's class at the dotted ``path`` (``package.module:Class``).

    Raises:
        UserError: Nothing can be imported or called there, or it has no method ``answer``.
    """
    module_name, _, class_name = path.partition(":")
    if not module_name or not class_name:
        raise UserError(f"--answerer: {path!r} is not of the form package.module:Class")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise UserError(f"--answerer: cannot import {module_name!r} ({error}); give a module that python finds from here") from error
    made = getattr(module, class_name, None)
    if not isinstance(made, type):
        classes = [name for name, value in vars(module).items() if isinstance(value, type)]
        raise UserError(f"--answerer: {module_name} has no class {class_name!r}; {near_match(class_name, classes)}")
    if not callable(getattr(made, "answer", None)):
        raise UserError(f"--answerer: {path} has no method answer(body); give it one")
    try:
        return cast(Answerer, made())
    except TypeError as error:
        raise UserError(f"--answerer: {path} cannot be made without arguments ({error}); give a class that can") from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m iba_bench.fake_server", description="A fake OpenAI-compatible server.")
    parser.add_argument("--port", type=int, default=0, help="TCP port; 0: the system chooses (default)")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds until an answer")
    parser.add_argument("--jitter", type=float, default=0.0, help="up to so many seconds more, by the body's digest")
    parser.add_argument("--capacity", type=int, help="requests that are worked on at a time; the others queue")
    parser.add_argument("--faults", type=float, default=0.0, help="share of attempts that meet a fault, 0 to 1")
    parser.add_argument("--kinds", default=",".join(KINDS), help="kinds of faults, separated by commas (default: all: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the faults")
    parser.add_argument("--retry-after", type=float, default=0.5, help="seconds that Retry-After asks for")
    parser.add_argument("--drip", type=float, default=5.0, help="seconds that a dripping body takes")
    parser.add_argument("--no-usage", action="store_true", help="send no token counts")
    parser.add_argument("--api-key", help="bearer that is asked for")
    parser.add_argument("--models", default="", help="model names that exist, separated by commas (default: any)")
    parser.add_argument("--context-window", type=int, help="tokens that a prompt may have")
    parser.add_argument("--answerer", default="iba_bench.fake_server:TextAnswerer", help="package.module:Class of what answers (default: %(default)s)")
    parser.add_argument("--until-eof", action="store_true", help="end when stdin closes or the parent dies")
    return parser


def _config(options: argparse.Namespace) -> ServerConfig:
    return ServerConfig(
        answerer=load_answerer(options.answerer), port=options.port, latency=options.latency, jitter=options.jitter, capacity=options.capacity,
        share=options.faults, kinds=tuple(filter(None, options.kinds.split(","))), seed=options.seed, retry_after=options.retry_after,
        drip=options.drip, usage=not options.no_usage, api_key=options.api_key, models=tuple(filter(None, options.models.split(","))),
        context_window=options.context_window,
    )  # fmt: skip


def _prepare_process() -> None:
    """Make room for thousands of connections: an open file for each, and no search for garbage at every turn."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    # Requests in flight are many long-lived objects; collecting among them at the default rate takes a fifth of the time per request.
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


async def _serve(config: ServerConfig, parent: int | None) -> None:
    """Serve until a signal; with ``parent`` also until stdin closes or that process is no longer the parent."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    async with FakeServer(config) as server:
        print(server.base_url, flush=True)
        if parent is not None:
            threading.Thread(target=_read_to_end, args=(lambda: loop.call_soon_threadsafe(ended.set),), daemon=True).start()
        while not ended.is_set() and parent in (None, os.getppid()):
            await _wait(ended, PARENT_CHECK if parent is not None else None)


async def _wait(ended: asyncio.Event, seconds: float | None) -> None:
    try:
        await asyncio.wait_for(ended.wait(), seconds)
    except TimeoutError:
        return


def _read_to_end(at_end: Callable[[], object]) -> None:
    # os.read takes no lock of the buffered stdin, which a daemon thread would still hold at the interpreter's exit.
    try:
        while os.read(0, 4096):
            pass
    except OSError:
        pass
    try:
        at_end()
    except RuntimeError:
        return


if __name__ == "__main__":
    sys.exit(main())
