"""Releases and friend counts on a GPU: the same bits as on the CPU, and how long either takes.

    python -m benchmarks.speed.gpu [--device cuda] [--quick] [--only bits|releases|friends] [--out FOLDER]

Needs PyTorch and a CUDA device; `--device cpu` runs the same kernels on PyTorch's CPU tensors, to try the script.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.accuracy.running import without_paths
from benchmarks.record import provenance, provenance_lines, table, write_results
from dimfree import Options, release_mean
from dimfree.data.formats.array_files import NpyStream
from dimfree.data.gpu.device import Place, require_same_bits
from dimfree.data.gpu.rows import DeviceRows
from dimfree.data.records import Records, as_records
from dimfree.noise import SeededNoise
from dimfree.planning.question import spectrum
from dimfree.threads import cores

SEED = 20250101
FULL = ((1_000_000, 500), (4000, 20_000), (2000, 20_000))  # the last one goes by way of the ring
QUICK = ((20_000, 50), (600, 1500))
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
DROP: dict[str, Any] = {"missing": "complete-case"}
RADII = np.geomspace(0.5, 2.0, 20)


def tell(*words: object) -> None:
    print(*words, file=sys.stderr, flush=True)


class Bench:
    """A device and what is timed on it."""

    def __init__(self, device: str, repeats: int) -> None:
        import torch

        self.torch, self.place, self.repeats = torch, Place("cpu" if device == "cpu" else "cuda:0"), repeats
        require_same_bits(self.place)

    def name(self) -> str:
        return self.torch.cuda.get_device_name(0) if self.place.name != "cpu" else "PyTorch's CPU tensors"

    def tensor(self, X: np.ndarray) -> Any:
        return self.torch.tensor(X, device=self.place.name)

    def records(self, tensor: Any) -> Records:
        """What `release_mean` makes of a tensor that lies there."""
        return Records(DeviceRows(tensor), None, self.place)

    def seconds(self, work: Callable[[], object], repeats: int | None = None) -> float:
        """The best of some rounds; the first call warms up if there are several."""
        times = []
        for _ in range((repeats or self.repeats) + ((repeats or self.repeats) > 1)):
            self._wait()
            start = time.perf_counter()
            work()
            self._wait()
            times.append(time.perf_counter() - start)
        return min(times)

    def _wait(self) -> None:
        if self.place.name != "cpu":
            self.torch.cuda.synchronize()


def released(X: object, **options: Any) -> dict[str, Any]:
    release = release_mean(X, **{**BUDGET, **options}, noise=SeededNoise(7))
    return json.loads(release.to_json())


def drawn(bench: Bench, count: int, dimension: int) -> Any:
    """Public draws of the spectrum S1 about a mean that is not zero, made where they are needed."""
    torch = bench.torch
    torch.manual_seed(SEED)
    X = torch.empty((count, dimension), dtype=torch.float64, device=bench.place.name).normal_()
    X *= bench.tensor(spectrum("S1", dimension))
    X += 3.0
    return X


# ------------------------------------------------------------------------------------------------ bits


def same_bits(bench: Bench, quick: bool) -> dict[str, bool]:
    """Whole releases, from a tensor there, from an array and from a file: are they those of NumPy?"""
    count, dimension = (3000, 12) if quick else (30_000, 60)
    X = drawn(bench, count, dimension).cpu().numpy()
    few = drawn(bench, *((600, 1500) if quick else (2000, 20_000))).cpu().numpy()
    variances = spectrum("S1", dimension) ** 2
    options: dict[str, dict[str, Any]] = {
        "auto": {},
        "known": {"covariance": variances},
        "known, mixing": {"covariance": np.diag(variances) + 0.01},
        "learned scale": {"covariance": 25 * variances, "options": Options(scale="learn")},
        "replace-one": {"neighbors": "replace-one"},
        "complete-case": DROP,
        "small sample": {"covariance": variances, "options": Options(core_sample=3000), "epsilon": 4.0},
    }
    found = {name: _same_bits(bench, name, X, given) for name, given in options.items()}
    columns = {"by columns": {"objective": "relative"}, "by columns, drop": {"objective": "relative", **DROP}}
    columns |= {"by columns, missing entries": {"objective": "relative", "missing": "available-case"}}
    found |= {name: _same_bits(bench, name, X, given) for name, given in columns.items()}
    return found | {"few, on the ring": _same_bits(bench, "few, on the ring", few, {})}


def _same_bits(bench: Bench, name: str, X: np.ndarray, options: dict[str, Any]) -> bool:
    if "missing" in options:
        X = X.copy()
        X[5, 2], X[9], X[20], X[30, 1], X[::50, 0] = np.nan, np.inf, 1e300, -1e155, 1e17
    with np.errstate(all="ignore"):
        single = X.astype(np.float32)
        plain, rounded = released(X, **options), released(single, **options)
    there = "cpu" if bench.place.name == "cpu" else "cuda"
    with TemporaryDirectory() as folder:
        np.save(Path(folder) / "t.npy", X)
        stream = NpyStream(Path(folder) / "t.npy")
        found = [
            released(bench.records(bench.tensor(X)), **options) == plain,
            released(bench.records(bench.tensor(single)), **options) == rounded,
            released(X, device=there, **options) == plain,
            released(single, device=there, **options) == rounded,
            released(Records(stream, None, bench.place), **options) == plain,
        ]
        if bench.place.name != "cpu":
            found.append(released(bench.tensor(X), **options) == plain)
            found.append(released(bench.tensor(X), device="cpu", **options) == plain)
    tell(f"{name}: {'the same bits' if all(found) else f'DIFFERENT {found}'}, refused: {plain['refusal'] is not None}")
    return all(found)


# ------------------------------------------------------------------------------------------------ releases


def releases(bench: Bench, count: int, dimension: int) -> dict[str, Any]:
    """Seconds on the GPU, from a tensor there and from an array, and on the CPU of the same machine."""
    tensor = drawn(bench, count, dimension)
    X = tensor.cpu().numpy()
    rows: dict[str, Any] = {
        "count": count,
        "dimension": dimension,
        "threads": cores(),
        "mean_gpu": bench.seconds(lambda: tensor.mean(0)),
        "mean_cpu": bench.seconds(lambda: X.mean(0)),
    }
    tell(f"mean(0): {rows['mean_gpu'] * 1e3:.2f} ms there, {rows['mean_cpu'] * 1e3:.0f} ms here")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.npy"
        np.save(path, X)
        sources: dict[str, Callable[[], Records]] = {
            "tensor": lambda: bench.records(tensor),
            "array": lambda: as_records(X).on(bench.place),  # anew: its copy is part of the time
            "file": lambda: Records(NpyStream(path), None, bench.place),
            "cpu": lambda: as_records(X),
        }
        for name, options in {"known": {"covariance": spectrum("S1", dimension) ** 2}, "auto": {}}.items():
            rows[name] = _timed(bench, sources, options)
            tell(f"{name}: {rows[name]}")
    return rows


def _timed(bench: Bench, sources: dict[str, Callable[[], Records]], options: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    answers: list[dict[str, Any]] = []
    for where, opened in sources.items():
        rounds = bench.repeats if where in ("tensor", "array") else 1
        found[where] = bench.seconds(lambda opened=opened: answers.append(released(opened(), **options)), rounds)
    return found | {"same": all(a == answers[0] for a in answers), "refused": answers[0]["refusal"] is not None}


# ------------------------------------------------------------------------------------------------ words


def report(result: dict[str, Any]) -> list[str]:
    """The results for people."""
    lines = ["# GPU", "", *provenance_lines(result["run"]), f"Device: {result['device']}, {result['torch']}.", ""]
    told = {"bits": _bits_told, "releases": _releases_told}
    return lines + [line for name, words in told.items() if name in result for line in words(result[name])]


def _bits_told(bits: dict[str, bool]) -> list[str]:
    what = "Whole releases from a tensor there, from an array and from a stream, float32 and float64, against NumPy:"
    return ["## Bits", "", what, "", *table(["release", "same bits"], [[k, str(v)] for k, v in bits.items()]), ""]


def _releases_told(tables: list[dict[str, Any]]) -> list[str]:
    return [line for found in tables for line in _table_told(found)]


def _table_told(found: dict[str, Any]) -> list[str]:
    places = {"tensor": "tensor there", "array": "array", "file": ".npy, streamed", "cpu": "CPU"}
    lines = [f"## Releases, n = {found['count']}, d = {found['dimension']}, float64", ""]
    means = f"{found['mean_gpu'] * 1e3:.2f} ms there, {found['mean_cpu'] * 1e3:.0f} ms on the CPU"
    lines += [f"`X.mean(0)`: {means}. The CPU's releases: {found['threads']} threads.", ""]
    head = ["release", *places.values(), "tensor / mean(0) there", "CPU / tensor", "same bits"]
    return lines + [*table(head, [_release_told(name, found, places) for name in ("known", "auto")]), ""]


def _release_told(name: str, found: dict[str, Any], places: dict[str, str]) -> list[str]:
    seconds = found[name]
    ratios = (seconds["tensor"] / found["mean_gpu"], seconds["cpu"] / seconds["tensor"])
    return [name, *(f"{seconds[w]:.3f} s" for w in places), *(f"{r:.0f}" for r in ratios), str(seconds["same"])]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.gpu", description=__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("bits", "releases"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, help="folder for gpu.json.gz and gpu.md")
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    bench = Bench(options.device, options.repeats)
    result: dict[str, Any] = {
        "run": provenance("benchmarks.speed.gpu", without_paths(given), SEED),
        "device": bench.name(),
    }
    result["torch"] = f"PyTorch {bench.torch.__version__}"
    quick = options.quick
    parts: dict[str, Callable[[], Any]] = {
        "bits": lambda: same_bits(bench, quick),
        "releases": lambda: [releases(bench, *size) for size in (QUICK if quick else FULL)],
    }
    for name, part in parts.items():
        if options.only in (None, name):
            result[name] = part()
            if options.out:
                write_results(options.out, "gpu", result, report(result))
    print("\n".join(report(result)))


if __name__ == "__main__":
    main()
