"""Stages in a learned shape: every draw is charged, in order, and the plan never asks for more than is left."""

import math
from dataclasses import replace

import numpy as np
import pytest
from charges import precision, uncharged
from recording import RecordingNoise

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import Gaussian
from dimfree.data.records import open_records
from dimfree.kernel.rows.bases import Cosine, Hadamard
from dimfree.kernel.rows.bases.learned import LearnedAxes
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.scores import SCORE_SENSITIVITY
from dimfree.noise import SeededNoise
from dimfree.paper.charged import Measured
from dimfree.programs.choose.constants import COUNTED_PRECISION, RECENTRE_SHARES, RECENTRE_STAGES
from dimfree.programs.learn import rounds, stages
from dimfree.programs.learn.plan_stages import plan_stages
from dimfree.programs.learn.rounds import centre_error, first_round, last_round, learn, recentre
from dimfree.programs.learn.scale import LearnedRadius
from dimfree.programs.learn.stages import last_stages, run_stages
from dimfree.programs.learn.state import StageSetting, State
from dimfree.programs.learn.variances import learn_variances, measure_own, score_norm, uncertainty
from dimfree.shapes import Diagonal, Isotropic

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
COUNT, DIMENSION, SHARE = 1500, 12, 0.05
STDDEV = np.concatenate([[4.0, 3.0, 2.0], np.full(DIMENSION - 3, 0.2)])
both = pytest.mark.parametrize("relation", [ADD, REPLACE])
budgets = pytest.mark.parametrize("total", [0.02, 0.2, 2.0])


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(5).normal(size=(COUNT, DIMENSION)) * STDDEV + 7.0


def state_of(rows, total, relation=ADD, noise=None, off=0.05):
    """A run whose core has just released a mean that is a little off, with a share of the precision."""
    space = Space(open_records(rows), Isotropic(1.0))
    setting = StageSetting(space, float(len(rows)), relation, noise or RecordingNoise())
    dimension = rows.shape[1]
    stddev = 1 / math.sqrt(SHARE * total)
    core = Measured(rows.mean(axis=0) + off, Gaussian("mean", 1.0, stddev, dimension, off / stddev))
    spread = float(rows.var(axis=0).sum())
    found = LearnedRadius(3 * math.sqrt(spread), spread, True, ())
    return State.after_core(setting, core, total, SHARE, found)


@both
@budgets
def test_every_draw_is_charged_in_order_and_within_the_branch(rows, total, relation):
    state = learn(state_of(rows, total, relation))
    core, *rest = state.known.events
    assert core.purpose == "mean"
    assert uncharged(state.setting.noise, rest) == []
    assert 0.99 * total < precision(state.known.events) <= total * (1 + 1e-12)
    assert state.left == pytest.approx(0.0, abs=1e-9 * total)


def test_a_draw_that_nobody_charged_is_seen(rows):
    """The twin that forgets to write a search down."""
    state = learn(state_of(rows, 0.2))
    forgetful = [event for event in state.known.events[1:] if event.purpose != "unit of the scores"]
    with pytest.raises(AssertionError, match="nothing was drawn"):
        assert uncharged(state.setting.noise, forgetful) == []


@budgets
def test_what_is_left_never_goes_below_zero(rows, total, monkeypatch):
    seen = []
    run_stage = stages._run_stage

    def watched(state, *rest, **more):
        state = run_stage(state, *rest, **more)
        seen.append(state.left)
        return state

    monkeypatch.setattr(stages, "_run_stage", watched)
    learn(state_of(rows, total))
    assert len(seen) >= 2
    assert min(seen) >= -1e-12 * total


@budgets
@pytest.mark.parametrize("share", [0.1, 0.7, 1.0])
def test_a_plan_adds_up_to_what_it_was_given(rows, total, share):
    state = state_of(rows, total)
    for answer in (False, True):
        plan = plan_stages(state, share * state.left, answer=answer)
        assert 1 <= len(plan) <= 5
        assert sum(planned.mu**2 for planned in plan) == pytest.approx(share * state.left, rel=1e-9)
        assert sum(planned.weight for planned in plan) == pytest.approx(float(answer))
        assert bool(plan[-1].weight) is answer
        counted = [planned.mu**2 for planned in plan[:-1] if planned.weight]
        assert min(counted, default=total) >= COUNTED_PRECISION * total


