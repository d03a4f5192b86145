"""What an oracle would miss of the records of a law: it clips about the true mean at the radius best in hindsight.

One radius for all draws of a cell, the one whose mean squared error over these draws is the least: of each draw its own
would also find radii at which biases happen to cancel.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from benchmarks.accuracy.running import DELTA
from benchmarks.accuracy.spectra import Floats
from dimfree.accounting.precision import largest_mu

_RADII = 120  # that the oracle chooses from
_WITHIN, _BEYOND = 0.1, 2.0  # the smallest radius over the median length, the largest over the largest


@dataclass
class HindsightOracle:
    """The true mean of every column is public, and so is n; the whole precision goes to one Gaussian, R / (n mu)."""

    mean: float
    epsilon: float
    radii: Floats = field(default_factory=lambda: np.zeros(0))
    squares: list[Floats] = field(default_factory=list)  # of one draw: the expected squared error at every radius

    def add(self, X: Floats) -> None:
        """One draw; the first one says which radii are tried."""
        offsets = X - self.mean
        lengths = np.maximum(np.sqrt(np.einsum("ij,ij->i", offsets, offsets)), 1e-300)
        if not self.squares:
            self.radii = np.geomspace(_WITHIN * np.median(lengths), _BEYOND * lengths.max(), _RADII)
        lost = np.maximum(0.0, 1 - self.radii[:, None] / lengths)  # of each record, at each radius
        bias = lost @ offsets / len(X)
        noise = self.radii / len(X) / largest_mu(self.epsilon, DELTA) * math.sqrt(X.shape[1])
        self.squares.append(np.einsum("ij,ij->i", bias, bias) + noise**2)

    def error(self) -> float:
        """Root mean squared distance from the mean of the records, at the best radius."""
        return float(np.sqrt(np.mean(self.squares, axis=0).min()))
