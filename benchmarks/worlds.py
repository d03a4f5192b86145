"""Sources of records for a comparison: Gaussian records of a named spectrum, or samples of a public table."""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np

from dimfree._types import Floats
from dimfree.planning.spectra import SMALLEST, draw, spectrum
from dimfree.data.records import as_records
from dimfree.errors import InvalidParameter
from dimfree.programs.choose.friend_radius import friend_radii
from dimfree.simulation import public_simulation

GENEROUS = 10.0  # the radius that an estimator is told, over the distance of the mean from the origin
NEARLY_ALL = 0.99  # of all pairs of records are within the pair distance that an estimator is told
_PAIRS = 2000


@dataclass(frozen=True)
class Priors:
    """What an estimator may be told: public in a comparison, rarely in practice."""

    stddevs: Floats
    radius: float  # of a ball about the origin that surely holds the mean
    pair_distance: float  # within which nearly all pairs of records are
    mean: Floats  # for the oracle alone


class World(Protocol):
    """Something to draw records from."""

    @property
    def name(self) -> str: ...

    @property
    def most(self) -> float:
        """How many records can be drawn."""
        ...

    @property
    def gaussian(self) -> bool:
        """Whether records are Gaussian with uncorrelated coordinates, so that σ tells all but the mean."""
        ...

    def draw(self, count: int, coins: np.random.Generator) -> tuple[Floats, Priors]: ...


@dataclass(frozen=True)
class Synthetic:
    """N(mean, Σ), Σ diagonal with a named spectrum, the mean far from the origin in a random direction."""

    spectrum: str
    dimension: int
    most: float = math.inf
    gaussian: bool = True

    @property
    def name(self) -> str:
        return f"{self.spectrum}, d = {self.dimension}"

    def draw(self, count: int, coins: np.random.Generator) -> tuple[Floats, Priors]:
        stddevs = spectrum(self.spectrum, self.dimension)
        X, mean = draw(stddevs, count, coins)
        radius = GENEROUS * float(np.linalg.norm(mean))
        return X, Priors(stddevs, radius, _gaussian_pairs(self.spectrum, self.dimension), mean)


@lru_cache(maxsize=32)
def _gaussian_pairs(name: str, dimension: int) -> float:
    return friend_radii(np.sort(spectrum(name, dimension))[::-1] ** 2).typical(NEARLY_ALL)


@dataclass(frozen=True, eq=False)
class PublicTable:
    """Samples without replacement of a public table; the truth is the mean of the whole."""

    rows: Floats
    label: str
    gaussian: bool = False

    @classmethod
    def of(cls, source: object, label: str = "public table") -> "PublicTable":
        """Any table that `release_mean` accepts; every entry has to be finite, since exact means are computed."""
        records = as_records(source)
        if not records.count:
            raise InvalidParameter("Expected the public table to have rows.")
        rows = np.empty((records.count, records.dimension))
        start = 0
        for block, valid in records.blocks():
            if not valid.all():
                raise InvalidParameter("Expected the public table to be finite in every entry: drop the other rows.")
            rows[start : start + len(block)] = block
            start += len(block)
        rows.setflags(write=False)
        return cls(rows, label)

    @property
    def name(self) -> str:
        return f"{self.label}, d = {self.rows.shape[1]}"

    @property
    def most(self) -> int:
        """All rows but one: the mean of all rows is the truth itself."""
        return len(self.rows) - 1

    def draw(self, count: int, coins: np.random.Generator) -> tuple[Floats, Priors]:
        chosen = coins.choice(len(self.rows), size=count, replace=False)
        return self.rows[chosen], self.priors

    @cached_property
    def priors(self) -> Priors:
        """The truth about the table, nothing in it zero: a covariance must be invertible, a radius positive.

        A constant column gets a tiny deviation, and a table of little but duplicates a tiny pair distance.
        """
        with np.errstate(all="ignore"):  # what overflows is refused in the next line
            mean, stddevs = self.rows.mean(axis=0), self.rows.std(axis=0)
        if not 0 < stddevs.max() < math.inf:
            raise InvalidParameter("Expected the public table to vary, in units that fit floating-point numbers.")
        tiny = SMALLEST * float(stddevs.max())
        stddevs = np.maximum(stddevs, tiny)
        reach = max(float(np.linalg.norm(mean)), float(np.linalg.norm(stddevs)))
        return Priors(stddevs, GENEROUS * reach, max(self._pair_distance(), tiny), mean)

    def _pair_distance(self) -> float:
        first, second = public_simulation().integers(0, len(self.rows), (2, _PAIRS))
        apart = [float(np.linalg.norm(self.rows[i] - self.rows[j])) for i, j in zip(first, second, strict=True)]
        return float(np.quantile(apart, NEARLY_ALL))
