"""The mechanisms as they are, but for `int`: it lets a draw pass that is settled only when it is added.

Votes and layouts have no single sum to look at; they are handed to the run together with what they are about.
"""

from collections import Counter

import pytest
from dimfree.mechanisms import search  # GONE
from replay.transcript import kept_whole

from dimfree.kernel.statistics import count, missing
from dimfree.kernel.statistics import unit_vectors as directions
from dimfree.paper import algorithm2, averaging, group_variances, laplace_count, stable_histogram, variance_profile

WHOLE = (count, directions, laplace_count, missing, search)


@pytest.fixture(autouse=True)
def watched(monkeypatch):
    for module in WHOLE:
        monkeypatch.setattr(module, "int", kept_whole, raising=False)
    for module in (algorithm2, variance_profile):
        monkeypatch.setattr(module, "slots", laid_out(module.slots))
    monkeypatch.setattr(stable_histogram, "stable_histogram", histogram(stable_histogram.stable_histogram))
    monkeypatch.setattr(group_variances, "sparse_vector", sparse(group_variances.sparse_vector))
    averages = []
    monkeypatch.setattr(averaging, "_charge", charge(averaging._charge, averages))
    monkeypatch.setattr(algorithm2, "average", average(algorithm2.average, averages))


def laid_out(slots):
    return lambda number, groups, size, noise: noise.laid_out(number, groups, size, slots)


def histogram(real):
    def asked(cells, epsilon, delta, *, noise, purpose):
        setting = ("histogram", epsilon, delta, purpose)
        return noise.voted(Counter(cells), setting, lambda plain: real(cells, epsilon, delta, noise=plain))

    return asked


def sparse(real):
    def asked(queries, threshold, most, epsilon, delta, *, noise, purpose):
        setting = ("sparse vector", len(queries), threshold, most, epsilon, delta)
        return noise.voted(
            Counter(dict(enumerate(queries.tolist()))),
            setting,
            lambda plain: real(queries, threshold, most, epsilon, delta, noise=plain),
        )

    return asked


def charge(real, averages):
    def charged(budget, choice, *events):
        averages.append((choice.distance, events))
        return real(budget, choice, *events)

    return charged


def average(real, averages):
    def averaged(*setting, noise):
        found = real(*setting, noise=noise)
        noise.averages.append(averages.pop())
        return found

    return averaged
