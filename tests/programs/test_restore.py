"""The stated noise is the noise: of the linear map that made the mean, and as drawn anew many times."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from recording import RecordingNoise
from scipy.stats import chi2
from states import knowledge_of, standing_view
from stats import sampling

from dimfree.data.records import open_records
from dimfree.kernel import Ball, Cosine, DirectionCenter, LearnedAxes
from dimfree.kernel.rows.bases import Given
from dimfree.kernel.rows.space import Space
from dimfree.noise import SeededNoise
from dimfree.programs.learn import restore
from dimfree.programs.learn.principal_directions import Spikes
from dimfree.programs.learn.restore import restore_answer
from dimfree.programs.learn.shrinkage import VarianceRelease
from dimfree.programs.learn.state import Knowledge, Output, State, StepSetting
from dimfree.programs.learn.steps import run_step
from dimfree.shapes import DiagonalCovariance

FALSE_ALARM = 1e-6
WIDTH, RECORDS = 6, 40
TURN = np.linalg.qr(np.random.default_rng(3).normal(size=(WIDTH, WIDTH)))[0]
DIRECTIONS = np.linalg.qr(np.random.default_rng(4).normal(size=(WIDTH, 2)))[0]
UNEVEN = np.exp(np.random.default_rng(5).normal(size=WIDTH))
LOOK = VarianceRelease(*np.ones((3, WIDTH)), 0.1, np.ones(WIDTH))
PUBLIC = {"dct": Cosine(WIDTH), "given": Given(TURN)}


def learned_axes(spread):
    weights = np.sqrt(np.concatenate([(DIRECTIONS**2 * spread[:, None]).sum(axis=0), np.full(WIDTH - 2, 1.3)]))
    return LearnedAxes(DIRECTIONS, np.sqrt(spread), np.ones(WIDTH) if np.ptp(spread) == 0 else weights)


def state_in(basis, noise=None):
    """Nothing known yet, in the coordinates of a public basis or the records' own."""
    rows = np.random.default_rng(6).normal(size=(RECORDS, WIDTH))
    space = Space(open_records(rows), DiagonalCovariance(np.ones(WIDTH if basis is None else basis.width)), basis)
    setting = StepSetting(standing_view(space, noise=noise or RecordingNoise()), float(RECORDS))
    alike = np.ones(space.dimension)
    return State(setting, 1.0, 9.0, float(WIDTH), Knowledge(), 1.0, alike, 0.01 * alike)


def plan_of(seed, width, count, counted=False):
    """Variance and weight of some outputs to come; those before the last coordinates have none."""
    coins = np.random.default_rng([seed, width])
    variances = np.exp(coins.normal(size=(count, width)))
    weights = coins.dirichlet(np.ones(count)) if counted else np.zeros(count)
    return list(zip(variances, weights, strict=True))


def told(state, plan, pushes):
    """Outputs about a mean of zero: each the push it is given."""
    known = state.known
    for (variance, weight), push in zip(plan, pushes, strict=True):
        known = known.add_step(Output(push * np.sqrt(variance), variance, weight))
    return replace(state, known=known)


def answer_to(way, pushes):
    """The answer where the outputs' noise, in units of its own deviation, is `pushes`."""
    start, basis, first, later = way
    state = told(state_in(start), first, pushes[: len(first)])
    if basis is not None:
        state = told(state.move_to(basis), later, pushes[len(first) :])
    return restore_answer(replace(state, own_scores=LOOK))


WAYS = {
    **{name: (basis, None, plan_of(1, basis.width, 4, counted=True), []) for name, basis in PUBLIC.items()},
    "moved to the dct": (None, Cosine(WIDTH), plan_of(2, WIDTH, 3), plan_of(3, WIDTH, 3, counted=True)),
    "directions": (None, learned_axes(np.ones(WIDTH)), plan_of(2, WIDTH, 3), plan_of(3, WIDTH, 3, counted=True)),
    "scaled directions": (None, learned_axes(UNEVEN), plan_of(4, WIDTH, 3), plan_of(5, WIDTH, 3, counted=True)),
    "own axes": (None, None, plan_of(6, WIDTH, 4, counted=True), []),
}


def covariance_of(way):
    """Of the answer: every single draw of every output, one at a time, all others nought."""
    start, _, first, later = way
    widths = [WIDTH if start is None else start.width] * len(first) + [WIDTH] * len(later)
    nought = [np.zeros(width) for width in widths]
    columns = []
    for index, width in enumerate(widths):
        for unit in np.eye(width):
            columns.append(answer_to(way, [*nought[:index], unit, *nought[index + 1 :]]).mean)
    assert not answer_to(way, nought).mean.any()
    return np.array(columns).T @ np.array(columns)


