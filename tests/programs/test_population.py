"""What lengths say of the population: against moments of known laws, exactly counted, and against bounds."""

from dataclasses import replace

import numpy as np
import pytest

from dimfree.kernel.statistics.clipped_sum import Ball
from dimfree.programs.learn.restore import (
    NOT_MEASURED,
    LengthMoments,
    learned_population,
    squared_shift,
)
from dimfree.programs.learn.tail import LengthCounts, Lengths, Tail, length_edges

COUNT = 100_000


def looked_at(rows, radius, scale=1.0, noise=4.0):
    """A look at the lengths of these rows, with hardly any noise, clipped so many expected lengths away."""
    z = rows / scale
    variances = (z**2).mean(axis=0)
    predicted, rank = float(np.sqrt(variances.sum())), float(variances.sum() ** 2 / (variances**2).sum())
    edges = length_edges(rank) * predicted
    counts = np.bincount(np.searchsorted(edges, np.linalg.norm(z, axis=1)), minlength=len(edges) + 1).astype(float)
    tail = Tail.fitted(LengthCounts(edges, counts, noise, float(len(rows)), 0.0), rank, predicted)
    return Lengths(tail, Ball(np.zeros(rows.shape[1]), np.broadcast_to(scale, rows.shape[1:]), radius * predicted))


def found(rows, variances, radius=8.0, scale=1.0, **given):
    return learned_population(looked_at(rows, radius, scale), np.zeros(rows.shape[1]), variances, **given)


def normal(rng, dimension, correlation=0.0):
    shared, own = rng.normal(size=(COUNT, 1)), rng.normal(size=(COUNT, dimension))
    return np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own


@pytest.mark.parametrize("understated", [1.5, 4.0, 20.0])
def test_variances_that_are_too_small_are_widened_to_the_mean_square_of_the_lengths(rng, understated):
    rows = normal(rng, 5) * np.arange(1, 6)
    said = found(rows, rows.var(axis=0) / understated)
    assert said.widening == pytest.approx(understated, rel=0.1)


@pytest.mark.parametrize("true", [0.3, 0.6, 1.0])
def test_the_correlation_of_normal_columns_is_found(rng, true):
    said = found(normal(rng, 6, true), np.ones(6))
    assert true - 0.05 <= said.correlation <= true + 0.25


def test_what_is_drawn_in_counts_in_full_where_all_of_it_lies_in_one_direction(rng):
    """An exponential column cut at twice its deviation: the shift beside the deviation of the mean."""
    rows = rng.exponential(size=(COUNT, 1)) - 1
    seen = looked_at(rows, 2.0)
    shift, wide = np.maximum(rows - 2, 0).mean(), replace(seen, ball=replace(seen.ball, radius=12.0))
    cut, whole = (learned_population(each, np.zeros(1), np.ones(1)).widening for each in (seen, wide))
    assert cut - whole > 0.8 * COUNT * shift**2
    assert whole < 1.2


@pytest.mark.parametrize("radius", [0.8, 1.0, 1.5])
def test_the_shift_is_bounded(rng, radius):
    """Of skewed columns, independent and moved by one factor: |E[w z]| is below the bound in both."""
    own = rng.exponential(size=(COUNT, 20)) - 1
    for rows in (own, np.sqrt(0.5) * own + np.sqrt(0.5) * (rng.exponential(size=(COUNT, 1)) - 1)):
        seen = looked_at(rows, radius)
        z = rows / seen.ball.radius
        w = np.maximum(1 - 1 / np.linalg.norm(z, axis=1), 0)
        moments = LengthMoments.of(seen, 3.0)
        said = learned_population(seen, np.zeros(20), np.ones(20))
        bound = squared_shift(moments, np.full(20, 1 / seen.ball.radius**2), said.correlation)
        assert (w[:, None] * z).mean(axis=0) @ (w[:, None] * z).mean(axis=0) <= bound
        assert bound <= moments.excess**2


def test_moments_of_lengths(rng):
    rows = normal(rng, 5)
    seen = looked_at(rows, 1.2)
    moments, lengths = LengthMoments.of(seen, 3.0), np.linalg.norm(rows, axis=1) / seen.ball.radius
    assert moments.count == pytest.approx(COUNT, rel=0.01)
    assert moments.square == pytest.approx((np.minimum(lengths, 1) ** 2).mean(), rel=0.03)
    assert 1 <= moments.spread / (np.minimum(lengths, 3) ** 2).var() < 1.6
    assert moments.excess == pytest.approx(np.maximum(lengths - 1, 0).mean(), rel=0.2)
    assert moments.drawn == pytest.approx((np.maximum(1 - 1 / lengths, 0) ** 2).mean(), rel=0.3)


def test_records_beyond_the_last_edge_count_there_and_are_named(rng):
    rows = normal(rng, 5)
    rows[:100] *= 60  # beyond the last edge, which is 21 predicted lengths away
    near, far = found(rows[100:], np.ones(5)), found(rows, np.ones(5))
    assert (near.unmeasured, far.unmeasured) == (False, True)
    assert far.widening > near.widening + 100 * 10**2 / COUNT  # at least as much as 100 records at half the edge


@pytest.mark.parametrize("scale", [1e-170, 1e170])
def test_where_squares_leave_the_range_of_floats_nothing_is_added(rng, scale):
    seen = looked_at(normal(rng, 2), 8.0)
    seen = replace(seen, ball=replace(seen.ball, scale=np.full(2, scale)))
    assert learned_population(seen, np.ones(2), np.ones(2)) == NOT_MEASURED


def test_directions_learned_too_narrow_are_widened_along_the_widest(rng):
    rows = normal(rng, 10) * np.append(5.0, np.full(9, 0.5))
    variances = np.append(5.0, np.full(9, 0.5))  # the widest is five times too narrow, the others twice too wide
    scale = np.sqrt(np.sqrt(variances))
    plain, turned = (found(rows, variances, scale=scale, **given) for given in ({}, {"own": variances}))
    assert plain.correlation == turned.correlation > 0.3
    assert plain.widening * variances.sum() < 0.9 * rows.var(axis=0).sum()
    assert turned.widening * variances.sum() > rows.var(axis=0).sum()


@pytest.mark.parametrize("dimension", [1, 30])
def test_entries_that_may_have_been_held_are_not_measured(rng, dimension):
    """A hundred records lie far away in one column, held at 48 deviations; their length tells nothing of how far."""
    rows = rng.normal(size=(COUNT, dimension))
    rows[:100, 0] = 48.0
    seen = looked_at(rows, 8.0)
    assert not learned_population(seen, np.zeros(dimension), np.ones(dimension)).unmeasured
    held = replace(seen, ball=replace(seen.ball, cap=48.0))
    assert learned_population(held, np.zeros(dimension), np.ones(dimension)).unmeasured
    near = looked_at(rng.normal(size=(COUNT, dimension)), 8.0)
    near = replace(near, ball=replace(near.ball, cap=48.0))
    assert not learned_population(near, np.zeros(dimension), np.ones(dimension)).unmeasured
