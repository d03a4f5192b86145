"""What one would use instead, for ordinary.py: noise between public bounds on every column, by hand and by libraries.

All of them spend the same (epsilon, delta) as ours. Favourable to them: the bounds are those of these very records,
widened about their middle; the number of records is public and free; noise by hand is of floats. A record moves a
column's sum by the width of its bounds, as libraries with a public number of records charge it; `centered` peers
subtract the middle first, so that under add/remove it is half. Libraries get for each column what Laplace noise by hand
gets (`column_epsilon`), which is more than they would grant themselves.
"""

import importlib
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.accuracy.ordinary_worlds import Generator
from dimfree._types import Floats
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.losses import Pure
from dimfree.accounting.precision import largest_mu
from dimfree.accounting.several_runs import Composition

LAPLACE, GAUSSIAN = "Laplace", "Gaussian"
_TOLERANCE = 1e-3  # of the share of epsilon that a column gets


@dataclass(frozen=True)
class Peer:
    """Noise of one kind, and how many times wider than the true bounds the public ones are."""

    kind: str  # LAPLACE: each column separately | GAUSSIAN: all columns at once, each divided by its width
    times: float
    centered: bool = False

    @property
    def name(self) -> str:
        return f"{self.kind}, bounds × {self.times:g}{', centered' if self.centered else ''}"

    def error(self, X: Floats, epsilon: float, delta: float, rng: Generator) -> Floats:
        """Released mean minus the mean of these records: noise alone, nothing lies beyond the bounds."""
        moves = np.ptp(X, axis=0) * self.times * (0.5 if self.centered else 1.0)
        columns = len(moves)
        if self.kind == LAPLACE:
            return np.asarray(rng.laplace(size=columns) * moves / column_epsilon(epsilon, delta, columns) / len(X))
        return np.asarray(rng.normal(size=columns) * moves * np.sqrt(columns) / largest_mu(epsilon, delta) / len(X))


@cache
def column_epsilon(epsilon: float, delta: float, columns: int) -> float:
    """What each of so many Laplace releases may spend: the better of epsilon / columns and exact composition (M9)."""
    budget = Budget(epsilon, delta)

    def fits(share: float) -> bool:
        return Composition(budget, Neighbors.ADD_REMOVE, (Pure("a column", share),) * columns).fits()

    low, high = budget.usable_epsilon / columns * (1 - 1e-12), epsilon  # the lower end fits
    if fits(high):
        return high
    while high - low > _TOLERANCE * low:
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


@dataclass(frozen=True)
class DiffprivlibMean:
    """diffprivlib's mean of a column between bounds, which cuts its noise off at the bounds; column by column."""

    times: float

    @property
    def name(self) -> str:
        return f"diffprivlib, bounds × {self.times:g}"

    def error(self, X: Floats, epsilon: float, delta: float, rng: Generator) -> Floats:
        from diffprivlib.tools import mean

        share, state = column_epsilon(epsilon, delta, X.shape[1]), np.random.RandomState(rng.integers(2**32))
        said = [mean(c, epsilon=share, bounds=bounds_of(c, self.times), random_state=state) for c in X.T]
        return np.array(said) - X.mean(axis=0)


def bounds_of(column: Floats, times: float) -> tuple[float, float]:
    """The true bounds, widened about their middle; of a constant column a hair apart, as libraries want them."""
    low, high = float(column.min()), float(column.max())
    half = max((high - low) / 2 * times, 1e-9 * max(1.0, abs(low)))
    return (low + high) / 2 - half, (low + high) / 2 + half


def _libraries() -> list[DiffprivlibMean]:
    """Return diffprivlib's means if it is installed (the extra `peers`)."""
    try:
        importlib.import_module("diffprivlib.tools")
    except ImportError:  # not there, or it does not go with the scikit-learn that is
        return []
    return [DiffprivlibMean(times) for times in WIDENED]


WIDENED = (1, 2, 10)
AnyPeer = Peer | DiffprivlibMean
PEERS: dict[str, AnyPeer] = {
    peer.name: peer
    for peer in (
        *(Peer(kind, times) for times in WIDENED for kind in (LAPLACE, GAUSSIAN)),
        Peer(LAPLACE, 2, centered=True),
        Peer(GAUSSIAN, 2, centered=True),
        *_libraries(),
    )
}
