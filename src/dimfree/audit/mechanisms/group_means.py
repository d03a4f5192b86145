"""Means over an unknown number of groups (M2); a row of the table is a group."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.sparse import issparse

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.audit.audited import MU, Audited, ChargeCase, Subject, of_tables, whole_mu
from dimfree.audit.noise_doubles import ZeroNoise
from dimfree.audit.numerics.records import COLUMNS, made_up
from dimfree.audit.pairs.pair import Both, Table
from dimfree.audit.search.climb import Target
from dimfree.audit.search.gaussian import gaussian_target
from dimfree.audit.search.moves import Domain
from dimfree.noise import Noise
from dimfree.paper.group_means import noisy_group_means


def group_target(epsilon: float, relation: Neighbours) -> Target:
    """Sums over complete groups and their number, in one Gaussian."""
    mu, most = whole_mu(epsilon), 2.0

    def location(table: Table) -> Floats:
        noise, values = ZeroNoise(), np.asarray(table, dtype=np.float64)
        found = noisy_group_means(values, most, mu, "audit", noise=noise)
        number, unit = found.value.groups, most / 2 / found.event.step  # of the grid, half the largest value
        sums = (2 * found.value.means / most - 1) * max(number, 1.0) * unit
        return np.append(sums, number * math.floor(unit * math.sqrt(3 * values.shape[1]))) / noise.asked[0][1]

    domain = Domain((0.0, 1.0, 2.0, 3.0, -1.0), (0.25,), fewest=3, most=6)
    return gaussian_target("group means", epsilon, relation, location, domain, lambda pair: not issparse(pair.here))


def group_means(epsilon: float, relation: Neighbours) -> Subject:
    """Means of two statistics."""
    mu = whole_mu(epsilon)

    def draw(table: Table, noise: Noise) -> Floats:
        found = noisy_group_means(np.asarray(table), 1.0, mu, "audit", noise=noise).value
        total = found.means * max(found.groups, 1.0)  # of the statistics: what the noise was added to
        return np.array([*total, total.sum(), found.groups])

    return Subject(f"group means, {relation}", epsilon, relation, draw, of_tables(relation, _tables(relation)))


def _tables(relation: Neighbours) -> dict[str, Both]:
    others = np.full((6, 2), 0.5)
    lowest, middle, highest = (np.vstack([others, np.full((1, 2), value)]) for value in (0.0, 0.5, 1.0))
    if relation is Neighbours.REPLACE_ONE:
        return {"from end to end": (lowest, highest), "to the middle": (lowest, middle)}
    return {"lowest group": (lowest, others), "middle group": (middle, others), "highest group": (highest, others)}


def _charges() -> Iterator[ChargeCase]:
    release = partial(noisy_group_means, np.abs(made_up()), 2.0, MU, "audit")
    yield ChargeCase("group means", release, MU, 2.0 * math.sqrt(COLUMNS), COLUMNS + 1)


AUDIT = Audited(searches={"group means": group_target}, subjects=(group_means,), charges=_charges)
