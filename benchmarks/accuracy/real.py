"""Wide real tables, no prior knowledge: the error over that of an oracle, noise and bias apart.

The folder of tables is an argument; no table enters the repository. Each is an .npz file with a matrix X, or with the
data, indices, indptr and shape of a sparse one of counts, which are then scaled to 10 000 in each row.

    python -m benchmarks.accuracy.real --data FOLDER --trials 6 --jobs 2
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse

from benchmarks.accuracy.resolving import MISSED, VERDICT_HEADER, Figure, Verdict, judged, verdict_rows
from benchmarks.accuracy.running import DELTA, Course, Result
from benchmarks.record import table
from dimfree import release_mean
from dimfree._types import Floats
from dimfree.accounting.precision import largest_mu
from dimfree.testing import SeededNoise

QUANTILE = 0.95  # of the distances from the mean: where the oracle clips
LIMITS = {  # ε: error over the oracle's, at most; the name of a table is that of its file
    2.0: {"kg_chr22_region": 0.85, "pbmc3k": 0.65, "mice_snps": 1.4, "MNIST": 1.1, "text": 0.75, "images_784": 0.72}
    | {"images_1024": 0.7, "grants": 0.48},
    4.0: {"genotypes": 1.2, "single_cells": 1.1},
    1.0: {},
}


@dataclass(frozen=True)
class RealCell:
    """One table at one budget, and how often it is released."""

    path: str
    epsilon: float
    draws: int

    @property
    def name(self) -> str:
        return f"{Path(self.path).stem}, ε = {self.epsilon:g}"


class SilentNoise(SeededNoise):
    """Zeros for every Gaussian and Laplace, so that what a release is off by is bias. Never private."""

    def gaussian(self, stddev: float, size: int) -> np.ndarray:
        return np.zeros(size, dtype=np.int64)

    def laplace(self, scale: float, size: int) -> np.ndarray:
        return np.zeros(size, dtype=np.int64)


def cells(options: argparse.Namespace) -> list[RealCell]:
    paths = sorted(options.data.glob("*.npz"))
    return [RealCell(str(path), epsilon, options.draws) for epsilon in LIMITS for path in paths]


def read_rows(path: str) -> Any:
    """Read an array, or a sparse matrix of scaled counts."""
    stored = np.load(path, allow_pickle=False)
    if "X" in stored:
        return np.asarray(stored["X"], dtype=np.float64)
    parts = (stored["data"].astype(np.float64), stored["indices"], stored["indptr"])
    counts = sparse.csr_array(parts, shape=tuple(stored["shape"]))
    return sparse.csr_array(counts.multiply(10_000 / counts.sum(axis=1)[:, None]))


def measure(seed: int, cell: RealCell) -> Result:
    rows = read_rows(cell.path)
    X = rows.toarray() if sparse.issparse(rows) else rows
    mean = X.mean(axis=0)
    made = [_off(rows, cell, SeededNoise(seed + draw), mean) for draw in range(cell.draws)]
    bias, _ = _off(rows, cell, SilentNoise(seed), mean)
    errors, noises = zip(*made, strict=True)
    figures = {"errors": errors, "noises": noises, "bias": bias, "oracle": oracle_error(X - mean, cell.epsilon)}
    return {"table": Path(cell.path).stem, "epsilon": cell.epsilon, "shape": X.shape, **figures}


def _off(rows: Any, cell: RealCell, noise: SeededNoise, mean: Floats) -> tuple[float | None, float | None]:
    """Return the distance of a release from the mean, and the length of its stated noise; None if it is refused."""
    release = release_mean(rows, epsilon=cell.epsilon, delta=DELTA, noise=noise)
    if release.refused:
        return None, None
    return float(np.linalg.norm(release.mean - mean)), float(np.linalg.norm(release.noise_stddev))


def oracle_error(offsets: Floats, epsilon: float) -> float:
    """Return the error of one Gaussian at the full budget, clipped at a quantile about the true mean."""
    (n, d), lengths = offsets.shape, np.linalg.norm(offsets, axis=1)
    radius = float(np.quantile(lengths, QUANTILE))
    bias = np.linalg.norm(np.minimum(1.0, radius / np.maximum(lengths, 1e-300)) @ offsets / n)
    return math.hypot(bias, radius / n / largest_mu(epsilon, DELTA) * math.sqrt(d))


def verdicts(done: Sequence[Result]) -> list[Verdict]:
    """Judge the error; a bias above the noise misses the bar, as a refusal does."""
    return [_judge(done, *bar, limit) for bar, limit in _bars().items()]


def _bars() -> dict[tuple[str, float], float]:
    return {(name, epsilon): limit for epsilon, limits in LIMITS.items() for name, limit in limits.items()}


def _judge(done: Sequence[Result], name: str, epsilon: float, limit: float) -> Verdict:
    tried = [cell for cell in done if (cell["table"], cell["epsilon"]) == (name, epsilon)]
    target = f"{name}, ε = {epsilon:g}: error ≤ {limit} × the spherical oracle's, bias below noise"
    found = judged(target, limit, {cell["name"]: Figure.median(cell["errors"], cell["oracle"]) for cell in tried})
    loose = any(None in (*cell["errors"], cell["bias"]) or cell["bias"] >= min(cell["noises"]) for cell in tried)
    return {**found, "state": MISSED} if loose else found


_LEGEND = [
    f"δ = {DELTA:g}, add-remove, seeded noise (not private). Distances from the sample mean. Oracle: true center, clip",
    "at the 95 % quantile of the distances, one spherical Gaussian at the full budget; root of the expected squared",
    "distance. Brackets: exact 95 % interval of the median over the releases by order statistics. noise: length of",
    "the stated `noise_stddev`, the smallest. bias: distance with the noise off.",
]
_HEADER = ("table", "n", "d", "ε", "releases", "refused", "oracle", "error / oracle", "noise", "bias", "seconds in all")


def report(result: Result) -> list[str]:
    rows = [_row(cell) for cell in result["cells"]]
    bars = table(VERDICT_HEADER, verdict_rows(result["verdicts"]))
    return [*_LEGEND, "", *table(_HEADER, rows), "", "## Bars", "", *bars]


def _row(cell: Result) -> list[str]:
    (n, d), errors = cell["shape"], cell["errors"]
    counts = f"{n} {d} {cell['epsilon']:g} {len(errors)} {errors.count(None)} {cell['oracle']:.3g}".split()
    noise = min((noise for noise in cell["noises"] if noise is not None), default=math.nan)
    bias = math.nan if cell["bias"] is None else cell["bias"]
    ratio = Figure.median(errors, cell["oracle"]).words
    return [cell["table"], *counts, ratio, f"{noise:.3g}", f"{bias:.3g}", f"{cell['seconds']:.0f}"]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="a folder of .npz files, each a table of numbers")


COURSE = Course("real", __doc__, cells, measure, verdicts, report, "Wide real tables", 6, 1, add_options)

if __name__ == "__main__":
    COURSE.main()
