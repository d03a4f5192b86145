"""Where the field is compared: Gaussian records of a named spectrum, or samples of a public table."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from benchmarks.peers.friends import pair_distance
from dimfree._types import Floats
from dimfree.planning.question import SMALLEST, draw, read_public_rows, spectrum
from dimfree.simulation import public_simulation

GENEROUS = 10.0  # the radius that an estimator is told, over the distance of the mean from the origin
NEARLY_ALL = 0.99  # of all pairs of records are within the pair distance that an estimator is told
_PAIRS = 2000


@dataclass(frozen=True)
class Priors:
    """What an estimator may be told: public here, rarely in practice."""

    stddevs: Floats
    radius: float  # of a ball about the origin that surely holds the mean
    pair_distance: float  # within which nearly all pairs of records are
    mean: Floats  # for the oracle alone


class World(Protocol):
    """Something to draw records from. `gaussian`: σ tells all but the mean."""

    @property
    def name(self) -> str: ...

    @property
    def gaussian(self) -> bool: ...

    def draw(self, count: int, coins: np.random.Generator) -> tuple[Floats, Priors]: ...


@dataclass(frozen=True)
class Synthetic:
    """N(mean, Σ), Σ diagonal with a named spectrum, the mean far from the origin in a random direction."""

    spectrum: str
    dimension: int
    gaussian: bool = True

    @property
    def name(self) -> str:
        return f"{self.spectrum}, d = {self.dimension}"

    def draw(self, count: int, coins: np.random.Generator) -> tuple[Floats, Priors]:
        stddevs = spectrum(self.spectrum, self.dimension)
        X, mean = draw(stddevs, count, coins)
        radius = GENEROUS * float(np.linalg.norm(mean))
        return X, Priors(stddevs, radius, pair_distance(stddevs, NEARLY_ALL), mean)


@dataclass(frozen=True, eq=False)
class PublicTable:
    """Samples without replacement of a public table; the truth is the mean of the whole."""

    rows: Floats
    label: str
    gaussian: bool = False

    @classmethod
    def of(cls, source: object, label: str = "public table") -> "PublicTable":
        return cls(read_public_rows(source), label)

    @property
    def name(self) -> str:
        return f"{self.label}, d = {self.rows.shape[1]}"

    def draw(self, count: int, coins: np.random.Generator) -> tuple[Floats, Priors]:
        if not count < len(self.rows):
            raise ValueError("The mean of all rows is the truth itself: draw at most half of them.")
        return self.rows[coins.choice(len(self.rows), size=count, replace=False)], self.priors

    @cached_property
    def priors(self) -> Priors:
        """The truth about the table, nothing in it zero: a covariance must be invertible, a radius positive."""
        mean, stddevs = self.rows.mean(axis=0), self.rows.std(axis=0)
        tiny = SMALLEST * float(stddevs.max())
        if not 0 < tiny < math.inf:
            raise ValueError("The public table does not vary.")
        stddevs = np.maximum(stddevs, tiny)
        clipping = max(float(np.linalg.norm(mean)), float(np.linalg.norm(stddevs)))
        first, second = public_simulation().integers(0, len(self.rows), (2, _PAIRS))
        apart = np.linalg.norm(self.rows[first] - self.rows[second], axis=1)
        return Priors(stddevs, GENEROUS * clipping, max(float(np.quantile(apart, NEARLY_ALL)), tiny), mean)
