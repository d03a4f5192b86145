"""Votes for far entries: which columns get a scale of their own, and what intervals allow for."""

from dataclasses import replace

import numpy as np
import pytest
from states import at_start, events_of

from dimfree.programs.choose.constants import VOTE_LEVELS, VOTES_SHARE
from dimfree.programs.columns.far import Far, load_laws, predict_bias
from dimfree.programs.columns.last import measure_lengths, release_last_mean
from dimfree.programs.columns.opening import learn_columns
from dimfree.programs.columns.refine import measure_sds
from dimfree.programs.columns.tails import widen_tails
from dimfree.testing import SeededNoise

COUNT = 3000
both = pytest.mark.parametrize("relation", ["add-remove", "replace-one"])


def test_the_bank_is_small_and_its_votes_are_those_of_its_columns():
    laws = load_laws()
    assert laws.offsets.nbytes < 2**18
    assert np.exp(laws.prior).sum() == pytest.approx(1)
    assert (laws.votes >= 0).all()
    far = (np.abs(laws.offsets) >= VOTE_LEVELS[0]).any(axis=1)
    assert ((laws.votes.sum(axis=1) > 0) == far).all()


def test_nothing_is_taken_by_a_large_ball_and_the_tail_by_a_small_one():
    assert np.abs(predict_bias(1e15, 0.0)).max() == 0
    skewed = load_laws().votes[:, len(VOTE_LEVELS) :].sum(axis=1) - load_laws().votes[:, : len(VOTE_LEVELS)].sum(axis=1)
    assert predict_bias(3.0, 0.0)[skewed > 0.02].min() > 0
    assert (np.abs(predict_bias(3.0, 0.0, 10.0)) <= np.abs(predict_bias(3.0, 0.0)) + 1e-3).mean() > 0.9


def test_votes_tell_a_group_from_none():
    none, some = np.zeros((2, 1, 2 * len(VOTE_LEVELS)))
    some[0, -4] = 0.05
    noise, unit = np.full(1, 0.004), np.ones(1)
    caps = np.full(1, 48.0)
    assert Far.read(none, noise, unit).cut(caps)[0] < 0.05
    assert Far.read(some, noise, unit).cut(caps)[0] > 0.95


def tailed(strength, noise, relation="add-remove", columns=8):
    """Normal columns, the first with a long tail; before and after `widen_tails`."""
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(COUNT, columns))
    rows[:, 0] = rng.lognormal(sigma=2.0, size=COUNT)
    before = measure_sds(learn_columns(at_start(rows, strength, noise, relation)))
    return before, widen_tails(before)


@both
def test_a_column_with_a_long_tail_is_widened_and_hardly_any_other(relation):
    grown = []
    for seed in range(5):
        before, after = tailed(300.0, SeededNoise(seed), relation)
        grown.append(after.stddev / before.stddev)
        assert events_of(after)[-1].purpose == "far entries of the columns"
        votes = round((before.left - after.left) / (VOTES_SHARE * before.precision), 6)
        assert votes in (3, 4)
    assert (np.array(grown)[:, 0] > 1.4).all()
    assert np.median(np.array(grown)[:, 1:]) == 1.0
    assert np.array(grown)[:, 1:].max() < 1.4


def test_an_interval_allows_for_more_where_less_is_in_reach():
    state, tail = measure_lengths(tailed(300.0, SeededNoise(1))[1])
    weak, strong = (release_last_mean(replace(state, left=left), tail)[1] for left in (state.left / 400, state.left))
    assert strong.ball.radius > weak.ball.radius
    assert (strong.hidden < weak.hidden).all()
    assert (strong.hidden > 0).all()
