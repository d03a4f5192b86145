"""Stages in a known or a learned shape: what is combined, how noisy it is, what is spent, and what never enters it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from recording import RecordingNoise
from routes import with_options
from scipy.stats import chi2
from states import after_core, knowledge_of, purposes_of, spent, standing_view
from stats import sampling

from dimfree import release_mean
from dimfree.accounting.budget import Neighbors
from dimfree.accounting.precision import compose
from dimfree.kernel import Ball, Cosine, LearnedAxes
from dimfree.noise import SeededNoise
from dimfree.programs import known as known_shape
from dimfree.programs.choose import constants
from dimfree.programs.choose.constants import (
    CORE_BIAS_POWER,
    MAX_WIDE_FACTOR,
    MIN_COUNTED_PRECISION,
    OUTER_BIAS,
    RECENTER_SHARES,
    RECENTER_STEPS,
)
from dimfree.programs.choose.schedule import Schedule, choose_schedule
from dimfree.programs.learn.coordinates import compute_center_error, learn, learn_variances, measure_own, recenter
from dimfree.programs.learn.state import Knowledge, Output, StepSetting
from dimfree.programs.learn.steps import (
    ExpectedRecords,
    choose_radius,
    plan_steps,
    release_lengths,
    run_last_steps,
    run_schedule,
    run_step,
    run_steps,
)
from dimfree.programs.learn.tail import Tail
from dimfree.shapes import DenseCovariance, DiagonalCovariance

FALSE_ALARM = 1e-6
ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE


# what is known, and the answer


def knowledge(*outputs):
    return knowledge_of(*(Output(np.asarray(v, float), np.asarray(var, float), *rest) for v, var, *rest in outputs))


def test_an_output_that_says_nothing_counts_nothing():
    known = knowledge(([1.0, 2.0], [3.0, 4.0], np.array([0.25, 1.0])), ([9.0, 5.0], [1.0, np.inf], 0.75))
    value, variance = known.combined
    assert value == pytest.approx([7.0, 2.0])
    assert variance == pytest.approx([0.75, 4.0])
    assert known.answer()[0] == pytest.approx([7.0, 2.0])
    assert known.answer()[1] == pytest.approx([0.75, 4.0])


def test_the_answer_has_the_weights_of_theorem_p21(rng):
    """√(α/N) over their sum; the variance is that of these weights, and at best that of inverse variances."""
    variances, weights = rng.exponential(size=(4, 6)), rng.dirichlet(np.ones(4))
    values, offsets = rng.normal(size=(2, 4, 6))
    value, variance, offset = knowledge(*zip(values, variances, weights, offsets, strict=True)).answer()
    shares = np.sqrt(weights[:, None] / variances)
    shares /= shares.sum(axis=0)
    assert value == pytest.approx((shares * values).sum(axis=0))
    assert offset == pytest.approx((shares * offsets).sum(axis=0))
    assert variance == pytest.approx((shares**2 * variances).sum(axis=0))
    assert (variance > 1 / (1 / variances).sum(axis=0)).all()


def test_one_output_alone_is_the_answer_to_the_last_bit(rng):
    """Else its value would leave the lattice of its noise."""
    value, variance = rng.normal(size=50), rng.exponential(size=50)
    assert (knowledge((value, variance, 1.0)).answer()[0] == value).all()


@sampling(FALSE_ALARM)
def test_the_answer_is_exactly_normal_where_inverse_variances_are_not(seed):
    """An unlucky first output widens the second radius: standardized errors have variance 1 by P21's weights alone."""
    first, fresh = np.random.default_rng(seed).normal(size=(2, 40_000))
    second_variance = np.where(first > 0, 9.0, 0.25)  # chosen by what was released before
    second = np.sqrt(second_variance) * fresh
    known = knowledge((first, np.ones_like(first), 0.4), (second, second_variance, 0.6))
    (answer, answer_variance, _), (value, variance) = known.answer(), known.combined
    assert chi_squared(answer / np.sqrt(answer_variance), FALSE_ALARM)
    assert abs(np.mean(answer / np.sqrt(answer_variance))) < 0.03
    assert abs(np.mean(value / np.sqrt(variance))) > 0.06  # the twin leans to one side


