"""Stages in a learned shape: every draw is charged, in order, and the plan never asks for more than is left."""

import math

import numpy as np
import pytest
from charges import precision, uncharged
from recording import RecordingNoise

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import Gaussian
from dimfree.data.records import open_records
from dimfree.estimators.learn import variances
from dimfree.estimators.learn.scale import LearnedRadius
from dimfree.estimators.learn.stages import Knowledge, Output, StageSetting
from dimfree.estimators.learn.variances import Learner
from dimfree.geometry.bases import Cosine, Hadamard
from dimfree.geometry.bases.learned import LearnedAxes
from dimfree.geometry.shape import Diagonal, Isotropic
from dimfree.geometry.space import Space
from dimfree.mechanisms import Measured
from dimfree.mechanisms.scores import MOVES
from dimfree.noise import SeededNoise

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
COUNT, DIMENSION, SHARE = 1500, 12, 0.05
STDDEV = np.concatenate([[4.0, 3.0, 2.0], np.full(DIMENSION - 3, 0.2)])
both = pytest.mark.parametrize("relation", [ADD, REPLACE])
budgets = pytest.mark.parametrize("total", [0.02, 0.2, 2.0])


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(5).normal(size=(COUNT, DIMENSION)) * STDDEV + 7.0


def learner_of(rows, total, relation=ADD, noise=None, off=0.05):
    """A learner whose core has just released a mean that is a little off, with a share of the precision."""
    space = Space(open_records(rows), Isotropic(1.0))
    setting = StageSetting(space, float(len(rows)), relation, noise or RecordingNoise())
    dimension = rows.shape[1]
    stddev = 1 / math.sqrt(SHARE * total)
    core = Measured(rows.mean(axis=0) + off, Gaussian("mean", 1.0, stddev, dimension, off / stddev))
    spread = float(rows.var(axis=0).sum())
    found = LearnedRadius(3 * math.sqrt(spread), spread, True, ())
    return Learner.after_core(setting, core, total, SHARE, found)


@both
@budgets
def test_every_draw_is_charged_in_order_and_within_the_branch(rows, total, relation):
    learner = learner_of(rows, total, relation)
    learner.learn()
    core, *rest = learner.known.events
    assert core.purpose == "mean"
    assert uncharged(learner.setting.noise, rest) == []
    assert 0.99 * total < precision(learner.known.events) <= total * (1 + 1e-12)
    assert learner.left == pytest.approx(0.0, abs=1e-9 * total)


def test_a_draw_that_nobody_charged_is_seen(rows):
    """The twin that forgets to write a search down."""
    learner = learner_of(rows, 0.2)
    learner.learn()
    forgetful = [event for event in learner.known.events[1:] if event.purpose != "unit of the scores"]
    with pytest.raises(AssertionError, match="nothing was drawn"):
        assert uncharged(learner.setting.noise, forgetful) == []


@budgets
def test_what_is_left_never_goes_below_zero(rows, total, monkeypatch):
    seen = []
    stage = variances.stage

    def watched(setting, known, ball, mu, clipping, purpose):
        seen.append(learner.left)
        stage(setting, known, ball, mu, clipping, purpose)

    monkeypatch.setattr(variances, "stage", watched)
    learner = learner_of(rows, total)
    learner.learn()
    assert len(seen) >= 2
    assert min(seen) >= -1e-12 * total


@budgets
@pytest.mark.parametrize("share", [0.1, 0.7, 1.0])
def test_a_plan_adds_up_to_what_it_was_given(rows, total, share):
    learner = learner_of(rows, total)
    for rank in (1.0, 6.0, 1e4):
        plan = learner._plan(share * learner.left, rank)
        assert 1 <= len(plan) <= 5
        spent = sum(planned.mu**2 + planned.search_mu**2 for planned in plan)
        assert spent == pytest.approx(share * learner.left, rel=1e-9)
        assert plan[-1].search_mu > 0
        assert all(planned.mu > planned.search_mu for planned in plan)


def test_a_plan_that_spends_its_budget_twice_is_refused_by_no_one_but_the_ledger(rows):
    """A learner told that it has more than it was given overspends: the check that stops it is the ledger's."""
    learner = learner_of(rows, 0.2)
    learner.left *= 2
    learner.learn()
    assert precision(learner.known.events) > 0.2 * 1.5


def test_spending_takes_no_more_than_there_is(rows):
    learner = learner_of(rows, 0.2)
    learner.left = 0.001
    assert learner.spend(0.5) == pytest.approx(math.sqrt(0.001))
    assert learner.left == 0.0
    assert learner.spend(0.5) == 0.0


@both
def test_the_norm_of_a_score_shrinks_under_replace_one(rows, relation):
    learner = learner_of(rows, 1e-4, relation)
    audible = 0.6 * COUNT * 0.01 / MOVES[relation] / math.sqrt(2 * math.log(DIMENSION))
    assert learner._norm(0.01) == pytest.approx(min(audible, 1.6 * math.sqrt(DIMENSION)))


