"""Where many pairs are in doubt at once, or many threads count: the same friends as one pair after the other."""

import numpy as np
import pytest
from kernel.statistics.test_distances import counted

from dimfree.kernel.statistics import distances, friends
from dimfree.kernel.statistics.distances import PairDistances
from dimfree.kernel.statistics.friends import NEAR, RADIUS, to_steps


@pytest.fixture
def by_products(monkeypatch):
    """Every doubt is settled by products, in tiles of a few rows and columns; how often is told."""
    monkeypatch.setattr(distances, "_CROWD", 10**12)
    monkeypatch.setattr(distances, "_ROWS", 7)
    monkeypatch.setattr(friends, "_CELLS", 30)
    monkeypatch.setattr(friends, "_STEP_CELLS", 30)
    settled, settle = [], distances.by_products

    def report_progress(*given):
        near, within = settle(*given)
        settled.append(int(near.sum()))
        return near, within

    monkeypatch.setattr(distances, "by_products", report_progress)
    return settled


def lattice(location):
    return np.array([[i, j, i * j % 2] for i in range(6) for j in range(5)], dtype=np.float64) + location


@pytest.mark.parametrize("location", [0.0, 3.0, 1e6, -1e9])
@pytest.mark.parametrize("radius", [1.0, 2.0, 2**0.5, 5**0.5, 6**0.5, 3.0])
def test_ties_of_a_lattice(by_products, location, radius):
    """Many pairs at exactly the radius, or a step beside it."""
    rows = lattice(location)
    for near in (radius, radius * (1 - 1 / RADIUS), radius * (1 + 1 / RADIUS), np.nextafter(radius, 0)):
        assert PairDistances.of(rows, 0).friend_pairs(near) == counted(rows, near)
    assert sum(by_products) > 20


@pytest.mark.parametrize("far", [20.0, 31.9, 32.0, 32.1, 100.0, 1e9, 1e13, 1e300])
def test_records_on_either_side_of_where_products_are_exact(by_products, seed, far):
    """NEAR is 32 radii from the center: beyond it, and off the grid, pairs are decided one by one."""
    close = np.random.default_rng(seed).normal(size=(20, 2)) * 0.4
    rows = np.concatenate([lattice(0.0)[:, :2], close, lattice(0.0)[:9, :2] + far, [[far, 0.0]] * 2])
    for radius in (1.0, 2.0):
        assert PairDistances.of(rows, 3).friend_pairs(radius) == counted(rows, radius) + 3
    assert NEAR == 32 * RADIUS
    assert sum(by_products) > 20


def test_a_strict_inequality_would_show(by_products, monkeypatch):
    """The twin loses the pairs at exactly the radius."""
    rows, exact = lattice(0.0), distances.RADIUS
    expected = PairDistances.of(rows, 0).friend_pairs(1.0)
    pairs = PairDistances.of(rows, 0)
    monkeypatch.setattr(distances, "by_products", lambda *given: _strictly(exact, *given))
    assert pairs.friend_pairs(1.0) < expected == counted(rows, 1.0)


def _strictly(radius, table, center, rows, columns, step):
    z = to_steps(table, step)
    squared = ((z[rows, None] - z[None, columns]) ** 2).sum(axis=2)
    return np.ones(squared.shape, dtype=bool), squared < radius**2


def test_a_crowd_is_noticed_by_itself(seed):
    """Isotropic records in many coordinates: all distances are alike, and the band is wide."""
    rows = np.random.default_rng(seed).normal(size=(60, 20_000))
    pairs, settled, settle = PairDistances.of(rows, 0), [], distances.by_products
    left, right = np.triu_indices(60, k=1)
    radius = float(np.median(pairs.squared[0, left, right])) ** 0.5
    alone = int(pairs._one_by_one(left, right, radius / RADIUS).sum())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distances, "by_products", lambda *given: settled.append(1) or settle(*given))
        assert pairs.friend_pairs(radius) == 60 + 2 * alone
    assert settled == [1]


# threads


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_threads_count_alike(seed, monkeypatch, threads):
    monkeypatch.setattr(distances, "_ROWS", 16)
    rng = np.random.default_rng(seed)
    records = np.concatenate([rng.integers(-RADIUS, RADIUS, (150, 3)), rng.integers(-3, 4, (30, 3)) * NEAR])
    rows = rng.permutation(records) / RADIUS  # those near the center are not consecutive
    monkeypatch.setenv("DIMFREE_THREADS", threads)
    pairs = PairDistances.of(rows, 0)
    assert len(pairs.tiles) > 20
    assert pairs.friend_pairs(1.0) == counted(rows, 1.0)
