"""A release as a whole: which noise it asks for, that its stated noise is the truth, that honest data passes."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flat_options import with_options
from privacy.asked import Asked, branches_with_test, opened
from scipy.special import bdtrc
from scipy.stats import chi2
from stats import sampling

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.ladder import DENOMINATOR
from dimfree.kernel.statistics.friends import RADIUS
from dimfree.kernel.statistics.stable import core_sensitivity
from dimfree.noise import SystemNoise
from dimfree.paper.friend_counts import friend_counts
from dimfree.release import release_mean
from dimfree.shapes import Isotropic

BUDGET = Budget(4.0, 1e-6)
FAILURE = 0.01
COUNT, DIMENSION = 350, 4


def release(X, noise, **way):
    return release_mean(X, **with_options(epsilon=4.0, delta=1e-6, shape=Isotropic(1.0), noise=noise, **way))


@pytest.fixture
def table(rng):
    """Most records together, some at the rim, a few far away: weights of every kind."""
    return spoiled(rng, strangers=5)


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
@pytest.mark.parametrize("relation", Neighbours)
def test_the_map_of_the_stable_core(rng, relation, strangers):
    """The rung of the coin, the charge of the mean, and the mean itself."""
    noise, table, radius, share = Asked(), spoiled(rng, strangers), 6.0, Fraction(4, 5)
    branches = branches_with_test(relation, BUDGET)
    branch = branches.tested[0]
    ladder, budget, mu = branch.ladder, branch.ladder.length + 15, 0.9 * branch.mu
    public = relation is Neighbours.REPLACE_ONE
    floor, start = (None, Fraction(COUNT + 1, 2 * COUNT)) if public else (COUNT - 60, Fraction(1, 2))
    _, view = opened(table, relation, noise, branches)
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


# The sample: noise_stddev is the truth

WAYS = {"known": {}, "gaussian tails": {"tails": "gaussian"}, "replace-one": {"neighbours": "replace-one"}}
WIDE, TRIALS = 40, 15


def noise_fits(errors, stddevs, false_alarm):
    """Whether errors have the stated standard deviations: the sum of squares of all of them is a chi-square."""
    ratio = float(((errors / stddevs) ** 2).sum())
    return min(chi2.cdf(ratio, errors.size), chi2.sf(ratio, errors.size)) > false_alarm / 2


@sampling(1e-6)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_the_stated_noise_is_the_truth(way):
    """All records at the origin, so that the released mean is the noise; right scale accepted, × 0.7 and × 1.3 not."""
    noise, origin = SystemNoise(), np.zeros((COUNT, WIDE))
    found = [release(origin, noise, **way) for _ in range(TRIALS)]
    kept = [one for one in found if not one.refused]
    assert len(kept) > TRIALS // 2
    errors, stddevs = (np.array([getattr(one, name) for one in kept]) for name in ("mean", "noise_stddev"))
    assert noise_fits(errors, stddevs, 1e-6)
    assert not noise_fits(errors, 0.7 * stddevs, 1e-6)
    assert not noise_fits(errors, 1.3 * stddevs, 1e-6)


# The sample: honest data passes


def refusals_fit(refusals, trials, probability, false_alarm):
    """Whether this many refusals are no surprise when each has at most this probability."""
    return refusals == 0 or bdtrc(refusals - 1, trials, probability) > false_alarm


@pytest.mark.slow
@sampling(1e-6)
@pytest.mark.parametrize("tails", ["gaussian", "heavy"])
@pytest.mark.parametrize("way", [WAYS["known"], WAYS["replace-one"]], ids=["known", "replace-one"])
@pytest.mark.parametrize(("count", "dimension"), [(250, 2), (400, 30)])
def test_honest_data_passes(rng, way, tails, count, dimension):
    """At least 0.99 of the tables that follow the model are released."""
    trials, noise = 300, SystemNoise()
    outliers = 0.0 if tails == "gaussian" else 0.03
    refused = sum(
        release(rng.normal(size=(count, dimension)), noise, tails=tails, outliers=outliers, **way).refused
        for _ in range(trials)
    )
    assert refusals_fit(refused, trials, FAILURE, 1e-6)
