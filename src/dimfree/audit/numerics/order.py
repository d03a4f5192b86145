"""Sums and releases do not depend on the order of the records, on how they are cut, or on how they are stored.

All comparisons are bit for bit. If a sum rounded, one record could change the bits of all others.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import dimfree.data.records
import dimfree.kernel.rows.exact_product
import dimfree.kernel.rows.space
import dimfree.kernel.statistics.distances
import dimfree.kernel.statistics.friends
import dimfree.kernel.statistics.products
import dimfree.kernel.statistics.secret_ring
import dimfree.kernel.statistics.unit_vectors
import dimfree.kernel.statistics.weighted_mean
from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.audit.noise_doubles import ZeroNoise
from dimfree.audit.numerics import calls
from dimfree.audit.numerics.records import BALL, COLUMNS, GRID, LOOKOUT, SCORING, made_up, space_of
from dimfree.kernel.rows.bases.cosine import Cosine
from dimfree.kernel.rows.grid import on_grid
from dimfree.kernel.statistics.clipped_sum import Ball, clipped_sum
from dimfree.kernel.statistics.distances import pair_distances
from dimfree.kernel.statistics.friends import all_counts
from dimfree.kernel.statistics.length_histogram import length_counts
from dimfree.kernel.statistics.outer_sum import outer_sum
from dimfree.kernel.statistics.ring_scores import noisy_ring_scores, pair_scoring
from dimfree.kernel.statistics.scores import clipped_scores, noisy_scores
from dimfree.kernel.statistics.secret_ring import Ring
from dimfree.kernel.statistics.unit_vectors import sighted
from dimfree.kernel.statistics.weighted_mean import rounded_mean
from dimfree.noise import SeededNoise
from dimfree.paper.soft import soft_weights
from dimfree.simulation import public_simulation

Statistic = Callable[[Any], Any]  # of a table, however it is stored

_SCALE = np.array([1.0, 0.7, 2.0, 1.0, 0.3])
_BLOCK = Ball(BALL.centre, _SCALE, 1.5, np.array([0, 3]))
_HELD = Ball(BALL.centre, _SCALE, 1.5, cap=1.0)
_CUTS = (1, 64, 100, 210)
_NO_COINS = ("soft", "stable", "recentred, Dense", "recentred, LowRank", "unknown scale", "auto")


def _core_sum(table: Any) -> Any:
    integers = on_grid(space_of(table), 3.0)
    weights = soft_weights(all_counts(integers))
    return rounded_mean(integers.values, weights, 5)


def _pairs(table: Any) -> list[int]:
    found = pair_distances(space_of(table), None)
    return [found.friend_pairs(radius) for radius in (1e-3, 0.5, 1.0, 2.0, 3.0, 1e3)]


def _scores(table: Any) -> Any:
    return noisy_scores(space_of(table), SCORING, 0.7, 0.4, Neighbours.ADD_REMOVE, noise=ZeroNoise()).value


def _directions(table: Any) -> list[int]:
    seen = sighted(space_of(table), LOOKOUT, Cosine(COLUMNS))
    return [*seen.squares.tolist(), seen.weight, seen.spread]


SUMS: dict[str, Statistic] = {
    "clipped sum": lambda table: clipped_sum(space_of(table), BALL),
    "clipped sum of some coordinates": lambda table: clipped_sum(space_of(table), _BLOCK),
    "clipped sum of held entries": lambda table: clipped_sum(space_of(table), _HELD),
    "lengths of held entries": lambda table: length_counts(space_of(table), _HELD, GRID),
    "scores": _scores,
    "records beyond the score's norm": lambda table: clipped_scores(space_of(table), SCORING, 0.1),
    "directions": _directions,
    "outer products": lambda table: outer_sum(space_of(table), LOOKOUT),
    "friend counts": lambda table: np.sort(all_counts(on_grid(space_of(table), 3.0))),
    "friend counts of the core": lambda table: np.sort(pair_distances(space_of(table), None).friend_counts(3.0)),
    "pairs of friends": _pairs,
    "weighted core mean": _core_sum,
}


def _ring(table: Any) -> list[Any]:
    """Neighbours in the order of the table."""
    ring = Ring.of(space_of(table), None, 0, noise=ZeroNoise())
    scoring = pair_scoring(_SCALE, 3.0)
    scores = noisy_ring_scores(ring, scoring, 0.7, 0.4, Neighbours.ADD_REMOVE, noise=ZeroNoise()).value
    return [*ring.lengths(_SCALE), *scores]


IN_ORDER: dict[str, Statistic] = {"neighbours on a ring": _ring}  # depend on the order, and on nothing else


def _released(name: str) -> Statistic:
    """Everything that leaves the release of this name on reproducible noise; the names of columns apart."""

    def release(table: Any) -> str:
        found = calls.calls()[name](table, noise=SeededNoise(11))
        return found.to_json().replace('"columns": ["0", "1", "2", "3"]', '"columns": null')

    return release


def order(total: Statistic | None = None) -> list[str]:
    """Sums, and releases that toss no coin for a record, do not depend on the order; sums add up however cut."""
    table, add = made_up(), total or SUMS["clipped sum"]
    whole = add(table)
    complaints = _ordered({"a sum": add} if total else SUMS, table)
    if any(not np.array_equal(add(table[:cut]) + add(table[cut:]), whole) for cut in _CUTS):
        complaints.append("a sum depends on how the records are cut")
    return complaints if total else complaints + _ordered({n: _released(n) for n in _NO_COINS}, calls.table())


def _ordered(statistics: Mapping[str, Statistic], table: Floats) -> list[str]:
    shuffle = public_simulation(11).permutation(len(table))
    orders = (shuffle, np.arange(len(table))[::-1])
    return [
        f"{name} depends on the order of the records"
        for name, statistic in statistics.items()
        if any(not np.array_equal(statistic(table[each]), statistic(table)) for each in orders)
    ]


def storage(statistics: Mapping[str, Statistic] | None = None) -> list[str]:
    """What is computed is the same for every container of the same numbers, and for blocks of any size."""
    if statistics is not None:
        return list(_stored(statistics, made_up()))
    released = {name: _released(name) for name in calls.calls()}
    narrow = calls.table().astype(np.float32).astype(np.float64)
    return [*_stored(SUMS | IN_ORDER, made_up()), *_stored(released, narrow, ("CSR", "float32, by column"), (64,))]


def _stored(
    statistics: Mapping[str, Statistic],
    table: Floats,
    only: tuple[str, ...] | None = None,
    sizes: tuple[int, ...] = (1, 64),
) -> Iterator[str]:
    for name, statistic in statistics.items():
        expected = statistic(table)
        for form, stored in forms(table):
            if (only is None or form in only) and not np.array_equal(statistic(stored), expected):
                yield f"{name} differs for a table stored as {form}"
        for rows in sizes:
            with blocks_of(rows, table.shape[1]):
                if not np.array_equal(statistic(table), expected):
                    yield f"{name} differs in blocks of {rows}"


def forms(table: Floats) -> Iterator[tuple[str, Any]]:
    """The same numbers in every accepted container; the table's numbers fit single precision."""
    yield "CSR", sparse.csr_array(table)
    yield "CSC", sparse.csc_array(table)
    yield "float32, by column", np.asfortranarray(table.astype(np.float32))
    yield "strided", np.repeat(table, 2, axis=1)[:, ::2]
    yield "big-endian", table.astype(">f8")
    if find_spec("pandas"):
        import pandas

        yield "frame", pandas.DataFrame(table).rename(columns=str)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npy"
        np.save(path, table)
        yield "memory map", np.load(path, mmap_mode="r")