def test_the_variances_are_learned(rows):
    """Without noise the large coordinates come out right, and the small ones small."""
    learner = learner_of(rows, 2.0)
    learner.learn()
    assert learner.look.variances[:3] == pytest.approx(STDDEV[:3] ** 2, rel=0.35)
    assert (learner.look.variances[3:] < 0.15).all()
    assert (learner.log_variance >= 0).all()
    value, variance = learner.known.combined()
    assert np.abs(value - rows.mean(axis=0)).max() < 0.03
    assert variance[0] > 3 * variance[-1]


@pytest.mark.parametrize(("threshold", "looks"), [(math.inf, 1), (-1.0, 2)])
def test_a_second_look_is_taken_only_where_the_first_was_unsure(rows, monkeypatch, threshold, looks):
    monkeypatch.setattr(variances, "LOSS", threshold)
    learner = learner_of(rows, 0.2)
    learner.learn()
    assert sum(event.purpose == "variances" for event in learner.known.events) == looks
    assert uncharged(learner.setting.noise, learner.known.events[1:]) == []
    assert precision(learner.known.events) <= 0.2 * (1 + 1e-12)


def test_few_records_leave_a_learner_unsure(rows):
    sure, unsure = learner_of(rows, 50.0), learner_of(rows[:80], 0.01, noise=SeededNoise(1))
    for learner in (sure, unsure):
        learner.learn_variances()
    assert sure.loss() < 0.25 * unsure.loss()


@pytest.mark.parametrize("dimension", [1, 2, 700])
def test_any_number_of_coordinates(dimension):
    rows = np.random.default_rng(1).normal(size=(300, dimension))
    learner = learner_of(rows, 0.5)
    learner.learn()
    assert uncharged(learner.setting.noise, learner.known.events[1:]) == []
    assert precision(learner.known.events) <= 0.5 * (1 + 1e-12)
    assert np.isfinite(learner.known.combined()[0]).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-55, 1e-20, 1e20, 1e55])
def test_any_scale(rows, scale):
    learner = learner_of(rows * scale, 0.2, noise=SeededNoise(3), off=0.05 * scale)
    learner.learn()
    assert np.isfinite(learner.look.variances).all()
    assert (learner.look.variances > 0).all()


def test_the_plan_looks_at_nothing_but_released_values(rows, monkeypatch):
    """Planning, the centre and the shape work with the records locked away."""
    learner = learner_of(rows, 0.2)

    def locked(self):
        raise AssertionError("a record was looked at")

    monkeypatch.setattr(Space, "blocks", locked)
    learner._plan(learner.left, 4.0)
    learner.centre()
    learner.loss()
    learner._norm(0.1)
    with pytest.raises(AssertionError, match="looked at"):
        learner.learn_variances()


# other coordinates

FAR = 3.0  # off in every coordinate: more than half of what is seen of a record from there


def turned(rows, total, basis, noise=None):
    """A learner that works in a public basis from the start."""
    learner = learner_of(basis.rotated(rows), total, noise=noise)
    space = Space(open_records(rows), Diagonal(np.ones(basis.width)), basis)
    learner.setting = StageSetting(space, float(len(rows)), ADD, learner.setting.noise)
    return learner


def uneven_axes(scale=STDDEV):
    directions = np.linalg.qr(np.random.default_rng(2).normal(size=(DIMENSION, 2)))[0]
    return LearnedAxes(directions, np.sqrt(scale), np.sqrt(scale[::-1]))


@both
@budgets
def test_recentring_leaves_noise_that_is_the_same_in_all_coordinates(rows, total, relation):
    learner = learner_of(rows, total, relation, SeededNoise(4), off=FAR)
    left = learner.left
    assert learner.off() > 0.3
    learner.recentre()
    _, variance = learner.known.combined()
    assert np.ptp(variance) <= 1e-12 * variance.mean()
    low, high = variances._RECENTRE_SHARES
    assert low * total * (1 - 1e-9) <= left - learner.left <= high * total * (1 + 1e-9)
    assert len(learner.known.outputs) <= 1 + variances._RECENTRE_STAGES
    learner.move_to(Cosine(DIMENSION))
    assert learner.early is None


def test_ordinary_stages_about_an_uneven_blur_do_not(rows):
    """The twin: without `round_` the noise follows how sure each coordinate of the centre is."""
    learner = learner_of(rows + np.linspace(0, 40, DIMENSION), 0.2, noise=SeededNoise(4))
    learner.run_stages(0.05, 2)
    variance = learner.known.combined()[1]
    assert np.ptp(variance) > 1e-6 * variance.mean()


NO_NEED = [(0.0, FAR, True), (math.inf, FAR, False), (0.0, 0.05, False)]


@pytest.mark.parametrize(("small", "off", "stages"), NO_NEED)
def test_where_noise_is_small_or_the_centre_near_no_pass_is_spent_on_a_better_one(
    rows, monkeypatch, small, off, stages
):
    monkeypatch.setattr(variances, "SMALL_NOISE", small)
    learner = learner_of(rows, 0.2, off=off)
    learner.learn()
    purposes = [event.purpose for event in learner.known.events]
    assert ("stage 1" in purposes[: purposes.index("variances")]) == stages


