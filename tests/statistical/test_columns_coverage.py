"""Column by column: the stated noise is that about the mean of the records drawn in; intervals are no narrower."""

import numpy as np
import pytest
from scipy.stats import norm
from states import drawn_in
from stats import frequency_fits, sampling

from dimfree import release_mean
from dimfree.testing import SeededNoise

FALSE_ALARM = 1e-6
DRAWS, CONFIDENCE = 40, 0.95


def survey(rng, count):
    """Ten columns of a made-up survey: grams, money, minutes, counts, answers, a sensor far from zero, a trace."""
    age = rng.gamma(9.0, 5.0)
    columns = [
        rng.normal(3300, 480, count),  # birth weight
        rng.lognormal(10.2, 0.8, count),  # income
        rng.gamma(2.0, 14.0, count),  # minutes on the way
        rng.poisson(2.2, count),  # members of the household
        rng.random(count) < 0.35,
        rng.random(count) < 0.08,
        101_325 + 640 * rng.normal(size=count),
        3e-7 * rng.weibull(1.6, count),
        age + 17 * rng.standard_t(4, count),
        -rng.exponential(0.02, count),
    ]
    return np.column_stack(columns).astype(float)


def mixed_units(rng):
    """Two surveys side by side, the second in other units."""
    count = int(rng.integers(3000, 6000))
    return np.hstack([survey(rng, count), survey(rng, count) * 10.0 ** rng.integers(-4, 5, 10)])


def covered(seed, relation, objective, factor=1.0):
    """(covered, all): columns of fresh tables under fresh noise whose error is within the stated noise, scaled."""
    found = []
    for draw in range(DRAWS):
        rows = mixed_units(np.random.default_rng([seed, draw]))
        given = {"epsilon": 2.5, "delta": 1e-6, "objective": objective, "neighbors": relation}
        release = release_mean(rows, noise=SeededNoise(1000 * seed + draw), **given)
        assert release.method == "columns"
        low, high = release.confidence_interval(CONFIDENCE, target="sample")
        noise = norm.isf((1 - CONFIDENCE) / 2) * release.noise_stddev
        assert ((high - low) / 2 >= 0.999 * noise).all()  # clipping is allowed for besides
        found.append(np.abs(release.mean - drawn_in(rows, release.clipping)) <= factor * noise)
    return int(np.sum(found)), np.size(found)


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["relative", "total"])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@sampling(FALSE_ALARM)
def test_the_stated_noise_is_that_about_the_mean_of_records_drawn_in(seed, relation, objective):
    assert frequency_fits(*covered(seed, relation, objective), CONFIDENCE, FALSE_ALARM)
    assert not frequency_fits(*covered(seed, relation, objective, 0.7), CONFIDENCE, FALSE_ALARM)