_BLOCKS: tuple[tuple[Any, str, bool], ...] = (  # where, and whether counted in entries or in rows
    (dimfree.data.records, "_BLOCK_ENTRIES", True),
    (dimfree.data.records, "_SPARSE_BLOCK_ENTRIES", True),
    (dimfree.kernel.rows.space, "_BLOCK_ENTRIES", True),
    (dimfree.kernel.rows.space, "_TILE_ENTRIES", True),
    (dimfree.kernel.statistics.friends, "_ROWS", False),
    (dimfree.kernel.statistics.friends, "_CELLS", True),
    (dimfree.kernel.statistics.distances, "_ROWS", False),
    (dimfree.kernel.statistics.distances, "_CELLS", True),
    (dimfree.kernel.statistics.products, "_CELLS", True),
    (dimfree.kernel.statistics.secret_ring, "_CELLS", True),
    (dimfree.kernel.statistics.unit_vectors, "_CELLS", True),
    (dimfree.kernel.statistics.weighted_mean, "_CELLS", True),
    (dimfree.kernel.rows.exact_product, "_BLOCK_ENTRIES", True),
)


@contextmanager
def blocks_of(rows: int, columns: int) -> Iterator[None]:
    """Everything that works block by block takes so many rows at a time: said to be speed and memory only."""
    before = [getattr(where, name) for where, name, _ in _BLOCKS]
    try:
        for where, name, entries in _BLOCKS:
            setattr(where, name, rows * columns if entries else rows)
        yield
    finally:
        for (where, name, _), value in zip(_BLOCKS, before, strict=True):
            setattr(where, name, value)
