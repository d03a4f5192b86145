"""What one builds by hand for ordinary.py to compare with: noise between public bounds on every column.

Favourable to them: the bounds are those of these very records, widened about their middle; the number of records is
public and free; noise is of floats. A record moves a column's sum by the width of its bounds, as libraries with a
public number of records charge it; `centred` peers subtract the middle first, so that under add/remove it is half.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.accuracy.ordinary_tables import Generator
from benchmarks.accuracy.spectra import Floats
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.composition import Composition, largest_fitting
from dimfree.accounting.losses import Pure
from dimfree.accounting.precision import largest_mu

LAPLACE, GAUSSIAN = "Laplace", "Gaussian"
_TOLERANCE = 1e-3  # of the share of epsilon that a column gets


@dataclass(frozen=True)
class Peer:
    """Noise of one kind, and how many times wider than the true bounds the public ones are."""

    kind: str  # LAPLACE: each column by itself | GAUSSIAN: all columns at once, each divided by its width
    times: float
    centred: bool = False

    @property
    def name(self) -> str:
        return f"{self.kind}, bounds × {self.times:g}{', centred' if self.centred else ''}"

    def error(self, X: Floats, epsilon: float, delta: float, rng: Generator) -> Floats:
        """Released mean minus the mean of these records: noise alone, nothing lies beyond the bounds."""
        moves = np.ptp(X, axis=0) * self.times * (0.5 if self.centred else 1.0)
        columns = len(moves)
        if self.kind == LAPLACE:
            return np.asarray(rng.laplace(size=columns) * moves / column_epsilon(epsilon, delta, columns) / len(X))
        return np.asarray(rng.normal(size=columns) * moves * np.sqrt(columns) / largest_mu(epsilon, delta) / len(X))


@cache
def column_epsilon(epsilon: float, delta: float, columns: int) -> float:
    """What each of so many Laplace releases may spend: the better of epsilon / columns and exact composition (M9)."""
    budget = Budget(epsilon, delta)

    def all_columns(share: float) -> Composition:
        return Composition(budget, Neighbours.ADD_REMOVE, (Pure("a column", share),) * columns)

    least = budget.usable_epsilon / columns * (1 - 1e-12)
    return largest_fitting(all_columns, least, epsilon, tolerance=_TOLERANCE)


PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer(LAPLACE, 2),
        Peer(GAUSSIAN, 2),
        Peer(LAPLACE, 2, centred=True),
        Peer(GAUSSIAN, 2, centred=True),
        Peer(LAPLACE, 10),
        Peer(GAUSSIAN, 10),
    )
}
