"""One measurement of the benchmark of scale in a process of its own, so that its peak of memory is its own.

    python -m benchmarks.speed.scale_one TASK '{"argument": value, ...}'

Prints one line of JSON. Imports are not timed; a file that was just written is in the system's cache for everybody.
"""

import importlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks.speed import scale_files
from benchmarks.speed.friends import EPSILON, GIB, TimedNoise, resident
from dimfree import Options, SeededNoise, release_mean
from dimfree.accounting.budget import Neighbours
from dimfree.comparison.contestants import chosen
from dimfree.comparison.spectra import DISTANCE
from dimfree.comparison.worlds import GENEROUS, Priors
from dimfree.data import progress
from dimfree.data.formats.npy import NpyStream
from dimfree.data.read import read_table
from dimfree.data.records import Records

DELTA = 1e-6
BLOCKS = tuple(2**power for power in (16, 18, 20, 22))  # entries of a block of the streamed mean
CORE = ("the core's sample", "distances in the core's sample")  # passes of stage 0
_ENOUGH = 1.0  # seconds of repeating

Found = dict[str, Any]


def write(kind: str, path: str, count: int, dimension: int, dtype: str, seed: int) -> Found:
    writer = scale_files.write_npy if kind == "npy" else scale_files.write_parquet
    return {"seconds": _seconds(lambda: writer(Path(path), count, dimension, dtype, seed))}


def mean(path: str) -> Found:
    """One pass of mean(0): streamed by the reader of the releases, the fastest of some sizes of blocks."""
    stream = NpyStream(Path(path))
    best = {block: _best(partial(_streamed, stream, block)) for block in BLOCKS}
    block = min(best, key=lambda size: best[size])
    return {"seconds": best[block], "block": block}


def mapped_mean(path: str) -> Found:
    return {"seconds": _best(lambda: np.load(path, mmap_mode="r").mean(0, dtype=np.float64))}


