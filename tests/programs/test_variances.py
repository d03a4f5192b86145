"""Variances, stages and moves in a learned shape: what is found, what is spent, and what never enters the answer."""

import math
from dataclasses import replace

import numpy as np
import pytest
from recording import RecordingNoise
from run_states import after_core, purposes_of, spent

from dimfree.accounting.budget import Neighbours
from dimfree.kernel import Cosine, LearnedAxes
from dimfree.noise import SeededNoise
from dimfree.programs.choose import constants
from dimfree.programs.choose.constants import COUNTED_PRECISION, RECENTRE_SHARES, RECENTRE_STAGES
from dimfree.programs.learn.coordinates import centre_error, learn, learn_variances, measure_own, recentre
from dimfree.programs.learn.stages import last_stages, plan_stages, run_stages

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
COUNT, DIMENSION = 1500, 12
STDDEV = np.concatenate([[4.0, 3.0, 2.0], np.full(DIMENSION - 3, 0.2)])
FAR = 3.0  # off in every coordinate: more than half of what is seen of a record from there
both = pytest.mark.parametrize("relation", [ADD, REPLACE])
budgets = pytest.mark.parametrize("total", [0.02, 0.2, 2.0])


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(5).normal(size=(COUNT, DIMENSION)) * STDDEV + 7.0


@both
@budgets
def test_all_of_the_precision_is_used_and_no_more(rows, total, relation):
    state = learn(after_core(rows, total, relation))
    assert 0.99 * total < spent(state) <= total * (1 + 1e-12)
    assert state.left == pytest.approx(0.0, abs=1e-9 * total)


@budgets
@pytest.mark.parametrize("share", [0.1, 0.7, 1.0])
def test_a_plan_adds_up_to_what_it_was_given(rows, total, share):
    state = after_core(rows, total)
    for answer in (False, True):
        plan = plan_stages(state, share * state.left, answer=answer)
        assert sum(planned.mu**2 for planned in plan) == pytest.approx(share * state.left, rel=1e-9)
        assert sum(planned.weight for planned in plan) == pytest.approx(float(answer))
        assert bool(plan[-1].weight) is answer
        counted = [planned.mu**2 for planned in plan[:-1] if planned.weight]
        assert min(counted, default=total) >= COUNTED_PRECISION * total


@both
def test_only_stages_after_the_look_count_in_the_answer(rows, relation):
    state = learn(after_core(rows, 0.2, relation))
    purposes = purposes_of(state)
    assert purposes.count("lengths of the records") == 1
    before = [p for p in purposes[: purposes.index("lengths of the records")] if p.startswith("stage")]
    weights = [output.weight for output in state.known.outputs]
    assert not any(weights[: 1 + len(before)])  # the core, and stages for the centre
    assert all(weights[1 + len(before) :])
    assert sum(weights) == pytest.approx(1, rel=1e-12)


class _OtherLook(RecordingNoise):
    """No noise, but in the histogram of lengths, whose number of cells nothing else has."""

    def __init__(self, shift):
        super().__init__()
        self.shift = shift

    def gaussian(self, stddev, size):
        drawn = super().gaussian(stddev, size)
        shift = round(self.shift * stddev) if size not in (1, DIMENSION) else 0
        return drawn + shift * (np.arange(size) > size // 2)


def test_the_draw_that_chooses_the_radius_is_not_in_the_answer(rows):
    """Other noise in the look alone moves the radius, and with it the size of the noise; nothing else."""
    states = [learn(after_core(rows, 0.2, noise=_OtherLook(shift))) for shift in (0.0, 3.0)]
    assert states[0].ball.radius != states[1].ball.radius
    for state in states:
        assert state.known.answer()[0] == pytest.approx(rows.mean(axis=0), abs=0.05)


def test_the_variances_are_learned(rows):
    """Without noise the large coordinates come out right, and the small ones small."""
    state = learn(after_core(rows, 2.0))
    assert state.scores.variances[:3] == pytest.approx(STDDEV[:3] ** 2, rel=0.35)
    assert (state.scores.variances[3:] < 0.15).all()
    assert (state.log_variance >= 0).all()
    answer, variance, _ = state.known.answer()
    assert np.abs(answer - rows.mean(axis=0)).max() < 0.03
    assert variance[0] > 3 * variance[-1]


@pytest.mark.parametrize(("threshold", "looks"), [(math.inf, 1), (-1.0, 2)])
def test_a_second_look_is_taken_only_where_the_first_was_unsure(rows, monkeypatch, threshold, looks):
    monkeypatch.setattr(constants, "LOSS", threshold)
    assert purposes_of(learn(after_core(rows, 0.2))).count("variances") == looks


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-55, 1e-20, 1e20, 1e55])
def test_any_scale(rows, scale):
    state = learn(after_core(rows * scale, 0.2, noise=SeededNoise(3), off=0.05 * scale))
    assert np.isfinite(state.scores.variances).all()
    assert (state.scores.variances > 0).all()


# other coordinates


def turned(rows, total, basis):
    """A run that works in a public basis from the start."""
    state = after_core(basis.rotated(rows), total, seen=rows)
    return replace(state, setting=state.setting.rotated(basis, basis.width))


def uneven_axes(scale=STDDEV):
    directions = np.linalg.qr(np.random.default_rng(2).normal(size=(DIMENSION, 2)))[0]
    return LearnedAxes(directions, np.sqrt(scale), np.sqrt(scale[::-1]))


@both
@budgets
def test_recentring_leaves_noise_that_is_the_same_in_all_coordinates(rows, total, relation):
    before = after_core(rows, total, relation, SeededNoise(4), off=FAR)
    assert centre_error(before) > 0.3
    state = recentre(before)
    _, variance = state.known.combined
    assert np.ptp(variance) <= 1e-12 * variance.mean()
    low, high = RECENTRE_SHARES
    assert low * total * (1 - 1e-9) <= before.left - state.left <= high * total * (1 + 1e-9)
    assert len(state.known.outputs) <= 1 + RECENTRE_STAGES


@pytest.mark.parametrize("basis", [None, Cosine(DIMENSION)], ids=["own", "dct"])
def test_own_variances_are_measured_and_paid_for(rows, basis):
    before = after_core(rows, 2.0) if basis is None else turned(rows, 2.0, basis)
    state = measure_own(before)
    own = state.own_scores
    assert purposes_of(state) == ["unit of the scores", "variances"]
    assert spent(state) == pytest.approx(2.0 - state.left, rel=1e-9)
    assert own.variances[:3] == pytest.approx(rows.var(axis=0)[:3], rel=0.35)
    assert (own.variances[3:] < 0.2).all()
    assert (state.known.combined[0] == before.known.combined[0]).all()  # nothing else has changed


@pytest.mark.parametrize("basis", [Cosine(DIMENSION), uneven_axes()], ids=["dct", "learned"])
def test_moving_takes_along_what_is_known(rows, basis):
    before = run_stages(learn_variances(after_core(rows, 0.5)), 0.3)
    value, variance = before.known.combined
    state = before.move_to(basis)
    assert before.in_original()[0] == pytest.approx(value)
    assert state.in_original()[0] == pytest.approx(value)
    assert state.left == before.left
    assert state.setting.view.dimension == DIMENSION
    assert state.known.combined[1] == pytest.approx(basis.moved_variances(variance))
    state = last_stages(state)
    assert basis.restored(state.known.answer()[0]) == pytest.approx(rows.mean(axis=0), abs=0.05)
    assert spent(state) <= 0.5 * (1 + 1e-12)
