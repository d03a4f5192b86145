"""Wrong mechanisms, each with the claim it would make: ordinary mistakes, made in the project's own code."""

from dataclasses import dataclass, replace

import numpy as np
from dimfree.programs.without_test import soft_mean

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import calibrate_bounded
from dimfree.audit.audited import DELTA, of_tables, plain_space, prepared, whole_mu
from dimfree.audit.core_runs import model, run_on
from dimfree.audit.mechanisms import clipped_mean, group_variances, outer_products, poisson_sample, soft_core
from dimfree.audit.noise_doubles import PooledNoise
from dimfree.audit.sampling import AMPLE, sample
from dimfree.kernel.statistics.samples import fixed_sample
from dimfree.kernel.statistics.unit_vectors import LENGTH
from dimfree.noise import SeededNoise
from dimfree.paper.grouping import EMPTY
from dimfree.programs.choose.core import default_bounded

EPSILON = 1.0
FAILURE = 1e-6
DRAWS = {"half the noise": 6000, "sample of fixed size": 8000, "radius from the data": 300, "soft core": 300}
FEW = 800  # of either table, and half as many before: enough for the others


def row_of(subject, seed, draws=FEW):
    """The row of the audit on seeded noise: the same every time."""
    return sample(subject, AMPLE, FAILURE, PooledNoise(SeededNoise(seed)), draws)


def only(subject, *names):
    """The subject on the named pairs alone."""
    return replace(subject, pairs=lambda: tuple(pair for pair in subject.pairs() if pair.name in names))


@dataclass
class Halved:
    """Draws half of the Gaussian noise that it is asked for."""

    source: object

    def gaussian(self, stddev, size):
        return self.source.gaussian(stddev / 2, size)


def half_the_noise():
    subject = RIGHT["clipped mean"]()
    return replace(subject, draw=lambda table, noise: subject.draw(table, Halved(noise)))


def exact_count_in_the_scale():
    """A clipped mean divided by the true number of records: how far its noise reaches tells the number."""
    mu = whole_mu(EPSILON)

    def draw(table, noise):
        return clipped_mean.clipped_row(plain_space(table), len(table), mu, Neighbours.ADD_REMOVE, noise)

    return replace(RIGHT["released count"](), draw=draw)


def radius_from_the_data():
    """The soft core with a radius that covers all records it is given."""
    budget, relation = Budget(EPSILON, DELTA), Neighbours.ADD_REMOVE
    branch = calibrate_bounded(budget)
    choice = default_bounded(branch, model())
    run_at = prepared(lambda table: run_on(table, budget, relation))

    def draw(table, noise):
        run = replace(run_at(table), noise=noise)
        read = replace(choice, radius=max(1e-9, 2 * float(np.abs(table).max())))
        found = soft_mean(run, read, run.ledger((), (branch,), chosen=0))
        return np.array([1.0, np.nan] if found.refused else [0.0, found.mean[0]])

    return replace(RIGHT["soft core"](), draw=draw)


def by_index(count, groups, size, noise):
    """Consecutive records share a group: when the first one leaves, every group changes."""
    wanted = np.arange(groups * size)
    return np.where(wanted < count, wanted, EMPTY).reshape(groups, size)


def groups_by_index():
    return group_variances.grouped_variances(EPSILON, by_index)


def sample_of_fixed_size():
    """Exactly 20 records are looked at: a newcomer displaces another."""
    mu = whole_mu(EPSILON)

    def draw(table, noise):
        seen = np.asarray(table)[fixed_sample(len(table), 20, noise)]
        return clipped_mean.clipped_row(plain_space(seen), clipped_mean.COUNT, mu, Neighbours.ADD_REMOVE, noise)

    return replace(poisson_sample.sampled_mean(EPSILON), draw=draw)


def outer_products_of_far_records():
    """A record three times as far from the origin, or across."""
    across = np.array([[1.0, 1.0]] * 5), np.array([[3.0, 0.0]]), np.array([[0.0, 3.0]])
    tables = tuple(np.vstack([across[0], row]) for row in across[1:])
    pairs = of_tables(Neighbours.REPLACE_ONE, {"far axes": tables})
    return replace(outer_products.outer_products(3.0, Neighbours.REPLACE_ONE), pairs=pairs)


def records_for_directions():
    """Outer products of records that nobody has divided by their lengths."""
    mu = whole_mu(3.0)

    def draw(table, noise):
        steps = np.rint(LENGTH * np.asarray(table)).astype(np.int64)
        return outer_products.matrix_row(steps.T @ steps, mu, Neighbours.REPLACE_ONE, noise)

    return replace(outer_products_of_far_records(), draw=draw)


RIGHT = {
    "clipped mean": lambda: only(clipped_mean.clipped_mean(3.0, Neighbours.ADD_REMOVE), "clipping boundary"),
    "released count": lambda: only(clipped_mean.clipped_mean(EPSILON, Neighbours.ADD_REMOVE), "wide"),
    "soft core": lambda: only(soft_core.soft_core(EPSILON), "far outlier"),
    "grouped variances": lambda: group_variances.grouped_variances(EPSILON),
    "sample": lambda: poisson_sample.sampled_mean(EPSILON),
    "outer products": outer_products_of_far_records,
}
WRONG = {
    "half the noise": half_the_noise,
    "exact n in the scale": exact_count_in_the_scale,
    "radius from the data": radius_from_the_data,
    "groups by index": groups_by_index,
    "sample of fixed size": sample_of_fixed_size,
    "records for directions": records_for_directions,
}


def draws_of(name):
    return DRAWS.get(name, FEW)
