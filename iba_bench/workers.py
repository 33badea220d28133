"""Worker processes that die with their parent, and progress with an ETA on stderr."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

Result = TypeVar("Result")
Item = TypeVar("Item")


def watch_parent(parent: int) -> None:
    """End this process as soon as ``parent`` is gone (workers of a killed parent would write on for ever)."""

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(3)

    threading.Thread(target=look, daemon=True).start()


def spread(work: Callable[[Item], Result], items: Iterable[Item], workers: int, setup: Callable[..., None],
           arguments: tuple[Any, ...]) -> Iterator[Result]:  # fmt: skip
    """Yield ``work(item)`` for every item, as each is done: in this process for one worker, else in spawned ones."""
    if workers <= 1:
        setup(*arguments)
        yield from map(work, items)
        return
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _start, (os.getpid(), setup, arguments))
    with pool:
        pending: set[Future[Result]] = set()
        try:
            for item in items:
                pending.add(pool.submit(work, item))
                if len(pending) >= 2 * workers:
                    done, pending = wait(pending, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _start(parent: int, setup: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    watch_parent(parent)
    setup(*arguments)


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show progress with ETA on stderr; yields a function that takes how many more are done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(file=sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=not console.is_terminal) as shown:
        task = shown.add_task(label, total=total)
        yield lambda done: shown.update(task, advance=done)
