"""A better center and better spreads: what they cost, what they find, what they leave alone."""

import numpy as np
from states import at_start

from dimfree.programs.choose.constants import MIN_STDDEV_FACTOR, RARE_STDDEV
from dimfree.programs.columns.opening import learn_columns
from dimfree.programs.columns.refine import measure_sds, recenter
from dimfree.programs.columns.run import learn_before_lengths
from dimfree.testing import SeededNoise

COUNT, EACH = 3000, 8


def table(seed):
    """Normal columns, most of them far from zero, then exponential ones, in units from 1e-8 to 1e8."""
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=(COUNT, EACH)) + rng.uniform(-300, 300, EACH)
    return np.hstack([normal, rng.exponential(size=(COUNT, EACH))]) * 2.5 * 10.0 ** rng.integers(-8, 9, 2 * EACH)


def factors(seed, noise, strength=100.0):
    """How far each learned spread is off, as a factor of at least 1."""
    rows = table(seed)
    return np.exp(np.abs(np.log(learn_before_lengths(at_start(rows, strength, noise)).stddev / rows.std(axis=0))))


def test_spreads_are_learned_within_a_factor_at_strength_100():
    """Of 320 spreads at most a tenth may be off by more than 1.6: the exponential ones stand less clear of noise."""
    off = np.array([factors(seed, SeededNoise(seed)) for seed in range(20)])
    assert (off < 1.6).mean() > 0.9
    assert (off[:, :EACH] < 1.6).mean() > 0.96
    assert off.max() < 3


def test_spreads_are_learned_closer_where_precision_is_high_or_noise_is_zero():
    """Exponential columns may get a larger scale of their own."""
    off = np.array([factors(seed, SeededNoise(seed), 1000.0) for seed in range(5)])
    assert off[:, :EACH].max() < 1.2
    assert off.max() < 5
    exact = factors(0, None)
    assert exact[:EACH].max() < 1.1
    assert exact.max() < 5


def test_a_centre_at_the_mode_is_moved_towards_the_mean():
    rows = np.random.default_rng(1).exponential(size=(COUNT, EACH))
    opened = learn_columns(at_start(rows, 300.0, SeededNoise(1)))
    moved = recenter(opened)
    before, after = (np.abs(state.center - rows.mean(axis=0)) / rows.std(axis=0) for state in (opened, moved))
    assert before.mean() > 0.2
    assert after.mean() < 0.5 * before.mean()
    assert (moved.center_variance <= opened.center_variance + (0.2 * rows.std(axis=0)) ** 2).all()


def test_scores_lower_no_spread_below_its_half_and_none_of_a_column_of_zeros():
    """Rare large entries score little, so a small score is no proof of a small spread."""
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.normal(size=(COUNT, 3)), np.zeros(COUNT), np.full(COUNT, 7.0)])
    opened = learn_columns(at_start(rows, 300.0, SeededNoise(3)))
    state = measure_sds(opened)
    assert (state.stddev >= MIN_STDDEV_FACTOR * opened.stddev).all()
    assert state.unseen.tolist() == [False, False, False, True, False]
    assert state.stddev[3] >= RARE_STDDEV
    assert state.stddev[4] == MIN_STDDEV_FACTOR * opened.stddev[4]


def test_scores_raise_a_spread_that_was_too_small():
    rng = np.random.default_rng(4)
    rows = 1e4 * rng.lognormal(0, 1, (COUNT, 4))
    opened = learn_columns(at_start(rows, 300.0, SeededNoise(4)))
    state = measure_sds(opened)
    assert (opened.stddev < 0.8 * rows.std(axis=0)).all()
    assert (state.stddev > opened.stddev).all()
