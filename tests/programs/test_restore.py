"""Noise in the records' own coordinates: what is stated is the covariance of the linear map that made the mean."""

from types import SimpleNamespace

import numpy as np
import pytest
from run_states import knowledge_of

from dimfree.kernel import Ball, Cosine, LearnedAxes
from dimfree.programs.learn import restore
from dimfree.programs.learn.restore import restored
from dimfree.programs.learn.shrinkage import VarianceRelease
from dimfree.programs.learn.state import Output

WIDTH = 6


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
    """Outputs with noise of their own; the first one serves the centre alone."""
    values = (rng.normal(size=(3, width)) for _ in weights)
    outputs = ((value, offset, np.exp(log)) for value, offset, log in values)
    return knowledge_of(*(Output(v, var, w, o) for (v, o, var), w in zip(outputs, weights, strict=True)))


def learned_axes(rng):
    directions = np.linalg.qr(rng.normal(size=(WIDTH, 2)))[0]
    return LearnedAxes(directions, np.exp(rng.normal(size=WIDTH)), np.exp(rng.normal(size=WIDTH)))


@pytest.mark.parametrize("basis", [None, Cosine(WIDTH), "learned"])
def test_dividing_by_a_noisy_count_adds_its_part_of_the_offset(rng, basis):
    """(n/n̂ - 1) times the offset of the answer: one direction, whose variance is added."""
    basis = learned_axes(rng) if basis == "learned" else basis
    known = stages_of(rng, WIDTH)
    plain, noisy = (restored(state_of(basis, known, count_stddev=stddev)) for stddev in (0.0, 30.0))
    offset = known.answer()[2] if basis is None else basis.restored(known.answer()[2])
    assert np.allclose(noisy.variance, plain.variance + (0.3 * offset) ** 2)
    if basis is not None:
        assert noisy.noise_principal.sum() == pytest.approx(plain.noise_principal.sum() + 0.09 * offset @ offset)


def test_the_reach_is_told_in_the_columns(rng):
    ball = Ball(rng.normal(size=WIDTH), 2.0, 3.0)
    found = restored(state_of(None, stages_of(rng, WIDTH), ball)).reach
    assert (found.radius, found.scale.tolist()) == (3.0, [2.0] * WIDTH)
    assert (found.centre == ball.centre).all()


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
    seen, learned_shape = [], restore.learned_shape
    monkeypatch.setattr(restore, "learned_shape", lambda each, *rest: seen.append(each) or learned_shape(each, *rest))
    mean, variance = rng.normal(size=WIDTH), np.full(WIDTH, 0.01)
    known = knowledge_of(Output(mean, variance, 1.0))
    state = state_of(None, known)
    state.own_scores, state.ring_scores = given[-1], tuple(given[:-1])
    found = restored(state).shape
    assert [any(each is one for one in seen) for each in given] == [place in last for place in range(len(given))]
    for place in range(WIDTH):
        each = [one for one in given if one.which is None or place in one.which][-1]
        where = place if each.which is None else list(each.which).index(place)
        assert found.variances[place] == each.variances[where]


def _variance_release(rng, which):
    width = WIDTH if which is None else len(which)
    variances, centre, scores = np.exp(rng.normal(size=(3, width)))
    return VarianceRelease(variances, centre, scores, 0.1, np.ones(width), None if which is None else np.array(which))
