"""Friend counts against one plain matrix product, and where the time of a wide release goes.

python -m benchmarks.speed.friends [--quick] [--repeats N] [--out benchmarks/results]
"""

import argparse
import resource
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import dimfree.release
import dimfree.request
from benchmarks.accuracy.spectra import SPECTRA, Floats, draw
from benchmarks.record import provenance, provenance_lines, table, write_results
from dimfree import Options, SystemNoise, release_mean
from dimfree.core.friends import NEAR, friend_counts
from dimfree.data.read import read_table
from dimfree.estimators import known
from dimfree.estimators import opening as centre
from dimfree.estimators.choose import core as tuning
from dimfree.estimators.choose.friend_radius import friend_radii
from dimfree.geometry.grid import RADIUS

EPSILON, DELTA = 1.0, 1e-6
SEED = 20250101
RESULTS = Path("benchmarks/results")
TIME_BAR, MEMORY_BAR = 3.0, 1.5  # times one product; GiB
GIB = 2.0**30

Integers = NDArray[np.int64]


def best(work: Callable[[], object], against: Callable[[], object], repeats: int) -> tuple[float, float]:
    """The best time of each, taken in turn so that a busy machine slows both."""
    times = [(_seconds(work), _seconds(against)) for _ in range(repeats + 1)][1:]  # the first call only warms up
    return min(first for first, _ in times), min(second for _, second in times)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peak_memory(work: Callable[[], object]) -> float:
    """GiB that the work allocates at its peak, above what was there before."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / GIB


def resident() -> float:
    """GiB: the largest resident size of this process so far."""
    unit = 1.0 if sys.platform == "darwin" else 1024.0  # ru_maxrss is in KiB on Linux
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / GIB


def honest(spectrum: str, count: int, dimension: int, generator: np.random.Generator) -> tuple[Floats, Integers]:
    """Draws, and the same rescaled to the grid of a radius at which all but one see nine in ten of the others."""
    stddevs = SPECTRA[spectrum](dimension)
    X, _ = draw(stddevs, count, generator)
    radius = friend_radii(stddevs).radius(0.9, 1.0, count)
    return X, np.rint(X / np.sqrt(stddevs) * (RADIUS / radius)).astype(np.int64)


def scattered(values: Integers, clusters: int) -> Integers:
    """The same records in far clusters, round robin: no centre is near all of them."""
    shifted = values.copy()
    shifted[:, 0] += (np.arange(len(values)) % clusters) * 4 * NEAR
    return shifted


def count_friends(count: int, dimension: int, repeats: int, seed: int) -> dict[str, Any]:
    """The worlds of the table, each in turn with the product X @ X.T of the same size."""
    generator = np.random.default_rng(seed)
    X, values = honest("S1", count, dimension, generator)
    worlds = {"S1": values, "S4": honest("S4", count, dimension, generator)[1]}
    worlds |= {f"S1 in {k} far clusters": scattered(values, k) for k in (2, 100)}
    rows = {}
    for name, records in worlds.items():
        rounds = repeats if len(name) == 2 else 1
        seconds, product = best(lambda records=records: friend_counts(records), lambda: X @ X.T, rounds)
        peak = peak_memory(lambda records=records: friend_counts(records))
        rows[name] = {"seconds": seconds, "product": product, "ratio": seconds / product, "peak_gib": peak}
        print(f"friend counts, {name}: {seconds:.3f} s, {seconds / product:.2f} products", file=sys.stderr, flush=True)
    return {"count": count, "dimension": dimension, "repeats": repeats, "resident_gib": resident(), "worlds": rows}


STEPS: tuple[tuple[ModuleType, str, str], ...] = (  # where a step is called, its name there, what it is for people
    (dimfree.request, "as_records", "reading: opening"),
    (dimfree.release, "require_valid", "reading: finiteness"),
    (tuning, "friend_radii", "public simulation"),
    (centre, "calibrate_private_count", "calibration"),
    (known, "best_schedule", "public optimiser"),
    (centre, "on_grid", "reading: rescaling and rounding"),
    (centre, "all_counts", "counting"),
    (centre, "noisy_mean", "sums and noise"),
    (known, "recentre", "sums and noise"),
)


class TimedNoise(SystemNoise):
    """Private noise, with a clock."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0

    def gaussian(self, stddev: float, size: int) -> Integers:
        start = time.perf_counter()
        drawn = super().gaussian(stddev, size)
        self.seconds += time.perf_counter() - start
        return drawn


