"""Axes from released directions: there and back, what they do to variances, and a record at a time, bit for bit."""

import numpy as np
import pytest

from dimfree.data.records import open_records
from dimfree.kernel.rows.bases import LearnedAxes
from dimfree.kernel.rows.space import Space
from dimfree.shapes import DiagonalCovariance

SIZES = [(2, 1), (3, 1), (3, 2), (9, 4), (9, 8), (40, 7)]
sizes = pytest.mark.parametrize(("dimension", "count"), SIZES)


def directions_of(dimension, count):
    return np.linalg.qr(np.random.default_rng([dimension, count]).normal(size=(dimension, count)))[0]


def axes_of(dimension, count, directions=None):
    """Any scale and weights; directions at random unless given."""
    numbers = np.random.default_rng([dimension, count, 1])
    scale, weights = np.exp(numbers.normal(size=(2, dimension)))
    return LearnedAxes(directions_of(dimension, count) if directions is None else directions, scale, weights)


def dense(axes):
    """T and its inverse as matrices, from the definition: a scaled record, its coordinates, their weights."""
    back = axes.restore_answer(np.eye(axes.width)).T
    return np.linalg.inv(back), back


@sizes
def test_there_and_back(rng, dimension, count):
    axes, rows = axes_of(dimension, count), rng.normal(size=(17, dimension))
    assert axes.restore_answer(axes.rotate(rows)) == pytest.approx(rows, abs=1e-12)
    assert axes.restore_answer(axes.rotate(rows)[3]) == pytest.approx(rows[3], abs=1e-12)
    assert axes.rotate(axes.restore_answer(rows)) == pytest.approx(rows, abs=1e-12)
    assert axes.move_vector(rows[3]) == pytest.approx(axes.rotate(rows)[3], abs=0)
    assert (axes.dimension, axes.width, axes.name) == (dimension, dimension, "learned")


@sizes
def test_orthonormal_in_scaled_coordinates_and_the_directions_come_first(dimension, count):
    axes = axes_of(dimension, count)
    rows = (axes.rotate(np.eye(dimension)) / axes._weights).T * axes._scale  # T without scale and weights
    assert rows @ rows.T == pytest.approx(np.eye(dimension), abs=1e-13)
    assert rows[:count] == pytest.approx(directions_of(dimension, count).T, abs=1e-14)


EDGES = {
    "the first axes": np.eye(6)[:, :2],
    "the first axes turned round": -np.eye(6)[:, :2],
    "exchanged": np.eye(6)[:, [1, 0]],
    "the last axes": np.eye(6)[:, 4:],  # nothing of them lies along the first coordinates
    "one of each": np.eye(6)[:, [5, 0]],
}


@pytest.mark.parametrize("name", EDGES)
def test_directions_that_lie_along_axes(rng, name):
    axes, rows = axes_of(6, 2, EDGES[name]), rng.normal(size=(5, 6))
    turned = axes.rotate(rows)
    assert axes.restore_answer(turned) == pytest.approx(rows, abs=1e-13)
    assert turned[:, :2] == pytest.approx((rows / axes._scale) @ EDGES[name] * axes._weights[:2], abs=1e-14)


@sizes
def test_variances_against_dense_matrices(rng, dimension, count):
    axes = axes_of(dimension, count)
    into, back = dense(axes)
    variances = np.exp(rng.normal(size=dimension))
    assert axes.diagonal(variances) == pytest.approx(np.diagonal((back * variances) @ back.T), rel=1e-9)
    assert axes.move_variances(variances) == pytest.approx(np.diagonal((into * variances) @ into.T), rel=1e-9)
    assert axes.diagonal(variances) != pytest.approx(np.diagonal((into * variances) @ into.T), rel=1e-3)


# one record at a time


@pytest.fixture
def rows(rng):
    """Of all sizes; the last but one overflows once it is scaled."""
    table = rng.normal(size=(61, 9)) * np.exp(rng.normal(size=(61, 1)) * 8)
    table[7], table[20], table[-2] = 0.0, 5e-324, 1.7e308
    return table


def test_what_overflows_disturbs_no_other_record(rows):
    axes = axes_of(9, 4)
    with np.errstate(over="ignore"):
        wild = np.concatenate([rows, np.full((1, 9), 1.7e308) * [[1, -1, 1, 1, 1, 1, 1, 1, -1]]])
    space = Space(open_records(wild), DiagonalCovariance(np.ones(9)), axes)
    [(seen, valid)] = space.blocks()
    assert valid.all()
    assert np.isfinite(seen).all()
    assert seen[: len(rows) - 2].tobytes() == axes.rotate(rows[:-2]).tobytes()