def chi_squared(standardised, false_alarm):
    """Whether the mean square is that of standard normals."""
    total, freedom = float((standardised**2).sum()), len(standardised)
    return chi2.ppf(false_alarm / 2, freedom) < total < chi2.isf(false_alarm / 2, freedom)


# one stage


def setting_of(rows, count, relation=ADD, noise=None):
    return StepSetting(standing_view(np.asarray(rows, float), relation, noise=noise or RecordingNoise()), count)


@pytest.mark.parametrize("center", [0.0, 0.7, -3.0])
def test_without_noise_and_clipping_a_stage_finds_the_mean_from_any_centre(seed, center):
    rows = np.random.default_rng(seed).normal(size=(50, 3))
    known = run_step(setting_of(rows, 50.0), Knowledge(), Ball(np.full(3, center), 1.0, 100.0), 1.0, "stage 1")
    assert known.outputs[0].value == pytest.approx(rows.mean(axis=0), abs=2e-4)


@pytest.mark.parametrize(("relation", "balls"), [(ADD, 1), (REPLACE, 2)])
def test_the_variance_of_a_stage_is_its_noise(relation, balls):
    setting = setting_of(np.zeros((10, 4)), 12.5, relation)
    ball = Ball(np.zeros(4), np.array([1.0, 2.0, 1.0, 5.0]), 3.0, np.array([1, 3]))
    known = run_step(setting, Knowledge(), ball, 0.25, "s", 0.5)
    [output] = known.outputs
    expected = (balls * 3.0 / 0.25 / 12.5 * np.array([2.0, 5.0])) ** 2
    assert output.variance[[1, 3]] == pytest.approx(expected, rel=1e-12)
    assert np.isinf(output.variance[[0, 2]]).all()
    assert output.weight == 0.5
    assert output.offset == pytest.approx(output.value - ball.center)


# the look at lengths


def looked(rows, mu, farthest=math.inf, noise=None):
    setting = setting_of(rows, float(len(rows)), noise=noise)
    return release_lengths(setting, Ball(np.zeros(5), 1.0, math.sqrt(5)), 5.0, mu, farthest=farthest)


def test_records_beyond_the_friends_are_left_out_of_the_look():
    rows = np.random.default_rng(1).normal(size=(1000, 5))
    rows[:20] *= 100
    all_of_them = looked(rows, 1.0)
    near = looked(rows, 1.0, farthest=8.0)
    assert near.value.edges[-1] == 8.0
    assert (near.value.counts[-1], near.value.total) == (0.0, pytest.approx(980))
    radii = [choose_radius(Tail.fit(seen.value, 5.0, math.sqrt(5)), 1.0, 5.0, 0.0) for seen in (all_of_them, near)]
    assert radii[1] < 8.0 < radii[0]


def test_the_radius_leaves_about_the_excess_that_noise_may_hide(seed):
    rows = np.random.default_rng(seed).normal(size=(20_000, 5))
    seen = looked(rows, 0.5, noise=SeededNoise(seed))
    lengths = np.linalg.norm(rows, axis=1)
    for mu in (0.02, 0.2):
        radius = choose_radius(Tail.fit(seen.value, 5.0, math.sqrt(5)), mu, 5.0, 0.0)
        target = OUTER_BIAS * 5.0**CORE_BIAS_POWER * math.sqrt(5) / mu
        assert 0.05 * target < (np.maximum(lengths / radius - 1, 0)).sum() < 2 * target


