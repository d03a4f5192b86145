"""Karwa and Vadhan in every coordinate: found anywhere, from about sqrt(d)/ε records on, noise sqrt(d·tr Σ)/(nε)."""

import math

import numpy as np
import pytest
from dimfree.comparison.baselines import karwa_vadhan as karwa_vadhan_module
from dimfree.comparison.baselines.karwa_vadhan import FOUND_MASS, OFF, SHARES, Box, karwa_vadhan
from dimfree.mechanisms.gaussian_histogram import tail_distance
from recording import RecordingNoise
from scipy import sparse
from scipy.stats import chi2
from stats import sampling

from dimfree.errors import InvalidParameter
from dimfree.kernel.rows.clip import BALL, clipped_total
from dimfree.noise import SeededNoise, SystemNoise
from dimfree.results.release import Release

ADD, REPLACE = "add-remove", "replace-one"
RELATIONS = pytest.mark.parametrize(("relation", "moved"), [(ADD, 1), (REPLACE, 2)])
EPSILON, DELTA, COUNT = 1.0, 1e-6, 2000
STDDEVS = np.array([1.0, 0.5, 3.0])
MEAN = np.array([1e6, -40.0, 0.3])


@pytest.fixture
def table(rng):
    return MEAN + STDDEVS * rng.normal(size=(COUNT, 3))


def release(X, relation=ADD, **changes):
    given = {"epsilon": EPSILON, "delta": DELTA, "stddevs": STDDEVS, "noise": RecordingNoise(), **changes}
    return karwa_vadhan(X, neighbours=relation, **given)


# the map


@RELATIONS
def test_what_is_drawn_is_what_is_charged(table, relation, moved):
    noise = RecordingNoise()
    found = release(table, relation, noise=noise)
    gaussians = [event for event in found.ledger.events if hasattr(event, "mu")]
    histogram, mean = gaussians[-2:]
    assert len(gaussians) == (3 if relation == ADD else 2)
    assert noise.asked[-1] == ("gaussian", mean.stddev, 3)
    drawn = noise.asked[len(gaussians) - 2 : -1]
    assert drawn
    assert all(asked[:2] == ("gaussian", histogram.stddev) for asked in drawn)
    assert histogram.sensitivity * histogram.step == pytest.approx(math.sqrt(3 * moved), rel=1e-12)
    assert mean.sensitivity * mean.step == pytest.approx(moved * found.parameters["radius"], rel=1e-12)
    assert found.noise_stddev == pytest.approx(mean.stddev * mean.step / COUNT, rel=1e-12)


@RELATIONS
def test_the_ledger_uses_the_budget_up(table, relation, moved):
    found = release(table, relation)
    assert 0.99 * DELTA < found.ledger.delta() <= DELTA
    assert sum(getattr(event, "delta", 0.0) for event in found.ledger.events) == pytest.approx(0.1 * DELTA)


@RELATIONS
@pytest.mark.parametrize("far", [100.0, 1e8])
def test_the_sum_moves_by_the_charged_number_of_balls(relation, moved, far):
    """Constant records at the centres of cells, and one far out, exchanged for its opposite or for nothing."""
    middle = np.array([4.5, -0.5, 7.5]) * STDDEVS
    table, away = np.tile(middle, (COUNT, 1)), far * STDDEVS
    other = [middle - away] if relation == REPLACE else np.zeros((0, 3))
    here, there = (release(np.vstack([table, x]), relation) for x in ([middle + away], other))
    sums = [(found.mean - middle) * found.parameters["count"] for found in (here, there)]
    charged = here.ledger.events[-1].sensitivity * here.ledger.events[-1].step
    assert 0.99 * charged < np.linalg.norm(sums[0] - sums[1]) <= charged * (1 + 1e-9)
    assert charged == pytest.approx(moved * here.parameters["radius"])


def test_entries_are_held_in_their_intervals_and_records_in_the_ball():
    box = Box(np.array([0.0, 10.0]), 1.0, 8.0, reach=np.array([1.0, 6.0]))
    step = box.radius / BALL
    total = clipped_total(np.array([[50.0, 11.0]]), box.radius, box.offsets) * step
    assert total == pytest.approx([1.0, 1.0], abs=1e-4)
    assert np.linalg.norm(clipped_total(np.full((1, 2), 1e9), 4.0, box.offsets) * 4.0 / BALL) <= 4.0


@pytest.mark.parametrize("entries", [1, 5000, 2**22])
def test_blocks_order_and_storage_change_no_bit(monkeypatch, rng, table, entries):
    table[rng.random(table.shape) < 0.4] = 0.0
    whole = release(table)
    monkeypatch.setattr(karwa_vadhan_module, "_ENTRIES", entries)
    for twin in (table, table[rng.permutation(COUNT)], sparse.csr_array(table)):
        assert release(twin) == whole


# the figures


@sampling(1e-6)
@RELATIONS
def test_the_location_is_found_wherever_it_is(table, relation, moved):
    found = release(table, relation, noise=SystemNoise())
    assert not found.refused
    assert np.all(np.abs(found.mean - MEAN) < 6 * found.noise_stddev + 8 * STDDEVS / math.sqrt(COUNT))


def test_without_noise_honest_records_are_not_clipped(table):
    assert release(table).mean == pytest.approx(table.mean(axis=0), abs=1e-4)


