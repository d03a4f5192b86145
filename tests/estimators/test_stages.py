"""Recentring: what is combined, how noisy it is, and that no stage asks for more than the schedule allows."""

import math

import numpy as np
import pytest
from flat_options import with_options
from recording import RecordingNoise

from dimfree import release_mean
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.precision import compose
from dimfree.data.records import open_records
from dimfree.estimators.choose.stages import Schedule
from dimfree.estimators.learn.knowledge import Knowledge, Output
from dimfree.estimators.learn.radius import Clipping, RadiusSearch, searched, searched_radius, unsearched
from dimfree.estimators.learn.stages import Honest, run_schedule, stage
from dimfree.estimators.learn.state import StageSetting
from dimfree.geometry.clip import BALL
from dimfree.geometry.shape import Dense, Diagonal, Isotropic
from dimfree.geometry.space import Space
from dimfree.mechanisms.clipped_sum import Ball
from dimfree.mechanisms.search import STEPS
from dimfree.noise import SeededNoise

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE


# the combination


def knowledge(*outputs):
    known = Knowledge()
    for value, var, bias in outputs:
        known = known.add(Output(np.asarray(value, float), np.asarray(var, float), bias))
    return known


def test_the_average_is_by_inverse_variance():
    value, variance = knowledge(([1.0, 10.0], [1.0, 4.0], 0.0), ([4.0, 20.0], [2.0, 4.0], 0.0)).combined()
    assert value == pytest.approx([2.0, 15.0])
    assert variance == pytest.approx([2 / 3, 2.0])


def test_an_output_that_says_nothing_counts_nothing():
    value, variance = knowledge(([1.0, 2.0], [3.0, 4.0], 0.0), ([9.0, 5.0], [1.0, np.inf], 0.0)).combined()
    assert value == pytest.approx([7.0, 2.0])
    assert variance == pytest.approx([0.75, 4.0])


def coefficients(known):
    """∂(combination)/∂(output), by asking: the combination is linear in the values."""
    found = []
    for index in range(len(known.outputs)):
        unit = [
            (np.full_like(output.value, float(j == index)), output.variance, output.bias)
            for j, output in enumerate(known.outputs)
        ]
        found.append(knowledge(*unit).combined()[0])
    return np.array(found)


def test_the_variance_is_that_of_the_weights_used(seed):
    """Σ w_i² N_i of the actual weights, bias allowances included: exact, not the optimum 1/Σ(1/N)."""
    rng = np.random.default_rng(seed)
    variances, biases = rng.exponential(size=(4, 6)), rng.exponential(size=(4, 6))
    known = knowledge(*[(rng.normal(size=6), n, b) for n, b in zip(variances, biases, strict=True)])
    weights = coefficients(known)
    assert weights.sum(axis=0) == pytest.approx(1.0)
    variance = known.combined()[1]
    assert variance == pytest.approx((weights**2 * variances).sum(axis=0))
    assert (variance > 1 / (1 / variances).sum(axis=0) * (1 + 1e-6)).all()


def test_allowed_bias_lowers_a_weight():
    plain = coefficients(knowledge(([0.0], [1.0], 0.0), ([0.0], [1.0], 0.0)))
    biased = coefficients(knowledge(([0.0], [1.0], 2.0), ([0.0], [1.0], 0.0)))
    assert plain[0] == pytest.approx([0.5])
    assert biased[0] == pytest.approx([0.25])


def test_the_allowances():
    assert unsearched(np.array([4.0])).bias == pytest.approx([0.15**2 * 4])
    looked = searched(RadiusSearch(1.0, 50.0, 1.0), 1000.0, 4.0)
    assert looked.bias == pytest.approx(0.025**2 * 4)
    assert looked.centre_share == pytest.approx(0.025)
    assert searched(RadiusSearch(1.0, 5000.0, 1.0), 1000.0, 4.0).centre_share <= 0.5


def test_the_noise_that_clipping_passes_on_is_in_the_variance():
    """out_1 = z_1 + 0.4·z_0, averaged equally with out_0 = z_0: (0.7, 0.5) of the fresh noises."""
    known = Knowledge().add(Output(np.zeros(1), np.ones(1))).add(Output(np.zeros(1), np.ones(1), 0.0, 0.4))
    assert known.combined()[1] == pytest.approx([0.7**2 + 0.5**2])


# one stage


def setting_of(rows, count, relation=ADD, noise=None):
    space = Space(open_records(np.asarray(rows, float), on_invalid="neutral"), Isotropic(1.0))
    return StageSetting(space, count, relation, noise or RecordingNoise())


@pytest.mark.parametrize("centre", [0.0, 0.7, -3.0])
def test_without_noise_and_clipping_a_stage_finds_the_mean_from_any_centre(seed, centre):
    rows = np.random.default_rng(seed).normal(size=(50, 3))
    known = stage(setting_of(rows, 50.0), Knowledge(), Ball(np.full(3, centre), 1.0, 100.0), 1.0, Clipping(), "stage 1")
    assert known.outputs[0].value == pytest.approx(rows.mean(axis=0), abs=2e-4)


