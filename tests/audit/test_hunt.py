"""The hunt climbs to what is known to be the worst, accuses nobody who is right, and finds what named pairs miss."""

import math
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from audit.broken import broken
from scipy import sparse
from scipy.stats import norm

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.ladder import DENOMINATOR
from dimfree.accounting.precision import hockey_stick
from dimfree.audit.laws.exact import ShiftedGaussian
from dimfree.audit.neighbours import SUITES, Pair, Place, huge, pairs
from dimfree.audit.noise_doubles import exact_law
from dimfree.audit.search import hunted_cores, hunted_sums, hunted_votes, hunted_weights
from dimfree.audit.search.climb import hunt
from dimfree.audit.search.moves import Herd, Terrain, moved
from dimfree.audit.search.targets import HUNTS
from dimfree.audit.subjects.subject import whole_mu
from dimfree.core import basic, soft, stable
from dimfree.geometry.clip import BALL, to_ball
from dimfree.mechanisms import friend_radius, outer_sum
from dimfree.mechanisms.paper import stable_histogram
from dimfree.noise import public_simulation

ADD, REPLACE = Neighbours
EPSILON = 3.0
QUICK = ("clipped", "scores", "stable mean")
SLOW = ("excess", "unit of scores", "friend radius", "stable core", "soft core")


def only(quarry, *pairs):
    return replace(quarry, starts=tuple(pairs))


def dull(relation, size, width=1):
    """Everybody in one spot; the record too, or next to it."""
    crowd = np.full((size - 1, width), 0.25)
    there = crowd if relation is ADD else np.vstack([crowd, crowd[:1] + 0.1])
    return Pair("dull", relation, np.vstack([crowd, crowd[:1]]), there)


# ---- right mechanisms


@pytest.mark.parametrize("name", HUNTS)
def test_a_right_mechanism_keeps_its_claim(name):
    quarry = HUNTS[name](EPSILON)
    tries = len(quarry.starts) + (6 if name.startswith(SLOW) else 40)
    found = hunt(quarry, tries=tries)
    assert not found.violated
    assert 0 < found.found <= quarry.epsilon * (1 + 1e-9)  # and the hunt is not idle
    assert found.tried == tries
    assert f"{found.mechanism}, {found.relation}" == name


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
@pytest.mark.parametrize(
    "name", [name for name in HUNTS if name.startswith(("clipped", "scores", "stable mean", "top"))]
)
def test_at_other_budgets_too(name, epsilon):
    assert not hunt(HUNTS[name](epsilon), tries=40).violated


# ---- it climbs


def test_it_climbs_to_the_drift_of_the_coins():
    quarry = only(hunted_weights.basic_filter(EPSILON), dull(ADD, 9))
    size = quarry.terrain.most
    found = hunt(quarry, tries=400).pair
    assert hunted_weights.drift(found.here, found.there) >= 0.95 * (2 - 1 / size)
    assert hunted_weights.drift(quarry.starts[0].here, quarry.starts[0].there) < 1.1


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_it_climbs_to_the_whole_radius(relation):
    """Off the ball's centre, so that no named place is right: the sum moves by one radius, or by two."""
    quarry = only(hunted_sums.clipped_sum(EPSILON, relation), dull(relation, 4, 2))
    assert hunt(quarry, tries=1).found < 0.5 * EPSILON
    assert hunt(quarry, tries=300).found >= 0.95 * EPSILON


@pytest.mark.parametrize("name", ["outer products", "togetherness"])
def test_it_climbs_to_the_root_of_two(name):
    """Two directions at right angles: oblique ones where the diagonal is left out."""
    quarry = only(HUNTS[f"{name}, replace-one"](EPSILON), dull(REPLACE, 4, 2))
    assert hunt(quarry, tries=1).found < 0.3 * EPSILON
    assert hunt(quarry, tries=400).found >= 0.95 * EPSILON


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_it_climbs_to_the_bound_of_the_stable_mean(relation):
    """P5 with no unstable record: strangers on the far side, which no move places at once."""
    quarry = only(hunted_cores.stable_mean(EPSILON, relation), dull(relation, 24))
    assert hunt(quarry, tries=1).found < 0.3 * EPSILON
    assert hunt(quarry, tries=900 if relation is ADD else 400, seed=4).found >= 0.9 * EPSILON