def test_a_radius_is_widened_by_one_factor_at_most_and_within_what_was_looked_at():
    seen = looked(np.random.default_rng(2).normal(size=(500, 5)), 1.0)
    tail = Tail.fit(seen.value, 5.0, math.sqrt(5))
    narrow, little, most = (choose_radius(tail, 0.2, 5.0, wide) for wide in (0.0, 4.0, 1e9))
    assert narrow < little == 4.0 < most == MAX_WIDE_FACTOR * narrow


# whole runs


SPECTRUM = np.linspace(2.0, 0.2, 12)
RUNS = {
    "default": {},
    "trusted radii": {"tails": "gaussian"},
    "replace-one": {"neighbors": "replace-one"},
    "unknown scale": {"scale": "learn"},
    "unknown scale, replace-one": {"scale": "learn", "neighbors": "replace-one"},
    "a sample for the core": {"core_sample": 1000},
    "a sample, replace-one": {"core_sample": 1300, "neighbors": "replace-one", "scale": "learn"},
}


def run(noise, seed=0, n=1500, **options):
    rows = np.random.default_rng(seed).normal(size=(n, 12)) * SPECTRUM + 3.0
    options = {"covariance": DiagonalCovariance(SPECTRUM**2), "epsilon": 1.0, "delta": 1e-6} | options
    return release_mean(rows, **with_options(noise=noise, **options))


@pytest.mark.parametrize("options", RUNS.values(), ids=RUNS.keys())
def test_little_of_the_branch_is_wasted(options):
    ledger = run(RecordingNoise(), **options).charges
    branch = ledger.branches[ledger.chosen]
    assert branch.ladder.length > 2
    assert 0.97 * branch.mu < compose(event.mu for event in ledger.after) <= branch.mu


@pytest.mark.parametrize("options", [{}, {"scale": "learn"}, {"neighbors": "replace-one"}])
def test_the_stated_noise_is_that_of_the_ledger(options, monkeypatch):
    """From the ledger alone: the weights of P21 give noise_stddev, but for what dividing by n̂ adds."""
    chosen = []
    monkeypatch.setattr(
        known_shape,
        "choose_schedule",
        lambda *args, **more: chosen.append(choose_schedule(*args, **more)) or chosen[-1],
    )
    release = run(RecordingNoise(), **options)
    count, weights = release.parameters["count"], chosen[-1].weights
    vectors = [event for event in release.charges.after if event.purpose != "lengths of the records"]
    units = [e.stddev * e.step / (1 if e.purpose == "mean" else count) for e in vectors]
    assert sum(weights) == pytest.approx(1)
    spread = sum(math.sqrt(weight) / unit for weight, unit in zip(weights, units, strict=True)) ** -2
    stated = release.noise_stddev**2 / SPECTRUM
    assert (stated >= spread * (1 - 1e-9)).all()
    public = options.get("neighbors") == "replace-one"  # then nothing was divided by a noisy count
    assert stated == pytest.approx(spread, rel=1e-9 if public else 0.1)


def test_the_reach_is_where_the_last_stage_clipped():
    release = run(RecordingNoise())
    assert release.clipping.scale == pytest.approx(np.sqrt(SPECTRUM))
    last = release.charges.after[-1]
    assert release.clipping.radius == pytest.approx(last.step * last.sensitivity)


def test_a_rotated_shape_states_its_noise_exactly(seed):
    """V must be constant for a shape that is not diagonal: only then is diag(M^{1/4} V M^{1/4}) = V·diag(M^{1/2})."""
    rng = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(rng.normal(size=(12, 12)))
    covariance = rotation * SPECTRUM**2 @ rotation.T
    rows = rng.normal(size=(1500, 12)) * SPECTRUM @ rotation.T
    shape = DenseCovariance((covariance + covariance.T) / 2)
    release = release_mean(
        rows, covariance=shape, epsilon=1.0, delta=1e-6, neighbors="replace-one", noise=SeededNoise(seed)
    )
    ratio = release.noise_stddev**2 / shape.root_diagonal(12)
    assert ratio == pytest.approx(ratio[0], rel=1e-9)
    assert release.clipping is None


