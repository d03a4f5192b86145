"""Directions in whole steps: of one record alone, within the ball, exact in every order, storage and block."""

import math

import numpy as np
import pytest
from exact.pointing import CENTRE, UNIT, lookout_of, space_of, sums_of
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from dimfree.data import records as records_module
from dimfree.data.blocks import SparseRows
from dimfree.data.gpu.rows import DeviceRows
from dimfree.data.records import open_records
from dimfree.kernel.rows import space as space_module
from dimfree.kernel.rows.bases.learned import LearnedAxes
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics import unit_vectors as directions_module
from dimfree.kernel.statistics.unit_vectors import LENGTH, Lookout, some_rows, unit_steps, whole_length
from dimfree.shapes import Diagonal, Isotropic

SIZES = [5e-324, 1e-310, 2.3e-308, 1e-160, 1.0, 1 / 3, 1e160, 1.7e308]
adversarial = st.one_of(
    st.sampled_from([0.0, *SIZES, *(-size for size in SIZES)]),
    st.floats(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
)
tables = hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 7)), elements=adversarial)


def squared_length(steps):
    return sum(int(step) ** 2 for step in steps)


@settings(max_examples=200)
@given(tables)
def test_no_direction_leaves_its_ball(rows):
    found = unit_steps(rows)
    assert (found == np.trunc(found)).all()
    for row, steps in zip(rows, found, strict=True):
        assert squared_length(steps) <= UNIT
        assert (np.sign(steps) * np.sign(row) >= 0).all()
        assert row.any() == (squared_length(steps) > 0.98 * UNIT)  # no record is too small or too large to point


@settings(max_examples=60)
@given(tables, st.sampled_from(SIZES), st.sampled_from([*SIZES, -1.7e308]))
@pytest.mark.filterwarnings("error")
def test_no_lookout_lets_a_record_out_of_the_ball_or_warns(rows, scale, centre):
    width = rows.shape[1]
    found = Lookout(np.full(width, centre), np.full(width, scale)).directions(rows)
    assert np.isfinite(found).all()
    assert max(squared_length(steps) for steps in found) <= UNIT


def test_directions_point_where_the_records_lie(rng):
    rows, scale = rng.normal(size=(50, 6)), np.exp(rng.normal(size=6))
    offsets = (rows - CENTRE) / scale
    true = offsets / np.linalg.norm(offsets, axis=1, keepdims=True)
    assert np.abs(Lookout(np.full(6, CENTRE), scale).directions(rows) / LENGTH - true).max() < 2 / LENGTH


@pytest.mark.parametrize("width", [2**19, 2**19 + 1, 2**20])
def test_lengths_are_exact_up_to_a_million_coordinates(width, rng):
    """The fullest row there is: with one bit more its squares would leave the floats."""
    rows = np.stack([np.full(width, 2.0 - 2.0**-30), np.where(rng.random(width) < 0.5, 1.9, -1.1)])
    found = unit_steps(rows)
    assert ((found.astype(np.int64) ** 2).sum(axis=1) <= UNIT).all()
    assert found.tobytes() == np.concatenate([unit_steps(rows[[1]]), unit_steps(rows[[0]])])[::-1].tobytes()


@pytest.mark.parametrize("size", [2**20, 2**40, 2**55, 2**62])
def test_a_length_is_exact_however_long(size, rng):
    vector = rng.integers(-size, size, 1000)
    assert whole_length(vector) == math.isqrt(sum(int(v) ** 2 for v in vector))
    assert [whole_length(np.array(v)) for v in ([0], [3, -4], [1, 1])] == [0, 5, 1]


def many(rng, rows=53, width=3):
    table = rng.normal(size=(rows, width)) * np.exp(rng.normal(size=(rows, 1)) * 3)
    table[::7] *= 1e200
    table[3], table[4], table[5, 0] = np.nan, CENTRE, 5e-324
    return table


def test_every_record_points_as_if_alone(rng):
    rows = np.nan_to_num(many(rng, 40, 300))
    lookout = Lookout(rng.normal(size=300), np.exp(rng.normal(size=300)))
    together = lookout.directions(rows)
    for j in range(len(rows)):
        assert together[j].tobytes() == lookout.directions(rows[j : j + 1].copy())[0].tobytes()


@pytest.mark.parametrize("entries", [1, 7, 10**6])
def test_blocks_and_order_change_no_bit(rng, monkeypatch, entries):
    rows = many(rng)
    expected = sums_of(space_of(rows))
    for module, name in (
        (records_module, "_BLOCK_ENTRIES"),
        (space_module, "_BLOCK_ENTRIES"),
        (space_module, "_TILE_ENTRIES"),
        (directions_module, "_CELLS"),
    ):
        monkeypatch.setattr(module, name, entries)
    assert (sums_of(space_of(rng.permutation(rows))) == expected).all()
    assert (sums_of(space_of(rows[:20])) + sums_of(space_of(rows[20:])) == expected).all()


def test_a_sparse_table_has_the_same_sums(rng):
    rows = np.where(rng.random((60, 5)) < 0.3, np.nan_to_num(many(rng, 60, 5)), 0.0)
    thin = Space(open_records(sparse.csr_array(rows)), Isotropic(1.0))
    assert (sums_of(thin) == sums_of(space_of(rows))).all()
    mask = rng.random(60) < 0.5
    assert (sums_of(thin, among=mask) == sums_of(space_of(rows), among=mask)).all()


class Tensor:
    """As much of a tensor as rows on a device need to come back."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def __getitem__(self, key):
        return Tensor(self.array[key])

    def cpu(self):
        return self

    def numpy(self):
        return self.array


def test_rows_of_every_kind_come_a_few_at_a_time(rng, monkeypatch):
    monkeypatch.setattr(directions_module, "_CELLS", 20)
    rows = np.nan_to_num(many(rng))
    lookout, expected = lookout_of(3), lookout_of(3).directions(rows)
    for kind in (rows, SparseRows(sparse.csr_array(rows)), DeviceRows(Tensor(rows))):
        parts = [lookout.directions(some) for some in some_rows(kind)]
        assert {len(part) for part in parts} == {6, 5}
        assert np.concatenate(parts).tobytes() == expected.tobytes()


def test_units_of_a_shape_are_taken_into_the_lookout(rng):
    """Powers of two divide without rounding: rows rescaled first have the same directions."""
    rows, spread = rng.normal(size=(20, 3)), np.array([16.0, 1.0, 2.0**-8])
    space = Space(open_records(rows), Diagonal(spread))
    seen = Lookout(np.array([0.5, -0.25, 1.0]), np.array([1.0, 3.0, 0.7]))
    assert (sums_of(space, seen) == sums_of(space_of(rows / space.units), seen)).all()
    assert not (space.units == 1).all()


def test_directions_in_learned_axes_are_of_one_record_alone(rng):
    """What a menu does after it has moved: rotated rows, seen from a centre there."""
    axes = LearnedAxes(np.linalg.qr(rng.normal(size=(6, 2)))[0], np.exp(rng.normal(size=6)), np.exp(rng.normal(size=6)))
    rows = np.nan_to_num(many(rng, 40, 6))
    expected = sums_of(Space(open_records(rows), Isotropic(1.0), axes))
    each = [sums_of(Space(open_records(rows[[j]]), Isotropic(1.0), axes)) for j in range(len(rows))]
    assert (np.sum(each, axis=0) == expected).all()
    whole = axes.rotated(rows)
    assert whole.tobytes() == np.concatenate([axes.rotated(rows[[j]]) for j in range(len(rows))]).tobytes()
