"""The clipped Gaussian mean: its noise is the ball over the precision, its bias what is clipped, nothing else."""

import math

import numpy as np
import pytest
from dimfree.comparison.baselines.clipped import clipped
from dimfree.comparison.baselines.frame import COUNT_SHARE
from recording import RecordingNoise
from scipy import sparse
from scipy.stats import chi2
from stats import sampling

from dimfree.accounting.discrete import idealised
from dimfree.accounting.precision import largest_mu
from dimfree.errors import InvalidParameter
from dimfree.noise import SeededNoise, SystemNoise
from dimfree.results.release import Release

ADD, REPLACE = "add-remove", "replace-one"
RELATIONS = pytest.mark.parametrize(("relation", "balls"), [(ADD, 1), (REPLACE, 2)])
EPSILON, DELTA, COUNT, DIMENSION, RADIUS = 1.0, 1e-6, 500, 3, 20.0


@pytest.fixture
def table(rng):
    return rng.normal(loc=2.0, size=(COUNT, DIMENSION))


def release(X, relation=ADD, **changes):
    given = {"epsilon": EPSILON, "delta": DELTA, "radius": RADIUS, "noise": RecordingNoise(), **changes}
    return clipped(X, neighbours=relation, **given)


def mean_mu(relation):
    share = 1.0 if relation == REPLACE else 1 - COUNT_SHARE
    return largest_mu(*idealised(EPSILON, DELTA)) * math.sqrt(share)


# the map


@RELATIONS
def test_the_noise_is_the_ball_over_the_precision(table, relation, balls):
    noise = RecordingNoise()
    found = release(table, relation, noise=noise)
    event = found.ledger.events[-1]
    assert noise.asked[-1] == ("gaussian", event.stddev, DIMENSION)
    assert len(noise.asked) == len(found.ledger.events) == (2 if relation == ADD else 1)
    assert event.stddev * event.step == pytest.approx(balls * RADIUS / mean_mu(relation), rel=1e-9)
    assert found.noise_stddev == pytest.approx(balls * RADIUS / mean_mu(relation) / COUNT, rel=1e-9)


@RELATIONS
def test_the_sum_moves_by_the_charged_number_of_balls(table, relation, balls):
    """One record far out, exchanged for its opposite or for nothing: without noise the sum moves by just that."""
    far = np.full((1, DIMENSION), 1e9)
    other = -far if relation == REPLACE else far[:0]
    sums = [release(np.vstack([table, x]), relation, radius=5.0) for x in (far, other)]
    moved = np.linalg.norm(sums[0].mean * sums[0].parameters["count"] - sums[1].mean * sums[1].parameters["count"])
    assert 0.999 * balls * 5.0 < moved <= balls * 5.0 * (1 + 1e-12)


@RELATIONS
def test_the_ledger_uses_the_budget_up(table, relation, balls):
    assert 0.99 * DELTA < release(table, relation).ledger.delta() <= DELTA


def test_without_noise_it_is_the_clipped_mean(table):
    centre, radius = np.array([1.0, 2.0, 3.0]), 1.5
    offsets = table - centre
    lengths = np.linalg.norm(offsets, axis=1, keepdims=True)
    wanted = centre + (offsets * np.minimum(1, radius / lengths)).mean(axis=0)
    assert release(table, radius=radius, centre=centre).mean == pytest.approx(wanted, abs=1e-5)
    assert release(table, radius=100.0).mean == pytest.approx(table.mean(axis=0), abs=1e-3)


# the figure


def test_the_measured_figure_of_the_peer():
    """S1, d = 1000, n = 1000, ε = 1, R = 100·sqrt(tr Σ): error 90 under replace-one with noise from ρ = 0.024356."""
    stddevs = np.where(np.arange(1000) < 10, 1.0, 1e-3)
    radius = 100 * float(np.linalg.norm(stddevs))
    found = release(np.zeros((1000, 1000)), REPLACE, radius=radius)
    published = 2 * radius / 1000 / math.sqrt(2 * 0.024356) * math.sqrt(1000)
    assert published == pytest.approx(90, rel=0.01)
    assert 0.9 * published < np.linalg.norm(found.noise_stddev) < published  # the exact curve gains some per cent


def noise_fits(found, truth, factor, false_alarm):
    squares = float((((found.mean - truth) / (factor * found.noise_stddev)) ** 2).sum())
    law = chi2(len(truth))
    return law.ppf(false_alarm / 2) < squares < law.ppf(1 - false_alarm / 2)


@sampling(1e-6)
@RELATIONS
def test_the_stated_noise_is_the_noise(seed, relation, balls):
    table = np.zeros((50, 1000))  # in the middle of the ball, so that the count has no say
    found = release(table, relation, noise=SeededNoise(seed))
    assert noise_fits(found, np.zeros(1000), 1.0, 1e-6)
    assert not noise_fits(found, np.zeros(1000), 0.7, 1e-6)
    assert not noise_fits(found, np.zeros(1000), 1.3, 1e-6)


# manners


@RELATIONS
def test_the_input_is_left_alone(table, relation, balls):
    before, centre = table.copy(), np.ones(DIMENSION)
    release(table, relation, centre=centre, noise=SystemNoise())
    assert np.array_equal(table, before)
    assert np.array_equal(centre, np.ones(DIMENSION))


def test_dense_and_sparse_give_the_same_bits(table):
    table[np.abs(table) < 2] = 0
    assert release(sparse.csr_array(table)) == release(table)


def test_a_release_survives_json(table):
    found = release(table, noise=SystemNoise())
    assert found.method == "clipped"
    assert found.guarantee.private
    assert Release.from_json(found.to_json()) == found


def test_no_record_is_refused_as_a_value():
    for relation in (ADD, REPLACE):
        found = release(np.zeros((0, 2)), relation)
        assert found.refused
        assert found.ledger.delta() <= DELTA


@RELATIONS
@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (7, 4)])
def test_few_or_constant_records_give_a_value(relation, balls, shape):
    assert release(np.full(shape, 3.0), relation).mean == pytest.approx(3.0, abs=1e-4)


def test_an_invalid_row_adds_nothing(table):
    table[0] = np.nan
    found = release(table, on_missing="drop")
    assert found.mean == pytest.approx(table[1:].sum(axis=0) / COUNT, abs=1e-3)


@pytest.mark.parametrize(
    "wrong", [{"radius": 0.0}, {"radius": math.inf}, {"radius": "5"}, {"centre": [0.0]}, {"centre": [[0.0] * 3]}]
)
def test_priors_are_checked(table, wrong):
    with pytest.raises(InvalidParameter, match=next(iter(wrong))):
        release(table, **wrong)


def test_priors_have_no_default(table):
    with pytest.raises(TypeError, match="radius"):
        clipped(table, epsilon=1.0, delta=1e-6)
