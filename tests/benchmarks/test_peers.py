"""Every peer spends its budget exactly, states true sensitivities, and leaves data unchanged."""

import math

import numpy as np
import pytest
from benchmarks.contestants import ADD, CONTESTANTS, REPLACE
from benchmarks.peers.ball import algorithm_1, ball, filtered_budget
from benchmarks.peers.clipped import clipped
from benchmarks.peers.coinpress import coinpress
from benchmarks.peers.friendly_core import friendly_core
from benchmarks.peers.friends import friend_counts
from benchmarks.peers.gaussians import COUNT_SHARE, Gaussians
from benchmarks.peers.huang_liang_yi import Rotation, huang_liang_yi
from benchmarks.peers.karwa_vadhan import LONE_SHARE, heaviest_cells, karwa_vadhan
from benchmarks.peers.not_private import floor_radius, oracle_floor
from benchmarks.peers.plan import plan

from dimfree.accounting.precision import largest_mu

EPSILON, DELTA = 4.0, 1e-6
COUNT, DIMENSION = 600, 4
STDDEVS = np.array([1.0, 0.5, 0.25, 0.125])
PEERS = {  # name: (peer, what it is given, failures that come out of delta)
    "clipped": (clipped, {"radius": 20.0}, 0.0),
    "coinpress": (coinpress, {"radius": 20.0, "stddev": 1.0}, 0.0),
    "plan": (plan, {"radius": 20.0, "stddevs": STDDEVS}, 0.0),
    "huang_liang_yi": (huang_liang_yi, {"radius": 20.0}, 0.0),
    "karwa_vadhan": (karwa_vadhan, {"stddevs": STDDEVS}, LONE_SHARE * DELTA),
    "friendly_core": (friendly_core, {"radius": 5.0}, 3 * 0.03 * DELTA),
}
GAUSSIAN_ALONE = ("clipped", "coinpress", "plan", "huang_liang_yi")  # each step is one release of a fixed shape
every = pytest.mark.parametrize("name", PEERS)
both = pytest.mark.parametrize("relation", [ADD, REPLACE])


def records(count=COUNT):
    return 3.0 + np.random.default_rng(1).normal(size=(count, DIMENSION)) * STDDEVS


def run(name, X, relation=ADD, epsilon=EPSILON, seed=5):
    peer, given, _ = PEERS[name]
    return peer(X, epsilon, DELTA, np.random.default_rng(seed), neighbors=relation, **given)


@pytest.fixture
def releases(monkeypatch):
    """Record every Gaussian release of a peer: (value, sensitivity, mu, released)."""
    made, release = [], Gaussians.release

    def note_outcome(self, value, moves, mu):
        found = release(self, value, moves, mu)
        made.append((np.array(value, dtype=float), moves, mu, np.array(found), self))
        return found

    monkeypatch.setattr(Gaussians, "release", note_outcome)
    return made


@both
@every
def test_a_peer_spends_its_whole_budget_and_no_more(name, relation, releases):
    assert run(name, records(), relation) is not None
    precision = largest_mu(EPSILON, DELTA - PEERS[name][2])
    assert len({id(noise) for *_, noise in releases}) == 1
    unused = 0.03 if name == "plan" else 1e-6  # a bisection may end a query early
    assert (1 - unused) * precision**2 <= sum(mu**2 for _, _, mu, _, _ in releases) <= (1 + 1e-6) * precision**2


@every
def test_the_number_of_records_is_released_under_add_remove_alone(name, releases):
    run(name, records(), ADD)
    value, moves, mu, _, noise = releases[0]
    assert (value, moves, mu) == (COUNT, 1.0, pytest.approx(noise.mu * math.sqrt(COUNT_SHARE)))
    releases.clear()
    run(name, records(), REPLACE)
    assert not any(np.ndim(value) == 0 and value == COUNT for value, *_ in releases[:1])