class _Loud(RecordingNoise):
    """Noise of a given number of standard deviations."""

    def gaussian(self, stddev, size):
        super().gaussian(stddev, size)
        return np.full(size, round(2.0 * stddev), dtype=np.int64)


def test_a_stage_forgets_the_centre_it_clipped_around(seed):
    """Stage noise of +2 standard deviations shows as +2 of its own noise, whatever earlier noise did to the center."""
    rows = np.random.default_rng(seed).normal(size=(3000, 3))
    core = knowledge((np.full(3, 0.1), np.full(3, 0.01)))
    honest = ExpectedRecords(np.full(3, 9.0), np.ones(3), False, 100.0)  # a ball that clips nobody
    schedule = Schedule(None, 1.0, (0.3, 0.6), 0.0, 0.0, (0.0, 0.2, 0.8), 3, 0.0)
    found, *_ = run_schedule(setting_of(rows, 3000.0, noise=_Loud()), core, schedule, honest, 0.95)
    for output in found.outputs[1:]:
        assert output.value - rows.mean(axis=0) == pytest.approx(2 * np.sqrt(output.variance), abs=5e-4)


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
        plan = plan_steps(state, share * state.left, answer=answer)
        assert sum(planned.mu**2 for planned in plan) == pytest.approx(share * state.left, rel=1e-9)
        assert sum(planned.weight for planned in plan) == pytest.approx(float(answer))
        assert bool(plan[-1].weight) is answer
        counted = [planned.mu**2 for planned in plan[:-1] if planned.weight]
        assert min(counted, default=total) >= MIN_COUNTED_PRECISION * total


@both
def test_only_stages_after_the_look_count_in_the_answer(rows, relation):
    state = learn(after_core(rows, 0.2, relation))
    purposes = purposes_of(state)
    assert purposes.count("lengths of the records") == 1
    before = [p for p in purposes[: purposes.index("lengths of the records")] if p.startswith("refinement step")]
    weights = [output.weight for output in state.known.outputs]
    assert not any(weights[: 1 + len(before)])  # the core, and stages for the center
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
    monkeypatch.setattr(constants, "MAX_LOG_VARIANCE", threshold)
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
    state = after_core(basis.rotate(rows), total, seen=rows)
    return replace(state, setting=state.setting.rotate(basis, basis.width))


def uneven_axes(scale=STDDEV):
    directions = np.linalg.qr(np.random.default_rng(2).normal(size=(DIMENSION, 2)))[0]
    return LearnedAxes(directions, np.sqrt(scale), np.sqrt(scale[::-1]))


@both
@budgets
def test_recentring_leaves_noise_that_is_the_same_in_all_coordinates(rows, total, relation):
    before = after_core(rows, total, relation, SeededNoise(4), off=FAR)
    assert compute_center_error(before) > 0.3
    state = recenter(before)
    _, variance = state.known.combined
    assert np.ptp(variance) <= 1e-12 * variance.mean()
    low, high = RECENTER_SHARES
    assert low * total * (1 - 1e-9) <= before.left - state.left <= high * total * (1 + 1e-9)
    assert len(state.known.outputs) <= 1 + RECENTER_STEPS


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
    before = run_steps(learn_variances(after_core(rows, 0.5)), 0.3)
    value, variance = before.known.combined
    state = before.move_to(basis)
    assert before.in_original()[0] == pytest.approx(value)
    assert state.in_original()[0] == pytest.approx(value)
    assert state.left == before.left
    assert state.setting.view.dimension == DIMENSION
    assert state.known.combined[1] == pytest.approx(basis.move_variances(variance))
    state = run_last_steps(state)
    assert basis.restore_answer(state.known.answer()[0]) == pytest.approx(rows.mean(axis=0), abs=0.05)
    assert spent(state) <= 0.5 * (1 + 1e-12)
