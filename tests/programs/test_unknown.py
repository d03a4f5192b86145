"""Nothing known, by the core: every refusal is reachable, and the core is chosen by public and released numbers."""

import math

import numpy as np
import pytest
from recording import RecordingNoise
from routes import through_the_core, with_options
from states import events_of, precision, standing_view

from dimfree import Options, release_mean
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.calibrate import calibrate_private_count
from dimfree.beliefs import Beliefs
from dimfree.data.records import as_records
from dimfree.kernel import admissible, core_sensitivity
from dimfree.noise import SeededNoise
from dimfree.programs import unknown
from dimfree.programs.choose.constants import (
    MAX_CORE_SENSITIVITY,
    RADIUS_SEARCH_SHARE,
)
from dimfree.programs.choose.core import Size
from dimfree.programs.learn.scale import learn_radius
from dimfree.programs.run import NO_SCALE, TOO_FEW, UNSTABLE
from dimfree.release import prepare
from dimfree.request import Request

ADD, REPLACE = "add-remove", "replace-one"
BUDGET = {"epsilon": 4.0, "delta": 1e-6}
both = pytest.mark.parametrize("relation", [ADD, REPLACE])
COUNT, DIMENSION = 600, 5


@pytest.fixture(scope="module")
def table():
    return np.random.default_rng(3).normal(size=(COUNT, DIMENSION)) * [3.0, 1.0, 1.0, 0.1, 0.1] - 4.0


def release(X, relation=ADD, **options):
    with through_the_core():
        return release_mean(X, **with_options(**{**BUDGET, "neighbors": relation, **options}))


@both
def test_totals_stay_within_the_branch(table, relation):
    ledger = release(table, relation, noise=SeededNoise(1)).charges
    branch = ledger.branches[ledger.chosen]
    assert precision(ledger.searches) <= branch.search_mu**2 * (1 + 1e-12)
    assert 0.98 * branch.mu**2 < precision(ledger.after) <= branch.mu**2
    assert ledger.delta() <= BUDGET["delta"]
    recount = ["number of records"] if relation == ADD else []
    assert [event.purpose for event in ledger.searches] == recount + ["friend radius"] * 2


def test_under_add_remove_the_whole_menu_is_charged_and_under_replace_one_a_branch(table):
    added, replaced = (release(table, relation, noise=SeededNoise(1)).charges for relation in (ADD, REPLACE))
    assert len(added.branches) > 1
    assert [event.purpose for event in added.before] == ["number of records"]
    assert (len(replaced.branches), replaced.chosen, replaced.before) == (1, 0, ())


@both
def test_a_large_table_is_sampled_for_the_core_alone(table, relation):
    noise = RecordingNoise()
    many = np.concatenate([table] * 2)
    found = release(many, relation, noise=noise, core_sample=500)
    sampled = [asked for asked in noise.asked if asked[0] == "below"]
    draws = 1 if relation == "add-remove" else 2  # a coin for each record, or two keys, so that none tie
    assert [asked[2] for asked in sampled] == [len(many)] * draws
    assert "radius" in found.parameters


# refusals


@both
def test_too_few_records_are_refused(relation):
    noise = RecordingNoise()
    found = release(np.zeros((8, 2)), relation, noise=noise)
    assert found.refusal == TOO_FEW
    assert found.charges.searches == found.charges.after == ()
    assert len(noise.asked) == (1 if relation == ADD else 0)
    assert found.charges.delta() <= (BUDGET["delta"] if relation == ADD else 0.0)


@both
@pytest.mark.parametrize("value", [0.0, 3.25, 1.7e308])
def test_records_that_do_not_vary_have_no_scale(relation, value):
    noise = RecordingNoise()
    found = release(np.full((COUNT, 3), value), relation, noise=noise)
    assert found.refusal == NO_SCALE
    assert found.charges.after == ()
    assert "coin" not in {asked[0] for asked in noise.asked}


@both
@pytest.mark.parametrize("window", [(1e-6, 1e-3), (1e3, 1e6)])
def test_a_scale_outside_the_window_is_refused(table, relation, window):
    assert release(table, relation, window=window, noise=RecordingNoise()).refusal == NO_SCALE


