"""The parts of the benchmark of scale: lists of cells, each with what it is compared with in the same run."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.accuracy.running import kept
from benchmarks.speed.friends import EPSILON, GIB
from benchmarks.speed.scale_files import stddevs
from benchmarks.speed.scale_one import DELTA
from benchmarks.speed.scale_running import Found, Setting, Table, cell, in_turn
from dimfree.comparison.contestants import CONTESTANTS

METHODS = ("known", "auto")
_QUICK = 50  # of the size of a must-show to the one tried quickly


def means(path: Path) -> Found:
    return {"mean": in_turn("mean", path=str(path)), "mapped": in_turn("mapped_mean", path=str(path))}


def both(path: Path) -> Found:
    return {**means(path), **{method: in_turn("release", path=str(path), method=method) for method in METHODS}}


def growth(setting: Setting) -> list[Found]:
    """Known and auto over n and d."""
    counts, dimensions = (1000, 10_000, 100_000, 1_000_000), (100, 1000, 10_000, 100_000)
    cap = min(setting.cap, 2e6) if setting.quick else setting.cap
    sizes = [Table(n, d) for d in dimensions for n in counts if n * d <= cap]
    return [cell(setting, "growth", table, both) for table in sizes]


def core(setting: Setting) -> list[Found]:
    """Stage 0 against the number of records that it looks at, in one table."""
    table = Table(20_000, 100) if setting.quick else Table(100_000, 1000)
    samples = (4096, 5792, 8192) if setting.quick else (4096, 8192, 16_384, 32_768)

    def measure(path: Path) -> Found:
        runs = [in_turn("release", path=str(path), method="known", core_sample=sample) for sample in samples]
        return {"mean": in_turn("mean", path=str(path)), "samples": list(samples), "runs": runs}

    return [cell(setting, "core", table, measure)]


def million(setting: Setting) -> list[Found]:
    """The first must-show: .npy of float64."""
    count = 1_000_000 // (_QUICK if setting.quick else 1)
    return [cell(setting, "million", Table(count, 500, "float64"), both)]


def parquet(setting: Setting) -> list[Found]:
    """The second: memory of `dimfree mean` over a Parquet file."""
    table = Table(2000, 1000, "float32", "parquet") if setting.quick else Table(100_000, 10_000, "float32", "parquet")
    return [cell(setting, f"parquet {method}", table, partial(_mean_command, method=method)) for method in METHODS]


def _mean_command(path: Path, method: str) -> Found:
    """`dimfree mean` as typed: its seconds and its peak, by the system's account of the finished process."""
    from pyarrow.parquet import ParquetFile

    dimension, spread = ParquetFile(path).metadata.num_columns, path.with_name("spread.npy")
    np.save(spread, stddevs(dimension) ** 2)
    words = [str(path), "--epsilon", f"{EPSILON:g}", "--delta", f"{DELTA:g}", "-o", str(path.with_name("mean.npy"))]
    words += ["--covariance", str(spread)] if method == "known" else []
    program = "from dimfree.cli import main; main()"
    start = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-c", program, "mean", *words], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    unit = 1.0 if sys.platform == "darwin" else 1024.0
    return {"method": method, "seconds": seconds, "peak_gib": usage.ru_maxrss * unit / GIB, "exit": child.returncode}


def csr(setting: Setting) -> list[Found]:
    """The third: counts of genes in cells, sparse."""
    if setting.quick:
        return [{"name": "csr", "skipped": "not tried quickly"}]
    given = None if setting.pbmc is None else str(setting.pbmc.resolve())
    told = "pbmc3k" if given else "made-up cells of the shape and density of pbmc3k"

    def run() -> Found:
        return {"name": "csr", "table": told, **in_turn("cells", path=given, seed=setting.seed)}

    return [kept(setting.keep, ("scale", "csr", told, setting.seed), run)]


def dask(setting: Setting) -> list[Found]:
    """The fourth: two workers against the same release streamed, with the same seeded noise."""
    missing = [name for name in ("dask", "distributed", "dimfree.data.cluster.dask_table") if _absent(name)]
    if missing:
        return [{"name": "dask", "skipped": f"{missing[0]} is not there"}]
    table = Table(20_000 if setting.quick else 1_000_000, 100 if setting.quick else 500, "float64")

    def measure(path: Path) -> Found:
        shared = {"path": str(path), "seed": setting.seed}
        pairs = {
            method: {
                "local": in_turn("release", method=method, **shared),
                **{way: in_turn("dask", method=method, workers=2, source=way, **shared) for way in ("file", "array")},
            }
            for method in METHODS
        }
        return {"pairs": pairs}

    return [cell(setting, "dask", table, measure)]


def _absent(name: str) -> bool:
    try:
        return find_spec(name) is None
    except ModuleNotFoundError:
        return True


def peers(setting: Setting) -> list[Found]:
    """Everybody on one table of a size that the quadratic ones can do."""
    table = Table(2000, 100, "float64") if setting.quick else Table(20_000, 1000, "float64")

    def measure(path: Path) -> Found:
        names = [contestant.name for contestant in CONTESTANTS if contestant.private]
        return {**means(path), "runs": {name: in_turn("peer", path=str(path), name=name) for name in names}}

    return [cell(setting, "peers", table, measure)]


def noise(setting: Setting) -> list[Found]:
    """The share of a release in memory that is spent on drawing noise."""
    sizes = [(1000, 100)] if setting.quick else [(4000, 1000), (4000, 10_000), (4000, 100_000)]

    def one(count: int, dimension: int, method: str) -> Found:
        arguments = {"count": count, "dimension": dimension, "method": method, "seed": setting.seed}
        return kept(
            setting.keep,
            ("scale", "noise", *arguments.values()),
            lambda: {**arguments, **in_turn("noise", **arguments)},
        )

    return [one(*size, method) for size in sizes for method in METHODS]


PARTS: dict[str, Callable[[Setting], Sequence[Found]]] = {
    part.__name__: part for part in (million, parquet, csr, dask, growth, core, peers, noise)
}
