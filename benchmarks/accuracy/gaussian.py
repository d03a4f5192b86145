"""Cells of known, unknown and few: an estimator on records of a public spectrum, next to an oracle.

Records are Gaussian, heavy-tailed, skewed or contaminated, all with the same mean and covariance. Letters:
A = Σ^{1/2}, the covariance of records rescaled by Σ^{-1/4}; its eigenvalues are the standard deviations.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NoReturn

import numpy as np

from benchmarks.accuracy.resolving import quartiles
from benchmarks.accuracy.running import DELTA, Result
from benchmarks.peers.not_private import floor_radius
from benchmarks.peers.sums import clipped_sum
from dimfree import Options, Release, SeededNoise, release_mean
from dimfree._types import Floats
from dimfree.accounting.precision import largest_mu
from dimfree.planning.question import SPECTRA, draw

ALL = tuple(SPECTRA)
CONTAMINATED = 0.02  # share of gross outliers
FAR = 100.0  # their distance from the mean, in units of sqrt(tr Σ)
WRONG_SCALE = 1e-2  # of the standard deviations given to the estimators that learn the scale
ACCURACY, ROBUSTNESS, PASSING, BUDGET, DIMENSION = "accuracy", "robustness", "passing", "budget", "dimension"

_GAUSSIAN = Options(outliers=0.0, tails="gaussian")
_NOTHING = {"covariance": None}
ESTIMATORS: dict[str, dict[str, Any]] = {  # keywords of release_mean; the covariance is given unless they say otherwise
    "recentred": {"options": _GAUSSIAN},
    "recentred, robust defaults": {},
    "recentred, unknown scale": {"options": Options(outliers=0.0, tails="gaussian", scale="learn")},
    "recentred, replace-one": {"options": _GAUSSIAN, "neighbours": "replace-one"},
    "auto": _NOTHING,
    "auto, replace-one": {**_NOTHING, "neighbours": "replace-one"},
    "known": {},
}


# --- Records


@dataclass(frozen=True)
class World:
    """Records, honest ones first, and the mean that the honest ones were drawn about."""

    X: Floats
    mean: Floats
    honest: int

    @property
    def honest_mean(self) -> Floats:
        """The sample mean of the honest records."""
        return self.X[: self.honest].mean(axis=0)


Maker = Callable[[Floats, int, np.random.Generator], World]


def _gaussian(stddevs: Floats, count: int, generator: np.random.Generator) -> World:
    X, mean = draw(stddevs, count, generator)
    return World(X, mean, count)


def _outliers(directions: int) -> Maker:
    """Put CONTAMINATED of the records far away, in this many directions (0: each in its own)."""

    def make(stddevs: Floats, count: int, generator: np.random.Generator) -> World:
        X, mean = draw(stddevs, count, generator)
        bad = round(CONTAMINATED * count)
        away = generator.normal(size=(directions or bad, len(stddevs)))
        away *= FAR * np.linalg.norm(stddevs) / np.linalg.norm(away, axis=1, keepdims=True)
        X[count - bad :] = mean + away
        return World(X, mean, count - bad)

    return make


def _independent(unit: Callable[[np.random.Generator, tuple[int, int]], Floats]) -> Maker:
    """Draw independent coordinates with the law of `unit`: mean 0, variance 1."""

    def make(stddevs: Floats, count: int, generator: np.random.Generator) -> World:
        _, mean = draw(stddevs, 1, generator)
        return World(mean + stddevs * unit(generator, (count, len(stddevs))), mean, count)

    return make


def _elliptic(stddevs: Floats, count: int, generator: np.random.Generator) -> World:
    """Draw multivariate Student-t4: one heavy factor per record, so that lengths are heavy-tailed in any dimension."""
    X, mean = draw(stddevs, count, generator)
    factors = np.sqrt(2 / generator.chisquare(4, size=(count, 1)))
    return World(mean + (X - mean) * factors, mean, count)


DATA: dict[str, Maker] = {
    "gaussian": _gaussian,
    "2 % outliers, scattered": _outliers(0),
    "2 % outliers, in one place": _outliers(1),
    "t4 coordinates": _independent(lambda g, size: g.standard_t(4, size=size) / np.sqrt(2)),
    "t4 records": _elliptic,
    "exponential": _independent(lambda g, size: g.exponential(size=size) - 1),
}


# --- The oracle


@dataclass(frozen=True)
class Oracle:
    """Knows the true mean: clip about it, average, one Gaussian at the full budget (sensitivity r/n)."""

    stddevs: Floats
    count: int
    epsilon: float

    @property
    def radius(self) -> float:
        """r = sqrt(tr A) + sqrt(2 ‖A‖ log n): hardly any Gaussian record is clipped."""
        return floor_radius(self.stddevs, self.count)

    @property
    def noise_stddev(self) -> Floats:
        """Per coordinate, after restoring with Σ^{1/4}."""
        return self.radius / self.count / largest_mu(self.epsilon, DELTA) * np.sqrt(self.stddevs)

    @property
    def noise_rms(self) -> float:
        """Root of the expected squared length of the noise."""
        return float(np.linalg.norm(self.noise_stddev))

    def estimate(self, X: Floats, mean: Floats, generator: np.random.Generator) -> Floats:
        root = np.sqrt(self.stddevs)
        clipped = clipped_sum(X, mean, self.radius, root) * root / len(X)
        return mean + clipped + generator.normal(size=len(mean)) * self.noise_stddev


def error(estimate: Floats, mean: Floats) -> float:
    return float(np.linalg.norm(estimate - mean))


# --- Cells


@dataclass(frozen=True)
class Cell:
    """One world, how many draws of it, and the estimators that are tried."""

    section: str
    spectrum: str
    count: int
    dimension: int
    draws: int
    estimators: tuple[str, ...]
    epsilon: float = 1.0
    data: str = "gaussian"

    @property
    def name(self) -> str:
        size = f"n = {self.count}, d = {self.dimension}"
        return f"{self.section}: {self.spectrum}, {size}, ε = {self.epsilon:g}, {self.data}"

    @property
    def stddevs(self) -> Floats:
        return SPECTRA[self.spectrum](self.dimension)

    def generator(self, seed: int, trial: int) -> np.random.Generator:
        """Depends on the world and the trial alone: adding a cell changes no draws of another cell."""
        return np.random.default_rng([seed, int(self.spectrum[1:]), self.count, self.dimension, trial])

    def draw(self, generator: np.random.Generator) -> World:
        return DATA[self.data](self.stddevs, self.count, generator)

    def release(self, world: World, estimator: str, noise: SeededNoise) -> Release:
        """Run one estimator; if it learns the scale, the covariance that it is given is far off."""
        given = ESTIMATORS[estimator]
        learns = given.get("options", Options()).scale == "learn"
        asked = {"covariance": (self.stddevs * (WRONG_SCALE if learns else 1.0)) ** 2, **given}
        return release_mean(world.X, epsilon=self.epsilon, delta=DELTA, noise=noise, **asked)


def measure(seed: int, cell: Cell) -> Result:
    """Run every estimator of a cell on the same draws, or only up to the bit of its stability test."""
    return _probe(seed, cell) if cell.section == PASSING else _compare(seed, cell)


def _compare(seed: int, cell: Cell) -> Result:
    oracle = Oracle(cell.stddevs, cell.count, cell.epsilon)
    sample, floor = [], []
    rows: dict[str, list[dict[str, float] | None]] = {name: [] for name in cell.estimators}
    for trial in range(cell.draws):
        generator = cell.generator(seed, trial)
        world = cell.draw(generator)
        sample.append(error(world.X.mean(axis=0), world.mean))
        floor.append(error(oracle.estimate(world.X, world.mean, generator), world.mean))
        for name, row in rows.items():
            noise, start = SeededNoise(int(generator.integers(2**63))), time.perf_counter()
            release = cell.release(world, name, noise)
            row.append(_figures(release, world, oracle, time.perf_counter() - start))
        del world  # before the next one is drawn: the largest take gigabytes
    medians = float(np.median(floor)), float(np.median(sample))
    found = {name: _summary(row, *medians) for name, row in rows.items()}
    return {**asdict(cell), "np": quartiles(sample), "floor": quartiles(floor), "estimators": found}


def _figures(release: Release, world: World, oracle: Oracle, seconds: float) -> dict[str, float] | None:
    """Return the figures of one release; None if it was refused."""
    if release.refused:
        return None
    off, stated = error(release.mean, world.honest_mean), float(np.linalg.norm(release.noise_stddev))
    return {
        "error": error(release.mean, world.mean),
        "noise_ratio": stated / oracle.noise_rms,
        "from_sample_mean": off / oracle.noise_rms,
        "found_over_stated": off / stated,
        "seconds": seconds,
    }


def _summary(row: list[dict[str, float] | None], floor: float, sample: float) -> Result:
    """Return quartiles; `floor` and `sample` are the median errors of the oracle and of the sample mean."""
    made = [figures for figures in row if figures is not None]
    found = {name: [figures[name] for figures in made] for name in (made[0] if made else ())}
    errors = found.get("error", [])
    found |= {"error_over_floor": [e / floor for e in errors], "error_over_np": [e / sample for e in errors]}
    kept = {name: found.get(name, []) for name in ("error", "noise_ratio", "found_over_stated")}
    quarters = {name: quartiles(values) for name, values in found.items()}
    return {**quarters, "refusals": len(row) - len(made), "draws": kept}


# --- The probability of an answer


class BitReached(Exception):
    """Ends a release at its bit."""

    def __init__(self, probability: float) -> None:
        super().__init__(probability)
        self.probability = probability


class ProbedBit(SeededNoise):
    """Noise that is seeded up to the first coin, which in an estimator with a stability test is its bit."""

    def coin(self, numerator: int, denominator: int) -> NoReturn:
        raise BitReached(numerator / denominator)


def _probe(seed: int, cell: Cell) -> Result:
    """Return the pass probabilities on honest data, one for each draw."""
    chances: dict[str, list[float]] = {name: [] for name in cell.estimators}
    for trial in range(cell.draws):
        generator = cell.generator(seed, trial)
        world = cell.draw(generator)
        for name, found in chances.items():
            found.append(_chance(world, cell, name, ProbedBit(int(generator.integers(2**63)))))
    return {**asdict(cell), "chances": chances, "estimators": dict.fromkeys(cell.estimators)}


def _chance(world: World, cell: Cell, estimator: str, noise: ProbedBit) -> float:
    """Return the bit's probability given all that was released before it; without a bit, whether there was a mean."""
    try:
        return float(not cell.release(world, estimator, noise).refused)
    except BitReached as reached:
        return reached.probability
