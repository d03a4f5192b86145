"""Draws of records: Gaussian, heavy-tailed, skewed, contaminated; all with the same mean and covariance."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy.spectra import Floats, draw

CONTAMINATED = 0.02  # share of gross outliers
FAR = 100.0  # their distance from the mean, in units of sqrt(tr Σ)


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
    """CONTAMINATED of the records far away, in this many directions (0: each in its own)."""

    def make(stddevs: Floats, count: int, generator: np.random.Generator) -> World:
        X, mean = draw(stddevs, count, generator)
        bad = round(CONTAMINATED * count)
        away = generator.normal(size=(directions or bad, len(stddevs)))
        away *= FAR * np.linalg.norm(stddevs) / np.linalg.norm(away, axis=1, keepdims=True)
        X[count - bad :] = mean + away
        return World(X, mean, count - bad)

    return make


def _independent(unit: Callable[[np.random.Generator, tuple[int, int]], Floats]) -> Maker:
    """Independent coordinates with the law of `unit`: mean 0, variance 1."""

    def make(stddevs: Floats, count: int, generator: np.random.Generator) -> World:
        _, mean = draw(stddevs, 1, generator)
        return World(mean + stddevs * unit(generator, (count, len(stddevs))), mean, count)

    return make


def _elliptic(stddevs: Floats, count: int, generator: np.random.Generator) -> World:
    """Multivariate Student-t4: one heavy factor per record, so that lengths are heavy-tailed in every dimension."""
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


def world(data: str, stddevs: Floats, count: int, generator: np.random.Generator) -> World:
    return DATA[data](stddevs, count, generator)