def test_it_finds_the_statistic_that_moves():
    quarry = only(hunted_cores.stability_bit(EPSILON, REPLACE), dull(REPLACE, 24))
    assert hunt(quarry, tries=1).found == 0
    assert hunt(quarry, tries=200).found == pytest.approx(EPSILON)


# ---- wrong mechanisms that the named pairs do not give away


def one_unstable_too_many(counts, full_share, budget, stability=stable.stability):
    """`>` for `>=` in T: one more record may lack friends than the sensitivity allows for."""
    return min(budget, stability(counts, full_share, budget + 1))


def weights_stay(count, full_share, budget, neighbours):
    """P5 without the records that change their weight."""
    return 2 / (count - budget + 2)


def forgets_the_number(share, relation):
    """The friend average moves by one; that its target moves with the number of records is forgotten."""
    return 1.0


ARRIVALS = dict.fromkeys(Neighbours, 1.0)  # an exchange of directions is charged as an arrival: 1 for √2


def one_count(epsilon):
    """An item that moves between two cells changes two counts; the noise is for one."""
    return 1 / epsilon


TWINS = {
    "off by one in T": (stable, "stability", one_unstable_too_many, "stable mean, replace-one", 300),
    "weights stay": (stable, "sensitivity", weights_stay, "stable mean, unstable records, replace-one", 100),
    "forgets n": (friend_radius, "friend_average_sensitivity", forgets_the_number, "friend radius, add-remove", 60),
    "directions are charged as arrivals": (outer_sum, "MOVES", ARRIVALS, "togetherness, replace-one", 300),
    "one count moves": (
        stable_histogram,
        "laplace_scale",
        lambda epsilon: 1 / epsilon,
        "stable histogram, replace-one",
        100,
    ),
}


@pytest.mark.parametrize("twin", TWINS)
def test_a_twin_that_named_pairs_miss_is_caught(monkeypatch, twin):
    module, name, wrong, quarry, more = TWINS[twin]
    monkeypatch.setattr(module, name, wrong)
    hunted = HUNTS[quarry](EPSILON)
    named = [pair for pair in hunted.starts if pair.name in SUITES[hunted.relation]]
    assert len(named) > 7
    assert not any(hunt(only(hunted, pair), tries=1).violated for pair in named)
    assert hunt(hunted, tries=len(hunted.starts) + more).violated


def test_a_total_that_moves_by_one_is_caught_from_a_dull_start(monkeypatch):
    """The total variation of soft weights is nearly 2, not 1."""
    monkeypatch.setattr(soft, "TOTAL_SENSITIVITY", 1.0)
    quarry = hunted_weights.soft_core(EPSILON)
    start = dull(ADD, 40)
    assert not hunt(only(quarry, start), tries=1).violated
    assert hunt(only(quarry, start), tries=60).violated


BROKEN = (
    ("half the noise on the counts", "sparse vector, replace-one"),
    ("stretches for half the price", "sparse vector, add-remove"),
    ("half the noise of a mean", "stable mean, replace-one"),
    ("half the total", "soft core, add-remove"),
    ("squares are not clipped", "unevenness, add-remove"),
    ("squares are not clipped", "unevenness, replace-one"),
    ("a weight without an end", "weight of unevenness, add-remove"),
    ("half the noise of a number", "spread in a basis, add-remove"),
    ("directions are too long", "outer products, add-remove"),
)


@pytest.mark.parametrize(("what", "name"), BROKEN)
def test_what_is_broken_in_place_is_caught(monkeypatch, what, name):
    """What is charged for a choice, and the noise of a mean, are the code's own words."""
    broken(monkeypatch, what)
    quarry = HUNTS[name](EPSILON)
    assert hunt(quarry, tries=len(quarry.starts) + 150 * ("soft" not in name)).violated