@pytest.mark.parametrize(("relation", "balls"), [(ADD, 1), (REPLACE, 2)])
def test_the_variance_of_a_stage_is_its_noise(relation, balls):
    setting = setting_of(np.zeros((10, 4)), 12.5, relation)
    ball = Ball(np.zeros(4), np.array([1.0, 2.0, 1.0, 5.0]), 3.0, np.array([1, 3]))
    known = stage(setting, Knowledge(), ball, 0.25, Clipping(), "s")
    [output], [event] = known.outputs, known.events
    expected = (balls * 3.0 / 0.25 / 12.5 * np.array([2.0, 5.0])) ** 2
    assert output.variance[[1, 3]] == pytest.approx(expected, rel=1e-12)
    assert np.isinf(output.variance[[0, 2]]).all()
    assert setting.noise.asked == [("gaussian", event.stddev, 2)]
    assert event.mu <= 0.25 * (1 + 1e-12)


def test_a_coordinate_outside_the_block_keeps_the_centre():
    ball = Ball(np.array([5.0, 6.0]), 1.0, 3.0, np.array([0]))
    known = stage(setting_of(np.ones((10, 2)), 10.0), Knowledge(), ball, 1.0, Clipping(), "s")
    assert known.outputs[0].value[1] == 6.0


@pytest.mark.parametrize("target", [2.0, 20.0, 80.0])
def test_the_searched_radius_has_about_the_wanted_excess(seed, target):
    rows = np.random.default_rng(seed).normal(size=(400, 5))
    setting, ball = setting_of(rows, 400.0), Ball(np.zeros(5), 1.0, 3.0)
    found = searched_radius(setting.space, ball, RadiusSearch(0.1, target, 1e3), noise=setting.noise)

    def excess(at):
        return np.clip(np.sqrt((rows**2).sum(axis=1)) / at - 1, 0, 1).sum()

    assert excess(found.value) <= target + 0.1
    assert excess(found.value / 1.09) > target - 0.1
    assert found.event.sensitivity == STEPS * math.sqrt(found.event.dimension)


def test_the_search_aims_above_its_own_noise():
    few, many = (RadiusSearch.balanced(0.1, stage_mu, 100.0, 1.0) for stage_mu in (100.0, 0.01))
    cells_noise = few.target / 1.5
    assert many.target == pytest.approx(0.4 * 10 / 0.01)
    assert cells_noise == pytest.approx(math.sqrt(6) / 0.1)  # log(15)/log(1.08) cells: 36, six queries


# whole runs


SPECTRUM = np.linspace(2.0, 0.2, 12)


def run(noise, seed=0, n=1500, **options):
    rows = np.random.default_rng(seed).normal(size=(n, 12)) * SPECTRUM + 3.0
    options = {"shape": Diagonal(SPECTRUM**2), "epsilon": 1.0, "delta": 1e-6} | options
    return release_mean(rows, **with_options(noise=noise, **options))


RUNS = {
    "default": {},
    "trusted radii": {"tails": "gaussian"},
    "replace-one": {"neighbours": "replace-one"},
    "unknown scale": {"scale": "learn"},
    "unknown scale, replace-one": {"scale": "learn", "neighbours": "replace-one"},
    "two stages": {"stages": 2},
    "no stages": {"stages": 0},
    "a sample for the core": {"core_sample": 1000},
    "a sample, replace-one": {"core_sample": 1300, "neighbours": "replace-one", "scale": "learn"},
}
every_run = pytest.mark.parametrize("options", RUNS.values(), ids=RUNS.keys())


@every_run
def test_every_draw_is_charged_and_the_total_is_within_the_branch(options):
    noise = RecordingNoise()
    ledger = run(noise, **options).ledger
    events = [*ledger.before, *ledger.searches, *ledger.after]
    drawn = [(scale, size) for kind, scale, size in noise.asked if kind == "gaussian"]
    for event in events:  # a search draws its dimensions one by one, and may stop early
        single = [(event.stddev, 1)] * event.dimension
        whole = [(event.stddev, event.dimension)]
        length = next(k for k in range(len(single), -1, -1) if drawn[:k] == single[:k])
        taken = whole if drawn[:1] == whole else single[:length]
        assert taken, event.purpose
        drawn = drawn[len(taken) :]
    assert drawn == []
    branch = ledger.menu[ledger.chosen]
    assert branch.ladder.length > 2
    assert compose(event.mu for event in ledger.searches) <= branch.search_mu * (1 + 1e-12)
    assert compose(event.mu for event in ledger.after) <= branch.mu
    assert compose(event.mu for event in ledger.after) > 0.97 * branch.mu  # and little is wasted
    assert ledger.delta() <= 1e-6


