"""The yardsticks: they say that they are not private, and they are what the benchmarks measure against."""

import copy
import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from benchmarks.accuracy.yardsticks import Oracle
from dimfree.comparison.baselines.not_private import NotPrivate, empirical_mean, floor_radius, oracle_floor
from recording import RecordingNoise

from dimfree.accounting.precision import largest_mu
from dimfree.errors import InvalidParameter, InvalidRecords
from dimfree.noise import SeededNoise, SystemNoise
from dimfree.results.release import Release

EPSILON, DELTA, COUNT = 1.0, 1e-6, 300
STDDEVS = np.array([1.0, 0.5, 4.0, 1e-3])
MEAN = np.array([3.0, -1.0, 1e5, 0.0])


@pytest.fixture
def table(rng):
    return MEAN + STDDEVS * rng.normal(size=(COUNT, 4))


def floor(X, **changes):
    given = {"epsilon": EPSILON, "delta": DELTA, "mean": MEAN, "stddevs": STDDEVS, "noise": RecordingNoise(), **changes}
    return oracle_floor(X, **given)


@pytest.mark.parametrize("found", [empirical_mean(np.ones((3, 2))), floor(np.ones((3, 4)), noise=SystemNoise())])
def test_it_says_that_it_is_not_private(found):
    assert isinstance(found, NotPrivate)
    assert not isinstance(found, Release)
    assert found.private is False
    assert found.refused is False
    assert "not private" in repr(found)
    assert found.method in repr(found)
    assert found.why in repr(found)


def test_it_is_frozen_and_its_own():
    source = np.ones(2)
    found = NotPrivate("empirical-mean", source, "no noise")
    source[0] = 9.0
    assert found.mean.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        found.mean[0] = 0.0
    with pytest.raises(FrozenInstanceError):
        found.method = "clipped"
    assert copy.copy(found).mean.tolist() == [1.0, 1.0]


# the floor


@pytest.mark.parametrize(("relation", "balls"), [("add-remove", 1), ("replace-one", 2)])
def test_the_noise_is_that_of_the_whole_budget(table, relation, balls):
    noise = RecordingNoise()
    floor(table, neighbours=relation, noise=noise)
    ((kind, stddev, size),) = noise.asked
    assert (kind, size) == ("gaussian", 4)
    one = RecordingNoise()  # noise of 1 where the other has 0 shows the step
    one.gaussian = lambda stddev, size: np.ones(size, dtype=np.int64)
    step = (floor(table, neighbours=relation, noise=one).mean - floor(table, neighbours=relation).mean)[1]
    oracle = Oracle(STDDEVS, COUNT, EPSILON, DELTA)
    assert stddev * step == pytest.approx(balls * oracle.noise_stddev[1], rel=2e-4)  # M8 keeps a part of delta


def test_without_noise_it_is_the_oracle_of_the_benchmarks(table):
    oracle = Oracle(STDDEVS, COUNT, EPSILON, DELTA)
    assert floor_radius(STDDEVS, COUNT) == pytest.approx(oracle.radius, rel=1e-14)
    table[:20] += 10 * STDDEVS  # clipped
    wanted = MEAN + oracle._clipped_mean(table, MEAN)
    assert floor(table).mean == pytest.approx(wanted, abs=1e-4)


def test_the_radius_in_words():
    wanted = math.sqrt(STDDEVS.sum()) + math.sqrt(2 * 4.0 * math.log(COUNT))
    assert floor_radius(STDDEVS, COUNT) == pytest.approx(wanted)


def test_the_length_of_the_noise_is_the_paper_s(table):
    """tr(Σ^{1/2})/n over mu, and what the logarithm adds."""
    errors = [np.linalg.norm(floor(table, noise=SeededNoise(s)).mean - floor(table).mean) for s in range(200)]
    wanted = floor_radius(STDDEVS, COUNT) * math.sqrt(STDDEVS.sum()) / COUNT / largest_mu(EPSILON, DELTA)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(wanted, rel=0.35)


def test_a_table_without_records_gives_a_value():
    assert floor(np.zeros((0, 4))).mean == pytest.approx(MEAN)
    assert np.isnan(empirical_mean(np.zeros((0, 4))).mean).all()


@pytest.mark.parametrize("wrong", [{"mean": [0.0]}, {"stddevs": [1.0]}, {"stddevs": [1.0, 1.0, 1.0, 0.0]}])
def test_priors_are_checked(table, wrong):
    with pytest.raises(InvalidParameter, match=next(iter(wrong))):
        floor(table, **wrong)


# the sample mean


def test_it_is_the_sample_mean(table):
    before = table.copy()
    assert empirical_mean(table).mean == pytest.approx(table.mean(axis=0), rel=1e-12)
    floor(table)
    assert np.array_equal(table, before)


def test_invalid_rows(table):
    table[5] = np.nan
    with pytest.raises(InvalidRecords):
        empirical_mean(table)
    found = empirical_mean(table, on_missing="drop")
    assert found.mean == pytest.approx(np.delete(table, 5, axis=0).mean(axis=0), rel=1e-12)
