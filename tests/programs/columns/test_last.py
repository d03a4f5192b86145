"""The look at the lengths, the radius, and the answer: its noise is exactly the stated one."""

import math

import numpy as np
import pytest
from recording import RecordingNoise
from states import at_start, drawn_in, events_of, with_noise

from dimfree.programs.columns.last import choose_clipping_radius, measure_lengths, release_last_mean
from dimfree.programs.columns.run import learn_before_lengths
from dimfree.programs.learn.tail import make_length_edges
from dimfree.testing import SeededNoise

COUNT = 2000
both = pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
weighed = pytest.mark.parametrize("relative", [True, False], ids=["relative", "total"])
TABLES = {
    "normal": lambda rng: rng.normal(size=(COUNT, 6)) * 10.0 ** np.arange(-3, 3),
    "one column": lambda rng: 5 + rng.normal(size=(COUNT, 1)),
    "skewed": lambda rng: rng.lognormal(0, 1.2, (COUNT, 4)),
    "outliers": lambda rng: rng.normal(size=(COUNT, 5)) * np.where(rng.random((COUNT, 1)) < 0.01, 100, 1),
    "constant": lambda rng: np.full((COUNT, 3), 7.0),
    "zeros": lambda rng: np.zeros((COUNT, 3)),
    "wide": lambda rng: rng.standard_t(3, (COUNT, 60)),
    "nearly constant": lambda rng: nearly_constant(rng),
}


def nearly_constant(rng):
    """Sixteen columns that hardly ever leave one value, then others."""
    still = np.where(rng.random((COUNT, 16)) < 0.02, 5 + rng.normal(size=(COUNT, 16)), 5.0)
    return np.hstack([still, rng.exponential(size=(COUNT, 34))])


def before_lengths(name, noise=None, relation="add-remove", **given):
    return learn_before_lengths(at_start(TABLES[name](np.random.default_rng(1)), 150.0, noise, relation, **given))


@weighed
@pytest.mark.parametrize("name", TABLES)
def test_the_radius_lies_between_the_nearest_lengths_and_the_last_edge(name, relative):
    for noise in (None, SeededNoise(0), SeededNoise(1), SeededNoise(2)):
        state = before_lengths(name, noise, relative=relative)
        length, rank = state.length, state.rank
        state, tail = measure_lengths(state)
        assert tail.last_edge == pytest.approx(length * make_length_edges(rank)[-1])
        _, answer = release_last_mean(state, tail)
        assert 0.2 * length <= answer.ball.radius <= tail.last_edge


@both
@weighed
@pytest.mark.parametrize("stddev", [0.0, 12.0])
def test_the_stated_variance_is_that_of_the_draw_and_of_the_count(relation, relative, stddev):
    state = before_lengths("normal", SeededNoise(3), relation, relative=relative, count=1990.0, count_stddev=stddev)
    state, answer = release_last_mean(*measure_lengths(state))
    event, scale = events_of(state)[-1], answer.ball.scale
    of_draw = (event.stddev * event.step / 1990.0 * scale) ** 2
    of_count = ((answer.mean - answer.ball.center) * stddev / 1990.0) ** 2
    np.testing.assert_allclose(answer.variance, of_draw + of_count, rtol=1e-12)
    assert (of_count > 1e-9 * of_draw).any() == (stddev > 0)  # and both count
    np.testing.assert_allclose(event.stddev * event.step * event.mu, answer.ball.radius * state.setting.sensitivity)


def test_the_draw_that_chooses_the_radius_does_not_enter_the_mean():
    """Other noise in the look alone: with the same radius the mean is the same to the last bit."""
    before, answers = before_lengths("normal", SeededNoise(5)), []
    looks = [measure_lengths(with_noise(before, SeededNoise(seed))) for seed in (6, 7)]
    for state, _ in looks:
        _, answer = release_last_mean(with_noise(state, SeededNoise(8)), looks[0][1])  # the tail of the first look
        answers.append(answer)
    assert answers[0].ball.radius == answers[1].ball.radius
    np.testing.assert_array_equal(answers[0].mean, answers[1].mean)
    np.testing.assert_array_equal(answers[0].variance, answers[1].variance)


@weighed
@pytest.mark.parametrize("name", ["normal", "skewed", "outliers", "constant", "zeros", "wide", "nearly constant"])
def test_without_noise_the_answer_is_the_mean_of_records_drawn_in(name, relative):
    rows = TABLES[name](np.random.default_rng(1))
    state = before_lengths(name, SeededNoise(2), relative=relative)
    state, answer = release_last_mean(*measure_lengths(with_noise(state, RecordingNoise())))
    clipping = answer.clipping()
    off = np.abs(answer.mean - drawn_in(rows, clipping))
    assert (off <= 1e-6 * clipping.column_radii + 1e-12 * np.abs(answer.mean)).all()  # records are rounded to a grid
    assert clipping.radius == answer.ball.radius


@weighed
def test_columns_that_hardly_ever_leave_one_value_do_not_draw_the_others_in(relative):
    """Other values are within reach, and the noise of the other columns is about what it is without these columns."""
    rows = TABLES["nearly constant"](np.random.default_rng(1))
    noise = []
    for some in (rows, rows[:, 16:]):
        strength = 150.0 * math.sqrt(rows.shape[1] / some.shape[1])  # the same budget
        state = learn_before_lengths(at_start(some, strength, SeededNoise(2), relative=relative))
        answer = release_last_mean(*measure_lengths(state))[1]
        noise.append(np.median(np.sqrt(answer.variance)[-34:]))
        off = np.abs(answer.mean - some.mean(axis=0)) / some.std(axis=0)
        assert off.max() < 0.5
    assert noise[0] < 1.4 * noise[1]


def test_an_atom_away_from_zero_looks_like_one_value_and_one_at_zero_does_not():
    """Of a column of mostly zeros the size of the other entries is known, and they are within reach."""
    rng = np.random.default_rng(1)
    still, zeros = nearly_constant(rng)[:, :16], rng.lognormal(size=(COUNT, 16)) * (rng.random((COUNT, 16)) < 0.3)
    state = learn_before_lengths(at_start(np.hstack([still, zeros, 1.0 - 0.0 * still[:, :1]]), 60.0, SeededNoise(3)))
    assert state.without_interval[:16].sum() >= 14
    assert state.narrow[16:32].any()  # otherwise this tests nothing
    assert not state.without_interval[16:32].any()
    assert state.without_interval[32]  # nothing but ones
    assert (state.narrow >= state.without_interval).all()


@weighed
def test_ones_are_within_reach_where_only_zeros_were_seen(relative):
    """A rare indicator: its ones are too few for the histogram of lengths, and count in full all the same."""
    rows = np.zeros((COUNT, 1))
    rows[:20] = 1.0
    state = learn_before_lengths(at_start(rows, 150.0, SeededNoise(4), relative=relative))
    assert state.unseen.all()
    state, tail = measure_lengths(state)
    assert choose_clipping_radius(state, tail)[0] >= 1 / state.scale[0]
