"""Nothing known: what is drawn is charged, what is chosen is public, and every refusal is reachable."""

import math
from fractions import Fraction

import numpy as np
import pytest
from charges import SCALARS, SEARCHES, precision, uncharged
from flat_options import with_options
from recording import RecordingNoise

from dimfree import release_mean
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import calibrate_private_count, calibrate_public_count
from dimfree.data.records import Records
from dimfree.errors import InvalidRecords
from dimfree.estimators import unknown
from dimfree.estimators.choose.constants import CORE_SHARES, RADIUS_SEARCH_SHARE
from dimfree.estimators.choose.core import Size
from dimfree.estimators.learn.scale import learn_radius, pair_distances, radius_learnable
from dimfree.estimators.run import NO_SCALE, TOO_FEW, UNSTABLE
from dimfree.noise import SeededNoise
from dimfree.release import ESTIMATORS

ADD, REPLACE = "add-remove", "replace-one"
BUDGET = {"epsilon": 4.0, "delta": 1e-6}
both = pytest.mark.parametrize("relation", [ADD, REPLACE])
COUNT, DIMENSION = 600, 5


@pytest.fixture(scope="module")
def table():
    return np.random.default_rng(3).normal(size=(COUNT, DIMENSION)) * [3.0, 1.0, 1.0, 0.1, 0.1] - 4.0


def release(X, relation=ADD, **options):
    return release_mean(X, **with_options(**{**BUDGET, "core": "stable", "neighbours": relation, **options}))


# charged is what was drawn


def first_coin(noise):
    return next(index for index, asked in enumerate(noise.asked) if asked[0] == "coin")


@both
def test_every_draw_is_charged_in_order(table, relation):
    noise = RecordingNoise()
    found = release(table, relation, noise=noise)
    ledger = found.ledger
    assert not found.refused
    assert uncharged(noise, (*ledger.before, *ledger.searches, *ledger.after)) == []
    assert [asked[0] for asked in noise.asked].count("coin") == 1
    drawn_before = RecordingNoise(asked=noise.asked[: first_coin(noise)])
    assert uncharged(drawn_before, (*ledger.before, *ledger.searches)) == []  # the bit comes between


@both
def test_totals_stay_within_the_branch(table, relation):
    ledger = release(table, relation, noise=SeededNoise(1)).ledger
    branch = ledger.menu[ledger.chosen]
    assert precision(ledger.searches) <= branch.search_mu**2 * (1 + 1e-12)
    assert 0.98 * branch.mu**2 < precision(ledger.after) <= branch.mu**2
    assert ledger.delta() <= BUDGET["delta"]
    assert [event.purpose for event in ledger.searches] == ["friend radius"] * 3
    assert {event.purpose for event in ledger.after} >= {"mean", "variances", "unit of the scores", "stage 1"}
    others = (*SEARCHES, *SCALARS, "lengths of the records")
    vectors = [event for event in ledger.after if event.purpose not in others]
    assert all(event.dimension == DIMENSION for event in vectors)


def test_under_add_remove_the_whole_menu_is_charged_and_under_replace_one_a_branch(table):
    added, replaced = (release(table, relation, noise=SeededNoise(1)).ledger for relation in (ADD, REPLACE))
    assert len(added.menu) > 1
    assert [event.purpose for event in added.before] == ["number of records"]
    assert (len(replaced.menu), replaced.chosen, replaced.before) == (1, 0, ())


@both
def test_a_large_table_is_sampled_for_the_core_alone(table, relation):
    noise = RecordingNoise()
    many = np.concatenate([table] * 2)
    found = release(many, relation, noise=noise, core_sample=500)
    sampled = [asked for asked in noise.asked if asked[0] == "below"]
    draws = 1 if relation == "add-remove" else 2  # a coin for each record, or two keys, so that none tie
    assert [asked[2] for asked in sampled] == [len(many)] * draws
    assert noise.asked.index(sampled[0]) < first_coin(noise)  # the same sample for searches and core
    assert "radius" in found.parameters


# refusals


@both
def test_too_few_records_are_refused(relation):
    noise = RecordingNoise()
    found = release(np.zeros((8, 2)), relation, noise=noise)
    assert found.refusal == TOO_FEW
    assert found.ledger.searches == found.ledger.after == ()
    assert len(noise.asked) == (1 if relation == ADD else 0)
    assert found.ledger.delta() <= (BUDGET["delta"] if relation == ADD else 0.0)