@both
def test_only_stages_after_the_look_count_in_the_answer(rows, relation):
    state = learn(state_of(rows, 0.2, relation))
    purposes = [event.purpose for event in state.known.events]
    assert purposes.count("lengths of the records") == 1
    before = [p for p in purposes[: purposes.index("lengths of the records")] if p == "mean" or p.startswith("stage")]
    weights = [output.weight for output in state.known.outputs]
    assert not any(weights[: len(before)])
    assert all(weights[len(before) :])
    assert sum(weights) == pytest.approx(1, rel=1e-12)


def test_the_draw_that_chooses_the_radius_is_not_in_the_answer(rows):
    """Other noise in the look alone moves the radius, and with it the size of the noise; nothing else."""
    states = [learn(state_of(rows, 0.2, noise=_OtherLook(shift))) for shift in (0.0, 3.0)]
    radii = [state.ball.radius for state in states]
    assert radii[0] != radii[1]
    for state in states:
        assert state.known.answer().value == pytest.approx(rows.mean(axis=0), abs=0.05)


class _OtherLook(RecordingNoise):
    """No noise, but in the histogram of lengths, whose number of cells nothing else has."""

    def __init__(self, shift):
        super().__init__()
        self.shift = shift

    def gaussian(self, stddev, size):
        drawn = super().gaussian(stddev, size)
        return (
            drawn + round(self.shift * stddev) * (np.arange(size) > size // 2) if size not in (1, DIMENSION) else drawn
        )


def test_outliers_do_not_draw_the_radius_out(rows):
    far = rows.copy()
    far[:15] += 1e4
    plain, spoiled = (learn(state_of(rows, 0.2, noise=SeededNoise(2))), learn_about(far, rows))
    assert spoiled.ball.radius < 3 * plain.ball.radius


def learn_about(table, honest):
    """As `state_of`, with the core's mean and scale of the honest records."""
    state = state_of(honest, 0.2, noise=SeededNoise(2))
    space = Space(open_records(table), Isotropic(1.0))
    return learn(replace(state, setting=replace(state.setting, space=space)))


def test_a_plan_that_spends_its_budget_twice_is_refused_by_no_one_but_the_ledger(rows):
    """A state that says more is left than it was given overspends: the check that stops it is the ledger's."""
    state = state_of(rows, 0.2)
    state = learn(replace(state, left=2 * state.left))
    assert precision(state.known.events) > 0.2 * 1.5


def test_spending_takes_no_more_than_there_is(rows):
    state, mu = replace(state_of(rows, 0.2), left=0.001).spend(0.5)
    assert mu == pytest.approx(math.sqrt(0.001))
    assert state.left == 0.0
    assert state.spend(0.5) == (state, 0.0)


def test_a_step_leaves_the_state_it_was_given_alone(rows):
    """Every step returns a new state; the old one can be used again."""
    state = state_of(rows, 0.2)
    before = (state.left, state.known, state.stddev.tobytes())
    for step in (learn_variances, first_round, learn):
        assert step(state) is not state
        assert (state.left, state.known, state.stddev.tobytes()) == before


def test_a_release_is_paid_for_as_it_is_made(rows):
    state = state_of(rows, 0.2)
    after, found = state.release(0.1, lambda mu: Measured(1.0, Gaussian("number", 1.0, 1 / mu, 1, 1.0)))
    assert after.known.events == (*state.known.events, found.event)
    assert found.event.mu**2 == pytest.approx(state.left - after.left) == pytest.approx(0.1 * 0.2)


@both
def test_the_norm_of_a_score_shrinks_under_replace_one(relation):
    strength = COUNT * 0.01 / SCORE_SENSITIVITY[relation]
    over_noise = 0.6 * strength / math.sqrt(2 * math.log(DIMENSION))
    assert score_norm(strength, DIMENSION) == pytest.approx(min(over_noise, 1.6 * math.sqrt(DIMENSION)))


def test_the_variances_are_learned(rows):
    """Without noise the large coordinates come out right, and the small ones small."""
    state = learn(state_of(rows, 2.0))
    assert state.scores.variances[:3] == pytest.approx(STDDEV[:3] ** 2, rel=0.35)
    assert (state.scores.variances[3:] < 0.15).all()
    assert (state.log_variance >= 0).all()
    answer = state.known.answer()
    assert np.abs(answer.value - rows.mean(axis=0)).max() < 0.03
    assert answer.variance[0] > 3 * answer.variance[-1]


@pytest.mark.parametrize(("threshold", "looks"), [(math.inf, 1), (-1.0, 2)])
def test_a_second_look_is_taken_only_where_the_first_was_unsure(rows, monkeypatch, threshold, looks):
    monkeypatch.setattr(rounds, "LOSS", threshold)
    state = learn(state_of(rows, 0.2))
    assert sum(event.purpose == "variances" for event in state.known.events) == looks
    assert uncharged(state.setting.noise, state.known.events[1:]) == []
    assert precision(state.known.events) <= 0.2 * (1 + 1e-12)


def test_few_records_leave_the_variances_uncertain(rows):
    many, few = state_of(rows, 50.0), state_of(rows[:80], 0.01, noise=SeededNoise(1))
    assert uncertainty(learn_variances(many)) < 0.25 * uncertainty(learn_variances(few))


@pytest.mark.parametrize("dimension", [1, 2, 700])
def test_any_number_of_coordinates(dimension):
    rows = np.random.default_rng(1).normal(size=(300, dimension))
    state = learn(state_of(rows, 0.5))
    assert uncharged(state.setting.noise, state.known.events[1:]) == []
    assert precision(state.known.events) <= 0.5 * (1 + 1e-12)
    assert np.isfinite(state.known.answer().value).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-55, 1e-20, 1e20, 1e55])
