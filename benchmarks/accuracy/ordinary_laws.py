"""Laws of records for ordinary.py: skewed, heavy, discrete, of one factor, with outliers; one column unlike the others.

Half of them may be looked at while constants are settled, half may not. A new law is one more line of LAWS.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy.ordinary_tables import HELD_OUT, SETTLED, Generator
from benchmarks.accuracy.spectra import Floats

DIMENSIONS = (1, 5, 30, 200)
COUNTS = (600, 2000, 20_000)
EPSILONS = (1.0, 4.0)
OUTLIERS = "1 % outliers"

_PLACE = 3.0  # mean of the laws that have none of their own: zero is a place that a prior could favour
_ZEROS = 0.7  # share of the zeros in the zero-inflated law
_SHARED = 0.9  # share of a column's variance that the one factor explains
_FAR = 30.0  # distance of an outlier from the mean, in deviations of a whole record

Size = tuple[int, int]


@dataclass(frozen=True)
class Law:
    """How (n, d) records are drawn, the mean of every column, and the half that the law belongs to."""

    draw: Callable[[Generator, Size], Floats]
    mean: float
    half: str


def _zero_inflated(rng: Generator, size: Size) -> Floats:
    return np.asarray(rng.lognormal(size=size) * (rng.random(size) >= _ZEROS))


def _one_factor(rng: Generator, size: Size) -> Floats:
    """Columns of variance 1 that move together: the factor is exponential, what each has of its own is normal."""
    factor = rng.exponential(size=(size[0], 1)) - 1
    return np.asarray(_PLACE + np.sqrt(_SHARED) * factor + np.sqrt(1 - _SHARED) * rng.normal(size=size))


def _outliers(rng: Generator, size: Size) -> Floats:
    """Normal; one record in a hundred lies far away, each in a direction of its own."""
    X = rng.normal(size=size)
    far = rng.random(size[0]) < 0.01
    lengths = np.linalg.norm(X[far], axis=1, keepdims=True)
    X[far] *= _FAR * np.sqrt(size[1]) / lengths
    return np.asarray(_PLACE + X)


def _one_lognormal(rng: Generator, size: Size) -> Floats:
    """Normal columns, and a first one with a long tail."""
    X = rng.normal(_PLACE, 1.0, size)
    X[:, 0] = _PLACE + rng.lognormal(size=size[0]) - np.exp(0.5)
    return np.asarray(X)


def _one_pareto(rng: Generator, size: Size) -> Floats:
    """The same with a tail that falls like a power."""
    X = rng.normal(_PLACE, 1.0, size)
    X[:, 0] = _PLACE + rng.pareto(3.0, size[0]) - 0.5
    return np.asarray(X)


LAWS: dict[str, Law] = {
    "normal": Law(lambda rng, size: rng.normal(_PLACE, 1.0, size), _PLACE, SETTLED),
    "lognormal": Law(lambda rng, size: rng.lognormal(0.0, 1.0, size), float(np.exp(0.5)), SETTLED),
    "gamma 1/2": Law(lambda rng, size: rng.gamma(0.5, 1.0, size), 0.5, SETTLED),
    "Bernoulli .5": Law(lambda rng, size: (rng.random(size) < 0.5).astype(float), 0.5, SETTLED),
    "zero-inflated lognormal": Law(_zero_inflated, (1 - _ZEROS) * float(np.exp(0.5)), SETTLED),
    "one factor": Law(_one_factor, _PLACE, SETTLED),
    "one lognormal, others normal": Law(_one_lognormal, _PLACE, SETTLED),
    "exponential": Law(lambda rng, size: rng.exponential(1.0, size), 1.0, HELD_OUT),
    "Pareto 3": Law(lambda rng, size: rng.pareto(3.0, size) + 1.0, 1.5, HELD_OUT),
    "Bernoulli .02": Law(lambda rng, size: (rng.random(size) < 0.02).astype(float), 0.02, HELD_OUT),
    "Poisson .3": Law(lambda rng, size: rng.poisson(0.3, size).astype(float), 0.3, HELD_OUT),
    "t3": Law(lambda rng, size: _PLACE + rng.standard_t(3, size), _PLACE, HELD_OUT),
    "one Pareto 3, others normal": Law(_one_pareto, _PLACE, HELD_OUT),
    OUTLIERS: Law(_outliers, _PLACE, HELD_OUT),
}