@both
@pytest.mark.parametrize("value", [0.0, 3.25, 1.7e308])
def test_records_that_do_not_vary_have_no_scale(relation, value):
    noise = RecordingNoise()
    found = release(np.full((COUNT, 3), value), relation, noise=noise)
    assert found.refusal == NO_SCALE
    assert found.ledger.after == ()
    assert uncharged(noise, (*found.ledger.before, *found.ledger.searches)) == []
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
    assert found.ledger.after == ()
    assert noise.asked[-1][0] == "coin"  # nothing is drawn after it
    assert uncharged(noise, (*found.ledger.before, *found.ledger.searches)) == []


def test_the_public_refusal_comes_before_any_value_is_read(monkeypatch):
    def locked(self, *args, **kwargs):
        raise AssertionError("a value was read")

    for name in ("blocks", "sparse_blocks"):
        monkeypatch.setattr(Records, name, locked, raising=False)
    few = np.full((8, 2), np.nan)
    found = release(few, REPLACE, noise=RecordingNoise())
    assert found.refusal == TOO_FEW
    assert found.ledger.events == ()
    assert found.ledger.delta() == 0
    with pytest.raises((AssertionError, InvalidRecords)):
        release(np.full((COUNT, 2), np.nan), REPLACE, noise=RecordingNoise())


# what is chosen, and from what


def test_the_choice_sees_public_numbers_only(table):
    """Two tables of the same released size are treated alike until the searches have spoken."""
    asked = []
    for rows in (table, 50 * table[::-1] + 3):
        noise = RecordingNoise()
        release(rows, noise=noise)
        asked.append([draw for draw in noise.asked if draw[0] == "gaussian"][:4])
    assert asked[0] == asked[1]


def run_of(table, relation=ADD):
    """The run that release_mean would make, caught on its way."""
    caught = []

    def catch(run):
        caught.append(run)
        return unknown.release_unknown(run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ESTIMATORS, "unknown", ESTIMATORS["unknown"]._replace(release=catch))
        release(table, relation, noise=RecordingNoise())
    return caught[0]


@both
def test_more_records_afford_a_longer_ladder(table, relation):
    run = run_of(table, relation)
    calibrate = calibrate_private_count if relation == ADD else calibrate_public_count
    menu = calibrate(Budget(**BUDGET), run.failure / 2, search_share=RADIUS_SEARCH_SHARE)
    stddev = menu.count_stddev
    choices = [unknown.choose_core(run, menu, Size(n, stddev, 10**6)) for n in (5, 250, 600, 3000, 10**5)]
    assert choices[0] is None
    mus = [choice.branch.mu for choice in choices if choice]
    assert mus == sorted(mus)
    assert choices[-1].branch == max(menu.tested, key=lambda branch: branch.mu)
    for choice in filter(None, choices):
        assert Fraction(11, 20) < choice.full_share < 1
        assert choice.budget > choice.branch.ladder.length
        assert (choice.floor is None) == (relation == REPLACE)


def test_the_share_of_the_core_is_held_between_public_ends(table):
    run = run_of(table)
    menu = calibrate_private_count(Budget(**BUDGET), run.failure / 2, search_share=RADIUS_SEARCH_SHARE)
    choice = unknown.choose_core(run, menu, Size(600.0, menu.count_stddev, 10**6))
    shares = [unknown.core_share(choice, radius, 1.0, 100) for radius in (1e-60, 0.3, 1e60)]
    assert shares[0] == CORE_SHARES[0]
    assert shares[-1] == CORE_SHARES[1]
    assert shares == sorted(shares)


# the radius


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_the_radius_follows_the_scale(table, scale):
    run = run_of(table * scale)
    pairs = pair_distances(run.space, None)
    noise = RecordingNoise()
    found = learn_radius(pairs, (1e-6, 1e6), float(COUNT), 0.4, Neighbours.ADD_REMOVE, noise=noise)
    spread = math.sqrt(float(table.var(axis=0).sum())) * scale
    assert found.found
    assert 1.5 * spread < found.radius < 12 * spread
    assert found.trace == pytest.approx(spread**2, rel=0.6)
    assert uncharged(noise, found.events) == []
    assert precision(found.events) <= 0.4**2 * (1 + 1e-12)


def test_few_records_or_little_precision_cannot_learn_a_radius():
    window = (1e-6, 1e6)
    assert radius_learnable(1e4, window, 0.1, Neighbours.ADD_REMOVE)
    assert not radius_learnable(10.0, window, 0.1, Neighbours.ADD_REMOVE)
    assert not radius_learnable(1e4, window, 1e-4, Neighbours.ADD_REMOVE)
    assert not radius_learnable(-5.0, window, 10.0, Neighbours.ADD_REMOVE)