def needed(dimension, mu, relation_factor):
    """Records from which on a cell of FOUND_MASS is likely shown in every coordinate: about sqrt(d)/mu times a log."""
    stddev = math.sqrt(dimension * relation_factor / SHARES[1]) / mu
    return stddev * (tail_distance(0.1 * DELTA, relation_factor * dimension) + 6) / FOUND_MASS


@sampling(1e-6)
@pytest.mark.parametrize("dimension", [16, 400])
@RELATIONS
def test_it_takes_about_root_d_over_epsilon_records(rng, dimension, relation, moved):
    """The sqrt(d)/ε of the folklore rate: refused well below, found well above."""
    enough = needed(dimension, 0.23, moved)
    for share, refused in ((1.3, False), (0.3, True)):
        X = rng.normal(size=(int(share * enough), dimension))
        found = release(X, relation, stddevs=np.ones(dimension), noise=SeededNoise(int(rng.integers(2**31))))
        assert found.refused is refused
        assert found.ledger.delta() <= DELTA


def test_the_noise_is_the_folklore_rate():
    """Spherical, of length about sqrt(d·tr Σ)/(n·mu): the constant tends to sqrt(3/2) as records grow rounder."""
    for dimension in (25, 400):
        X = np.zeros((8000, dimension))
        found = release(X, REPLACE, stddevs=np.ones(dimension))
        mu = found.ledger.events[-1].mu
        constant = np.linalg.norm(found.noise_stddev) * 8000 * mu / math.sqrt(dimension * dimension) / 2
        assert math.sqrt(1.5) < constant < math.sqrt(1.5) + 5.5 / math.sqrt(dimension)
        assert np.ptp(found.noise_stddev) == 0


def noise_fits(found, truth, factor, false_alarm):
    squares = float((((found.mean - truth) / (factor * found.noise_stddev)) ** 2).sum())
    law = chi2(len(truth))
    return law.ppf(false_alarm / 2) < squares < law.ppf(1 - false_alarm / 2)


@sampling(1e-6)
def test_the_stated_noise_is_the_noise(seed):
    """Constant records at the centres of cells: nothing but the noise is left (and a refusal is no excuse)."""
    truth = np.arange(1000) + 0.5
    found = release(np.tile(truth, (6000, 1)), stddevs=np.ones(1000), noise=SeededNoise(seed))
    assert noise_fits(found, truth, 1.0, 1e-6)
    assert not noise_fits(found, truth, 0.7, 1e-6)
    assert not noise_fits(found, truth, 1.3, 1e-6)


@sampling(1e-6)
def test_the_heaviest_cell_is_as_near_as_the_interval_assumes(rng):
    """Over all places of the mean inside a cell, at the noisiest histogram that is ever asked for."""
    places, cells = rng.random((20_000, 1)), np.arange(-6, 7)
    mass = np.diff(np.vectorize(lambda t: 0.5 * math.erf(t / math.sqrt(2)))(np.arange(-6, 8) - places), axis=1)
    seen = mass + FOUND_MASS / 9 * rng.normal(size=mass.shape)
    off = np.abs(cells[seen.argmax(axis=1)] + 0.5 - places[:, 0])
    assert off.max() < OFF
    assert (off**2).mean() < karwa_vadhan_module.OFF_SQUARED / 2


# manners


@RELATIONS
def test_the_input_is_left_alone(table, relation, moved):
    before, stddevs = table.copy(), STDDEVS.copy()
    release(table, relation, stddevs=stddevs, noise=SystemNoise())
    assert np.array_equal(table, before)
    assert np.array_equal(stddevs, STDDEVS)


def test_a_release_survives_json(table):
    found = release(table, noise=SystemNoise())
    assert found.method == "karwa-vadhan"
    assert found.guarantee.private
    assert Release.from_json(found.to_json()) == found


@RELATIONS
@pytest.mark.parametrize("count", [0, 1, 5])
def test_few_records_are_refused_as_a_value(rng, relation, moved, count):
    found = release(rng.normal(size=(count, 3)), relation, noise=SystemNoise())
    assert found.refused
    assert found.ledger.delta() <= DELTA


def test_constant_columns_and_one_column_are_released():
    assert release(np.full((COUNT, 3), 7.25)).mean == pytest.approx(7.25, abs=1e-4)
    assert release(np.full((COUNT, 1), -7.25), stddevs=[2.0]).mean == pytest.approx(-7.25, abs=1e-4)


def test_records_spread_over_many_cells_are_refused(rng):
    assert release(rng.normal(size=(COUNT, 3)), stddevs=STDDEVS * 1e-6).refused


@pytest.mark.filterwarnings("error")
def test_a_location_too_far_for_its_spread_is_refused():
    for far in (1e20, 1.7e308):
        assert "far from zero" in release(np.full((COUNT, 3), far)).refusal


def test_an_invalid_row_adds_nothing(table):
    table[:, 0] -= MEAN[0]
    table[0] = np.nan
    found = release(table, on_missing="drop")
    offsets = found.mean - table[1:].mean(axis=0)
    assert np.all(np.abs(offsets) < 0.01)


@pytest.mark.parametrize("wrong", [[1.0, 1.0], [1.0, 0.0, 1.0], [1.0, math.nan, 1.0], [1e70] * 3])
def test_priors_are_checked(table, wrong):
    with pytest.raises(InvalidParameter, match="stddevs"):
        release(table, stddevs=wrong)


def test_a_small_delta_is_kept(table):
    assert 0.9e-12 < release(table, delta=1e-12).ledger.delta() <= 1e-12
