"""The paper's Algorithm 1 with M = I: the basic core of release_mean if the spread is round, else the folklore rate."""

import math

import numpy as np
import pytest
from flat_options import with_options
from recording import RecordingNoise
from scipy.stats import chi2
from stats import sampling

from dimfree.accounting.budget import Budget
from dimfree.accounting.calibrate import bound_distance, calibrate_filtered, remaining_mu
from dimfree.comparison.baselines.ball import ball, friend_radius
from dimfree.errors import InvalidParameter
from dimfree.noise import SeededNoise, SystemNoise
from dimfree.release import release_mean
from dimfree.results.release import Release
from dimfree.shapes import Isotropic

ADD, REPLACE = "add-remove", "replace-one"
RELATIONS = pytest.mark.parametrize("relation", [ADD, REPLACE])
EPSILON, DELTA, COUNT = 4.0, 1e-6, 400
STDDEVS = np.array([1.0, 2.0, 0.5])
BOUND_SHARE = 0.3  # of the precision, for the number kept


@pytest.fixture
def table(rng):
    return 1000.0 + STDDEVS * rng.normal(size=(COUNT, 3))


def release(X, relation=ADD, **changes):
    given = {"epsilon": EPSILON, "delta": DELTA, "stddevs": STDDEVS, "noise": RecordingNoise(), **changes}
    return ball(X, neighbours=relation, **given)


def inner(relation):
    """What the average may cost under add/remove: replace-one goes through the common records, twice."""
    if relation == ADD:
        return Budget(EPSILON, DELTA)
    return Budget(EPSILON / 2, DELTA / (1 + math.exp(EPSILON / 2)))


# the map


@RELATIONS
def test_the_noise_is_two_radii_over_what_was_kept(relation):
    """Equal records, all kept: count, lower bound and mean as Algorithm 1 has them, at what P1's lifting leaves."""
    noise = RecordingNoise()
    found = release(np.ones((COUNT, 3)), relation, noise=noise)
    branch = calibrate_filtered(inner(relation))
    bound_mu = math.sqrt(BOUND_SHARE) * branch.mu
    lowest = COUNT - bound_distance(branch) / bound_mu
    wanted = 2 * found.parameters["radius"] / lowest / remaining_mu(branch, bound_mu)
    assert found.noise_stddev == pytest.approx(wanted, rel=1e-3)
    assert [asked[0] for asked in noise.asked] == ["below", "gaussian", "gaussian"]
    assert noise.asked[0] == ("below", COUNT, COUNT)


@RELATIONS
def test_the_whole_budget_is_used(table, relation):
    found = release(table, relation)
    (event,) = found.ledger.events
    assert event.epsilon == EPSILON
    assert 0.999 * DELTA < found.ledger.delta() <= DELTA


def test_on_a_round_world_it_is_the_basic_core_of_release_mean(rng, seed):
    table = rng.normal(size=(COUNT, 5))
    common = {"epsilon": EPSILON, "delta": DELTA}
    way = {"shape": Isotropic(1.0), "core": "basic", "outliers": 0.0, "tails": "gaussian"}
    ours = ball(table, stddevs=np.ones(5), noise=SeededNoise(seed), **common)
    general = release_mean(table, **with_options(noise=SeededNoise(seed), **way, **common))
    assert ours.parameters["radius"] == pytest.approx(general.parameters["radius"], rel=1e-12)
    assert ours.noise_stddev == pytest.approx(general.noise_stddev, rel=1e-6)
    assert ours.mean == pytest.approx(general.mean, rel=1e-4)


# the figures


@pytest.mark.parametrize("dimension", [300, 3000])
def test_the_radius_is_that_of_round_records(dimension):
    """Distances of N(0, I) lie about sqrt(2·tr Σ): the filter asks for hardly more."""
    assert 1.0 < friend_radius(np.ones(dimension)) / math.sqrt(2 * dimension) < 1.15


def test_the_radius_knows_the_spectrum_and_its_scale():
    long = np.where(np.arange(1000) < 1, 1.0, 1e-4)
    assert 1.5 < friend_radius(long) < 4.0  # one Gaussian coordinate, not sqrt(1000)
    assert friend_radius(long * 2.0**40) == pytest.approx(friend_radius(long) * 2.0**40)
    assert friend_radius(long[::-1]) == friend_radius(long)


def noise_fits(squares, freedom, factor, false_alarm):
    law = chi2(freedom)
    return law.ppf(false_alarm / 2) < squares / factor**2 < law.ppf(1 - false_alarm / 2)


@sampling(1e-6)
def test_the_stated_noise_is_the_noise(seed):
    found = release(np.full((200, 1000), 3.0), stddevs=np.ones(1000), noise=SeededNoise(seed))
    squares = float((((found.mean - 3.0) / found.noise_stddev) ** 2).sum())
    assert noise_fits(squares, 1000, 1.0, 1e-6)
    assert not noise_fits(squares, 1000, 0.7, 1e-6)
    assert not noise_fits(squares, 1000, 1.3, 1e-6)


@sampling(1e-6)
@RELATIONS
def test_no_bound_on_the_mean_is_needed(table, relation):
    found = release(table, relation, noise=SystemNoise())
    assert not found.refused
    assert np.all(np.abs(found.mean - 1000.0) < 8 * (found.noise_stddev + STDDEVS / math.sqrt(COUNT)))


# manners


@RELATIONS
def test_the_input_is_left_alone(table, relation):
    before, stddevs = table.copy(), STDDEVS.copy()
    release(table, relation, stddevs=stddevs, noise=SystemNoise())
    assert np.array_equal(table, before)
    assert np.array_equal(stddevs, STDDEVS)


def test_a_release_survives_json(table):
    found = release(table, noise=SystemNoise())
    assert found.method == "ball"
    assert found.guarantee.private
    assert Release.from_json(found.to_json()) == found


@RELATIONS
@pytest.mark.parametrize("count", [0, 1, 5])
def test_few_records_are_refused_as_a_value(rng, relation, count):
    found = release(rng.normal(size=(count, 3)), relation, epsilon=1.0, noise=SystemNoise())
    assert found.refused
    assert found.ledger.delta() <= DELTA


def test_two_camps_are_refused(table):
    table[::2] += 1e6
    assert release(table).refused


@pytest.mark.filterwarnings("error")
def test_records_beyond_the_grid_are_refused(table):
    assert "far from zero" in release(np.full((COUNT, 3), 1e200)).refusal


def test_one_constant_column_is_released():
    assert release(np.full((COUNT, 1), -7.25), stddevs=[2.0]).mean == pytest.approx(-7.25, abs=1e-4)


@pytest.mark.parametrize("wrong", [[1.0, 1.0], [1.0, 0.0, 1.0], [1.0, math.nan, 1.0], [1e70] * 3])
def test_priors_are_checked(table, wrong):
    with pytest.raises(InvalidParameter, match="stddevs"):
        release(table, stddevs=wrong)
