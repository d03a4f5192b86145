"""The noisy total of the soft weights (P3)."""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np

from dimfree.audit.audited import MU, Audited, ChargeCase, ExactCheck, value_off_lattice
from dimfree.audit.exact.claims import precise
from dimfree.audit.exact.divergence import LatticeShift, whole_mu
from dimfree.audit.noise_doubles import ZeroNoise
from dimfree.kernel.rows.grid import RADIUS
from dimfree.kernel.statistics.count import noisy_count, noisy_total
from dimfree.kernel.statistics.friends import friend_counts
from dimfree.noise import Noise
from dimfree.paper import soft
from dimfree.paper.charged import Measured

_CLIQUE = 200  # records; the total moves by 2 - 1/401


def gaussian_total(epsilon: float, delta: float) -> LatticeShift:
    """The total of two cliques, with and without a record that is a friend of everybody.

    The cliques have weight 0 by themselves, and nearly one together with it.
    """
    cliques = [-RADIUS] * _CLIQUE + [RADIUS] * _CLIQUE

    def total(table: list[int], mu: float, noise: Noise) -> Measured[float]:
        weights = soft.soft_weights(friend_counts(np.array(table, dtype=np.int64).reshape(-1, 1)))
        return noisy_total(soft.total_weight(weights), soft.TOTAL_SENSITIVITY, mu, "audit", noise=noise)

    mu = precise(whole_mu(epsilon, delta), lambda each: total([], each, ZeroNoise()).event)
    noises = ZeroNoise(), ZeroNoise()
    one, other = (total(table, mu, noise) for table, noise in zip((cliques, [*cliques, 0]), noises, strict=True))
    return LatticeShift.read_off(noises, other.value - one.value, other.event.step)


def _charges() -> Iterator[ChargeCase]:
    step = noisy_count(0, 1.0, noise=ZeroNoise()).event.step  # of the same grid; rounding to it adds one step
    release = partial(noisy_total, Fraction(1001, 7), soft.TOTAL_SENSITIVITY, MU, "audit")
    yield ChargeCase("total weight", release, MU, 2.0 + step, 1, value_off_lattice)


AUDIT = Audited(exact={"total weight": ExactCheck(gaussian_total)}, charges=_charges)
