"""`make bench`: performance as ratios within one run. Absolute times mean nothing on a noisy machine.

Options: `ARGS=quick` takes a tenth of the personas, for a look; `ARGS=dialogues` compares dialogues with models over HTTP with a bare client instead
(`ARGS="dialogues quick"`: at 64 in flight only).
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow.parquet as pq
from dialogues import ratios

from iba_bench.storage import table_files
from iba_bench.tokens import encoding

HYDRA_APP = """
import hydra
@hydra.main(version_base="1.3", config_path=None)
def app(config):
    pass
app()
"""


def run_iba(*arguments: str) -> tuple[float, str, int]:
    """Run `iba`; return seconds, the last line of stdout and the peak memory in kB of the largest process."""
    code = (
        "import resource, sys\nfrom iba_bench.cli import main\ncode = main(sys.argv[1:])\n"
        "peak = max(resource.getrusage(w).ru_maxrss for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))\n"
        "print(peak)\nsys.exit(code)\n"
    )
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"iba {' '.join(arguments)} failed ({done.returncode}):\n{done.stderr[-2000:]}")
    lines = done.stdout.split()
    return seconds, lines[-2] if len(lines) > 1 else "", int(lines[-1])


def contents(run: Path) -> Iterator[str]:
    """Yield every turn's text of a run."""
    for path in table_files(run, "histories"):
        for turns in pq.read_table(path, columns=["turns"]).column("turns").to_pylist():
            for turn in turns:
                yield turn["content"]


def token_seconds(run: Path) -> float:
    """Return how long tiktoken takes for a run's text, turn by turn in one thread."""
    texts, encode = list(contents(run)), encoding().encode_ordinary
    started = time.perf_counter()
    for text in texts:
        encode(text)
    return time.perf_counter() - started


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the slope of log(seconds) over log(size), by least squares."""
    xs, ys = [math.log(s) for s in sizes], [math.log(s) for s in seconds]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


def size(personas: int) -> tuple[str, str]:
    """Return overrides for a number of personas."""
    return f"benchmark.personas={personas}", f"benchmark.tasks={personas * 7}"


def show(name: str, value: float, limit: str) -> None:
    """Print one ratio and its goal."""
    print(f"{name:<72}{value:>9.2f}   goal {limit}", flush=True)


def start_up() -> None:
    """Compare the start of `iba --help` with a bare Hydra app."""

    def best(command: list[str]) -> float:
        times = []
        for _ in range(5):
            started = time.perf_counter()
            subprocess.run(command, capture_output=True, check=True, cwd=tempfile.gettempdir())
            times.append(time.perf_counter() - started)
        return min(times)

    with tempfile.TemporaryDirectory() as folder:
        app = Path(folder) / "app.py"
        app.write_text(HYDRA_APP)
        bare = best([sys.executable, str(app), "hydra.run.dir=.", "hydra.output_subdir=null", "hydra/job_logging=disabled"])
    ours = best([str(Path(sys.executable).with_name("iba")), "--help"])
    show("start-up: iba --help over a bare Hydra app", ours / bare, "<= 2")


def main(quick: bool) -> None:
    """Print every ratio."""
    base = 40 if quick else 400
    with tempfile.TemporaryDirectory() as folder:
        seconds, path, _ = run_iba("generate", *size(base), f"out={folder}/one")
        tokens = token_seconds(Path(path))
        show(f"generation of {base} personas, one worker, gates included, over tiktoken", seconds / tokens, "<= 25")
        two, other, peak = run_iba("generate", *size(base), f"out={folder}/two", "executor.workers=2")
        show("one worker over two workers", seconds / two, ">= 1.7")
        same = json.loads((Path(path) / "manifest.json").read_text())["files"] == json.loads((Path(other) / "manifest.json").read_text())["files"]
        print(f"{'the same files with one and two workers':<72}{same!s:>9}")
        checked, _, _ = run_iba("validate", f"run={path}")
        show("iba validate over generation", checked / seconds, "<= 1")
        _, _, big = run_iba("generate", *size(4 * base), f"out={folder}/big", "executor.workers=2")
        show(f"peak memory of {4 * base} over {base} personas", big / peak, "<= 1.2")
        counts = [base // 4, base // 2, base]
        times = [run_iba("generate", *size(n), f"out={folder}/n{n}")[0] for n in counts]
        show("exponent of time over personas", exponent(counts, times), "<= 1.05")
        lengths = {"short": 5_000, "medium": 20_000, "long": 80_000}
        times = [run_iba("generate", *size(40), f"history={name}", f"out={folder}/{name}")[0] for name in lengths]
        show("exponent of time over history length", exponent(list(lengths.values()), times), "<= 1.05")
    start_up()
    print(f"peak memory of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


if __name__ == "__main__":
    if "dialogues" in sys.argv[1:]:
        for measure in ratios("quick" in sys.argv[1:]):
            show(*measure)
    else:
        main("quick" in sys.argv[1:])
