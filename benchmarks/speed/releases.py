"""Time and peak memory of every estimator against n and d, with the exponents of their growth.

    python -m benchmarks.speed.releases [--quick] [--repeats N] [--out benchmarks/results]

Each point is a process of its own, so that its peak is its own and no cache is warm but the imports.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import provenance, provenance_lines, table, write_results
from benchmarks.speed.friends import EPSILON, GIB, RESULTS, SEED, resident
from dimfree import SystemNoise
from dimfree.accounting.budget import Neighbours
from dimfree.comparison.contestants import CONTESTANTS, chosen
from dimfree.comparison.spectra import DISTANCE, draw, spectrum
from dimfree.comparison.worlds import GENEROUS, Priors

DELTA = 1e-6
SPECTRUM = "S1"
COUNTS, DIMENSIONS = (1000, 2000, 4000, 8000, 16_000), (100, 1000, 10_000, 100_000)
FIXED_DIMENSION, FIXED_COUNT = 1000, 1000
FITTED = 3  # the largest sizes, over which a growth exponent is fitted
NAMES = tuple(contestant.name for contestant in CONTESTANTS if contestant.private)


@dataclass(frozen=True)
class Size:
    """How many records of how many columns."""

    count: int
    dimension: int


def sizes(quick: bool) -> list[Size]:
    """Along n at a fixed d, then along d at a fixed n; the point that both share is measured once."""
    counts, dimensions = (COUNTS[:3], DIMENSIONS[:2]) if quick else (COUNTS, DIMENSIONS)
    along = [Size(n, FIXED_DIMENSION) for n in counts] + [Size(FIXED_COUNT, d) for d in dimensions]
    return list(dict.fromkeys(along))


def one(name: str, size: Size, seed: int) -> dict[str, Any]:
    """One private release in this process: seconds, and the memory it needed beside the records."""
    (contestant,) = chosen([name])
    stddevs = spectrum(SPECTRUM, size.dimension)
    X, mean = draw(stddevs, size.count, np.random.default_rng(seed))
    length = float(np.linalg.norm(stddevs))  # told without the simulation of `worlds`, which would warm a cache
    known = Priors(stddevs, GENEROUS * DISTANCE * length, 2 * length, mean)
    noise = SystemNoise()
    noise.gaussian(2.0**24, 1)  # imports OpenDP
    promise = {"epsilon": EPSILON, "delta": DELTA, "neighbours": Neighbours.ADD_REMOVE}
    before = _resident_now()
    start = time.perf_counter()
    answer = contestant.answer(X, known, **promise, noise=noise)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "beside_gib": max(_peak() - before, 0.0), "refused": answer.refused}


def _resident_now() -> float:
    """GiB, and the peak is forgotten; where the system does not tell, the peak so far."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return resident()
    return _status("VmRSS")


def _peak() -> float:
    return _status("VmHWM") if Path("/proc/self/status").exists() else resident()


def _status(field: str) -> float:
    """GiB, from Linux's account of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(field)) * 1024 / GIB


def apart(name: str, size: Size, seed: int, repeats: int) -> dict[str, Any]:
    """The quickest of some fresh processes."""
    words = ["--one", name, str(size.count), str(size.dimension), "--seed", str(seed)]
    runs = [_child(words) for _ in range(repeats)]
    best = min(runs, key=lambda run: float(run["seconds"]))
    shown = f"{best['seconds']:.2f} s, {best['beside_gib']:.2f} GiB"
    print(f"{name}, n = {size.count}, d = {size.dimension}: {shown}", file=sys.stderr, flush=True)
    return {"name": name, **asdict(size), **best}


def _child(words: Sequence[str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.speed.releases", *words]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def exponent(along: Sequence[float], values: Sequence[float]) -> float | None:
    """a of values ∝ along^a, by least squares over the largest sizes; None where a line needs more points."""
    if len(along) < 2 or min(values[-FITTED:]) <= 0:
        return None
    return float(np.polyfit(np.log(along[-FITTED:]), np.log(values[-FITTED:]), 1)[0])


def report(result: dict[str, Any]) -> list[str]:
    points = result["points"]
    lines = ["# Speed of releases", "", *provenance_lines(result["run"]), ""]
    lines += [
        f"{SPECTRUM}, ε = {EPSILON:g}, δ = {DELTA:g}, add/remove, private noise; imports and reading are not counted.",
        f"Quickest of {result['repeats']} fresh processes. Memory: peak above what was resident once the records were.",
        f"Exponent a: the figure grows like n^a or d^a over the largest {FITTED} sizes. *: refused.",
        "",
    ]
    for key, fixed, value in (("count", "dimension", FIXED_DIMENSION), ("dimension", "count", FIXED_COUNT)):
        axis, other = ("n", "d") if key == "count" else ("d", "n")
        chosen_points = [point for point in points if point[fixed] == value]
        for figure, title, shown in (("seconds", "Seconds", _seconds), ("beside_gib", "GiB", _memory)):
            lines += [f"## {title} against {axis}, {other} = {value}", ""]
            lines += [*_along(chosen_points, key, axis, figure, shown), ""]
    return lines[:-1]


def _along(
    points: Sequence[dict[str, Any]], key: str, axis: str, figure: str, shown: Callable[[dict[str, Any]], str]
) -> list[str]:
    places = sorted({point[key] for point in points})
    rows = []
    for name in dict.fromkeys(point["name"] for point in points):
        own = sorted((point for point in points if point["name"] == name), key=lambda point: int(point[key]))
        fitted = exponent([point[key] for point in own], [point[figure] for point in own])
        rows.append([name, *(shown(point) for point in own), "" if fitted is None else f"{fitted:.2f}"])
    return table(["estimator", *(f"{axis} = {place}" for place in places), "exponent"], rows)


def _seconds(point: dict[str, Any]) -> str:
    return f"{point['seconds']:.3g}{'*' if point['refused'] else ''}"


def _memory(point: dict[str, Any]) -> str:
    return f"{point['beside_gib']:.3f}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.releases", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, once; written only where --out is given")
    parser.add_argument("--repeats", type=int, help="fresh processes for each point (3; 1 if quick)")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--out", type=Path, help=f"folder for the results ({RESULTS}; none if quick)")
    parser.add_argument("--one", nargs=3, metavar=("NAME", "N", "D"), help="one release in this process, as JSON")
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    if options.one:
        print(json.dumps(one(options.one[0], Size(*map(int, options.one[1:])), options.seed)))
        return
    repeats = options.repeats or (1 if options.quick else 3)
    points = [apart(name, size, options.seed, repeats) for size in sizes(options.quick) for name in NAMES]
    run = provenance("benchmarks.speed.releases", given, options.seed)
    result = {"run": run, "repeats": repeats, "points": points}
    lines = report(result)
    print("\n".join(lines))
    folder = options.out or (None if options.quick else RESULTS)
    if folder:
        write_results(folder, "releases", result, lines)


if __name__ == "__main__":
    main()