@pytest.mark.parametrize("name", WAYS)
def test_the_stated_noise_is_that_of_the_whole_linear_map(name):
    way = WAYS[name]
    truth = covariance_of(way)
    found = answer_to(way, [np.zeros(len(variance)) for variance, _ in (*way[2], *way[3])])
    assert found.variance == pytest.approx(np.diagonal(truth), rel=1e-9)
    principal = found.variance if found.noise_principal is None else found.noise_principal
    along = np.linalg.eigvalsh(truth)
    assert np.sort(principal) == pytest.approx(along, rel=1e-9)


# drawn anew


def drawn_anew(way, seed, times):
    """Answers that differ by the noise of a last stage alone, and the covariance that this is said to have in them."""
    start, basis, first, _ = way
    state = told(state_in(start), first, [np.zeros(len(variance)) for variance, _ in first])
    if basis is not None:
        state = state.move_to(basis)
    before, width = replace(state, own_scores=LOOK), state.setting.view.dimension
    before = told(before, [(np.linspace(0.1, 0.01, width), 0.4)], [np.zeros(width)])
    ball, answers = Ball(before.known.combined[0], np.linspace(0.5, 2, width), 2.0), []
    for time in range(times):
        view = standing_view(state.setting.view._space, noise=SeededNoise(seed + time))
        setting = StepSetting(view, float(RECORDS))
        state = replace(before, known=run_step(setting, before.known, ball, 0.4, "stage 1", 0.6))
        answers.append(restore_answer(state).mean)
    return np.array(answers), covariance_of_last(state)


def covariance_of_last(state):
    """By the weight of the last output: α of the variance of the answer, whatever its own noise."""
    basis = state.setting.view.basis
    back = np.stack([basis.restore_answer(unit) for unit in np.eye(basis.width)])
    return (back.T * (0.6 * state.known.answer()[1])) @ back


def fits(answers, covariance, factor, false_alarm):
    """Whether `factor` times the stated deviations explain how the answers differ, along every principal direction."""
    variances, along = np.linalg.eigh(covariance)
    apart = (answers - answers.mean(axis=0)) @ along
    totals, each = (apart**2).sum(axis=0) / (variances * factor**2), false_alarm / 2 / WIDTH
    freedom = len(answers) - 1
    return bool(((chi2.ppf(each, freedom) <= totals) & (totals <= chi2.isf(each, freedom))).all())


@sampling(FALSE_ALARM)
@pytest.mark.parametrize("name", ["dct", "directions", "scaled directions"])
def test_a_last_stage_drawn_anew_moves_the_answer_as_stated(seed, name):
    answers, stated = drawn_anew(WAYS[name], 10_000 * seed, 300)
    assert fits(answers, stated, 1.0, FALSE_ALARM)
    assert not fits(answers, stated, 0.7, FALSE_ALARM)
    assert not fits(answers, stated, 1.35, FALSE_ALARM)
    variances, along = np.linalg.eigh(stated)
    assert not fits(answers, (along * variances[::-1]) @ along.T, 1.0, FALSE_ALARM)  # as much, in other places


# what else an answer says


def test_principal_variances_of_the_records_are_those_of_their_model():
    basis = learned_axes(UNEVEN)
    state = told(state_in(None), plan_of(4, WIDTH, 2), [np.zeros(WIDTH)] * 2)
    state = replace(state.move_to(basis, np.linspace(3, 1, WIDTH)), own_scores=LOOK)
    state = told(state, plan_of(5, WIDTH, 2, counted=True), [np.zeros(WIDTH)] * 2)
    back = basis.restore_answer(np.eye(WIDTH))
    model = (back.T * np.linspace(3, 1, WIDTH) ** 2) @ back
    found, spectrum = restore_answer(state), np.linalg.eigvalsh(model)[::-1]
    assert found.record_principal == pytest.approx(
        spectrum * found.estimated_variances.variances.sum() / spectrum.sum()
    )


def test_directions_are_told_with_the_scale_they_were_found_in():
    state = replace(told(state_in(None), plan_of(4, WIDTH, 2, counted=True), [np.zeros(WIDTH)] * 2), scores=LOOK)
    assert restore_answer(state).estimated_variances.directions is None
    spikes = Spikes(DIRECTIONS, np.array([0.5, 0.2]), np.array([0.1, math.pi / 2]))
    found = spikes, DirectionCenter(state.in_original()[0], np.sqrt(UNEVEN))
    directions = restore_answer(replace(state, directions=found)).estimated_variances.freeze(WIDTH).directions
    assert np.array_equal(directions.vectors, DIRECTIONS.T)
    assert np.array_equal(directions.scale, np.sqrt(UNEVEN))
    assert (len(directions), directions.shares[0], directions.angles[1]) == (2, 0.5, math.pi / 2)