@both
def test_noise_over_sampling(rows, relation):
    """Of a spherical release with all precision: radius √tr Σ, noise √d·√tr Σ/(n·√P), over √(tr Σ/n)."""
    learner = learner_of(rows, 0.2, relation)
    moves = 1 if relation is ADD else 2
    assert learner.noise_over_sampling() == pytest.approx(moves * math.sqrt(DIMENSION / COUNT / 0.2))


@pytest.mark.parametrize("basis", [None, Cosine(DIMENSION), Hadamard(DIMENSION)], ids=["own", "dct", "padded"])
def test_own_variances_are_measured_and_paid_for(rows, basis):
    learner = learner_of(rows, 2.0) if basis is None else turned(rows, 2.0, basis)
    left, before, known = learner.left, len(learner.known.events), learner.known.combined()
    stddev = learner.stddev
    own = learner.measure_own()
    asked = learner.known.events[before:]
    assert [event.purpose for event in asked] == ["unit of the scores", "variances"]
    assert uncharged(learner.setting.noise, asked) == []
    assert precision(asked) == pytest.approx(left - learner.left, rel=1e-9)
    assert own is learner.own
    assert own.variances[:3] == pytest.approx(rows.var(axis=0)[:3], rel=0.35)
    assert (own.variances[3:] < 0.2).all()
    assert (learner.known.combined()[0] == known[0]).all()  # nothing else has changed
    assert learner.stddev is stddev


@pytest.mark.parametrize("basis", [Cosine(DIMENSION), Hadamard(DIMENSION)], ids=["dct", "padded"])
def test_a_public_basis_measures_the_columns_once(rows, basis):
    learner = turned(rows, 0.5, basis)
    learner.learn()
    sizes = [event.dimension for event in learner.known.events if event.purpose == "variances"]
    assert len(learner.own.variances) == DIMENSION
    assert len(learner.stddev) == basis.width
    if basis.width != DIMENSION:
        assert sizes.count(DIMENSION) == 1
    assert precision(learner.known.events) <= 0.5 * (1 + 1e-12)


@pytest.mark.parametrize("basis", [Cosine(DIMENSION), uneven_axes()], ids=["dct", "learned"])
def test_moving_takes_along_what_is_known(rows, basis):
    learner = learner_of(rows, 0.5)
    learner.learn_variances()
    learner.run_stages(0.3)
    value, variance = learner.known.combined()
    events, left, answer = list(learner.known.events), learner.left, learner.answer_so_far()
    learner.move_to(basis)
    assert answer[0] == pytest.approx(value)
    assert learner.answer_so_far()[0] == pytest.approx(value)
    assert (learner.known.events, learner.left) == (events, left)
    assert learner.early == pytest.approx(variance)
    assert (learner.setting.space.basis, learner.setting.space.dimension) == (basis, DIMENSION)
    assert learner.known.combined()[1] == pytest.approx(basis.moved_variances(variance))
    learner.run_stages(1.0)
    assert learner.answer_so_far()[0] == pytest.approx(rows.mean(axis=0), abs=0.05)
    assert uncharged(learner.setting.noise, learner.known.events[1:]) == []
    assert precision(learner.known.events) <= 0.5 * (1 + 1e-12)


def test_standard_deviations_after_a_move(rows):
    """A rotation has equal ones of the same total; others are told."""
    learner = learner_of(rows, 0.5)
    learner.learn_variances()
    total = float((learner.stddev**2).sum())
    learner.move_to(Cosine(DIMENSION))
    assert (learner.stddev**2).sum() == pytest.approx(total)
    assert np.ptp(learner.stddev) == 0
    learner.move_to(uneven_axes(), np.arange(1.0, DIMENSION + 1))
    assert learner.stddev.tolist() == list(range(1, DIMENSION + 1))
    assert (learner.ratio, learner.window) == (1.0, variances.WINDOW)


def test_stages_are_counted_through_a_move(rows):
    learner = learner_of(rows, 0.5, off=FAR)
    learner.recentre()
    learner.move_to(Cosine(DIMENSION))
    learner.first_round()
    learner.last_round()
    stages = [event.purpose for event in learner.known.events if event.purpose.startswith("stage ")]
    assert stages == [f"stage {number + 1}" for number in range(len(stages))]
    assert len(stages) >= 3


def test_fresh_noise_and_that_of_the_first_output_make_up_the_whole(rng):
    known = Knowledge()
    for pull in (0.0, 0.3, 0.1, 0.2):
        known.add(Output(rng.normal(size=4), np.exp(rng.normal(size=4)), rng.uniform(size=4), pull))
        first, fresh = known.fresh()
        assert first**2 * known.outputs[0].variance + fresh == pytest.approx(known.combined()[1])
    assert (fresh > 0).all()
    assert first != pytest.approx(known._weights()[0])  # clipping passes some of it on
