"""Every contestant of a cell on the same draws: error as a multiple of the spherical oracle's, and what was chosen."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy import fft

from benchmarks.accuracy.bases_worlds import REAL, BasesCell, drawn
from benchmarks.accuracy.noise_doubles import SilentNoise
from benchmarks.accuracy.real import Yardsticks
from benchmarks.accuracy.real_data import TABLES, Rows
from benchmarks.accuracy.resolving import quartiles
from benchmarks.accuracy.running import DELTA
from benchmarks.accuracy.spectra import Floats
from benchmarks.accuracy.spherical import release_spherical
from benchmarks.accuracy.yardsticks import SampleOracle, error
from dimfree import Release, release_mean
from dimfree.noise import Noise

PLAIN, SPHERICAL = "diagonal", "spherical"  # PLAIN is what the others are paired with: the records' own axes
CONTESTANTS: dict[str, dict[str, Any]] = {  # options of release_mean
    PLAIN: {"basis": None},
    "dct": {"basis": "dct"},
    "auto": {"basis": "auto"},
    SPHERICAL: {"basis": None},  # released by release_spherical
    "hadamard": {"basis": "hadamard"},
    "haar": {"basis": "haar"},
}
USUAL = (PLAIN, "dct", "auto", SPHERICAL)

Figures = list[float | None]


@dataclass
class Row:
    """One contestant in one cell: a number for each trial, None where it refused."""

    error: Figures = field(default_factory=list)
    times: Figures = field(default_factory=list)  # error over the spherical oracle's on the same draw
    noise: Figures = field(default_factory=list)
    seconds: Figures = field(default_factory=list)
    choices: Counter[str] = field(default_factory=Counter)
    bias: float | None = None

    def add(self, release: Release, seconds: float, mean: Floats, oracle: float) -> None:
        self.seconds.append(seconds)
        self.choices[str(release.parameters.get("basis", "not said"))] += 1
        missed = None if release.refused else error(release.mean, mean)
        self.error.append(missed)
        self.times.append(None if missed is None else missed / oracle)
        self.noise.append(None if missed is None else float(np.linalg.norm(release.noise_stddev)))

    def summary(self) -> dict[str, Any]:
        figures = {name: _made(getattr(self, name)) for name in ("error", "times", "noise", "seconds")}
        return {
            **{name: quartiles(values) for name, values in figures.items()},
            "draws": {"times": self.times},
            "times_most": max(figures["times"], default=None),
            "bias": self.bias,
            "refusals": self.error.count(None),
            "choices": dict(self.choices.most_common()),
        }


def measure(folder: Path, cell: BasesCell) -> dict[str, Any]:
    """Every contestant of one cell on the same draws; the noise off once, on the first of them."""
    rows = {name: Row() for name in cell.contestants}
    yardsticks: list[dict[str, float]] = []
    for trial, (X, mean, figures) in enumerate(_draws(folder, cell)):
        size = X.shape
        yardsticks.append(figures)
        for name, row in rows.items():
            row.add(*_timed(X, cell, name, cell.noise(trial, name)), mean, figures["spherical_error"])
            if trial == 0:
                row.bias = _bias(X, cell, name, mean)
    place = {**asdict(cell), "count": size[0], "dimension": size[1]}
    middle = {name: float(np.median([figures[name] for figures in yardsticks])) for name in yardsticks[0]}
    tried = {"estimators": {name: row.summary() for name, row in rows.items()}, "pairs": pairs(rows)}
    return {**place, **middle, **tried}


def _draws(folder: Path, cell: BasesCell) -> Iterator[tuple[Rows, Floats, dict[str, float]]]:
    """Records, their mean and the yardsticks, trial by trial; a real table is the same one each time."""
    if cell.section == REAL:
        yield from repeat(_known(TABLES[cell.world](folder), cell.epsilon), cell.trials)
        return
    for trial in range(cell.trials):
        yield _known(drawn(cell, trial), cell.epsilon)


def _known(X: Rows, epsilon: float) -> tuple[Rows, Floats, dict[str, float]]:
    known = Yardsticks.of(X)
    dct = _dct_oracle(X, known.mean)
    return X, known.mean, {**known.figures(epsilon), "dct_error": dct.error(epsilon, DELTA)}


def _dct_oracle(X: Rows, mean: Floats) -> SampleOracle:
    """Noise shaped by the true standard deviations in the basis of cosines."""
    offsets = (X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)) - mean
    turned = np.asarray(fft.dct(offsets, type=2, norm="ortho", axis=1, overwrite_x=True))
    return SampleOracle.of(turned, np.sqrt(turned.std(axis=0)))


def _timed(X: Rows, cell: BasesCell, contestant: str, noise: Noise | None) -> tuple[Release, float]:
    start = time.perf_counter()
    releaser = release_spherical if contestant == SPHERICAL else release_mean
    release = releaser(X, epsilon=cell.epsilon, delta=DELTA, noise=noise, **CONTESTANTS[contestant])
    return release, time.perf_counter() - start


def _bias(X: Rows, cell: BasesCell, contestant: str, mean: Floats) -> float | None:
    silent, _ = _timed(X, cell, contestant, SilentNoise(cell.seed))
    return None if silent.refused else error(silent.mean, mean)


def pairs(rows: dict[str, Row]) -> dict[str, Any]:
    """Every contestant over PLAIN, draw by draw, where neither refused."""
    if PLAIN not in rows:
        return {}
    plain = rows[PLAIN]
    return {
        name: {
            "error": _ratios(row.error, plain.error),
            "noise": _ratios(row.noise, plain.noise),
            "refused_alone": sum(a is None and b is not None for a, b in zip(row.error, plain.error, strict=True)),
        }
        for name, row in rows.items()
        if name != PLAIN
    }


def _ratios(over: Figures, under: Figures) -> list[float]:
    return [a / b for a, b in zip(over, under, strict=True) if a is not None and b is not None]


def _made(values: Figures) -> list[float]:
    return [value for value in values if value is not None]