@contextmanager
def watched(clock: dict[str, float]) -> Iterator[None]:
    """Adds the time spent in each step of a release to the clock."""
    with ExitStack() as stack:
        for owner, name, label in STEPS:
            stack.enter_context(patch.object(owner, name, _clocked(getattr(owner, name), label, clock)))
        yield


def _clocked(step: Callable[..., Any], label: str, clock: dict[str, float]) -> Callable[..., Any]:
    def clocked(*arguments: Any, **options: Any) -> Any:
        start = time.perf_counter()
        try:
            return step(*arguments, **options)
        finally:
            clock[label] = clock.get(label, 0.0) + time.perf_counter() - start

    return clocked


def wide_release(count: int, dimension: int, seed: int) -> dict[str, Any]:
    """One private release from a .npy file, with the seconds of each step."""
    stddevs = SPECTRA["S1"](dimension)
    noise, clock = TimedNoise(), {}
    noise.gaussian(2.0**24, 1)  # imports OpenDP
    noise.seconds = 0.0
    with TemporaryDirectory() as folder:
        path = Path(folder) / "records.npy"
        np.save(path, draw(stddevs, count, np.random.default_rng(seed))[0])
        start = time.perf_counter()
        records = read_table(path)
        clock["reading: file"] = time.perf_counter() - start
        with watched(clock):
            released = release_mean(
                records,
                epsilon=EPSILON,
                delta=DELTA,
                covariance=stddevs**2,
                noise=noise,
                options=Options(core="stable"),
            )
        total = time.perf_counter() - start
    clock["noise"] = noise.seconds
    clock["weighted and clipped sums"] = clock.pop("sums and noise", noise.seconds) - noise.seconds
    clock["everything else"] = total - sum(clock.values())
    return {
        "count": count,
        "dimension": dimension,
        "refused": released.refused,
        "total": total,
        "seconds": clock,
        "resident_gib": resident(),
    }


def report(result: dict[str, Any]) -> list[str]:
    """The results for people."""
    counts, wide = result["friends"], result["wide"]
    lines = ["# Speed", "", *provenance_lines(result["run"]), ""]
    lines += [f"## Friend counts, n = {counts['count']}, d = {counts['dimension']}", ""]
    lines += [
        f"Best of {counts['repeats']} (far clusters: one), in turn with one float64 `X @ X.T`. Bars on S1 and S4:"
    ]
    lines += [f"at most {TIME_BAR:g} products, {MEMORY_BAR:g} GiB. Peak: allocated while counting, by tracemalloc;"]
    lines += [f"largest resident size of the whole process, worlds included: {counts['resident_gib']:.2f} GiB.", ""]
    cells = [
        [name, f"{r['seconds']:.3f} s", f"{r['product']:.3f} s", f"{r['ratio']:.2f}", f"{r['peak_gib']:.3f} GiB"]
        for name, r in counts["worlds"].items()
    ]
    lines += [*table(["records", "friend counts", "product", "ratio", "peak"], cells), ""]
    outcome = "refused" if wide["refused"] else "released"
    lines += [f"## A release at n = {wide['count']}, d = {wide['dimension']}: {outcome}", ""]
    lines += [f"{wide['total']:.2f} s from a .npy file, largest resident size {wide['resident_gib']:.2f} GiB.", ""]
    steps = sorted(wide["seconds"].items(), key=lambda item: -item[1])
    return lines + table(["step", "seconds", "share"], [[k, f"{v:.2f}", f"{v / wide['total']:.0%}"] for k, v in steps])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.friends", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes; written only where --out is given")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--out", type=Path, help=f"folder for speed.json.gz and speed.md ({RESULTS}; none if quick)")
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    result = {"run": provenance("benchmarks.speed.friends", given, options.seed)}
    result["friends"] = count_friends(1000 if options.quick else 4000, 1000, options.repeats, options.seed)
    result["wide"] = wide_release(1000, 10_000 if options.quick else 100_000, options.seed)
    lines = report(result)
    print("\n".join(lines))
    folder = options.out or (None if options.quick else RESULTS)
    if folder:
        write_results(folder, "speed", result, lines)


if __name__ == "__main__":
    main()