def test_any_scale(rows, scale):
    state = learn(state_of(rows * scale, 0.2, noise=SeededNoise(3), off=0.05 * scale))
    assert np.isfinite(state.scores.variances).all()
    assert (state.scores.variances > 0).all()


def test_the_plan_looks_at_nothing_but_released_values(rows, monkeypatch):
    """Planning, the centre and the shape work with the records locked away."""
    state = state_of(rows, 0.2)

    def locked(self):
        raise AssertionError("a record was looked at")

    monkeypatch.setattr(Space, "blocks", locked)
    plan_stages(state, state.left, answer=True)
    state.centre()
    uncertainty(state)
    with pytest.raises(AssertionError, match="looked at"):
        learn_variances(state)


# other coordinates

FAR = 3.0  # off in every coordinate: more than half of what is seen of a record from there


def turned(rows, total, basis, noise=None):
    """A run that works in a public basis from the start."""
    state = state_of(basis.rotated(rows), total, noise=noise)
    space = Space(open_records(rows), Diagonal(np.ones(basis.width)), basis)
    return replace(state, setting=StageSetting(space, float(len(rows)), ADD, state.setting.noise))


def uneven_axes(scale=STDDEV):
    directions = np.linalg.qr(np.random.default_rng(2).normal(size=(DIMENSION, 2)))[0]
    return LearnedAxes(directions, np.sqrt(scale), np.sqrt(scale[::-1]))


@both
@budgets
def test_recentring_leaves_noise_that_is_the_same_in_all_coordinates(rows, total, relation):
    before = state_of(rows, total, relation, SeededNoise(4), off=FAR)
    assert centre_error(before) > 0.3
    state = recentre(before)
    _, variance = state.known.combined()
    assert np.ptp(variance) <= 1e-12 * variance.mean()
    low, high = RECENTRE_SHARES
    assert low * total * (1 - 1e-9) <= before.left - state.left <= high * total * (1 + 1e-9)
    assert len(state.known.outputs) <= 1 + RECENTRE_STAGES


def test_ordinary_stages_about_an_uneven_blur_do_not(rows):
    """The twin: without `spherical` the noise follows how sure each coordinate of the centre is."""
    state = run_stages(state_of(rows + np.linspace(0, 40, DIMENSION), 0.2, noise=SeededNoise(4)), 0.05, 2)
    variance = state.known.combined()[1]
    assert np.ptp(variance) > 1e-6 * variance.mean()


NO_NEED = [(0.0, FAR, True), (math.inf, FAR, False), (0.0, 0.05, False)]


@pytest.mark.parametrize(("small", "off", "stages"), NO_NEED)
def test_where_noise_is_small_or_the_centre_near_no_pass_is_spent_on_a_better_one(
    rows, monkeypatch, small, off, stages
):
    monkeypatch.setattr(rounds, "SMALL_NOISE", small)
    state = learn(state_of(rows, 0.2, off=off))
    purposes = [event.purpose for event in state.known.events]
    assert ("stage 1" in purposes[: purposes.index("variances")]) == stages


