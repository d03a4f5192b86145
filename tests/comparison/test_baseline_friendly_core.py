"""FriendlyCore averaging: sensitivities and friendliness in tiny worlds, scales, ledger, the noise that is known."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from dimfree.comparison.baselines.friendly_core import MOVES, STEPS, UNFRIENDLY, Bar, friendly_core
from exact.worlds import INVALID, LINE, PLANE, WORLDS, as_counts, replacements, tables
from recording import RecordingNoise
from scipy import sparse
from scipy.special import ndtr
from scipy.stats import chi2
from stats import sampling

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import Gaussian
from dimfree.accounting.precision import hockey_stick
from dimfree.data import records
from dimfree.errors import InvalidParameter
from dimfree.kernel.rows.grid import RADIUS
from dimfree.noise import SeededNoise

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
MOST = 5
both = pytest.mark.parametrize("relation", [ADD, REPLACE], ids=["add-remove", "replace-one"])
every_world = pytest.mark.parametrize("places", WORLDS.values(), ids=WORLDS.keys())


def released(X, **changes):
    given = {"epsilon": 8.0, "delta": 1e-6, "radius": 6.0, "noise": SeededNoise(7)}
    return friendly_core(X, **(given | changes))


# Tiny worlds: what is claimed of majorities and of friends, exactly


def neighbours(places, relation):
    """(records in common, the one that only the first table has, the one that only the second has, if any)."""
    if relation is ADD:
        sizes = range(MOST)
        return [(rest, (place,), ()) for size in sizes for rest in tables(places, size) for place in places]
    found = [replacements(table, places) for size in range(1, MOST + 1) for table in tables(places, size)]
    return [(rest, (out,), (into,)) for changes in found for out, into, rest in changes]


def majorities(table):
    return 2 * as_counts(table) - len(table)


@both
@every_world
def test_majorities_of_the_others_move_by_the_stated_step(places, relation):
    moves = {0}
    for rest, x, other in neighbours(places, relation):
        moves |= set(np.abs(majorities(rest + x) - np.append(majorities(rest + other), [0] * (1 - len(other))))[:-1])
    assert max(moves) == MOVES[relation]


def friendly(rest, x, other, level):
    """All records that are friendly in either table; the one in question of each table last."""
    first, second = majorities(rest + x) > level, majorities(rest + other) > level
    common = [record for j, record in enumerate(rest) if first[j] or second[j]]
    return common + [own[0] for own, is_in in ((x, first), (other, second)) if own and is_in[-1]]


def farthest(places, relation, level):
    """The largest distance between two friendly records, in radii, over all neighbours."""
    most = 0.0
    for rest, x, other in neighbours(places, relation):
        pairs = combinations(friendly(rest, x, other, level), 2)
        most = max([most, *(math.dist(*pair) / RADIUS for pair in pairs)])
    return most


valid_worlds = pytest.mark.parametrize("places", [LINE, PLANE], ids=["line", "plane"])


@both
@valid_worlds
def test_friendly_records_of_both_tables_lie_within_two_radii(places, relation):
    assert 1 < farthest(places, relation, UNFRIENDLY[relation]) <= 2


@pytest.mark.parametrize(("relation", "level"), [(ADD, -1), (REPLACE, 0)], ids=["add-remove", "replace-one"])
def test_a_lower_bar_would_let_strangers_in(relation, level):
    assert farthest(LINE, relation, level) > 2


def test_an_invalid_record_is_nobodys_friend():
    """Only alone in a table has it a majority, and then nobody else has; a record kept alone is never averaged."""
    assert [friendly((INVALID,) * k, (INVALID,), (), 0) for k in (2, 3, 4)] == [[]] * 3
    assert friendly((INVALID,), ((0,),), (), 0) == [INVALID]


# The filter's cost: the law of all bits but one, enumerated, against the Gaussian that is charged


def bit_divergence(bar, one, other, x):
    """Hockey-stick divergence at e^x of the filter's bits for two vectors of majorities."""
    stddev = bar.event.stddev / STEPS
    first, second = (ndtr((values - bar.height / STEPS) / stddev) for values in (one, other))
    total = 0.0
    for bits in product((0, 1), repeat=len(one)):
        kept = np.array(bits, dtype=bool)
        p, q = (np.where(kept, rate, 1 - rate).prod() for rate in (first, second))
        total += max(0.0, p - math.exp(x) * q)
    return total


