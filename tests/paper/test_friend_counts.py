"""Friend counts of the paper's filter: the exact number of records within the radius, however far, however many."""

import tracemalloc

import numpy as np
import pytest
import threadpoolctl
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dimfree.kernel.statistics.friends import EDGE, NEAR, RADIUS, within_radius
from dimfree.paper import averaging as friends
from dimfree.paper.averaging import friend_counts


def counted_one_by_one(records):
    """The definition, in Python integers."""
    rows = [[int(value) for value in row] for row in records]
    within = [[sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) <= RADIUS**2 for y in rows] for x in rows]
    return [sum(row) for row in within]


def assert_exact(records):
    records = np.asarray(records, dtype=np.int64)
    assert friend_counts(records).tolist() == counted_one_by_one(records)


def line(*steps):
    return np.array(steps, dtype=np.int64)[:, None]


LAYOUTS = {
    "one record": line(7),
    "duplicates": line(5, 5, 5, 5 + RADIUS + 1),
    "ties": line(0, RADIUS, -RADIUS, RADIUS + 1, -RADIUS - 1),
    "ties off the origin": line(0, RADIUS, -RADIUS, RADIUS + 1) + 12345678901234567,
    "edges": line(2**61, -(2**61), 2**61 - RADIUS, 2**61 - RADIUS - 1, -(2**61) + RADIUS, 0),
    "a ladder of steps": line(*range(0, 9 * RADIUS, RADIUS // 3)),
    "a long ladder": line(*range(-3 * NEAR, 3 * NEAR, RADIUS - 1)),
    "ties on the diagonal": np.array([[0, 0], [RADIUS * 3 // 5, RADIUS * 4 // 5], [RADIUS, 0], [RADIUS, 1]]),
    "a Pythagorean tie": np.array([[0, 0], [3 * 2**17, 4 * 2**17], [6 * 2**17, 8 * 2**17], [629145, 838861]]),
    "one step beyond in the last of many coordinates": np.array([[0] * 600, [RADIUS] + [0] * 598 + [1]]),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_counts_of_a_layout(layout):
    assert_exact(layout)


near_and_far = st.sampled_from([0, RADIUS, -RADIUS, 2 * RADIUS, NEAR, -NEAR, 2 * NEAR, 2**61, -(2**61)])
nudged = st.builds(lambda place, nudge: min(max(place + nudge, -(2**61)), 2**61), near_and_far, st.integers(-2, 2))


@settings(max_examples=150, deadline=None)
@given(hnp.arrays(np.int64, st.tuples(st.integers(0, 14), st.integers(1, 3)), elements=nudged))
@example(np.array([[2**61], [-(2**61)]]))
def test_counts_of_anything_on_the_grid(records):
    assert_exact(records)


@pytest.fixture
def cloud(seed):
    """A table of more than one tile once tiles are small: near, far and tied records, some twice."""
    rng = np.random.default_rng(seed)
    near = rng.normal(0, 0.6 * RADIUS, (120, 3)).astype(np.int64)
    far = rng.integers(-3, 4, (40, 3)) * NEAR
    return np.concatenate([near, near[:10], near[:10] + [RADIUS, 0, 0], far, far[:5]])


@pytest.mark.parametrize(("rows", "cells"), [(3, 1), (7, 8), (64, 100), (1024, 2**22)])
def test_tiling_does_not_matter(cloud, monkeypatch, rows, cells):
    monkeypatch.setattr(friends, "_ROWS", rows)
    monkeypatch.setattr(friends, "_CELLS", cells)
    monkeypatch.setattr(friends, "_CELLS", cells)
    assert_exact(cloud)


def test_threads_do_not_matter():
    """Many pairs at exactly the radius: the last bit of a product would show."""
    records = np.random.default_rng(3).integers(-2, 3, (1100, 32)) * (RADIUS // 8)
    counted = []
    for threads in (1, 2, 3):
        with threadpoolctl.threadpool_limits(threads):
            counted.append(friend_counts(records))
    sample = [0, 500, 1099]
    for counts in counted:
        assert np.array_equal(counts, counted[0])
        assert counts[sample].tolist() == [int(within_radius(records - records[j]).sum()) for j in sample]
    assert len(set(counted[0].tolist())) > 10  # not a trivial layout


def test_counts_are_exact_where_the_screening_product_is_large(seed):
    """Norms just under NEAR in many coordinates: the largest products that must still be exact."""
    rng = np.random.default_rng(seed)
    base = np.full(64, NEAR // 8 - 1)  # norm just below NEAR
    moved = np.repeat(base[None], 30, axis=0)
    moved[np.arange(30), rng.integers(0, 64, 30)] -= RADIUS + rng.integers(-1, 2, 30)
    anchors = np.zeros((60, 64), dtype=np.int64)  # hold the center at the origin
    assert_exact(np.concatenate([anchors, base[None], moved]))


def test_memory_is_not_quadratic():
    """12 000 records: a table of all pairs would take 144 MB as single bytes and 1.2 GB as numbers."""
    records = np.arange(12_000, dtype=np.int64)[:, None] % 50
    tracemalloc.start()
    try:
        counts = friend_counts(records)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (counts == 12_000).all()
    assert peak < 100e6


def test_differences_of_grid_coordinates_fit_64_bits():
    """What the integer comparisons lean on."""
    assert 2 * int(EDGE) < 2**63
    assert 4 * NEAR**2 <= 2**53