def state_of(basis, known, ball=None, count_stddev=0.0):
    """As much of a state as is read."""
    width = len(known.outputs[0].value)
    return SimpleNamespace(
        known=known,
        setting=SimpleNamespace(view=SimpleNamespace(basis=basis), count=100.0, count_stddev=count_stddev),
        own_scores=VarianceRelease(*np.ones((3, WIDTH)), 0.1, np.ones(WIDTH)),
        ring_scores=(),
        directions=None,
        stddev=np.ones(width),
        ball=ball,
        lengths=None,
    )


def stages_of(rng, width, weights=(0.0, 0.2, 0.8)):
    """Outputs with noise of their own; the first one serves the center alone."""
    values = (rng.normal(size=(3, width)) for _ in weights)
    outputs = ((value, offset, np.exp(log)) for value, offset, log in values)
    return knowledge_of(*(Output(v, var, w, o) for (v, o, var), w in zip(outputs, weights, strict=True)))


def any_axes(rng):
    directions = np.linalg.qr(rng.normal(size=(WIDTH, 2)))[0]
    return LearnedAxes(directions, np.exp(rng.normal(size=WIDTH)), np.exp(rng.normal(size=WIDTH)))


@pytest.mark.parametrize("basis", [None, Cosine(WIDTH), "learned"])
def test_dividing_by_a_noisy_count_adds_its_part_of_the_offset(rng, basis):
    """(n/n̂ - 1) times the offset of the answer: one direction, whose variance is added."""
    basis = any_axes(rng) if basis == "learned" else basis
    known = stages_of(rng, WIDTH)
    plain, noisy = (restore_answer(state_of(basis, known, count_stddev=stddev)) for stddev in (0.0, 30.0))
    offset = known.answer()[2] if basis is None else basis.restore_answer(known.answer()[2])
    assert np.allclose(noisy.variance, plain.variance + (0.3 * offset) ** 2)
    if basis is not None:
        assert noisy.noise_principal.sum() == pytest.approx(plain.noise_principal.sum() + 0.09 * offset @ offset)


def test_the_reach_is_told_in_the_columns(rng):
    ball = Ball(rng.normal(size=WIDTH), 2.0, 3.0)
    found = restore_answer(state_of(None, stages_of(rng, WIDTH), ball)).clipping
    assert (found.radius, found.scale.tolist()) == (3.0, [2.0] * WIDTH)
    assert (found.center == ball.center).all()


SPOKEN = {  # coordinates of each variance release, in their order (None: all), and which of these still say something
    (None, None): [1],
    ((0, 1, 2), (3, 4, 5)): [0, 1],
    (None, (1, 2)): [0, 1],
    ((0, 1), None): [1],
    (None, (0, 1, 2), (3, 4, 5)): [1, 2],
    (None, (0, 1, 2), (2, 3, 4)): [0, 1, 2],
}


@pytest.mark.parametrize(("releases", "last"), SPOKEN.items(), ids=str)
def test_a_coordinate_has_the_spread_of_its_last_variance_release(rng, monkeypatch, releases, last):
    """Releases that later ones repeat in every coordinate are not looked at: their fits take long."""
    given = [_variance_release(rng, which) for which in releases]
    seen, learn_shape = [], restore.learn_shape
    monkeypatch.setattr(restore, "learn_shape", lambda each, *rest: seen.append(each) or learn_shape(each, *rest))
    mean, variance = rng.normal(size=WIDTH), np.full(WIDTH, 0.01)
    known = knowledge_of(Output(mean, variance, 1.0))
    state = state_of(None, known)
    state.own_scores, state.ring_scores = given[-1], tuple(given[:-1])
    found = restore_answer(state).estimated_variances
    assert [any(each is one for one in seen) for each in given] == [place in last for place in range(len(given))]
    for place in range(WIDTH):
        each = [one for one in given if one.which is None or place in one.which][-1]
        where = place if each.which is None else list(each.which).index(place)
        assert found.variances[place] == each.variances[where]


def _variance_release(rng, which):
    width = WIDTH if which is None else len(which)
    variances, center, scores = np.exp(rng.normal(size=(3, width)))
    return VarianceRelease(variances, center, scores, 0.1, np.ones(width), None if which is None else np.array(which))
