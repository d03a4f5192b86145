"""What is asked of the records' directions, to be hunted: three numbers, a fourth, and a matrix (P11, P12).

Behind a door that draws nothing a number shows how far it moves; behind one that draws ones a matrix shows how much of
its noise every entry gets.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.audit.neighbours import Table
from dimfree.audit.noise_doubles import Asked
from dimfree.audit.search.climb import Quarry
from dimfree.audit.search.hunted_sums import Pushed, shifted, space_of
from dimfree.audit.search.moves import Terrain
from dimfree.audit.subjects.subject import whole_mu
from dimfree.geometry.bases.cosine import Cosine
from dimfree.geometry.space import Space
from dimfree.mechanisms import Measured
from dimfree.mechanisms.directions import (
    Lookout,
    Sighting,
    noisy_spread,
    noisy_unevenness,
    noisy_weight,
    sighted,
)
from dimfree.mechanisms.outer_sum import noisy_outer_sum, noisy_togetherness, outer_sum
from dimfree.noise import Noise

Release = Callable[[Table, float, Noise], Measured[float]]  # of a table, at a precision

_WIDEST = 64  # coordinates of a pair whose outer products are looked at
_ANGLES = Terrain((0.0, 1.0, -1.0, 0.5, -0.5, 1e6), (0.25, 0.1), fewest=1, most=8)


def lookout_of(space: Space) -> Lookout:
    """From the origin."""
    return Lookout(np.zeros(space.dimension), np.ones(space.dimension))


def seen_in(table: Table) -> Sighting:
    space = space_of(table)
    return sighted(space, lookout_of(space), Cosine(space.dimension))


def _number(name: str, epsilon: float, relation: Neighbours, release: Release) -> Quarry:
    mu = whole_mu(epsilon)

    def spread(table: Table) -> Floats:
        door = Asked()
        found = release(table, mu, door)
        return np.array([found.value / (door.asked[0][1] * found.event.step)])

    return shifted(name, epsilon, relation, spread, _ANGLES, size=4)


def unevenness(epsilon: float, relation: Neighbours) -> Quarry:
    """The length of a sum of clipped squares of directions."""

    def release(table: Table, mu: float, noise: Noise) -> Measured[float]:
        return noisy_unevenness(seen_in(table), mu, noise=noise)

    return _number("unevenness", epsilon, relation, release)


def weight(epsilon: float, relation: Neighbours) -> Quarry:
    """How much of the squares is left, summed."""

    def release(table: Table, mu: float, noise: Noise) -> Measured[float]:
        return noisy_weight(seen_in(table), mu, noise=noise)

    return _number("weight of unevenness", epsilon, relation, release)


def spread(epsilon: float, relation: Neighbours) -> Quarry:
    """The sum of absolute coordinates in the cosine basis."""

    def release(table: Table, mu: float, noise: Noise) -> Measured[float]:
        return noisy_spread(seen_in(table), mu, noise=noise)

    return _number("spread in a basis", epsilon, relation, release)


def togetherness(epsilon: float, relation: Neighbours) -> Quarry:
    """The length of the sum of outer products without its diagonal."""

    def release(table: Table, mu: float, noise: Noise) -> Measured[float]:
        space = space_of(table)
        return noisy_togetherness(outer_sum(space, lookout_of(space)), mu, relation, noise=noise)

    return _narrow(_number("togetherness", epsilon, relation, release))


def outer_products(epsilon: float, relation: Neighbours) -> Quarry:
    """The sum of outer products itself: every entry over the noise that it gets, each noise once (P12)."""
    mu = whole_mu(epsilon)

    def spread(table: Table) -> Floats:
        space, door = space_of(table), Asked()
        outer = outer_sum(space, lookout_of(space))
        quiet = noisy_outer_sum(outer, mu, relation, noise=door).value
        step = noisy_outer_sum(np.zeros_like(outer), mu, relation, noise=Pushed(1)).value
        once = np.triu_indices(len(outer))
        return quiet[once] / (step[once] * door.asked[0][1])

    return _narrow(shifted("outer products", epsilon, relation, spread, _ANGLES, size=4))


def _narrow(quarry: Quarry) -> Quarry:
    """Without the pairs whose matrix would not fit."""
    return replace(quarry, starts=tuple(pair for pair in quarry.starts if pair.here.shape[1] <= _WIDEST))
