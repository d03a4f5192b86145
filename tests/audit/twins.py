"""Wrong mechanisms, each with the claim it would make: ordinary mistakes that the audit must find."""

from dataclasses import dataclass, replace

import numpy as np

from dimfree.audit import subjects
from dimfree.audit.doors import Pooled
from dimfree.audit.neighbours import Pair, Place, pairs
from dimfree.audit.run import sample
from dimfree.budget import Neighbours
from dimfree.mechanisms.laplace_count import laplace_count
from dimfree.noise import SeededNoise

EPSILON = 1.0
FAILURE = 1e-6
DRAWS = 6000  # of either table, and half as many before


def row_of(subject, seed, draws=DRAWS):
    """The row of the audit on seeded noise: the same every time."""
    return sample(subject, float("inf"), FAILURE, Pooled(SeededNoise(seed)), draws)


def only(subject, *names):
    """The subject on the named pairs alone."""
    return replace(subject, pairs=lambda: tuple(pair for pair in subject.pairs() if pair.name in names))


@dataclass
class Halved:
    """A door that gives half of the Gaussian noise it was asked for."""

    door: object

    def gaussian(self, stddev, size):
        return self.door.gaussian(stddev / 2, size)


def half_the_noise(subject):
    return replace(subject, draw=lambda table, noise: subject.draw(table, Halved(noise)))


def gaussian_mean(epsilon=EPSILON):
    """A sum of records in [0, 1], right under add/remove; divided by a public number it would be a mean."""
    mu = subjects._mu(epsilon)

    def draw(table, noise):
        total = np.clip(table[:, 0], 0, 1).sum()
        return np.array([total + noise.gaussian(2.0**20 / mu, 1)[0] / 2.0**20])

    suite = (Pair("second record", Neighbours.ADD_REMOVE, np.ones((2, 1)), np.ones((1, 1))),)
    return subjects.Subject("mean", epsilon, subjects.DELTA, Neighbours.ADD_REMOVE, draw, lambda: suite)


def exact_count_in_the_scale():
    """The noise of a mean is divided by the true number of records: its spread tells the number."""
    right = gaussian_mean()
    return replace(right, draw=lambda table, noise: right.draw(table, noise) / len(table))


def radius_from_the_data():
    """Records are clipped to the largest norm found, and the noise is scaled to it."""
    mu = subjects._mu(EPSILON)

    def draw(table, noise):
        radius = max(float(np.abs(table).max()), 1e-9)
        return np.array([table[:, 0].sum() + radius * noise.gaussian(2.0**20 / mu, 1)[0] / 2.0**20])

    suite = tuple(pairs(Neighbours.ADD_REMOVE, Place(6), ("far outlier",)))
    return subjects.Subject("sum", EPSILON, subjects.DELTA, Neighbours.ADD_REMOVE, draw, lambda: suite)


def groups_by_index():
    """Consecutive records share a group: when the first one leaves, every group changes."""

    def draw(table, noise):
        column = np.append(table[:, 0], np.full(8, np.nan))[:8].reshape(4, 2)
        agree = int((column[:, 0] == column[:, 1]).sum())
        return np.array([laplace_count(agree, EPSILON, noise=noise).value], dtype=float)

    return replace(subjects.grouped_count(EPSILON), draw=draw)


def sample_of_fixed_size():
    """Exactly 20 records are looked at: a newcomer displaces another."""

    def draw(table, noise):
        order = np.argsort(noise.below(2**62, len(table)))[:20]
        return np.array([laplace_count(int(table[order, 0].sum()), EPSILON, noise=noise).value], dtype=float)

    return replace(subjects.sampled_sum(EPSILON), draw=draw)


RIGHT = {
    "clipped mean": lambda: only(subjects.clipped_mean(3.0, Neighbours.ADD_REMOVE), "clipping boundary"),
    "mean": gaussian_mean,
    "grouping": lambda: subjects.grouped_count(EPSILON),
    "sample": lambda: subjects.sampled_sum(EPSILON),
}
WRONG = {
    "half the noise": lambda: half_the_noise(RIGHT["clipped mean"]()),
    "exact n in the scale": exact_count_in_the_scale,
    "radius from the data": radius_from_the_data,
    "groups by index": groups_by_index,
    "sample of fixed size": sample_of_fixed_size,
}
