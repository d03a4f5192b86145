"""A release as a whole: which noise the stable core asks for, exactly; and how often honest data passes."""

import math
from fractions import Fraction

import numpy as np
import pytest
from privacy.asked import Asked, branches_with_test, open_session
from routes import with_options
from scipy.special import bdtrc
from stats import sampling

from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.ladder import DENOMINATOR
from dimfree.kernel.statistics.friends import RADIUS
from dimfree.kernel.statistics.stable import core_sensitivity
from dimfree.noise import SeededNoise
from dimfree.paper.averaging import friend_counts
from dimfree.release import release_mean
from dimfree.shapes import IsotropicCovariance

BUDGET = Budget(4.0, 1e-6)
COUNT, DIMENSION, ALARM = 350, 4, 1e-6


def spoiled(rng, strangers):
    found = rng.normal(loc=1.0, size=(COUNT, DIMENSION))
    found[:strangers] += 1e4
    found[strangers : strangers + 7, 0] += 4.5
    return found


# The map: with recording noise, the order of draws, every scale and the mean itself are exact


def statistic(counts, share, budget, floor):
    """T* by its definition (P4, P13, P5')."""
    n, slope = len(counts), 1 if floor is None else share
    found = next(k for k in range(budget + 1) if sum(int(c) < share * n + slope * k for c in counts) + k >= budget)
    return found if floor is None else min(found, max(0, n - floor))


def weighted_mean(values, counts, start, full):
    """Σ w x / Σ w with w = clip((c/n - a)/(b - a), 0, 1), in fractions of a grid step."""
    n = len(counts)
    w = [min(max((Fraction(int(c), n) - start) / (full - start), Fraction(0)), Fraction(1)) for c in counts]
    total = sum(w)
    return [sum(v * int(x) for v, x in zip(w, column, strict=True)) / total for column in values.T]


def assert_mean_event(event, sensitivity, mu, radius):
    """In its own steps: the bound, plus sqrt(d) for rounding, never less; noise finer than 2^24 steps to a stddev."""
    fine = sensitivity * RADIUS * (radius / RADIUS) / event.step  # the bound in steps of the noise grid
    assert event.sensitivity == pytest.approx(fine + math.sqrt(DIMENSION), rel=1e-12)
    assert event.sensitivity >= fine + math.sqrt(DIMENSION) * (1 - 1e-12)
    assert event.mu <= mu * (1 + 1e-15)
    assert event.mu == pytest.approx(mu, rel=1e-8)
    assert event.stddev >= 2**24
    assert event.dimension == DIMENSION


@pytest.mark.parametrize("strangers", [5, 30])
@pytest.mark.parametrize("relation", Neighbors)
def test_the_map_of_the_stable_core(rng, relation, strangers):
    """The rung of the coin, the charge of the mean, and the mean itself."""
    noise, table, radius, share = Asked(), spoiled(rng, strangers), 6.0, Fraction(4, 5)
    branches = branches_with_test(relation, BUDGET)
    branch = branches.tested[0]
    ladder, budget, mu = branch.ladder, branch.ladder.length + 15, 0.9 * branch.mu
    public = relation is Neighbors.REPLACE_ONE
    floor, start = (None, Fraction(COUNT + 1, 2 * COUNT)) if public else (COUNT - 60, Fraction(1, 2))
    _, view = open_session(table, relation, noise, branches)
    found = view.pairs(0).core_mean(radius, share, budget, floor, mu)
    values = np.rint(table / (radius / RADIUS)).astype(np.int64)
    counts = friend_counts(values)
    stable_by = statistic(counts, share, budget, floor)
    assert (2 < stable_by < ladder.length) == (strangers == 30)  # on the way up, or at the top
    rung = ladder.rungs[min(stable_by, ladder.length)]
    assert noise.log == [("coin", rung, DENOMINATOR), ("gaussian", found.event.stddev, DIMENSION)]
    assert_mean_event(
        found.event, core_sensitivity(COUNT if public else floor + 3, share, budget, relation), mu, radius
    )
    exact = weighted_mean(values, counts, start, share)
    assert np.allclose(found.value, [float(m) * radius / RADIUS for m in exact], rtol=0, atol=1e-6 * found.stddev)


# Honest data passes, wild data does not


def refused_too_often(refused, draws):
    """More refusals than a pass probability of 0.99 explains."""
    return bool(bdtrc(refused - 1, draws, 0.01) <= ALARM) if refused else False


def refusals(seed, draws, rows_of, **given):
    noises = (SeededNoise(100 * seed + index) for index in range(draws))
    tables = (rows_of(np.random.default_rng([seed, index])) for index in range(draws))
    options = with_options(delta=1e-6, **given)
    return sum(release_mean(X, noise=noise, **options).refused for X, noise in zip(tables, noises, strict=True))


@sampling(ALARM)
def test_honest_tables_pass_and_wild_ones_do_not(seed):
    def honest(rng):
        return rng.normal(size=(500, 20)) * np.linspace(3, 0.3, 20)

    def wild(rng):
        return rng.normal(size=(500, 20)) * 10 ** rng.uniform(-5, 5, size=(500, 1))

    assert not refused_too_often(refusals(seed, 30, honest, epsilon=2.0), 30)
    assert refused_too_often(refusals(seed, 8, wild, epsilon=2.0), 8)


SPECTRA = {
    "flat": np.ones(40),
    "decay": 1 / np.arange(1, 41) ** 0.5,
    "steep": 1 / np.arange(1, 41),
    "spiked": np.concatenate([[10.0, 10.0], np.ones(38)]),
    "low rank": np.concatenate([np.ones(4), np.full(36, 1e-3)]),
}


@pytest.mark.slow
@pytest.mark.parametrize("stddev", SPECTRA.values(), ids=SPECTRA.keys())
@sampling(ALARM)
def test_five_hundred_honest_records_pass(seed, stddev):
    def honest(rng):
        return rng.normal(size=(500, len(stddev))) * stddev + rng.normal(size=len(stddev))

    assert not refused_too_often(refusals(seed, 100, honest, epsilon=1.0), 100)


@pytest.mark.slow
@sampling(ALARM)
@pytest.mark.parametrize(("tails", "outliers"), [("gaussian", 0.0), ("heavy", 0.03)])
@pytest.mark.parametrize("relation", Neighbors)
@pytest.mark.parametrize("size", [(250, 2), (400, 30)])
def test_honest_records_of_a_known_shape_pass(seed, relation, tails, outliers, size):
    given = {
        "epsilon": 4.0,
        "covariance": IsotropicCovariance(1.0),
        "tails": tails,
        "outliers": outliers,
        "neighbors": relation,
    }
    assert not refused_too_often(refusals(seed, 300, lambda rng: rng.normal(size=size), **given), 300)
