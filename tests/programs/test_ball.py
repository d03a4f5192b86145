"""Records in a known ball (`norm=`): as precise as clip + Gaussian, better where records allow it, never refused."""

import numpy as np
import pytest

import dimfree
from dimfree.accounting.discrete import idealised
from dimfree.accounting.precision import largest_mu

BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def clip_and_gaussian(records, dimension, relation="add-remove"):
    """The root mean square length of the noise of the textbook mechanism, with the same count."""
    mu = largest_mu(*idealised(BUDGET["epsilon"], BUDGET["delta"]))
    share = 0.984 if relation == "add-remove" else 1.0
    return (1 if relation == "add-remove" else 2) * np.sqrt(dimension / share) / (records * mu)


def on_the_sphere(records, dimension, power=0.0, away=0.0, seed=0):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
    table = rng.normal(size=(records, dimension)) * np.arange(1.0, dimension + 1) ** -power @ turn
    table = table / np.sqrt(np.square(table).sum(axis=1).mean()) + away * turn[0]
    return table / np.linalg.norm(table, axis=1, keepdims=True)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("records", "dimension"), [(500, 20), (2000, 200), (4000, 64)])
def test_the_noise_is_that_of_clip_and_gaussian(records, dimension, relation):
    table = on_the_sphere(records, dimension)
    noise = []
    for seed in range(5):
        release = dimfree.release_mean(table, **BUDGET, norm=1.0, neighbours=relation, noise=dimfree.SeededNoise(seed))
        counted = release.parameters["count"] / records  # what dividing by the released count adds is no loss
        noise.append(np.linalg.norm(release.noise_stddev) * counted)
    allowed = 1.02 if records >= 2000 else 1.03  # few records need a larger share for the columns' variances
    assert np.median(noise) <= allowed * clip_and_gaussian(records, dimension, relation)


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_records_near_their_mean_get_less_noise(power):
    table = on_the_sphere(8000, 256, power=power, away=6.0)
    release = dimfree.release_mean(table, **BUDGET, norm=1.0, noise=dimfree.SeededNoise(0))
    assert np.linalg.norm(release.noise_stddev) < 0.3 * clip_and_gaussian(8000, 256)
    assert np.linalg.norm(release.mean - table.mean(axis=0)) < 0.3 * clip_and_gaussian(8000, 256)


def test_short_records_in_a_large_ball_get_the_noise_of_their_own_length():
    table = 0.1 * on_the_sphere(5000, 100)
    release = dimfree.release_mean(table, **BUDGET, norm=1.0, noise=dimfree.SeededNoise(0))
    assert np.linalg.norm(release.noise_stddev) < 0.3 * clip_and_gaussian(5000, 100)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("records", [1, 2, 30])
def test_no_number_of_records_is_refused(records, relation):
    release = dimfree.release_mean(
        np.full((records, 3), 0.5), **BUDGET, norm=1.0, neighbours=relation, noise=dimfree.SeededNoise(0)
    )
    assert not release.refused
    assert np.isfinite(release.mean).all()


def test_longer_records_are_clipped_to_the_ball():
    table = np.tile([[30.0, 0.0]], (20_000, 1))
    release = dimfree.release_mean(table, **BUDGET, norm=1.0, noise=dimfree.SeededNoise(0))
    assert np.abs(release.mean - [1.0, 0.0]).max() < 0.01


def test_intervals_cover_the_sample_mean():
    covered = []
    for seed in range(12):
        table = on_the_sphere(3000, 60, power=0.7, away=0.5, seed=seed)
        release = dimfree.release_mean(table, **BUDGET, norm=1.0, noise=dimfree.SeededNoise(seed))
        low, high = release.confidence_interval(0.95, target="sample")
        covered.append(((low <= table.mean(axis=0)) & (table.mean(axis=0) <= high)).mean())
    assert np.mean(covered) > 0.93  # 720 intervals


def test_every_group_is_a_release_in_the_ball():
    table = on_the_sphere(2000, 5)
    means = dimfree.release_means(
        table, groups=["a", "b"] * 1000, keys=["a", "b"], **BUDGET, norm=1.0, noise=dimfree.SeededNoise(0)
    )
    assert [release.method for release in means.values()] == ["ball", "ball"]


@pytest.mark.parametrize(
    "given",
    [
        {"norm": 0},
        {"norm": -1.0},
        {"norm": np.nan},
        {"norm": "1"},
        {"norm": 1.0, "covariance": [1.0, 1.0]},
        {"norm": 1.0, "objective": "relative"},
        {"norm": 1.0, "on_missing": "column"},
    ],
    ids=str,
)
def test_a_norm_that_cannot_be_used_is_an_error(given):
    with pytest.raises(dimfree.InvalidParameter, match="norm"):
        dimfree.release_mean(np.zeros((9, 2)), **BUDGET, **given)
