"""How many pairs are friends at any radius: one table of approximate distances, exact decisions.

The predicate at radius u is the one of `friends`: whole-number records in steps of u / 2^20; a record off the grid is
nobody's friend. A float table screens the pairs; those that its error or the rounding to steps could turn are decided
in integers. So each pair's part of the count is a symmetric function of two records. Proof: proofs/core/distances.md.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dimfree.core.friends import within_radius
from dimfree.grid import EDGE, RADIUS, to_steps

_CELLS = 2**22

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class PairDistances:
    """Private: rows, and bounds on the squared distance of every unordered pair (left[i], right[i])."""

    rows: Floats
    invalid: int
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    least: Floats
    most: Floats

    @classmethod
    def of(cls, rows: Floats, invalid: int) -> "PairDistances":
        left, right = np.triu_indices(len(rows), k=1)
        with np.errstate(all="ignore"):  # a warning would speak of records
            offsets = rows - (np.median(rows, axis=0) if len(rows) else 0.0)
            squares = np.einsum("ij,ij->i", offsets, offsets)
            squared = squares[left] + squares[right] - 2 * (offsets @ offsets.T)[left, right]
            error = (rows.shape[1] + 100) * 2.0**-50 * squares  # of the float sums behind each row's part
            doubt = error[left] + error[right]
            doubt[~np.isfinite(squared)] = np.inf  # out of range: the table says nothing of such a pair
        squared[np.isinf(doubt)] = 0.0
        return cls(rows, invalid, left, right, squared - doubt, squared + doubt)

    @property
    def count(self) -> int:
        return len(self.rows) + self.invalid

    def friend_pairs(self, radius: float) -> int:
        """Σ_j c_j at this radius: ordered pairs of friends, every record its own."""
        step = radius / RADIUS
        peaks = np.abs(self.rows).max(axis=1, initial=0.0)
        beyond = peaks >= EDGE / 2 * step  # off the grid: nobody's friends
        largest = float(peaks[~beyond].max(initial=0.0))
        blur = math.sqrt(self.rows.shape[1]) * (step + 2.0**-52 * largest) * (1 + 1e-6)  # of quotients and their rint
        surely = self.most <= max(0.0, radius - blur) ** 2
        perhaps = (self.least <= (radius + blur) ** 2) & ~surely
        if beyond.any():
            off = beyond[self.left] | beyond[self.right]
            surely, perhaps = surely & ~off, perhaps & ~off
        return self.count + 2 * (int(np.count_nonzero(surely)) + self._decided(np.flatnonzero(perhaps), step))

    def _decided(self, doubtful: NDArray[np.intp], step: float) -> int:
        """How many of the doubtful pairs are friends, in integers."""
        chunk = max(1, _CELLS // self.rows.shape[1])
        friends = 0
        for start in range(0, len(doubtful), chunk):
            pairs = doubtful[start : start + chunk]
            offsets = to_steps(self.rows[self.left[pairs]], step) - to_steps(self.rows[self.right[pairs]], step)
            friends += int(within_radius(offsets).sum())
        return friends
