"""The cells of the benchmark of speed, each in a process of its own.

    python -m benchmarks.speed.cells NAME '{"small": false, "seed": 1, "folder": "..."}'

Prints one line of JSON: the figures, each with its bar, and the peak of memory of the process.
"""

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import dimfree
from benchmarks.speed import tables
from benchmarks.speed.clocks import GIB, Row, TimedNoise, best, child, peak_gib, row, seconds
from dimfree import read_table, release_group_means, release_mean
from dimfree.data.formats.array_files import NpyStream
from dimfree.data.records import Records, open_records

BUDGET: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
STREAMED = tuple(2**power for power in (16, 18, 20, 22))  # entries of a block of the streamed mean
_DISK = 0.6  # of what is free there, for the Parquet file


@dataclass(frozen=True)
class Asked:
    """Whether the sizes are small, the seed of the tables, and where files go for a while."""

    small: bool
    seed: int
    folder: Path

    def size(self, full: tuple[int, int], small: tuple[int, int]) -> tuple[int, int]:
        return small if self.small else full

    def table(self, full: tuple[int, int], small: tuple[int, int]) -> Any:
        return tables.drawn(*self.size(full, small), self.seed)


def npy(asked: Asked) -> list[Row]:
    """A .npy file that every pass reads again, against one streamed mean."""
    count, dimension = asked.size((1_000_000, 500), (20_000, 500))
    path = asked.folder / "records.npy"
    tables.write_npy(path, count, dimension, asked.seed)
    stream = NpyStream(path)
    mean = min(best(partial(_streamed, stream, block)) for block in STREAMED)
    rows = [row(f"one streamed mean(0), {count} × {dimension}", mean, "s")]
    known = {"covariance": tables.stddevs(dimension) ** 2}
    for name, options, bar in (("known", known, 7.0), ("auto", {}, 15.0)):
        took = seconds(lambda options=options: _released(Records(NpyStream(path), None), **options))
        rows.append(row(name, took / mean, "streamed means", bar, took))
    return rows