@every_run
def test_clipped_sums_are_charged_at_the_ball(options):
    balls = 2 if options.get("neighbours") == "replace-one" else 1
    ledger = run(RecordingNoise(), **options).ledger
    stages = [event for event in ledger.after if event.purpose.startswith("stage")]
    assert len(stages) == 0 if options.get("stages") == 0 else len(stages) > 0
    for event in stages:
        assert math.log2(event.sensitivity / (balls * BALL)).is_integer()


@every_run
def test_what_is_released_before_the_choice_does_not_depend_on_the_records(options):
    """P9: the precision of the count and the menu, searches included, are fixed before anything is released."""
    one, other = (run(RecordingNoise(), n=n, seed=n, **options).ledger for n in (1500, 4000))
    assert [event.mu for event in one.before] == [event.mu for event in other.before]
    if options.get("neighbours") != "replace-one":  # there the public number of records names one branch
        assert one.menu == other.menu


def test_stages_ask_for_growing_precision():
    ledger = run(RecordingNoise(), stages=3, tails="gaussian").ledger
    mus = [event.mu for event in ledger.after if event.purpose.startswith("stage")]
    assert mus == sorted(mus)


@pytest.mark.parametrize("options", [{}, {"scale": "learn"}, {"neighbours": "replace-one"}])
def test_the_stated_noise_is_that_of_the_ledger(options):
    """From the ledger alone: weights by inverse variance, allowances included, give noise_stddev."""
    release = run(RecordingNoise(), **options)
    count, factor = release.parameters["count"], release.parameters["scale"]
    weights, variances, shares, target = [], [], [], None
    for event in release.ledger.after:
        if event.purpose == "clipping radius":
            target = event
            continue
        unit = event.stddev * event.step / (1 if event.purpose == "mean" else count)
        share, pull = 0.3, 0.05 if weights else 0.0
        if target is not None:
            rank = SPECTRUM.sum() ** 2 / (SPECTRUM**2).sum()
            share = max(0.4 * math.sqrt(rank) / event.mu, 1.5 * target.stddev / STEPS) / count
            pull = share / 2
        centre = averaged(weights, shares)
        shares.append([*(pull * part for part in centre), np.ones(len(SPECTRUM))])
        weights.append(1 / (unit**2 + (share / 2) ** 2 * SPECTRUM * factor**2))
        variances.append(unit**2)
        target = None
    spread = sum(part**2 * variance for part, variance in zip(averaged(weights, shares), variances, strict=True))
    assert release.noise_stddev == pytest.approx(np.sqrt(spread * SPECTRUM), rel=1e-9)


def averaged(weights, shares):
    """How much of each fresh noise is in the average of the outputs so far."""
    total = sum(weights)
    padded = [[*parts, *[0.0] * (len(weights) - len(parts))] for parts in shares]
    return [sum(w * parts[i] for w, parts in zip(weights, padded, strict=True)) / total for i in range(len(weights))]


def test_a_rotated_shape_states_its_noise_exactly(seed):
    """V must be constant for a shape that is not diagonal: only then is diag(M^{1/4} V M^{1/4}) = V·diag(M^{1/2})."""
    rng = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(rng.normal(size=(12, 12)))
    covariance = rotation * SPECTRUM**2 @ rotation.T
    rows = rng.normal(size=(1500, 12)) * SPECTRUM @ rotation.T
    shape = Dense((covariance + covariance.T) / 2)
    release = release_mean(rows, shape=shape, epsilon=1.0, delta=1e-6, noise=SeededNoise(seed))
    ratio = release.noise_stddev**2 / shape.root_diagonal(12)
    assert ratio == pytest.approx(ratio[0], rel=1e-9)


class _Loud(RecordingNoise):
    """Noise of a given number of standard deviations."""

    def gaussian(self, stddev, size):
        super().gaussian(stddev, size)
        return np.full(size, round(2.0 * stddev), dtype=np.int64)


def test_a_stage_forgets_the_centre_it_clipped_around(seed):
    """Stage noise of +2 standard deviations shows as +2 of its own noise, whatever earlier noise did to the centre."""
    rows = np.random.default_rng(seed).normal(size=(3000, 3))
    known = knowledge((np.full(3, 0.1), np.full(3, 0.01), 0.0))
    honest = Honest(np.full(3, 9.0), np.ones(3), False, 100.0)  # a ball that clips nobody
    schedule = Schedule(None, 1.0, (0.3, 0.6), 0.0, 3, 0.0)
    known = run_schedule(setting_of(rows, 3000.0, noise=_Loud()), known, schedule, honest, 0.95)
    for output in known.outputs[1:]:
        assert output.value - rows.mean(axis=0) == pytest.approx(2 * np.sqrt(output.variance), abs=5e-4)
