"""Tiny worlds of Gaussian releases: counts, totals, vectors, the noisy search, and the bit between them.

The noise of a release is read off the code through a door that draws nothing, and how far the release moves off two
real tables; the law is then a sum over the lattice. What is asked for is what makes the returned event state the claim.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, pairwise

import numpy as np
from scipy.special import ndtr

from dimfree.accounting.budget import Budget
from dimfree.accounting.calibrate import Calibration, calibrate_private_count, calibrate_public_count
from dimfree.accounting.discrete import idealised
from dimfree.accounting.events import Gaussian
from dimfree.accounting.ladder import DENOMINATOR, Ladder
from dimfree.accounting.precision import compose, largest_mu
from dimfree.audit.laws.claims import precise
from dimfree.audit.laws.exact import BitWorld, ShiftedGaussian, World, laws
from dimfree.audit.noise_doubles import Asked, Law, Masses, exact_law
from dimfree.core import soft
from dimfree.core.friends import friend_counts
from dimfree.geometry.grid import RADIUS
from dimfree.mechanisms import Measured
from dimfree.mechanisms.bit import passes
from dimfree.mechanisms.count import noisy_count, noisy_total
from dimfree.mechanisms.search import STEPS, noisy_search
from dimfree.noise import Noise

_FAILURE = 0.01
_SEARCH_SHARE = 0.07  # of the precision: what the estimators give their searches
_LATTICE = 1e-12  # of a tail: the half step by which a sum over wide lattices differs from its integral
_CLIQUE = 200  # records; the total moves by 2 - 1/401


def gaussian_count(epsilon: float, delta: float) -> World:
    """`noisy_count` calibrated to the budget: the shift and the scale that the code asks for."""
    mu = precise(whole(epsilon, delta), lambda each: noisy_count(7, 1 / each, noise=Asked()).event)
    doors = Asked(), Asked()
    fewer, more = (noisy_count(n, 1 / mu, noise=door) for n, door in zip((7, 8), doors, strict=True))
    return _shifted(doors, more.value - fewer.value, more.event)


def gaussian_total(epsilon: float, delta: float) -> World:
    """`noisy_total` of the soft weights of two cliques, with and without a record that is everybody's friend.

    The cliques weigh nothing by themselves, and nearly one together with it (P3).
    """
    cliques = [-RADIUS] * _CLIQUE + [RADIUS] * _CLIQUE

    def total(table: list[int], mu: float, noise: Noise) -> Measured[float]:
        weights = soft.soft_weights(friend_counts(np.array(table, dtype=np.int64).reshape(-1, 1)))
        return noisy_total(soft.total_weight(weights), soft.TOTAL_SENSITIVITY, mu, "audit", noise=noise)

    mu, doors = precise(whole(epsilon, delta), lambda each: total([], each, Asked()).event), (Asked(), Asked())
    one, other = (total(t, mu, door) for t, door in zip((cliques, [*cliques, 0]), doors, strict=True))
    return _shifted(doors, other.value - one.value, other.event)


def whole(epsilon: float, delta: float) -> float:
    """The precision of one Gaussian that spends everything."""
    return largest_mu(*idealised(epsilon, delta))


def _shifted(doors: tuple[Asked, Asked], moved: float, event: Gaussian) -> ShiftedGaussian:
    return ShiftedGaussian(min(door.asked[0][1] for door in doors), round(moved / event.step))


# ---- the noisy search


def search(epsilon: float, delta: float) -> World:
    """`noisy_search` on a grid of nine points, run on every way its answers can fall.

    The count is that of values up to a point, less two; tables of at most three values, one added or exchanged.
    Only whether the noise reaches minus the count matters, so the noise is cut into the pieces between the counts.
    """
    grid, places = np.arange(9.0), (0.5, 3.5, 4.5, 9.5)
    mu = precise(whole(epsilon, delta), lambda each: noisy_search(round, grid, 1.0, each, "audit", noise=Asked()).event)

    def law(values: tuple[float, ...]) -> Law:
        def excess(point: float) -> int:
            return (sum(value <= point for value in values) - 2) * STEPS

        return exact_law(
            lambda noise: noisy_search(excess, grid, 1.0, mu, "audit", noise=noise).value, partial(pieces, STEPS, 2)
        )

    tables = [table for size in range(4) for table in combinations_with_replacement(places, size)]
    removed = [(table, table[:j] + table[j + 1 :]) for table in tables for j in range(len(table))]
    exchanged = [(table, tuple(sorted((*table[1:], place)))) for table in tables if table for place in places]
    return laws(law, removed + exchanged, slack=10 * _LATTICE)


def pieces(unit: int, reach: int, stddev: float) -> Masses:
    """{one value of each piece: the piece's mass}: pieces begin at the multiples of `unit` up to ±reach."""
    starts = [k * unit for k in range(-reach, reach + 1)]
    edges = [0.0, *(float(ndtr((start - 0.5) / stddev)) for start in starts), 1.0]
    return dict(zip([starts[0] - 1, *starts], [high - low for low, high in pairwise(edges)], strict=True))


# ---- the bit


def bit(epsilon: float, delta: float) -> World:
    """Every branch of the menu that this budget is calibrated to, behind its noisy count."""
    return _bits(calibrate_private_count(Budget(epsilon, delta), _FAILURE))


def searched_bit(epsilon: float, delta: float) -> World:
    """The same behind a count and a search."""
    return _bits(calibrate_private_count(Budget(epsilon, delta), _FAILURE, search_share=_SEARCH_SHARE))


def public_bit(epsilon: float, delta: float) -> World:
    """Replace-one: nothing before the bit."""
    return _bits(calibrate_public_count(Budget(epsilon, delta), _FAILURE))


def _bits(menu: Calibration) -> "Largest":
    count = 1 / menu.count_stddev if menu.count_stddev else 0.0
    return Largest([BitWorld(_tossed(b.ladder), compose((count, b.search_mu)), b.mu) for b in menu.tested])


def _tossed(ladder: Ladder) -> Ladder:
    """The coins that the code tosses, at every statistic and one beyond."""
    door = Asked()
    if not all(passes(statistic, ladder, noise=door) for statistic in range(ladder.length + 2)):
        raise AssertionError("Heads must pass.")
    coins = [Fraction(int(numerator), denominator) * DENOMINATOR for _, numerator, denominator in door.asked]
    return Ladder(tuple(math.ceil(coin) for coin in coins))


def no_noise(scale: float) -> Masses:
    raise ValueError("No Laplace or Gaussian noise is expected here.")


@dataclass(frozen=True)
class Largest:
    """Several worlds at once: the worst counts."""

    worlds: Sequence[World]
    slack: float = 0.0

    @property
    def pairs(self) -> int:
        return sum(world.pairs for world in self.worlds)

    def delta_at(self, level: float) -> float:
        return max(world.delta_at(level) for world in self.worlds)
