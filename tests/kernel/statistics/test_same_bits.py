"""Every statistic is the same whole numbers wherever the rows lie: dense, sparse, in Dask, on a device, in any blocks.

And it is the sum of what each record adds, in any order: nothing is scaled, centered or rounded by other records.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from blocks import blocks_of
from scipy import sparse

from dimfree.data.gpu.device import Place
from dimfree.data.records import as_records
from dimfree.kernel.rows.bases import LearnedAxes
from dimfree.kernel.rows.clip import BALL
from dimfree.kernel.rows.cosine import Cosine
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.clipped_sum import (
    Ball,
    clip_missing,
    length_counts,
    number_missing,
    sum_clipped,
    votes,
)
from dimfree.kernel.statistics.distances import pair_distances
from dimfree.kernel.statistics.scores import ScoreLengths, Scoring, total_scores
from dimfree.kernel.statistics.soft_histogram import Magnitudes, Offsets, soft_histograms
from dimfree.kernel.statistics.unit_vectors import DirectionCenter, outer_sum, total_directions
from dimfree.shapes import Covariance, DiagonalCovariance

TABLES = 8
ODD = (0.0, -0.0, 5e-324, -1.7e308, 2.0**-60, np.nextafter(2.0**-60, 0), np.nextafter(2.0**90, 0), 1.0, -8.0)
EDGES = np.geomspace(0.1, 100, 9)
Statistic = Callable[[Space], np.ndarray]


def placed(table: object, place: Place | None = None, shape: Covariance | None = None) -> Space:
    """Of rows; invalid ones are allowed."""
    return Space(
        as_records(table, missing="complete-case").on(place), shape or DiagonalCovariance(np.ones(table.shape[1]))
    )


def odd_table(seed: int) -> np.ndarray:
    """Entries of every magnitude, or ordinary ones; both ends of the floats; some invalid rows; perhaps no rows."""
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(0, 60)) if seed else 0, int(rng.integers(1, 6))
    exponents = rng.integers(-330, 300, size=shape) if seed % 2 else rng.integers(-3, 3, size=shape)
    table = rng.normal(size=shape) * 10.0 ** exponents.astype(float)
    chance = rng.random(shape)
    for place, value in enumerate(ODD):
        table[(chance > 0.04 * place) & (chance < 0.04 * (place + 1))] = value
    table[chance > 0.99] = np.nan
    table[(chance > 0.98) & (chance < 0.985)] = -np.inf
    return table


def centered(d: int) -> tuple[np.ndarray, np.ndarray]:
    return np.linspace(-1, 1, d), np.linspace(0.5, 2, d)


def histograms(space: Space) -> np.ndarray:
    which = np.arange(space.dimension)
    far = Offsets(np.full(len(which), 1e200), np.geomspace(1e-300, 1e300, len(which)))
    cells = Magnitudes(), Offsets(*centered(space.dimension)), far
    return np.concatenate([soft_histograms(space, each, which).ravel() for each in cells])


def directions(space: Space, basis=None) -> np.ndarray:
    lookout = DirectionCenter(*centered(space.dimension))
    seen = total_directions(space, lookout, basis or Cosine(space.dimension))
    return np.concatenate([seen, outer_sum(space, lookout).ravel()])


def of_clipped(space: Space) -> np.ndarray:
    lengths = ScoreLengths(space, Scoring(*centered(space.dimension), 2.0))
    return np.array([lengths.clipped(unit) for unit in EDGES])


BY_ENTRY: dict[str, Statistic] = {  # of rows whose entries may be missing, too
    "missing": lambda s: s.sum_over(number_missing, 1),
    "missing by column": lambda s: s.sum_over(partial(clip_missing, 1.3), s.dimension),
    "clipped sum": lambda s: sum_clipped(s, Ball(*centered(s.dimension), 1.5)),
    "capped sum": lambda s: sum_clipped(s, Ball(*centered(s.dimension), 1.5, cap=0.7)),
    "shell sum": lambda s: sum_clipped(s, Ball(*centered(s.dimension), 1.5), BALL // 3),
    "block of a sum": lambda s: sum_clipped(s, Ball(*centered(s.dimension), 0.5, np.array([s.dimension - 1]))),
    "scores": lambda s: total_scores(s, Scoring(*centered(s.dimension), 2.0), 0.7),
    "lengths": lambda s: length_counts(s, Ball(*centered(s.dimension), 1.0), EDGES),
    "votes": lambda s: votes(s, Ball(*centered(s.dimension), 1.0), EDGES),
    "far votes": lambda s: votes(s, Ball(*centered(s.dimension), 1.0), EDGES + 2),  # zeros are not far in any column
    "histograms": histograms,
}
STATISTICS: dict[str, Statistic] = {**BY_ENTRY, "clipped scores": of_clipped, "directions": directions}
CASES = [(name, False) for name in STATISTICS] + [(name, True) for name in BY_ENTRY]


@pytest.mark.parametrize(("name", "by_entry"), CASES)
@pytest.mark.parametrize("seed", range(TABLES))
def test_the_same_whole_numbers_from_everywhere(seed, name, by_entry):
    table = odd_table(seed)
    count, width = table.shape
    if by_entry:
        table[np.random.default_rng(seed).random(table.shape) < 0.2] = np.nan

    def found(rows, place=None):
        return STATISTICS[name](replace(placed(rows, place), by_entry=by_entry))

    whole, order = found(table), np.random.default_rng(1).permutation(count)
    at = np.repeat(np.arange(count), width), np.tile(np.arange(width), count)
    stored = sparse.coo_array((table.ravel(), at), shape=table.shape)  # zeros, too
    assert whole.dtype == np.int64
    for other in (sparse.csr_array(table), stored, sparse.csc_array(table), np.asfortranarray(table), table[order]):
        assert np.array_equal(found(other), whole)
    parts = [*np.split(table[:9], len(table[:9])), table[9:]] if count else []
    assert np.array_equal(sum(map(found, parts), np.zeros_like(whole)), whole)
    with blocks_of(3, width):
        assert np.array_equal(found(table), whole)
        assert np.array_equal(found(sparse.csr_array(table)), whole)
    if count:
        dask = pytest.importorskip("dask.array", reason="Dask is not installed")
        assert np.array_equal(found(dask.from_array(table, chunks=(25, width))), whole)
    _on_a_device(table, found, whole)


def _on_a_device(table, found, whole) -> None:
    try:
        import torch  # noqa: F401
    except ImportError:
        return
    assert np.array_equal(found(table, Place("cpu")), whole)


@pytest.mark.parametrize("name", [name for name in STATISTICS if name != "histograms"])  # of the entries as they are
def test_units_of_a_shape_are_taken_into_the_statistic(name, rng):
    """Powers of two divide without rounding: rows rescaled first have the same numbers."""
    rows, shape = rng.normal(size=(20, 3)), DiagonalCovariance([16.0, 1.0, 2.0**-8])
    units = placed(rows, shape=shape).units
    assert not (units == 1).all()
    assert np.array_equal(STATISTICS[name](placed(rows, shape=shape)), STATISTICS[name](placed(rows / units)))


def test_directions_in_learned_axes_are_of_one_record_alone(rng):
    axes = LearnedAxes(np.linalg.qr(rng.normal(size=(6, 2)))[0], np.exp(rng.normal(size=6)), np.exp(rng.normal(size=6)))
    rows = rng.normal(size=(30, 6)) * 10.0 ** rng.integers(-200, 200, (30, 1))
    each = [directions(Space(as_records(row[None]), DiagonalCovariance(np.ones(6)), axes), axes) for row in rows]
    assert np.array_equal(
        np.sum(each, axis=0), directions(Space(as_records(rows), DiagonalCovariance(np.ones(6)), axes), axes)
    )


@pytest.mark.parametrize("seed", range(1, TABLES))
def test_friends_are_the_same_pairs_from_everywhere(seed):
    table = odd_table(seed)

    def found(rows):
        pairs = pair_distances(placed(rows))
        counts = [pairs.friend_pairs(radius) for radius in (0.3, 2.0, 1e100)]
        return [*counts, *sorted(pairs.friend_counts(2.0))]

    whole = found(table)
    for other in (sparse.csr_array(table), np.asfortranarray(table), np.random.default_rng(1).permutation(table)):
        assert found(other) == whole
    with blocks_of(3, table.shape[1]):
        assert found(table) == found(sparse.csr_array(table)) == whole


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", STATISTICS)
def test_no_record_causes_a_warning(name):
    rows = np.array([[1.7e308, -1.7e308], [5e-324, 0.0], [-1.7e308, 1.7e308], [0.3, np.inf]])
    STATISTICS[name](placed(rows))