def test_an_exchange_of_outer_products_charged_as_an_arrival_is_caught(monkeypatch):
    """1 for √2: a record along one axis, or along another."""
    monkeypatch.setattr(outer_sum, "MOVES", ARRIVALS)
    assert not hunt(HUNTS["outer products, add-remove"](EPSILON), tries=60).violated
    found = hunt(HUNTS["outer products, replace-one"](EPSILON), tries=60)
    assert found.violated
    assert found.found > 1.4 * EPSILON


@pytest.mark.parametrize(("charged", "violated"), [(math.sqrt(2), True), (2.0, False)])
def test_a_clipped_sketch_charged_as_if_it_had_no_signs_is_caught(charged, violated):
    """√2·τ for 2τ: Σ clip(S·u, τ) of signed sketches, as noisy as if they were outer products."""
    mu, sketch = whole_mu(EPSILON), np.array([[1.0, 0.0], [1.0, 1.0], [1.0, -1.0]])

    def spread(table):
        lengths = np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-300)
        return to_ball(table / lengths @ sketch.T, 1.0).sum(axis=0) / BALL / (charged / mu)

    quarry = hunted_sums.shifted("sketch", EPSILON, REPLACE, spread, Terrain((0.0, 1.0, -1.0)), size=4)
    quarry = only(quarry, dull(REPLACE, 4, 2))
    assert hunt(quarry, tries=200).violated is violated


def test_the_soft_core_is_weighed_by_the_noise_it_draws(monkeypatch):
    core, table = hunted_weights.SoftCore(hunted_weights.Budget(EPSILON, 1e-2)), dull(ADD, 60).here
    right = core.weigh(table, 0)
    broken(monkeypatch, "half the noise of a mean")
    assert core.weigh(table, 0).noise == pytest.approx(right.noise / 2)
    assert core.weigh(table, 0).lowest == right.lowest


# ---- how it hunts


def test_a_hunt_repeats_itself_and_its_seed_matters():
    quarry = only(HUNTS["stable mean, add-remove"](EPSILON), dull(ADD, 24))
    one, two, other = (hunt(quarry, tries=80, seed=seed) for seed in (5, 5, 6))
    assert (one.detail, one.found, one.tried) == (two.detail, two.found, two.tried)
    assert one.detail != other.detail


def test_time_is_kept_and_one_pair_is_always_tried():
    quarry = HUNTS["clipped mean, add-remove"](EPSILON)
    assert hunt(quarry, seconds=0.0).tried == 1
    assert hunt(quarry, seconds=0.2).tried > 20


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_every_move_leads_to_neighbours(relation, seed):
    terrain, coins = Terrain((0.0, 1.0, -2.0), (0.5,), fewest=3, most=9), public_simulation(seed)
    herd = Herd.of(dull(relation, 5, 2))
    sizes, changes = set(), 0
    for _ in range(600):
        before, herd = herd, moved(herd, terrain, coins)
        changes += before != herd
        pair = herd.pair("moved")
        gone, new = rows(pair.here) - rows(pair.there), rows(pair.there) - rows(pair.here)
        assert (gone.total(), new.total()) == ((1, 0) if relation is ADD else (1, 1))
        assert Herd.of(pair).size == herd.size == len(pair.here)
        sizes.add(herd.size)
    assert sizes == set(range(3, 10))
    assert changes > 300


def rows(table):
    return Counter(map(tuple, (table.toarray() if sparse.issparse(table) else table).tolist()))


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_huge_pairs_are_neighbours_and_tried_as_they_are(relation):
    quarry, found = hunted_sums.clipped_sum(EPSILON, relation), list(huge(relation, Place(4)))
    assert [pair.here.shape[1] for pair in found] == [4096, 20_000]
    assert [sparse.issparse(pair.here) for pair in found] == [False, True]
    for pair in found:
        assert (rows(pair.here) - rows(pair.there)).total() == 1
        assert (rows(pair.there) - rows(pair.here)).total() == (0 if relation is ADD else 1)
        assert pair.name in [start.name for start in quarry.starts]
        told = hunt(only(quarry, pair), tries=50)
        assert told.tried == 1
        assert 0.2 * EPSILON < told.found <= EPSILON


