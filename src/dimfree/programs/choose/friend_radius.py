"""The friend radius of a known spectrum, by public simulation. Reads no record.

A record drawn from N(0, A), A with eigenvalues `spectrum`, has a share of the others within each radius. The radius
must leave almost every record enough friends; only accuracy and the probability of a refusal depend on it.
"""

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy.special import pdtrc

from dimfree._types import Floats
from dimfree.programs.choose import constants as c
from dimfree.simulation import public_simulation

_PROBES = 32  # processed at a time: their distances stay in a core's cache


@dataclass(frozen=True, eq=False)
class FriendRadii:
    """Squared distances from simulated probes to simulated others, sorted for each probe. Compared by identity."""

    squared: Floats
    _typical: dict[float, float] = field(default_factory=dict, init=False, repr=False)
    _ranks: dict[int, tuple[Floats, float, float]] = field(default_factory=dict, init=False, repr=False)

    def radius(self, friend_share: float, friendless: float, count: float) -> float:
        """Return the radius at which all but `friendless` of `count` records have `friend_share` of the others."""
        margin = 2 * math.sqrt(friend_share * (1 - friend_share) / count)  # error of the share, common to all
        wanted = min(friend_share + margin, 1 - 0.5 / c.FRIEND_OTHERS)
        values, start, scale = self._at_rank(min(int(wanted * c.FRIEND_OTHERS), c.FRIEND_OTHERS - 1))
        exceedance = c.FRIENDLESS_USED * friendless / count
        if exceedance >= c.FITTED_TAIL_SHARE:
            return math.sqrt(float(values[_rank(values, exceedance)]))
        return math.sqrt(start + scale * math.log(c.FITTED_TAIL_SHARE / max(exceedance, 1e-12)))

    def _at_rank(self, rank: int) -> tuple[Floats, float, float]:
        """Return (ascending squared distances at this rank, start and scale of their exponential tail); cached."""
        if rank not in self._ranks:
            values = np.sort(self.squared[:, rank])
            start = float(values[_rank(values, c.FITTED_TAIL_SHARE)])
            beyond = values[int((1 - c.FITTED_TAIL_SHARE) * len(values)) :]
            self._ranks[rank] = values, start, float((beyond - start).mean())
        return self._ranks[rank]

    def typical(self, share: float) -> float:
        """Return the radius within which the average record has `share` of the others."""
        if share not in self._typical:  # every release uses the same few shares
            self._typical[share] = math.sqrt(float(np.quantile(self.squared, share)))
        return self._typical[share]


def _rank(values: Floats, share: float) -> int:
    """Return the rank that this share of the ascending values exceeds."""
    return min(int((1 - share) * len(values)), len(values) - 1)


@lru_cache(maxsize=4096)
def tolerate_friendless(allowed: int, failure: float) -> float:
    """Return the largest expected number of friendless records with P(more than `allowed`) < `failure`."""
    low, high = 0.0, allowed + 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if pdtrc(allowed, middle) <= failure else (low, middle)
    return max(low, failure / 2)


def simulate_friend_radii(spectrum: Floats) -> FriendRadii:
    """Simulate the distances for a spectrum (eigenvalues of A, descending)."""
    return _simulate(np.ascontiguousarray(spectrum, dtype=np.float64).tobytes())


@lru_cache(maxsize=8)
def _simulate(spectrum_bytes: bytes) -> FriendRadii:
    spectrum = np.frombuffer(spectrum_bytes)
    generator = public_simulation()
    rows = c.FRIEND_PROBES + c.FRIEND_OTHERS
    head = generator.normal(size=(rows, min(c.EXACT_DIRECTIONS, len(spectrum))))
    head *= np.sqrt(spectrum[: c.EXACT_DIRECTIONS])
    squares, products = (head**2).sum(axis=1), head[: c.FRIEND_PROBES] @ head[c.FRIEND_PROBES :].T
    groups: list[tuple[Floats, int]] = []  # of the other directions: parts of squared lengths, and their number
    for part in np.array_split(spectrum[c.EXACT_DIRECTIONS :], c.TAIL_GROUPS):
        if len(part):
            lengths = float(part.mean()) * generator.chisquare(len(part), size=rows)
            squares = squares + lengths
            groups.append((lengths, len(part)))
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


def _cross(groups: list[tuple[Floats, int]], probes: slice) -> Floats:
    """Compute the variance of the groups' inner products of some probes, given the lengths of both."""
    cross = np.zeros((probes.stop - probes.start, c.FRIEND_OTHERS))
    term = np.empty_like(cross)
    for lengths, members in groups:
        np.multiply(lengths[probes, None], lengths[c.FRIEND_PROBES :], out=term)
        term /= members
        cross += term
    return cross
