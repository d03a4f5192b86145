"""The budget of one peer as a Gaussian precision, and the only place where peers draw Gaussian noise."""

import math

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree.accounting.budget import CHANGED_RECORDS, MAX_EPSILON, Neighbors
from dimfree.accounting.precision import largest_mu

COUNT_SHARE = 0.016  # of the precision, for the noisy count under add-remove: as much as release_mean spends

Whole = Floats | NDArray[np.int64]


class Gaussians:
    """Gaussian releases whose squared precisions add up to what (epsilon, delta) allows in addition to the failures.

    `failure`: the probability of events without a guarantee; it is part of delta.
    """

    def __init__(
        self, epsilon: float, delta: float, rng: np.random.Generator, neighbors: str, failure: float = 0.0
    ) -> None:
        self.relation = Neighbors.parse(neighbors)
        self.mu = largest_mu(min(epsilon, MAX_EPSILON), delta - failure)
        self._rng, self._spent = rng, 0.0

    @property
    def changed(self) -> int:
        """How many records come or go between neighbors."""
        return CHANGED_RECORDS[self.relation]

    @property
    def left(self) -> float:
        """The precision that is left."""
        return math.sqrt(max(0.0, self.mu**2 - self._spent))

    def release(self, value: Whole | float, moves: float, mu: float) -> Floats:
        """A value that moves by at most `moves` in L2 between neighbors, with noise; charged to the precision."""
        self._spent += mu**2
        if not self._spent <= self.mu**2 * (1 + 1e-9):
            raise ValueError("A peer spends more than its budget.")
        return value + self._rng.normal(size=np.shape(value)) * (moves / mu)

    def count(self, records: int) -> tuple[float, float]:
        """(number of records, standard deviation of its noise): public under replace-one."""
        if self.relation is Neighbors.REPLACE_ONE:
            return float(records), 0.0
        mu = self.mu * math.sqrt(COUNT_SHARE)
        return float(self.release(float(records), 1.0, mu)), 1 / mu
