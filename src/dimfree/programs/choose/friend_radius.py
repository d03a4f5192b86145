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

from dimfree.programs.choose import constants as c
from dimfree.simulation import public_simulation

_PROBES = 32  # seen to at a time: their distances stay near a core


@dataclass(frozen=True, eq=False)
class FriendRadii:
    """Squared distances from simulated probes to simulated others. Compared by identity.

    `squared` is sorted along each row (one probe).
    """

    squared: NDArray[np.float64]
    _typical: dict[float, float] = field(default_factory=dict, init=False, repr=False)
    _ranks: dict[int, "_Ordered"] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def none(cls) -> "FriendRadii":
        """For estimators without a spectrum, which never ask."""
        return cls(np.zeros((0, 0)))

    def radius(self, friend_share: float, expected_losers: float, count: float) -> float:
        """The radius at which all but `expected_losers` of `count` records see `friend_share` of the others."""
        margin = 2 * math.sqrt(friend_share * (1 - friend_share) / count)  # error of the share, common to all
        wanted = min(friend_share + margin, 1 - 0.5 / c.FRIEND_OTHERS)
        rank = min(int(wanted * c.FRIEND_OTHERS), c.FRIEND_OTHERS - 1)
        return math.sqrt(self.at_rank(rank).exceeded(c.LOSERS_USED * expected_losers / count))

    def at_rank(self, rank: int) -> "_Ordered":
        """The squared distances of all probes to their others of this rank; kept, as few ranks are asked for."""
        if rank not in self._ranks:
            self._ranks[rank] = _Ordered(np.sort(self.squared[:, rank]))
        return self._ranks[rank]

    def typical(self, share: float) -> float:
        """The radius within which the average record sees `share` of the others."""
        if share not in self._typical:  # the same few shares are asked at every release
            self._typical[share] = math.sqrt(float(np.quantile(self.squared, share)))
        return self._typical[share]


@dataclass(frozen=True, eq=False)
class _Ordered:
    """Numbers in ascending order, with the exponential tail that is fitted to the largest of them."""

    values: NDArray[np.float64]

    def exceeded(self, exceedance: float) -> float:
        """The value exceeded with the given probability; beyond the fitted share by the tail."""
        if exceedance >= c.FITTED_TAIL:
            return self._from_above(exceedance)[1]
        start, scale = self._tail
        return start + scale * math.log(c.FITTED_TAIL / max(exceedance, 1e-12))

    @cached_property
    def _tail(self) -> tuple[float, float]:
        """Where it begins, and its scale."""
        rank, start = self._from_above(c.FITTED_TAIL)
        return start, float((self.values[rank:] - start).mean())

    def _from_above(self, share: float) -> tuple[int, float]:
        """The rank that this share of the numbers is beyond, and the number there."""
        rank = int((1 - share) * len(self.values))
        return rank, float(self.values[min(rank, len(self.values) - 1)])


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
    rows = c.FRIEND_PROBES + c.FRIEND_OTHERS
    head = generator.normal(size=(rows, min(c.EXACT_DIRECTIONS, len(spectrum)))) * np.sqrt(
        spectrum[: c.EXACT_DIRECTIONS]
    )
    squares, products = (head**2).sum(axis=1), head[: c.FRIEND_PROBES] @ head[c.FRIEND_PROBES :].T
    groups: list[tuple[NDArray[np.float64], int]] = []
    for value, members in _tail_groups(spectrum[c.EXACT_DIRECTIONS :]):
        lengths = value * generator.chisquare(members, size=rows)
        squares = squares + lengths
        groups.append((lengths, members))
    if groups:
        drawn = generator.normal(size=products.shape)
        for start in range(0, c.FRIEND_PROBES, _PROBES):
            some = slice(start, start + _PROBES)
            products[some] += np.sqrt(_cross(groups, some)) * drawn[some]
    products *= -2
    squared = products  # overwritten, as all tables here are large: |x|² + |y|² - 2⟨x, y⟩
    squared += squares[: c.FRIEND_PROBES, None] + squares[None, c.FRIEND_PROBES :]
    np.maximum(squared, 0.0, out=squared)
    squared.sort(axis=1)
    return FriendRadii(squared)


def _cross(groups: list[tuple[NDArray[np.float64], int]], probes: slice) -> NDArray[np.float64]:
    """The variance of the tail's inner products of some probes, given the lengths of both, group by group."""
    others = slice(c.FRIEND_PROBES, None)
    cross = np.zeros((probes.stop - probes.start, c.FRIEND_OTHERS))
    term = np.empty_like(cross)
    for lengths, members in groups:
        np.multiply(lengths[probes, None], lengths[others], out=term)
        term /= members
        cross += term
    return cross


def _tail_groups(tail: NDArray[np.float64]) -> list[tuple[float, int]]:
    """The tail in groups of equal size: (mean eigenvalue, number of members)."""
    return [(float(part.mean()), len(part)) for part in np.array_split(tail, c.TAIL_GROUPS) if len(part)]