def worst_ratio(places, relation, mu, charged):
    """Over neighbours and levels: what the bits give away, over what a Gaussian of the charged mu would."""
    most = 0.0
    for rest, x, other in neighbours(places, relation):
        if len(rest) < 3:
            continue
        size = len(rest) + 1
        bar = Bar(size - 1 if relation is ADD else size, mu, 0.49 * size, relation, 0.5)  # a low bar: bits tell most
        one, two = (majorities(rest + record)[: len(rest)] for record in (x, other))
        for level in (-0.5, 0.0, 0.5):
            given = max(bit_divergence(bar, one, two, level), bit_divergence(bar, two, one, level))
            most = max(most, given / float(hockey_stick(charged, level)))
    return most


@both
def test_the_bits_cost_no_more_than_is_charged(relation):
    places = LINE[:3]
    assert worst_ratio(places, relation, 1.0, 1.0) <= 1
    assert worst_ratio(places, relation, 1.7, 1.0) > 1  # a twin with too little noise is caught


@both
@pytest.mark.parametrize("most", [1.0, 50.5, 16_000.0])
def test_unfriendly_records_reach_the_bar_no_more_often_than_stated(relation, most):
    bar = Bar(most, 0.2, 1e-8, relation, 0.5)
    reached = ndtr((UNFRIENDLY[relation] * STEPS - bar.height) / bar.event.stddev) * (most + 1)
    assert 0.98e-8 < reached <= 1e-8


# The map: scales and ledger


@both
def test_every_draw_has_the_scale_of_its_sensitivity(relation):
    noise = RecordingNoise()
    found = released(np.ones((2000, 2)), neighbours=relation, noise=noise)
    assert not found.refused
    gaussians = [event for event in found.ledger.events if isinstance(event, Gaussian)]
    assert noise.asked == [
        ("gaussian", event.stddev, size)
        for event, size in zip(gaussians, ([1] if relation is ADD else []) + [2000, 1, 2], strict=True)
    ]
    bits, kept, mean = gaussians[-3:]
    count, lowest = found.parameters["count"], found.parameters["kept_lower_bound"]
    most = count if relation is REPLACE else count + (5.42 * gaussians[0].stddev + 1) * gaussians[0].step
    assert bits.sensitivity == pytest.approx(STEPS * MOVES[relation] * math.sqrt(most), rel=1e-3)
    assert most - 1e-9 <= bits.dimension < most + 2
    assert kept.sensitivity == 2**14 + 1
    assert lowest == pytest.approx(2000 - 5.42 * kept.stddev * kept.step, rel=1e-3)
    assert mean.sensitivity * mean.step == pytest.approx(2 * 6.0 / lowest, rel=1e-6)


@pytest.mark.parametrize(
    ("relation", "epsilon", "delta"), [(ADD, 8.0, 1e-6), (REPLACE, 8.0, 1e-6), (ADD, 1.0, 0.2), (REPLACE, 1.0, 1e-6)]
)
def test_the_budget_is_kept_and_used_up(relation, epsilon, delta):
    found = released(np.ones((4000, 1)), neighbours=relation, epsilon=epsilon, delta=delta)
    assert not found.refused
    assert 0.9 * delta < found.ledger.delta() <= delta


def test_the_ledger_does_not_know_the_number_of_records():
    """Only its noisy bound: the same noise on tables of 2000 and 2000 + k records moves every number by k or less."""
    few, more = (released(np.ones((count, 1))) for count in (2000, 2003))
    dimensions = [
        [event.dimension for event in found.ledger.events if isinstance(event, Gaussian)] for found in (few, more)
    ]
    assert dimensions[0][1] > 2000
    assert dimensions[1][1] - dimensions[0][1] == 3