def _streamed(stream: NpyStream, entries: int) -> np.ndarray:
    total = np.zeros(stream.shape[1])
    for block in stream.row_blocks(max(1, entries // stream.shape[1])):
        total += block.sum(axis=0, dtype=np.float64)
    return total / stream.shape[0]


def release(path: str, method: str, core_sample: int | str = "auto", seed: int | None = None) -> Found:
    """A release from a .npy file that is read anew on every pass. With a seed: not private, to be compared."""
    stream = NpyStream(Path(path))
    noise = _opened_noise() if seed is None else SeededNoise(seed)
    return _released(Records(stream, None), method, noise, options=Options(core_sample=core_sample))


def cells(path: str | None, seed: int) -> Found:
    """A release of a CSR matrix in memory; nothing is known of it."""
    table = scale_files.cells_of(None if path is None else Path(path), seed)
    return {**_released(table, "auto", _opened_noise()), "shape": list(table.shape), "stored": int(table.nnz)}


def dask(path: str, method: str, workers: int, seed: int, source: str) -> Found:
    """The same release on a LocalCluster: from the file, as `--scheduler` reads it, or from an array of the caller's.

    Starting the cluster, imports on its workers included, is not timed.
    """
    from distributed import Client, LocalCluster  # Dask ships no types for these

    cluster: Any = LocalCluster
    client: Any = Client
    with cluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as started, client(started) as mine:
        mine.run(_imported)
        table = read_table(path, workers=workers) if source == "file" else _lazy(path)
        return _released(table, method, SeededNoise(seed))


def _imported() -> None:
    importlib.import_module("dimfree.release")
    importlib.import_module("dimfree.data.cluster.file_parts")


def _lazy(path: str) -> Any:
    """Chunks that tasks of the caller's own copy out of a memory map."""
    import dask.array as lazy
    from dask.delayed import delayed

    shape, array = NpyStream(Path(path)).shape, cast(Any, lazy)
    rows = max(1, 2**22 // shape[1])
    bounds = [(start, min(start + rows, shape[0])) for start in range(0, shape[0], rows)]
    parts = [array.from_delayed(delayed(_part)(path, *ends), (ends[1] - ends[0], shape[1]), "f8") for ends in bounds]
    return array.concatenate(parts)


def _part(path: str, first: int, last: int) -> np.ndarray:
    return np.array(np.load(path, mmap_mode="r")[first:last], dtype=np.float64)


def peer(path: str, name: str) -> Found:
    """A contestant on the same table, in memory; reading it is not timed."""
    X = np.load(path).astype(np.float64)
    stddevs = scale_files.stddevs(X.shape[1])
    length = float(np.linalg.norm(stddevs))
    known = Priors(stddevs, GENEROUS * DISTANCE * length, 2 * length, X.mean(0))
    (contestant,) = chosen([name])
    promise = {"epsilon": EPSILON, "delta": DELTA, "neighbours": Neighbours.ADD_REMOVE}
    noise, start = _opened_noise(), time.perf_counter()
    answer = contestant.answer(X, known, **promise, noise=noise)
    return {"seconds": time.perf_counter() - start, "refused": answer.refused}


def noise(count: int, dimension: int, method: str, seed: int) -> Found:
    """How much of a release in memory is spent on drawing noise, and what one vector of it takes."""
    (X,) = scale_files.blocks(count, dimension, "float64", seed, count)
    found = _released(X, method, _opened_noise())
    noise = _opened_noise()
    return {**found, "vector": _best(lambda: noise.gaussian(2.0**24, dimension))}


def _opened_noise() -> TimedNoise:
    noise = TimedNoise()
    noise.gaussian(2.0**24, 1)  # imports OpenDP
    noise.seconds = 0.0
    return noise


def _released(table: object, method: str, noise: Any, **options: Any) -> Found:
    """Seconds in all, and of stage 0: from the end of the check of the rows to the first block of the first stage."""
    marks: list[tuple[float, str]] = []
    dimension = table.dimension if isinstance(table, Records) else table.shape[1]  # type: ignore[attr-defined]
    covariance = scale_files.stddevs(dimension) ** 2 if method == "known" else None
    promise = {"epsilon": EPSILON, "delta": DELTA, "covariance": covariance, "noise": noise}
    with progress.listening(lambda stage, done, total: marks.append((time.perf_counter(), stage))):
        start, worked = time.perf_counter(), time.process_time()
        answer = release_mean(table, **promise, **options)
        seconds, worked = time.perf_counter() - start, time.process_time() - worked
    found = {
        "seconds": seconds,
        "processor_seconds": worked,
        "stage_0": _stage_0(start, start + seconds, marks),
        "refused": answer.refused,
    }
    drawn = {"drawing": noise.seconds} if isinstance(noise, TimedNoise) else {"mean": _digest(answer)}
    return {**found, **drawn, "passes": _passes(start, marks)}


def _stage_0(start: float, end: float, marks: Sequence[tuple[float, str]]) -> float:
    last = max((place for place, (_, stage) in enumerate(marks) if stage in CORE), default=-1)
    before = [when for when, stage in marks[: last + 1] if stage not in CORE]
    after = marks[last + 1][0] if last + 1 < len(marks) else end
    return after - max(before, default=start)


def _passes(start: float, marks: Sequence[tuple[float, str]]) -> list[tuple[str, float]]:
    """When each run of blocks with one name ended."""
    ends = [place for place in range(len(marks)) if place + 1 == len(marks) or marks[place + 1][1] != marks[place][1]]
    return [(marks[place][1], marks[place][0] - start) for place in ends]


def _digest(answer: Any) -> str:
    import hashlib

    return "refused" if answer.refused else hashlib.sha256(answer.mean.tobytes()).hexdigest()[:16]


def _best(work: Callable[[], object]) -> float:
    """The quickest of three at most, the first to warm up where that takes no more than a second."""
    times = [_seconds(work)]
    while len(times) < 3 and sum(times) < 2 * _ENOUGH:
        times.append(_seconds(work))
    return min(times)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peak() -> float:
    """GiB: Linux's own account of this process; ru_maxrss would begin with that of its parent."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resident()
    lines = status.read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / GIB


TASKS: dict[str, Callable[..., Found]] = {
    task.__name__: task for task in (write, mean, mapped_mean, release, cells, dask, peer, noise)
}


def main(arguments: Sequence[str]) -> None:
    task, given = arguments
    found = TASKS[task](**json.loads(given))
    print(json.dumps({**found, "peak_gib": peak()}))


if __name__ == "__main__":
    main(sys.argv[1:])