def test_named_pairs_of_the_clipping_boundary_are_clipped():
    for relation, moves in ((ADD, 1), (REPLACE, 2)):
        (pair,) = pairs(relation, Place(5, radius=3.0), ("clipping boundary",))
        assert np.abs(pair.here[-1, 0]) > 3
        clipped = [np.clip(table[:, 0], -3, 3).sum() for table in (pair.here, pair.there)]
        assert abs(clipped[0] - clipped[1]) == 3 * moves


def test_counts_at_the_threshold_under_replacement():
    (pair,) = pairs(REPLACE, Place(10), ("count at threshold",))
    assert sorted(rows(pair.here).values()) == [5, 5]
    assert sorted(rows(pair.there).values()) == [4, 6]


# ---- the truth about two tables


def test_a_turning_draw_is_the_number_itself():
    def decide(noise):
        return float(1234 + int(noise.gaussian(1000.0, 1)[0]) >= 0)

    assert hunted_sums.turning_draw(decide) == pytest.approx(-1.2345)


def test_the_chances_of_the_coins_are_those_of_their_law():
    """All outcomes of the real coins on five records, against independent coins of the chances that were read off."""
    table = Place(5, dimension=1).at((2, -1.0), (1, 0.0), (2, 1.0))
    counts = np.array([3, 3, 5, 3, 3])
    law = exact_law(lambda noise: int(basic.keep(counts, noise).sum()), lambda scale: {})
    told = hunted_weights.number_kept(hunted_weights.keep_chances(table))
    assert {k: told[k] for k in law} == pytest.approx(law)


@pytest.mark.parametrize("level", [0.0, 0.7, 2.0])
def test_bit_and_mean_against_a_sum_over_cells(level):
    here, there, mu = int(0.6 * DENOMINATOR), int(0.3 * DENOMINATOR), 1.3
    edges = np.linspace(-12, 12, 4001)
    p, q = (np.diff(norm.cdf(edges - shift)) for shift in (mu, 0.0))
    one = np.append(0.6 * p, 0.4)
    two = np.append(0.3 * q, 0.7)
    best = max(np.maximum(a - math.exp(level) * b, 0).sum() for a, b in ((one, two), (two, one)))
    assert hunted_cores.BitAndMean(here, there, mu).delta_at(level) == pytest.approx(best, abs=1e-5)


def test_the_soft_world_is_no_more_than_both_shifts_at_their_largest():
    quarry = hunted_weights.soft_core(EPSILON)
    (pair,) = (start for start in quarry.starts if start.name == "far side")
    world = quarry.world(pair.here, pair.there)
    largest = math.hypot(world.shift, world.apart(6.0))
    least = math.hypot(world.shift, world.apart(-1.0))
    for level in (0.0, 0.5, 1.0):
        assert world.delta_at(level) <= hockey_stick(largest, level)
    assert world.delta_at(0.5) >= 0.5 * hockey_stick(least, 0.5) > 0


def test_a_lattice_read_as_continuous():
    mu = 0.8
    exact = ShiftedGaussian(2.0**14, round(mu * 2**14))
    assert hunted_sums.GaussianWorld(mu).delta_at(1.0) == pytest.approx(exact.delta_at(1.0), rel=1e-4)


def test_unpublished_draws_are_one():
    masses = dict.fromkeys(range(-5, 5), 0.1)
    merged = hunted_votes.unpublished_together(masses, 2)
    assert merged == pytest.approx({1: 0.7, 2: 0.1, 3: 0.1, 4: 0.1})
    assert all(low < high for low, high in pairwise(merged))
