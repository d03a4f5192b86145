"""Directions out of a noisy matrix: what they hold, what they gain, how far noise turned them; when there is none."""

import math

import numpy as np
import pytest
from recording import RecordingNoise
from scipy.stats import binom
from states import standing_view
from stats import sampling

from dimfree.accounting.budget import Neighbors
from dimfree.kernel import DirectionCenter, LearnedAxes
from dimfree.noise import SeededNoise
from dimfree.programs.choose import constants
from dimfree.programs.learn import principal_directions
from dimfree.programs.learn.principal_directions import (
    Spikes,
    divide_length,
    find_spikes,
    forecast_gain,
    remove_offset,
    weigh_coordinates,
)

RATE = 2e-7
COUNT, NOISE = 10_000.0, 20.0
QUARTER = 0.25  # as strong as a direction: what still counts among the leading ones
STATED = 0.95


def wigner(dimension, coins, noise=NOISE):
    """Symmetric: `noise` on the diagonal, over √2 off it."""
    drawn = coins.normal(size=(dimension, dimension))
    return noise * (drawn + drawn.T) / 2


def turn(dimension, seed=0):
    return np.linalg.qr(np.random.default_rng([seed, dimension]).normal(size=(dimension, dimension)))[0]


def records_matrix(shares, dimension):
    """Σ u·uᵀ of records with so much of their squared length along turned axes, the rest alike on all others."""
    axes, rest = turn(dimension), (1 - sum(shares)) / (dimension - len(shares))
    along = np.concatenate([shares, np.full(dimension - len(shares), rest)])
    return COUNT * (axes * along) @ axes.T


def flat(dimension):
    return np.full(dimension, 1 / dimension)


# what is found


@pytest.mark.parametrize(("dimension", "shares"), [(30, [0.5]), (30, [0.4, 0.3, 0.1]), (120, [0.25, 0.25, 0.2])])
def test_shares_and_gain_of_known_directions(rng, dimension, shares):
    truth = records_matrix(shares, dimension)
    found = find_spikes(truth + wigner(dimension, rng), NOISE, COUNT, flat(dimension))
    along = np.diagonal(found.directions.T @ truth @ found.directions) / COUNT
    assert len(found.shares) == len(shares)
    assert found.directions.T @ found.directions == pytest.approx(np.eye(len(shares)), abs=1e-10)
    assert found.shares == pytest.approx(along, abs=0.025)
    assert (np.diff(found.shares) < 0.02).all()  # the strongest first
    others = math.sqrt((1 - along.sum()) * (dimension - len(along)))
    assert forecast_gain(found, np.ones(dimension)) == pytest.approx(
        math.sqrt(dimension) / (np.sqrt(along).sum() + others), rel=0.04
    )


@pytest.mark.parametrize("seed_of", range(3))
def test_the_predicted_gain_is_that_of_the_axes_that_will_be_used(rng, seed_of):
    """Noise of variance √v_i·Σ√v on coordinate i of variance v_i, taken back by the axes themselves."""
    spread = np.exp(np.random.default_rng(seed_of).normal(size=14))
    found = principal_directions.Spikes(turn(14)[:, :3], np.array([0.4, 0.2, 0.1]), np.zeros(3))
    weights = weigh_coordinates(found, spread)
    axes = LearnedAxes(found.directions, np.sqrt(spread), weights)
    roots = np.sqrt(divide_length(found, 14)) * weights  # √v_i, for records of scaled length 1
    with_directions = float(axes.diagonal(roots * roots.sum()).sum())
    without = float(spread.sum())  # scaled length 1, alike in all scaled coordinates
    assert forecast_gain(found, spread) == pytest.approx(math.sqrt(without / with_directions), rel=1e-9)
    assert divide_length(found, 14).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("dimension", [2, 3, 300])
def test_never_all_directions_and_never_too_many(rng, monkeypatch, dimension):
    monkeypatch.setattr(constants, "MAX_SPIKES", 10)
    loud = find_spikes(COUNT * np.diag(np.arange(1.0, dimension + 1)), 1e-3, COUNT, np.zeros(dimension))
    assert len(loud.shares) == min(dimension - 1, 10)
    assert np.abs(loud.directions[:, 0]).argmax() == dimension - 1
    assert (loud.angles < 1e-3).all()


# when there is none


def any_found(dimension, draws, coins, prior=None, truth=None):
    prior = flat(dimension) if prior is None else prior
    truth = COUNT * np.diag(prior) if truth is None else truth
    made = (truth + wigner(dimension, coins) for _ in range(draws))
    return sum(len(find_spikes(each, NOISE, COUNT, prior).shares) > 0 for each in made)


@sampling(4 * RATE)
@pytest.mark.parametrize(("dimension", "draws"), [(8, 400), (40, 300)])
def test_pure_noise_shows_nothing(rng, monkeypatch, dimension, draws):
    found = any_found(dimension, draws, rng)
    assert binom.sf(found - 1, draws, 0.04) > RATE  # rather than the edge of the spectrum itself, 0.17
    monkeypatch.setattr(constants, "SPIKE_MARGIN", -1.0)
    assert binom.sf(any_found(dimension, draws, rng) - 1, draws, 0.04) < RATE