@both
def test_an_unlucky_bit_refuses_with_what_was_drawn_charged(table, relation):
    noise = RecordingNoise(heads=False)
    found = release(table, relation, noise=noise)
    assert found.refusal == UNSTABLE
    assert found.charges.after == ()
    assert noise.asked[-1][0] == "coin"  # nothing is drawn after it


# what is chosen, and from what


def run_of(table, relation=ADD):
    """The run that `release_mean` would make."""
    request = Request.from_arguments(**BUDGET, neighbors=relation, options=Options(), noise=RecordingNoise())
    records = as_records(table)
    return prepare(request, Beliefs.of(request, records.dimension, records.columns), records)


# the radius


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_the_radius_follows_the_scale(table, scale):
    view = standing_view(table * scale, noise=RecordingNoise())
    found = learn_radius(view.pairs(COUNT), (1e-6, 1e6), float(COUNT), 0.4, Neighbors.ADD_REMOVE)
    spread = math.sqrt(float(table.var(axis=0).sum())) * scale
    assert found.found
    assert 1.5 * spread < found.radius < 12 * spread
    assert found.trace == pytest.approx(spread**2, rel=0.6)
    assert precision(events_of(view)) <= 0.4**2 * (1 + 1e-12)


# few people


@pytest.fixture(scope="module")
def few_menu(table):
    run = run_of(table)
    return run, calibrate_private_count(Budget(1.0, 1e-6), run.failure / 2, search_share=RADIUS_SEARCH_SHARE)


def test_a_released_number_below_the_smallest_core_takes_the_smallest_floor(few_menu):
    """P14: n_0 does not follow n̂ below N_K, and only far below is the answer a public refusal."""
    run, branches = few_menu
    stddev = branches.count_stddev
    found = {n: unknown.choose_core(run, branches, Size(float(n), stddev, 4096)) for n in range(-200, 500)}
    needed = [choice.needs for choice in found.values() if choice]
    assert 190 < min(needed) < 240
    first = min(n for n, choice in found.items() if choice)
    assert first + 2.65 * branches.count_stddev == pytest.approx(found[first].needs, abs=1)
    assert all(found[n] is not None for n in range(first, 500))
    for choice in filter(None, found.values()):
        assert choice.sensitivity <= MAX_CORE_SENSITIVITY
        assert admissible(choice.floor + 3, choice.full_share, choice.budget, Neighbors.ADD_REMOVE)
        bound = core_sensitivity(choice.floor + 3, choice.full_share, choice.budget, Neighbors.ADD_REMOVE)
        assert choice.sensitivity == bound  # S at n_low = n_0 + 3


@pytest.mark.parametrize("n", [-1e9, -1.0, 0.0, 1.0, 50.0, math.nextafter(1e15, 0)])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 100.0])
def test_any_released_number_is_answered_by_a_choice_or_by_none(table, n, epsilon):
    run = run_of(table)
    branches = calibrate_private_count(Budget(epsilon, 1e-6), run.failure / 2, search_share=RADIUS_SEARCH_SHARE)
    choice = unknown.choose_core(run, branches, Size(n, branches.count_stddev, 4096))
    assert choice is None or choice.floor >= 2 * choice.budget - 5  # n_low >= 2 (B - 1)
    assert n > 0 or choice is None


@pytest.mark.parametrize("columns", [30, 1000])
def test_with_few_records_noise_is_stated_as_it_is(columns, rng):
    """240 records at epsilon = 1: stages for 30 columns, the core's own mean for 1000."""
    table = rng.normal(size=(240, columns)) + 3.0
    found = [release(table, epsilon=1.0, noise=SeededNoise(seed)) for seed in range(12)]
    errors = [np.linalg.norm(each.mean - table.mean(axis=0)) for each in found if not each.refused]
    stated = [np.linalg.norm(each.noise_stddev) for each in found if not each.refused]
    assert len(errors) >= 11
    assert 0.75 < math.sqrt(np.mean(np.square(np.array(errors) / stated))) < 1.3
    stages = sum(event.purpose.startswith("refinement step") for event in found[-1].charges.after)
    assert (stages > 0) == (columns == 30)
