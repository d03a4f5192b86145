"""P1 in tiny worlds: the filter's outcomes are enumerated, and the true divergence is compared with the lifting."""

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from exact.worlds import LINE, WORLDS, as_counts, removals, replacements, squared_distance, tables

from dimfree.accounting.discrete import after_lifting, before_lifting
from dimfree.kernel.statistics.friends import RADIUS
from dimfree.paper import averaging as basic

MOST = 5
BUDGETS = [(0.1, 0.0), (0.1, 1e-3), (0.5, 1e-3), (1.0, 0.0), (1.0, 1e-3)]
every_world = pytest.mark.parametrize("places", WORLDS.values(), ids=WORLDS.keys())


class OneCoin:
    """Noise that gives every record the same coin."""

    def __init__(self, coin):
        self.coin = coin

    def below(self, bound, size):
        return np.full(size, self.coin, dtype=np.int64)


@cache
def keep_probabilities(table):
    """The exact probability of being kept, record by record: the share of the n coins that keep it."""
    n = len(table)
    kept = sum((basic.keep(as_counts(table), OneCoin(coin)) for coin in range(n)), np.zeros(n, dtype=np.int64))
    return tuple(Fraction(int(k), n) for k in kept)


@cache
def outcomes(table):
    """Every multiset of kept records with its probability."""
    p, chances = keep_probabilities(table), Counter()
    for kept in product((False, True), repeat=len(table)):
        chance = math.prod(q if k else 1 - q for q, k in zip(p, kept, strict=True))
        if chance:
            chances[tuple(record for record, k in zip(table, kept, strict=True) if k)] += chance
    return [(kept, float(chance)) for kept, chance in chances.items()]


# Mechanisms on friendly data, (epsilon, delta)-private when one record comes or goes. The first three are tight.


@cache
def geometric(kept, epsilon, delta):
    """The number kept plus two-sided geometric noise held within 0 … MOST; with probability delta the bare number."""
    k, outputs = len(kept), np.arange(MOST + 1)
    q = math.exp(-epsilon)
    noisy = np.where((outputs == 0) | (outputs == MOST), 1 / (1 + q), (1 - q) / (1 + q)) * q ** np.abs(outputs - k)
    return np.concatenate([(1 - delta) * noisy, delta * (outputs == k)])


@cache
def staircase(kept, epsilon, delta):
    """One bit whose probability climbs as fast as (epsilon, delta) allows: p_0 = 0, p_{k+1} = e^epsilon·p_k + delta."""
    p = delta * math.expm1(len(kept) * epsilon) / math.expm1(epsilon)
    return np.array([p, 1 - p])


@cache
def parity(kept, epsilon, delta):
    """Randomised response on whether the number kept is odd."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    p = delta + (1 - delta) * truth
    return np.array([p, 1 - p])[:: -1 if len(kept) % 2 else 1]


@cache
def presence(kept, epsilon, delta):
    """Randomised response on whether anybody stands at the radius."""
    return parity(kept[:1] if any(record and record[0] == RADIUS for record in kept) else (), epsilon, delta)


MECHANISMS = [geometric, staircase, parity, presence]
every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.__name__)


def filtered(mechanism, table, epsilon, delta):
    """The output distribution of the mechanism behind the filter."""
    return sum(chance * mechanism(kept, epsilon, delta) for kept, chance in outcomes(table))


def divergence(p, q, epsilon):
    """Hockey stick, the larger of both directions."""
    return max(np.maximum(p - math.exp(epsilon) * q, 0).sum(), np.maximum(q - math.exp(epsilon) * p, 0).sum())


@cache
def pairs(places):
    return [(t, smaller) for size in range(1, MOST + 1) for t in tables(places, size) for smaller in removals(t)]


def worst(places, mechanism, inner, level):
    """The largest divergence at `level` over all neighbors, for a mechanism `inner`-private on friendly data."""
    spread = {t: filtered(mechanism, t, *inner) for pair in pairs(places) for t in pair}
    return max(divergence(spread[table], spread[smaller], level) for table, smaller in pairs(places))


@every_mechanism
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_mechanisms_are_private_on_friendly_data(mechanism, epsilon, delta):
    for table, smaller in pairs(LINE):
        spent = divergence(mechanism(table, epsilon, delta), mechanism(smaller, epsilon, delta), epsilon)
        assert spent <= delta + 1e-12


@every_world
@every_mechanism
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_lifting_covers_the_true_divergence(places, mechanism, epsilon, delta):
    total_epsilon, total_delta = after_lifting(epsilon, delta)
    assert worst(places, mechanism, (epsilon, delta), total_epsilon) <= total_delta + 1e-12


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS[1:])
@every_mechanism
def test_the_budget_before_lifting_is_enough(mechanism, epsilon, delta):
    """What the user asked for in total is what comes out: the direction that calibration uses."""
    inner = before_lifting(epsilon, delta)
    assert worst(LINE, mechanism, inner, epsilon) <= delta + 1e-12


# Broken twins


@pytest.mark.parametrize("epsilon", [0.1, 0.3])
def test_the_printed_constant_is_violated(epsilon):
    """2·(e^epsilon - 1)·epsilon: below epsilon itself, which data of friends shows without any filter."""
    printed = 2 * math.expm1(epsilon) * epsilon
    assert worst(LINE, geometric, (epsilon, 0.0), printed) > 1e-3


@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_no_lifting_at_all_is_violated(epsilon):
    assert worst(LINE, geometric, (epsilon, 0.0), epsilon) > 1e-3
    assert worst(LINE, staircase, (epsilon, 1e-3), epsilon) > 1.1e-3


def test_both_constants_are_nearly_sharp():
    """At a small epsilon even five records come within a fifth of both constants."""
    epsilon, delta = 0.1, 1e-3
    total_epsilon, total_delta = after_lifting(epsilon, delta)
    assert worst(LINE, geometric, (epsilon, 0.0), 0.8 * total_epsilon) > 1e-4
    assert worst(LINE, staircase, (epsilon, delta), total_epsilon) > 0.8 * total_delta


# The two facts behind the lifting


def drift(table, smaller):
    """p_n + Σ|p_j - p'_j|, the newcomer being the record that `smaller` lacks."""
    before, after = list(keep_probabilities(smaller)), list(keep_probabilities(table))
    newcomer = next(j for j in range(len(table)) if table[:j] + table[j + 1 :] == smaller)
    return after.pop(newcomer) + sum(abs(p - q) for p, q in zip(after, before, strict=True))


@every_world
def test_the_drift_is_at_most_two_less_a_share(places):
    assert all(drift(table, smaller) <= 2 - Fraction(1, len(table)) for table, smaller in pairs(places))


def keepable(*both):
    return [record for table in both for record, p in zip(table, keep_probabilities(table), strict=True) if p]


def widest(records):
    return max((squared_distance(x, y) for x in records for y in records), default=0)


def test_records_that_can_be_kept_lie_within_twice_the_radius():
    """Friendliness: under either of two neighbors, not only under one of them."""
    for places in (LINE, WORLDS["plane"]):
        assert all(widest(keepable(*pair)) <= (2 * RADIUS) ** 2 for pair in pairs(places))


def test_friendliness_fails_under_replace_one():
    """One replaced record can lend its friendship to two distant camps, so no bound holds there."""
    found = [
        widest(keepable((*rest, out), (*rest, put)))
        for table in tables(LINE, 3)
        for out, put, rest in replacements(table, LINE)
    ]
    assert max(found) > (2 * RADIUS) ** 2