@pytest.mark.parametrize("place", [0, 1, 2])
@both
@pytest.mark.parametrize("name", GAUSSIAN_ALONE)
def test_neighbors_move_no_statistic_farther_than_stated(name, relation, place, releases, monkeypatch):
    """Replay the released values on a neighboring table: every statistic stays within its sensitivity."""
    X = records()
    run(name, X, relation)
    first = list(releases)
    neighbor = X.copy()
    neighbor[place] = [1e6, -1e6, 1e3, 0.0]
    if relation == ADD:
        neighbor = np.delete(X, place, axis=0)
    replayed = iter(first)
    moved = []

    def replay(self, value, moves, mu):
        self._spent += mu**2
        then, stated, _, found, _ = next(replayed)
        assert moves == pytest.approx(stated)
        moved.append(float(np.linalg.norm(np.asarray(value, dtype=float) - then)) / moves)
        return found if found.shape else float(found)

    monkeypatch.setattr(Gaussians, "release", replay)
    run(name, neighbor, relation)
    assert max(moved) <= 1 + 1e-9
    assert len(moved) == len(first)


def test_a_peer_cannot_spend_more_than_its_budget():
    noise = Gaussians(EPSILON, DELTA, np.random.default_rng(0), ADD)
    noise.release(0.0, 1.0, noise.mu * 0.9)
    with pytest.raises(ValueError, match="more than its budget"):
        noise.release(0.0, 1.0, noise.mu * 0.5)


@pytest.mark.parametrize("peer", [ball, algorithm_1])
def test_filtered_peers_spend_what_the_filter_leaves(peer, releases):
    assert peer(records(), EPSILON, DELTA, np.random.default_rng(0), stddevs=STDDEVS) is not None
    epsilon, delta = filtered_budget(EPSILON, DELTA, ADD)
    assert sum(mu**2 for _, _, mu, _, _ in releases) == pytest.approx(largest_mu(epsilon, 0.9 * delta) ** 2, rel=1e-6)


@pytest.mark.parametrize("contestant", CONTESTANTS, ids=lambda each: each.name)
def test_data_are_not_changed_and_large_budgets_find_the_mean(contestant):
    from benchmarks.worlds import Synthetic

    X, known = Synthetic("S2", 3).draw(4000, np.random.default_rng(2))
    before = X.copy()
    X.setflags(write=False)
    found = contestant.answer(X, known, 8.0, 1e-5, ADD, 3)
    assert (before == X).all()
    assert np.linalg.norm(found - X.mean(axis=0)) < (2.0 if contestant.name == "clipped mean" else 0.5)


# --- Closed forms of the parts


def test_friend_counts_are_those_of_all_pairs():
    X = records(150)
    apart = np.linalg.norm(X[:, None] - X[None], axis=2)
    assert (friend_counts(X, 1.5) == (apart <= 1.5).sum(axis=1)).all()


class Silent(Gaussians):
    """Charges like the original, and adds nothing."""

    def release(self, value, moves, mu):
        super().release(value, moves, mu)
        return np.asarray(value, dtype=float)


def silent(relation=ADD):
    return Silent(50.0, 1e-3, np.random.default_rng(0), relation)


def test_the_heaviest_cell_holds_the_mode_and_lone_records_publish_none():
    X = np.repeat([[2.3, -7.9]], 400, axis=0)
    noise = silent()
    assert heaviest_cells(X, np.array([1.0, 2.0]), 2, 1e-7, noise, 1.0) == pytest.approx([2.0, -4.0])
    alone = np.array([[0.5, 0.5], [100.5, 100.5]])
    assert heaviest_cells(alone, np.ones(2), 2, 1e-7, noise, 1.0) is None


@pytest.mark.parametrize("dimension", [1, 5, 8])
def test_the_rotation_keeps_lengths_and_can_be_undone(dimension):
    rotation, X = Rotation(dimension), np.random.default_rng(0).normal(size=(7, dimension))
    turned = rotation.rotate(X)
    assert np.linalg.norm(turned, axis=1) == pytest.approx(np.linalg.norm(X, axis=1))
    assert rotation.restore(turned[0]) == pytest.approx(X[0])


def test_the_oracle_adds_the_noise_of_one_gaussian():
    """All records at the mean: what comes out is noise, with length radius · sqrt(tr σ) / (n·mu) on average."""
    X, stddevs = np.full((500, 200), 7.0), np.linspace(0.1, 2, 200)
    found = oracle_floor(X, 1.0, DELTA, np.random.default_rng(0), mean=X[0], stddevs=stddevs)
    expected = floor_radius(stddevs, 500) / 500 / largest_mu(1.0, DELTA) * math.sqrt(stddevs.sum())
    assert np.linalg.norm(found - 7.0) == pytest.approx(expected, rel=0.15)
