"""The way by the secret ring: variances first, the core in their shape, stages on the block that pays."""

import math

import numpy as np
import pytest
from states import standing_session

from dimfree import Options, release_mean
from dimfree.accounting.budget import Neighbors
from dimfree.accounting.precision import compose
from dimfree.beliefs import Beliefs
from dimfree.data.records import as_records
from dimfree.programs.choose.constants import MIN_RING_RECORDS
from dimfree.programs.choose.core import Size
from dimfree.programs.learn.ring import RingSetting, learn_by_ring, plan_core
from dimfree.programs.run import UNKNOWN, calibrate_run
from dimfree.programs.unknown import choose_branch
from dimfree.release import prepare
from dimfree.request import Request
from dimfree.testing import SeededNoise

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE
COUNT, DIMENSION = 800, 300
STDDEV = np.where(np.arange(DIMENSION) < 6, 1.0, 1e-3)
RINGED = {"lengths on the ring", "unit of the ring's scores", "variances on the ring"}


def table(stddev=STDDEV, count=COUNT, seed=0):
    return 100.0 + np.random.default_rng(seed).normal(size=(count, len(stddev))) * stddev


def learned(X, mu=0.1, relation=ADD, seed=1, window=(1e-6, 1e6)):
    return learned_and_charged(X, mu, relation, seed, window)[0]


def learned_and_charged(X, mu, relation=ADD, seed=1, window=(1e-6, 1e6)):
    session, view = standing_session(X, relation, noise=SeededNoise(seed))
    found = learn_by_ring(RingSetting(view.ring(len(X)), float(len(X)), mu, relation), window)
    return found, session.costs().after


def released(X, **options):
    return release_mean(X, epsilon=1.0, delta=1e-6, **{"noise": SeededNoise(3), **options})


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("mu", [0.01, 0.1, 1.0])
def test_the_ring_costs_at_most_its_mu(relation, mu):
    _, events = learned_and_charged(table(), mu, relation)
    assert compose(event.mu for event in events) <= mu


def test_large_variances_are_found_and_the_rest_is_as_large_as_it_is():
    found = learned(table())
    assert found.stddev[:6] == pytest.approx(1.0, rel=0.5)
    assert np.median(found.stddev[6:]) == pytest.approx(1e-3, rel=0.5)  # noise may name one that is small


def test_the_friend_radius_is_that_of_the_learned_shape():
    X = table()
    found = learned(X)
    shaped = X / np.sqrt(found.stddev)
    distances = np.linalg.norm(shaped[:400] - shaped[400:], axis=1)
    assert np.quantile(distances, 0.8) < found.radius < 4 * np.quantile(distances, 0.8)


def test_records_outside_the_window_are_told():
    assert not learned(table() * 1e9).found
    assert learned(table()).found


@pytest.mark.parametrize(
    ("count", "taken"), [(MIN_RING_RECORDS / 2, False), (MIN_RING_RECORDS * 2, True), (1e5, False)]
)
def test_the_ring_is_for_few_records_relative_to_many_columns(count, taken):
    request = Request.from_arguments(epsilon=1.0, delta=1e-6, options=Options(), noise=SeededNoise(1))
    records = as_records(table())
    run = prepare(request, Beliefs.of(request, DIMENSION, None), records)
    branches = calibrate_run(run, **UNKNOWN)
    way = choose_branch(run, branches, Size(count / branches.ringed[0].mu, branches.count_stddev, 10**6))
    assert (getattr(way, "branch", None) in branches.ringed) == taken


def test_the_plan_leaves_small_coordinates_to_the_core_where_records_are_very_few():
    stddev = np.where(np.arange(10_000) < 10, 1.0, 1e-4)
    assert plan_core(0.001, stddev, 0.05, 1e6)[1:] == (10_000, None)
    _, size, block = plan_core(0.05, stddev, 0.05, 300.0)
    assert len(block) == size < 10_000
    assert (block[:5] == np.arange(5)).all()


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_the_release_is_by_the_ring_and_within_its_budget(neighbors):
    release = released(table(), neighbors=neighbors)
    assert not release.refused
    assert {event.purpose for event in release.charges.searches} == RINGED
    assert release.charges.delta() <= 1e-6
    assert np.linalg.norm(release.mean - 100.0) < 1.0


def test_one_menu_is_charged_whichever_way_is_taken():
    few, many = released(table()), released(table(count=8000))
    assert few.charges.branches == many.charges.branches
    assert not RINGED & {event.purpose for event in many.charges.searches}


def test_a_given_basis_is_not_left_for_the_ring():
    release = released(table(), basis="dct")
    assert not RINGED & {event.purpose for event in release.charges.searches}


def test_stated_noise_is_the_noise_found():
    ratios = []
    for seed in range(6):
        X = table(seed=seed)
        release = released(X, noise=SeededNoise(seed))
        ratios.append(np.linalg.norm(release.mean - X.mean(axis=0)) / np.linalg.norm(release.noise_stddev))
    assert 0.7 < math.sqrt(np.mean(np.square(ratios))) < 1.35


def test_a_block_leaves_the_other_coordinates_to_the_core():
    stddev = np.where(np.arange(2000) < 8, 1.0, 1e-4)
    release = released(table(stddev, 550))
    assert not release.refused
    assert release.parameters["block"] <= 2000
    assert np.isfinite(release.noise_stddev).all()
