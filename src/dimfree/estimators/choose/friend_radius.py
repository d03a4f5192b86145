"""How far apart honest records are: the friend radius of a known spectrum, by public simulation. Touches no record.

A record drawn from N(0, A), A with eigenvalues `spectrum`, sees a share of the others within each radius. The radius
must leave almost every record with enough friends; only accuracy and the chance of a refusal depend on it, never
privacy. Letters: F_j(r) = share of the population within radius r of record j.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson

from dimfree.noise import public_simulation

_PROBES = 2048
_OTHERS = 1024
_EXACT = 96  # leading directions simulated one by one; the tail in groups of like eigenvalue
_GROUPS = 24
_CAUTION = 0.7  # of the expected losers: covers the error of the simulation
_TAIL = 0.05  # share of the probes from which the exponential tail of squared radii is fitted


@dataclass(frozen=True, eq=False)
class FriendRadii:
    """Squared distances from simulated probes to simulated others. One is equal to itself alone.

    `squared` is sorted along each row (a probe's view); `by_rank` then along each column (the probes at a given share).
    """

    squared: NDArray[np.float64]
    by_rank: NDArray[np.float64]
    _typical: dict[float, float] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def none(cls) -> "FriendRadii":
        """For estimators that believe in no spectrum and never ask."""
        return cls(np.zeros((0, 0)), np.zeros((0, 0)))

    def radius(self, friend_share: float, expected_losers: float, count: float) -> float:
        """The radius at which all but `expected_losers` of `count` records see `friend_share` of the others."""
        sway = 2 * math.sqrt(friend_share * (1 - friend_share) / count)  # of the share seen, common to all records
        wanted = min(friend_share + sway, 1 - 0.5 / _OTHERS)
        column = self.by_rank[:, min(int(wanted * _OTHERS), _OTHERS - 1)]
        return math.sqrt(_upper_quantile(column, _CAUTION * expected_losers / count))

    def typical(self, share: float) -> float:
        """The radius within which the average record sees `share` of the others."""
        if share not in self._typical:  # code asks for few shares, and for the same one at every release
            self._typical[share] = math.sqrt(float(np.quantile(self.squared, share)))
        return self._typical[share]

    def best_ratio(self, honest_share: float) -> tuple[float, float]:
        """The radius that minimises radius / mean soft weight, and that mean weight."""
        best = (math.inf, 0.0)
        for squared, seen in self._seen:
            weight = float(np.clip(2 * (seen * honest_share) - 1, 0, 1).mean())
            if weight > 0 and math.sqrt(squared) / weight < best[0] / (best[1] or 1):
                best = (math.sqrt(squared), weight)
        return best

    @cached_property
    def _seen(self) -> list[tuple[float, NDArray[np.float64]]]:
        """(squared radius, the share of the others that each of some probes sees within it), for a row of radii."""
        views = self.squared[::8]
        radii = np.quantile(views, np.linspace(0.5, 1, 51))
        return [(float(squared), (views <= squared).mean(axis=1)) for squared in radii]


def _upper_quantile(ordered: NDArray[np.float64], exceedance: float) -> float:
    """The value exceeded with the given probability; beyond the fitted share by an exponential tail."""
    rank = int((1 - max(exceedance, _TAIL)) * len(ordered))
    start = float(ordered[min(rank, len(ordered) - 1)])
    if exceedance >= _TAIL:
        return start
    scale = float((ordered[rank:] - start).mean())
    return start + scale * math.log(_TAIL / max(exceedance, 1e-12))


@lru_cache(maxsize=4096)
def tolerated_losers(allowed: int, failure: float) -> float:
    """The largest expected number of losers such that more than `allowed` of them is rarer than `failure`."""
    low, high = 0.0, allowed + 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if poisson.sf(allowed, middle) <= failure else (low, middle)
    return max(low, failure / 2)


def friend_radii(spectrum: NDArray[np.float64]) -> FriendRadii:
    """Simulated distances for a spectrum (eigenvalues of A, descending)."""
    return _simulate(np.ascontiguousarray(spectrum, dtype=np.float64).tobytes())


@lru_cache(maxsize=8)
def _simulate(spectrum_bytes: bytes) -> FriendRadii:
    spectrum = np.frombuffer(spectrum_bytes)
    generator = public_simulation()
    rows = _PROBES + _OTHERS
    head = generator.normal(size=(rows, min(_EXACT, len(spectrum)))) * np.sqrt(spectrum[:_EXACT])
    squares, products = (head**2).sum(axis=1), head[:_PROBES] @ head[_PROBES:].T
    cross = np.zeros((_PROBES, _OTHERS))  # variance of the tail's inner products, given both lengths
    for value, members in _tail_groups(spectrum[_EXACT:]):
        lengths = value * generator.chisquare(members, size=rows)
        squares = squares + lengths
        cross += np.outer(lengths[:_PROBES], lengths[_PROBES:]) / members
    products += np.sqrt(cross) * generator.normal(size=cross.shape)
    squared = squares[:_PROBES, None] + squares[None, _PROBES:] - 2 * products
    views = np.sort(np.maximum(squared, 0.0), axis=1)
    return FriendRadii(views, np.sort(views, axis=0))


def _tail_groups(tail: NDArray[np.float64]) -> list[tuple[float, int]]:
    """The tail in groups of equal size: (mean eigenvalue, number of members)."""
    return [(float(part.mean()), len(part)) for part in np.array_split(tail, _GROUPS) if len(part)]