@both
def test_noise_over_sampling(rows, relation):
    """Of a spherical release with all precision: radius √tr Σ, noise √d·√tr Σ/(n·√P), over √(tr Σ/n)."""
    state = state_of(rows, 0.2, relation)
    moves = 1 if relation is ADD else 2
    assert state.noise_over_sampling() == pytest.approx(moves * math.sqrt(DIMENSION / COUNT / 0.2))


def test_the_sampling_error_is_that_of_the_records_stood_for(rows):
    """A simulation has fewer records than it stands for: noise grows beside the smaller sampling error."""
    state = state_of(rows, 0.2)
    thinned = replace(state, start=replace(state.start, sampling_count=4.0 * COUNT))
    assert thinned.sampling_error == pytest.approx(state.sampling_error / 2)
    assert thinned.noise_over_sampling() == pytest.approx(2 * state.noise_over_sampling())


@pytest.mark.parametrize("basis", [None, Cosine(DIMENSION), Hadamard(DIMENSION)], ids=["own", "dct", "padded"])
def test_own_variances_are_measured_and_paid_for(rows, basis):
    before = state_of(rows, 2.0) if basis is None else turned(rows, 2.0, basis)
    state, own = measure_own(before)
    asked = state.known.events[len(before.known.events) :]
    assert [event.purpose for event in asked] == ["unit of the scores", "variances"]
    assert uncharged(state.setting.noise, asked) == []
    assert precision(asked) == pytest.approx(before.left - state.left, rel=1e-9)
    assert own is state.own_scores
    assert own.variances[:3] == pytest.approx(rows.var(axis=0)[:3], rel=0.35)
    assert (own.variances[3:] < 0.2).all()
    assert (state.known.combined()[0] == before.known.combined()[0]).all()  # nothing else has changed
    assert state.stddev is before.stddev


@pytest.mark.parametrize("basis", [Cosine(DIMENSION), Hadamard(DIMENSION)], ids=["dct", "padded"])
def test_a_public_basis_measures_the_columns_once(rows, basis):
    state = learn(turned(rows, 0.5, basis))
    sizes = [event.dimension for event in state.known.events if event.purpose == "variances"]
    assert len(state.own_scores.variances) == DIMENSION
    assert len(state.stddev) == basis.width
    if basis.width != DIMENSION:
        assert sizes.count(DIMENSION) == 1
    assert precision(state.known.events) <= 0.5 * (1 + 1e-12)


@pytest.mark.parametrize("basis", [Cosine(DIMENSION), uneven_axes()], ids=["dct", "learned"])
def test_moving_takes_along_what_is_known(rows, basis):
    before = run_stages(learn_variances(state_of(rows, 0.5)), 0.3)
    value, variance = before.known.combined()
    state = before.move_to(basis)
    assert before.in_original()[0] == pytest.approx(value)
    assert state.in_original()[0] == pytest.approx(value)
    assert (state.known.events, state.left) == (before.known.events, before.left)
    assert (state.setting.space.basis, state.setting.space.dimension) == (basis, DIMENSION)
    assert state.known.combined()[1] == pytest.approx(basis.moved_variances(variance))
    state = last_stages(state)
    assert basis.restored(state.known.answer().value) == pytest.approx(rows.mean(axis=0), abs=0.05)
    assert uncharged(state.setting.noise, state.known.events[1:]) == []
    assert precision(state.known.events) <= 0.5 * (1 + 1e-12)


def test_standard_deviations_after_a_move(rows):
    """A rotation has equal ones of the same total; others are told."""
    state = learn_variances(state_of(rows, 0.5))
    total = float((state.stddev**2).sum())
    state = state.move_to(Cosine(DIMENSION))
    assert (state.stddev**2).sum() == pytest.approx(total)
    assert np.ptp(state.stddev) == 0
    state = state.move_to(uneven_axes(), np.arange(1.0, DIMENSION + 1))
    assert state.stddev.tolist() == list(range(1, DIMENSION + 1))
    assert state.ball is None


def test_stages_are_counted_through_a_move(rows):
    state = last_round(first_round(recentre(state_of(rows, 0.5, off=FAR)).move_to(Cosine(DIMENSION))))
    purposes = [event.purpose for event in state.known.events if event.purpose.startswith("stage ")]
    assert purposes == [f"stage {number + 1}" for number in range(len(purposes))]
    assert len(purposes) >= 3