# The noise: 2·radius/(n mu) and no more than filter and count cost


def test_the_noise_approaches_that_of_records_known_to_be_friends():
    """With many records the filter is nearly free; a tenth of the precision goes to the number kept."""
    found = released(np.ones((8000, 1)))
    whole = math.sqrt(sum(event.mu**2 for event in found.ledger.events if isinstance(event, Gaussian)))
    ideal = 2 * 6.0 / (8000 * whole)
    assert ideal < found.noise_stddev[0] < 1.12 * ideal


def squared_units(rng, **changes):
    """Σ z², z the distance from the sample mean in units of the stated noise: χ² of 500 degrees."""
    X = rng.normal(size=(1000, 500)) + 1e6
    found = released(X, radius=45.0, **changes)
    return float((((found.mean - X.mean(axis=0)) / found.noise_stddev) ** 2).sum())


LOW, HIGH = chi2.ppf(4e-7, 500), chi2.isf(4e-7, 500)


@sampling(1e-6)
@both
def test_the_error_is_the_noise_that_is_stated(rng, seed, relation):
    assert LOW < squared_units(rng, neighbours=relation, noise=SeededNoise(seed)) < HIGH


@sampling(1e-6)
@pytest.mark.parametrize("factor", [0.7, 1.4])
def test_another_scale_would_be_noticed(rng, seed, factor):
    class Wrong(SeededNoise):
        def gaussian(self, stddev, size):
            return super().gaussian(stddev * (factor if size == 500 else 1.0), size)

    assert not LOW < squared_units(rng, noise=Wrong(seed)) < HIGH


@both
def test_strangers_are_left_out(rng, relation):
    honest = rng.normal(size=(2000, 3))
    strangers = 1e9 + rng.normal(size=(60, 3))
    found = released(np.vstack([honest, strangers]), radius=12.0, neighbours=relation)
    assert np.linalg.norm(found.mean - honest.mean(axis=0)) < 6 * np.linalg.norm(found.noise_stddev) < 1


# The caller's data; degenerate data


@both
def test_the_kind_of_table_does_not_matter_and_is_left_alone(rng, relation, monkeypatch):
    X = np.where(rng.random((900, 5)) < 0.4, rng.normal(size=(900, 5)), 0.0)
    before, dense = X.copy(), released(X, neighbours=relation)
    assert not dense.refused
    monkeypatch.setattr(records, "_BLOCK_ENTRIES", 35)
    for twin in (sparse.csr_array(X), np.asfortranarray(X)):
        assert released(twin, neighbours=relation) == dense
    assert np.array_equal(X, before)
    assert X.flags.writeable


@both
@pytest.mark.parametrize("shape", [(0, 2), (1, 1), (3, 2), (30, 1)])
def test_few_records_are_refused(shape, relation):
    found = released(np.full(shape, 3.0), neighbours=relation)
    assert found.refused
    assert found.ledger.delta() <= 1e-6


def test_records_without_friends_are_refused(rng):
    assert released(rng.normal(size=(2000, 3)) * 1e6).refused


def test_invalid_and_extreme_records_change_nothing_visible(rng):
    X = np.vstack([rng.normal(size=(2000, 2)), [[1e308, -1e308]], [[np.nan, 0]]])
    with np.errstate(all="raise", under="ignore"):
        found = released(X, radius=12.0, on_missing="drop")
    assert np.linalg.norm(found.mean - X[:2000].mean(axis=0)) < 6 * np.linalg.norm(found.noise_stddev)


@pytest.mark.system_noise
def test_the_default_noise_is_private():
    assert released(np.ones((400, 1)), noise=None).guarantee.private


@pytest.mark.parametrize("radius", [0.0, -1.0, math.nan, math.inf, "1", None])
def test_a_radius_has_to_be_a_sensible_number(radius):
    with pytest.raises(InvalidParameter, match="radius"):
        released(np.ones((5, 2)), radius=radius)
