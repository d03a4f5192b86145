"""Noise in the records' own coordinates: what is stated is the covariance of the linear map that made the mean."""

from types import SimpleNamespace

import numpy as np
import pytest

from dimfree.estimators.learn.knowledge import Knowledge, Output
from dimfree.estimators.learn.restore import restored
from dimfree.estimators.learn.spreads import VarianceRelease
from dimfree.geometry.bases.cosine import Cosine
from dimfree.geometry.bases.hadamard import Hadamard
from dimfree.geometry.bases.learned import LearnedAxes

WIDTH = 6


def state_of(basis, known, early=None):
    """As much of a state as is read."""
    width = len(known.outputs[0].value)
    return SimpleNamespace(
        known=known,
        clipping=np.zeros(width),
        setting=SimpleNamespace(space=SimpleNamespace(basis=basis)),
        own_scores=VarianceRelease(*np.ones((3, WIDTH)), 0.1, np.ones(WIDTH)),
        directions=None,
        stddev=np.ones(width),
        early_variance=early,
    )


def stages_of(rng, first, width, pulls=(0.2, 0.0, 0.1)):
    """A first output and later ones, each with noise of its own and some of its centre's."""
    known = Knowledge().add(first)
    for pull in pulls:
        known = known.add(Output(rng.normal(size=width), np.exp(rng.normal(size=width)), 0.3, pull))
    return known


def noise_map(known):
    """What the fresh noise of every output becomes in the combination, found by giving one of them a push."""
    shares = [np.asarray(share) for share in known._combined_shares()]
    return [np.broadcast_to(share, known.outputs[0].value.shape) for share in shares]


def learned_axes(rng):
    directions = np.linalg.qr(rng.normal(size=(WIDTH, 2)))[0]
    return LearnedAxes(directions, np.exp(rng.normal(size=WIDTH)), np.exp(rng.normal(size=WIDTH)))


def test_learned_axes_come_back_and_begin_with_the_directions(rng):
    directions, scale = np.linalg.qr(rng.normal(size=(WIDTH, 2)))[0], np.exp(rng.normal(size=WIDTH))
    axes, rows = LearnedAxes(directions, scale, np.ones(WIDTH)), rng.normal(size=(9, WIDTH))
    turned = axes.rotated(rows)
    assert np.allclose(axes.restored(turned), rows)
    assert np.allclose(turned[:, :2], (rows / scale) @ directions)
    assert np.allclose(np.linalg.norm(turned, axis=1), np.linalg.norm(rows / scale, axis=1))


def test_a_rotation_keeps_principal_variances(rng):
    known = stages_of(rng, Output(rng.normal(size=WIDTH), np.full(WIDTH, 2.0)), WIDTH)
    found = restored(state_of(Cosine(WIDTH), known))
    back = Cosine(WIDTH).restored(np.eye(WIDTH))
    covariance = (back.T * known.combined()[1]) @ back
    assert np.allclose(found.variance, np.diagonal(covariance))
    assert np.allclose(np.sort(found.noise_principal), np.linalg.eigvalsh(covariance))
    assert np.allclose(found.mean, known.combined()[0] @ back)


def test_padding_that_is_dropped_leaves_no_more_than_the_largest(rng):
    basis = Hadamard(WIDTH)
    known = stages_of(rng, Output(rng.normal(size=8), np.full(8, 2.0)), 8)
    found = restored(state_of(basis, known))
    back = np.stack([basis.restored(unit) for unit in np.eye(8)])
    covariance = (back.T * known.combined()[1]) @ back
    assert np.allclose(found.variance, np.diagonal(covariance))
    true = np.linalg.eigvalsh(covariance)[::-1]
    assert len(found.noise_principal) == WIDTH
    assert (found.noise_principal >= true - 1e-12).all()
    assert (found.noise_principal > true * 1.001).any()  # a bound, and no equality


@pytest.mark.parametrize("pulls", [(), (0.0,), (0.2, 0.0, 0.1)])
def test_what_was_known_before_learned_axes_is_carried_along(rng, pulls):
    """The covariance of the very map: B, shares, R, one output's noise at a time."""
    axes, early = learned_axes(rng), np.exp(rng.normal(size=WIDTH))
    into, back = axes.rotated(np.eye(WIDTH)).T, axes.restored(np.eye(WIDTH)).T
    first = Output(into @ rng.normal(size=WIDTH), axes.moved_variances(early))
    assert np.allclose(first.variance, np.diagonal((into * early) @ into.T))
    known = stages_of(rng, first, WIDTH, pulls)
    shares = noise_map(known)
    maps = [(back * shares[0]) @ into * np.sqrt(early)]
    maps += [back * (share * np.sqrt(out.variance)) for share, out in zip(shares[1:], known.outputs[1:], strict=True)]
    covariance = sum(each @ each.T for each in maps)
    found = restored(state_of(axes, known, early))
    assert np.allclose(found.variance, np.diagonal(covariance))
    assert np.allclose(found.noise_principal, np.linalg.eigvalsh(covariance)[::-1])
    records = restored(state_of(axes, known, early)).record_principal
    assert np.allclose(records, np.linalg.eigvalsh(back @ back.T)[::-1])
    if pulls:
        forgetful = (back**2) @ known.combined()[1]  # as if the coordinates of what was known were independent there
        assert not np.allclose(found.variance, forgetful, rtol=1e-3)


def test_equal_noise_before_and_no_scale_is_a_rotation(rng):
    axes = LearnedAxes(np.linalg.qr(rng.normal(size=(WIDTH, 2)))[0], np.ones(WIDTH), np.ones(WIDTH))
    known = stages_of(rng, Output(rng.normal(size=WIDTH), axes.moved_variances(np.full(WIDTH, 0.7))), WIDTH)
    plain, carried = (restored(state_of(axes, known, early)) for early in (None, np.full(WIDTH, 0.7)))
    assert np.allclose(plain.variance, carried.variance)
    assert np.allclose(np.sort(plain.noise_principal), np.sort(carried.noise_principal))