def _streamed(stream: NpyStream, entries: int) -> Any:
    total = np.zeros(stream.shape[1])
    for block in stream.row_blocks(max(1, entries // stream.shape[1])):
        total += block.sum(axis=0, dtype=np.float64)
    return total / stream.shape[0]


def _released(table: object, **options: Any) -> TimedNoise:
    noise = TimedNoise()
    release_mean(table, **BUDGET, noise=noise, **options)
    return noise


def memory(asked: Asked) -> list[Row]:
    """An array in memory, against X.mean(0): the first release of the process, and the quickest of three later ones."""
    X = asked.table((300_000, 200), (20_000, 50))
    TimedNoise()
    mean = best(lambda: X.mean(0), 5)
    rows = [row(f"X.mean(0), {X.shape[0]} × {X.shape[1]}", mean, "s")]
    rows.append(row("auto, the first", seconds(lambda: _released(X)), "s"))
    later = best(lambda: _released(X))
    rows.append(row("auto, later", later, "s; the bar is 1.5 s + 25 means", 1.5 + 25 * mean))
    return [*rows, row("auto, later", later / mean, "means", None, later)]


def wide(asked: Asked) -> list[Row]:
    """Few records of many columns, against X @ X.T and X.mean(0): the first release, and the quicker of two more."""
    X = asked.table((4000, 20_000), (600, 2000))
    TimedNoise()
    mean, product = best(lambda: X.mean(0)), best(lambda: X @ X.T, 2)
    rows = [row(f"X.mean(0), {X.shape[0]} × {X.shape[1]}", mean, "s"), row("X @ X.T", product, "s")]
    noises: list[TimedNoise] = []
    bar, unit = 2 * (product + 60 * mean), "s; the bar is 2 × (X @ X.T + 60 means)"
    rows.append(row("auto, the first", seconds(lambda: noises.append(_released(X))), unit, bar))
    rows.append(row("auto, later", best(lambda: _released(X), 2), unit, bar))
    return [*rows, row("noise in the first", noises[0].seconds, "s")]


def parquet(asked: Asked) -> list[Row]:
    """The peak of `dimfree mean` over one Parquet file in row groups of 256 MiB: 20 GiB, or what the disk allows."""
    return _peaks(asked, asked.size((1_000_000, 2500), (4000, 500)), "records.parquet", "write_parquet")


def parts(asked: Asked) -> list[Row]:
    """The same over a folder of Parquet files of 256 MiB, one row group each: the way to store very many columns."""
    return _peaks(asked, asked.size((100_000, 25_000), (4000, 500)), "records", "write_parts")


def _peaks(asked: Asked, size: tuple[int, int], name: str, write: str) -> list[Row]:
    """The table is written by a process of its own: the peak of a child begins with what its parent takes."""
    (count, dimension), path, spread = size, asked.folder / name, asked.folder / "spread.npy"
    count = min(count, int(_DISK * shutil.disk_usage(asked.folder).free / (8 * dimension)))
    writing = f"from pathlib import Path; from benchmarks.speed.tables import {write}; "
    child(["-c", f"{writing}{write}(Path({str(path)!r}), {count}, {dimension}, {asked.seed})"])
    np.save(spread, tables.stddevs(dimension) ** 2)
    stored = sum(each.stat().st_size for each in ([path] if path.is_file() else path.iterdir()))
    rows = [row(f"stored, {count} × {dimension} float64", stored / GIB, "GiB on disk")]
    words = ["-c", "from dimfree.cli import main; main()", "mean", str(path), "--epsilon", "1", "--delta", "1e-6"]
    for which, more in (("known", ["--covariance", str(spread)]), ("auto", [])):
        took, _, peak = child([*words, *more, "-o", str(asked.folder / f"{which}.npy")])
        rows.append(row(which, peak, "GiB of memory", 1.5, took))
    return rows


def start(asked: Asked) -> list[Row]:
    """The first release of a process, imports included, beside importing NumPy and OpenDP. Seconds of the processor."""
    bare = "import numpy; from opendp import domains, measurements, metrics, mod"
    first = (
        "import numpy as np; from dimfree import release_mean; X = np.random.default_rng(0).normal(size=(600, 20)); "
    )
    first += "release_mean(X, epsilon=1.0, delta=1e-6)"
    pairs = [(child(["-c", bare])[1], child(["-c", first])[1]) for _ in range(2 if asked.small else 7)]
    plain, ours = (min(times) for times in zip(*pairs, strict=True))
    return [
        row("NumPy and OpenDP", plain, "s"),
        row("the first release, 600 × 20, beyond them", ours - plain, "s", 0.6),
    ]


def csv(asked: Asked) -> list[Row]:
    """A CSV file read and checked, against pyarrow.csv."""
    from pyarrow.csv import read_csv

    count, dimension = asked.size((500_000, 50), (10_000, 20))
    path = asked.folder / "records.csv"
    tables.write_csv(path, count, dimension, asked.seed)
    plain = best(lambda: read_csv(path), 2)
    took = best(lambda: open_records(read_table(path)), 2)
    return [
        row(f"pyarrow.csv, {count} × {dimension}", plain, "s"),
        row("read_table and a look at every row", took / plain, "times pyarrow.csv", None, took),
    ]


def report(asked: Asked) -> list[Row]:
    """The HTML page about a release of many columns."""
    rows = []
    for dimension, bar in ((200, 3.0), (1000, 10.0)) if asked.small else ((5000, 3.0), (100_000, 10.0)):
        X = tables.drawn(1000, dimension, asked.seed)
        release = release_mean(X, **BUDGET, covariance=tables.stddevs(dimension) ** 2)
        path = asked.folder / f"{dimension}.html"
        took = seconds(lambda release=release, path=path: release.write_report(path))
        rows.append(row(f"the page, d = {dimension}", took, "s", bar))
        rows.append(row(f"its size, d = {dimension}", path.stat().st_size / 1e6, "MB", 5.0))
    return rows


def answers(asked: Asked) -> list[Row]:
    """What is asked before a release, and the means of groups of a small table. One process, nothing warmed up."""
    whole = {"n": 10_000, "d": 20 if asked.small else 1000, "epsilon": 1.0, "delta": 1e-6, "spectrum": "S1"}
    found: list[Any] = []
    rows = [row("plan, accuracy", seconds(lambda: found.append(dimfree.plan(**whole))), "s", 2.0)]
    whole["accuracy"] = float(found[0].accuracy)
    for what in ("epsilon", "n", "d"):
        given = {name: value for name, value in whole.items() if name != what}
        rows.append(row(f"plan, {what}", seconds(lambda given=given: dimfree.plan(**given)), "s", 2.0))
    X, groups = tables.drawn(8000, 20, asked.seed), np.repeat(np.array(list("abcd")), 2000)
    took = seconds(lambda: release_group_means(X, by=groups, groups=list("abcd"), **BUDGET))
    return [*rows, row("release_group_means, 8000 × 20, four groups", took, "s", 2.0)]


CELLS: dict[str, Callable[[Asked], list[Row]]] = {
    "memory": memory,
    "npy": npy,
    "wide": wide,
    "start": start,
    "answers": answers,
    "csv": csv,
    "report": report,
    "parquet": parquet,
    "parts": parts,
}


def main(name: str, given: str) -> None:
    words = json.loads(given)
    rows = CELLS[name](Asked(words["small"], words["seed"], Path(words["folder"])))
    print(json.dumps({"rows": rows, "peak_gib": peak_gib()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
