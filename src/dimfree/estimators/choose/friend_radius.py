"""The friend radius of a known spectrum, by public simulation. Sees no record.

A record drawn from N(0, A), A with eigenvalues `spectrum`, sees a share of the others within each radius. The radius
must leave almost every record with enough friends; only accuracy and the chance of a refusal depend on it, never
privacy. Letters: F_j(r) = share of the population within radius r of record j.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtrc

from dimfree.estimators.choose.constants import (
    EXACT_DIRECTIONS,
    FITTED_TAIL,
    FRIEND_OTHERS,
    FRIEND_PROBES,
    LOSERS_USED,
    TAIL_GROUPS,
)
from dimfree.noise import public_simulation


@dataclass(frozen=True, eq=False)
class FriendRadii:
    """Squared distances from simulated probes to simulated others. Compared by identity.

    `squared` is sorted along each row (one probe); `by_rank` then along each column (all probes at a given share).
    """

    squared: NDArray[np.float64]
    by_rank: NDArray[np.float64]
    _typical: dict[float, float] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def none(cls) -> "FriendRadii":
        """For estimators without a spectrum, which never ask."""
        return cls(np.zeros((0, 0)), np.zeros((0, 0)))

    def radius(self, friend_share: float, expected_losers: float, count: float) -> float:
        """The radius at which all but `expected_losers` of `count` records see `friend_share` of the others."""
        margin = 2 * math.sqrt(friend_share * (1 - friend_share) / count)  # error of the share, common to all
        wanted = min(friend_share + margin, 1 - 0.5 / FRIEND_OTHERS)
        column = self.by_rank[:, min(int(wanted * FRIEND_OTHERS), FRIEND_OTHERS - 1)]
        return math.sqrt(_upper_quantile(column, LOSERS_USED * expected_losers / count))

    def typical(self, share: float) -> float:
        """The radius within which the average record sees `share` of the others."""
        if share not in self._typical:  # the same few shares are asked at every release
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
        """(squared radius, the share of the others that each of some probes sees within it), for a list of radii."""
        views = self.squared[::8]
        radii = np.quantile(views, np.linspace(0.5, 1, 51))
        return [(float(squared), (views <= squared).mean(axis=1)) for squared in radii]


def _upper_quantile(ordered: NDArray[np.float64], exceedance: float) -> float:
    """The value exceeded with the given probability; beyond the fitted share by an exponential tail."""
    rank = int((1 - max(exceedance, FITTED_TAIL)) * len(ordered))
    start = float(ordered[min(rank, len(ordered) - 1)])
    if exceedance >= FITTED_TAIL:
        return start
    scale = float((ordered[rank:] - start).mean())
    return start + scale * math.log(FITTED_TAIL / max(exceedance, 1e-12))


@lru_cache(maxsize=4096)
def tolerated_losers(allowed: int, failure: float) -> float:
    """The largest expected number of losers such that more than `allowed` of them is rarer than `failure`."""
    low, high = 0.0, allowed + 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if pdtrc(allowed, middle) <= failure else (low, middle)
    return max(low, failure / 2)


def friend_radii(spectrum: NDArray[np.float64]) -> FriendRadii:
    """Simulated distances for a spectrum (eigenvalues of A, descending)."""
    return _simulate(np.ascontiguousarray(spectrum, dtype=np.float64).tobytes())


@lru_cache(maxsize=8)
def _simulate(spectrum_bytes: bytes) -> FriendRadii:
    spectrum = np.frombuffer(spectrum_bytes)
    generator = public_simulation()
    rows = FRIEND_PROBES + FRIEND_OTHERS
    head = generator.normal(size=(rows, min(EXACT_DIRECTIONS, len(spectrum)))) * np.sqrt(spectrum[:EXACT_DIRECTIONS])
    squares, products = (head**2).sum(axis=1), head[:FRIEND_PROBES] @ head[FRIEND_PROBES:].T
    cross = np.zeros((FRIEND_PROBES, FRIEND_OTHERS))  # variance of the tail's inner products, given both lengths
    for value, members in _tail_groups(spectrum[EXACT_DIRECTIONS:]):
        lengths = value * generator.chisquare(members, size=rows)
        squares = squares + lengths
        cross += np.outer(lengths[:FRIEND_PROBES], lengths[FRIEND_PROBES:]) / members
    products += np.sqrt(cross) * generator.normal(size=cross.shape)
    squared = squares[:FRIEND_PROBES, None] + squares[None, FRIEND_PROBES:] - 2 * products
    views = np.sort(np.maximum(squared, 0.0), axis=1)
    return FriendRadii(views, np.sort(views, axis=0))


def _tail_groups(tail: NDArray[np.float64]) -> list[tuple[float, int]]:
    """The tail in groups of equal size: (mean eigenvalue, number of members)."""
    return [(float(part.mean()), len(part)) for part in np.array_split(tail, TAIL_GROUPS) if len(part)]
