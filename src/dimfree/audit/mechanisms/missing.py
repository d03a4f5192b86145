"""Noisy counts of missing entries: of all columns together, and of each (P22)."""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import scipy.sparse as sparse

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.audit.audited import (
    MU,
    Audited,
    ChargeCase,
    ExactCheck,
    Subject,
    plain_space,
    prepared,
    suite,
    value_off_lattice,
    whole_mu,
)
from dimfree.audit.exact import divergence
from dimfree.audit.exact.claims import precise
from dimfree.audit.exact.divergence import GaussianShifts
from dimfree.audit.noise_doubles import ZeroNoise
from dimfree.audit.numerics.records import COLUMNS, made_up, space_of
from dimfree.audit.pairs.pair import Table, TableSize
from dimfree.audit.search.climb import Target
from dimfree.audit.search.gaussian import gaussian_target, in_stddevs
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.missing import noisy_missing, noisy_missing_counts
from dimfree.noise import Noise

_NORM = 1.0  # one missing entry counts in full


def with_gaps(table: Table) -> Space:
    """The table, entry by entry; what lies half a unit or more from zero is missing."""
    if not sparse.issparse(table):
        return replace(plain_space(_with_gaps(table)), by_entry=True)
    rows = sparse.csr_array(table)
    parts = (_with_gaps(rows.data), rows.indices, rows.indptr)
    return replace(plain_space(sparse.csr_array(parts, shape=rows.shape)), by_entry=True)


def _with_gaps(values: Floats) -> Floats:
    return np.where(np.abs(values) < 0.5, values, np.nan)


def gaussian_missing(epsilon: float, delta: float) -> GaussianShifts:
    """A record in which all entries are missing, or none; the lattice is far finer than the noise."""
    there, gone = (replace(plain_space(np.full((1, 3), entry)), by_entry=True) for entry in (0.0, np.nan))
    mu = precise(divergence.whole_mu(epsilon, delta), lambda each: noisy_missing(there, each, noise=ZeroNoise()).event)
    noises = ZeroNoise(), ZeroNoise()
    few, many = (noisy_missing(space, mu, noise=n) for space, n in zip((there, gone), noises, strict=True))
    stddev = min(noise.asked[0][1] for noise in noises) * many.event.step
    return GaussianShifts((abs(many.value - few.value) / stddev,), slack=1e-12)


def missing_target(epsilon: float, relation: Neighbours) -> Target:
    mu = whole_mu(epsilon)

    def location(table: Table) -> Floats:
        return in_stddevs(partial(noisy_missing_counts, with_gaps(table), _NORM, mu, relation))

    return gaussian_target("missing entries", epsilon, relation, location)


def missing_entries(epsilon: float, relation: Neighbours) -> Subject:
    mu, space_at = whole_mu(epsilon), prepared(with_gaps)

    def draw(table: Table, noise: Noise) -> Floats:
        value = noisy_missing_counts(space_at(table), _NORM, mu, relation, noise=noise).value
        return np.array([value[0], value[1], value.mean()])

    first = "turned" if relation is Neighbours.REPLACE_ONE else "edge of friendliness"
    tables = suite(relation, TableSize(4), first, "far outlier", "wide", "sparse")
    return Subject(f"missing entries, {relation}", epsilon, relation, draw, tables)


def _charges() -> Iterator[ChargeCase]:
    space = replace(space_of(made_up()), by_entry=True)
    yield ChargeCase("missing share", partial(noisy_missing, space, MU), MU, 1.0, 1, value_off_lattice)
    for relation, norms in ((Neighbours.ADD_REMOVE, 1.0), (Neighbours.REPLACE_ONE, math.sqrt(2))):
        release = partial(noisy_missing_counts, space, 1.7, MU, relation)
        yield ChargeCase(f"missing entries, {relation}", release, MU, norms * 1.7, COLUMNS, value_off_lattice)


AUDIT = Audited(
    exact={"missing share": ExactCheck(gaussian_missing)},
    searches={"missing entries": missing_target},
    subjects=(missing_entries,),
    charges=_charges,
)