@sampling(2 * RATE)
def test_uneven_axes_are_no_directions_once_they_are_known(rng):
    """The prior is subtracted; without it the longest axes would be found."""
    dimension = 40
    prior = 1 / np.arange(1, dimension + 1)
    prior /= prior.sum()
    assert binom.sf(any_found(dimension, 100, rng, prior) - 1, 100, 0.04) > RATE
    assert any_found(dimension, 20, rng, flat(dimension), COUNT * np.diag(prior)) == 20


# how far noise has turned a direction


def spectrum_of(name, dimension):
    """Eigenvalues of the noiseless matrix, in units of the edge of being seen."""
    places = np.arange(1, dimension + 1)
    falling = 20 / places
    pulse = np.zeros(dimension)
    pulse[: len(SPIKES.get(name, ()))] = SPIKES.get(name, ())
    bulk = 0.5 * np.random.default_rng(dimension).normal(size=dimension)
    return {"falling": falling - falling.mean(), "bulk": bulk + np.eye(1, dimension)[0] * 6}.get(name, pulse)


SPIKES = {
    "weak": [1.2],
    "near": [2.0],
    "strong": [12.0],
    "huge": [100.0],
    "equal": [4.0, 4.0, 4.0],
    "equal and weak": [1.5] * 4,
    "several": [8.0, 4.0, 2.0, 1.5],
}
WORLDS = [*SPIKES, "falling", "bulk"]


def turned_angles(name, dimension, draws, coins):
    """For every direction found: its bound, and its angle to the directions at least a quarter as strong."""
    edge = NOISE * math.sqrt(dimension / 2)
    values = np.sort(spectrum_of(name, dimension))[::-1] * edge
    stated, true = [], []
    for _ in range(draws):
        noisy = np.diag(values) + wigner(dimension, coins)  # of no fixed axes: the noise has none
        found = find_spikes(noisy + COUNT * np.diag(flat(dimension)), NOISE, COUNT, flat(dimension))
        seen = np.einsum("ik,ij,jk->k", found.directions, noisy, found.directions)
        strength = (seen + np.sqrt(np.maximum(seen**2 - 4 * edge**2, 0))) / 2
        outside = [
            np.linalg.norm(direction[values < QUARTER * each])
            for direction, each in zip(found.directions.T, strength, strict=True)
        ]
        stated.extend(found.angles)
        true.extend(np.arcsin(np.minimum(outside, 1.0)))
    return np.array(stated), np.array(true)


def too_rarely(within, false_alarm=RATE):
    """Whether so many misses show a coverage below what is stated."""
    return binom.cdf(within.sum(), len(within), STATED) < false_alarm


QUICK = [(name, 20, 150) for name in WORLDS] + [(name, 70, 60) for name in ("strong", "huge", "several", "falling")]
LARGE = [(name, 300, 60) for name in WORLDS] + [(name, 1000, 30) for name in ("near", "huge", "several", "falling")]


@sampling(RATE)
@pytest.mark.parametrize(
    ("name", "dimension", "draws"), [*QUICK, *(pytest.param(*case, marks=pytest.mark.slow) for case in LARGE)]
)
def test_the_stated_angle_covers_the_true_one(rng, name, dimension, draws):
    stated, true = turned_angles(name, dimension, draws, rng)
    assert len(stated) >= draws / 10
    assert not too_rarely(true <= stated + 1e-12)


# a matrix as it is released


@sampling(2 * RATE)
@pytest.mark.parametrize("relation", list(Neighbors))
def test_the_angles_of_a_released_matrix_of_records(seed, relation):
    """On columns of different length: what is subtracted is theirs, and the truth is the same matrix without noise."""
    width, count, draws, mu = 15, 300, 120, 0.15
    coins, spread = np.random.default_rng(seed + 1), np.linspace(3, 0.5, width)
    oblique = coins.normal(size=(count, 2)) @ (3 * turn(width)[:2])
    rows = (coins.normal(size=(count, width)) + oblique) * np.sqrt(spread)

    def matrix(noise):
        lookout = DirectionCenter(rows.mean(axis=0), np.sqrt(spread))
        return standing_view(rows, relation, noise=noise).outer_products(lookout).matrix(mu)

    prior = spread / spread.sum()
    exact = matrix(RecordingNoise()).value - count * np.diag(prior)
    values, axes = np.linalg.eigh(exact)
    within = []
    for draw in range(draws):
        released = matrix(SeededNoise(10**5 + 1000 * seed + draw))
        found = find_spikes(released.value, released.stddev, float(count), prior)
        strength = np.diagonal(found.directions.T @ exact @ found.directions)
        for direction, each, angle in zip(found.directions.T, strength, found.angles, strict=True):
            outside = np.linalg.norm((direction @ axes)[values < QUARTER * each])
            within.append(math.asin(min(1.0, outside)) <= angle)
    assert len(within) > draws / 2
    assert not too_rarely(np.array(within))


# Seen from beside the mean


def spikes_along(*shares):
    size = len(shares)
    return Spikes(np.eye(20)[:, :size], np.array(shares), np.full(size, 0.1))


def test_an_error_partly_along_a_direction_widens_its_angle_and_lowers_its_share():
    offset = np.zeros(20)
    offset[[0, 5]] = 0.6, 0.8
    found = remove_offset(spikes_along(0.4), offset, 9.0)
    assert found.shares == pytest.approx([0.4 - 0.036])
    assert np.sin(found.angles) == pytest.approx([np.sin(0.1) + 0.06 / 0.364])
    assert remove_offset(spikes_along(0.4), np.zeros(20), 9.0).angles == pytest.approx([0.1])
