"""Friend counts of the paper's filter: for every record, how many records (itself included) lie within the radius.

Exact and cheap at once: records near a common center are integers of norm at most NEAR, so every partial sum of a
float64 matrix product is an integer below 2^53 and the product is exact in any order, on any number of threads.
Pairs that are not both near are decided by integer differences. Proof: proofs/statistics/friends.md.
"""

from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats, Integers
from dimfree.kernel.statistics.friends import NEAR, RADIUS, within_radius
from dimfree.kernel.statistics.products import Offsets, about, middle
from dimfree.threads import cores, in_order

_ROWS = 1024  # tile of rows
_CELLS = 2**22  # entries of a working block
_THREADS = 4  # each holds a tile; the products have threads of their own

Tile: TypeAlias = tuple[slice, Integers]  # which of the near records, and their positions


def all_counts(records: Integers, others: int) -> Integers:
    """Friend counts of the records on the grid, then of all others, each a friend of itself only."""
    return np.concatenate([friend_counts(records), np.ones(others, dtype=np.int64)])


def friend_counts(records: Integers) -> Integers:
    """#{k : |x_j - x_k| <= RADIUS} for every record j, in memory O(n·tile)."""
    counts = np.zeros(len(records), dtype=np.int64)
    waiting = np.arange(len(records))
    center = middle(records)
    while len(waiting):
        offsets = about(records, waiting, center)
        squares = offsets.squares()
        near = squares <= NEAR**2 * (1 - 1e-6)  # then the float sum of squares had no rounding: it is exact
        if near.any():
            counts[waiting[near]] += _counts_inside(offsets, np.flatnonzero(near), squares[near])
            _count_across(records, waiting[near], squares[near], waiting[~near], squares[~near], counts)
            waiting = waiting[~near]
        if len(waiting):
            center = records[waiting[:1]]
    return counts


def _counts_inside(offsets: Offsets, inside: Integers, squares: Floats) -> Integers:
    """Friend counts among near records, by symmetric tiles of exact products."""
    counts = np.zeros(len(inside), dtype=np.int64)
    tiles = [(slice(start, start + _ROWS), inside[start : start + _ROWS]) for start in range(0, len(inside), _ROWS)]
    pairs = [(row, column) for row in tiles for column in tiles if row[0].start <= column[0].start]
    for (row, _), (column, _), of_rows, of_columns in in_order(
        partial(_tile_counts, offsets, squares), pairs, min(cores(), _THREADS, len(pairs))
    ):
        counts[row] += of_rows
        if column.start > row.start:
            counts[column] += of_columns
    return counts


def _tile_counts(offsets: Offsets, squares: Floats, tile: tuple[Tile, Tile]) -> tuple[Tile, Tile, Integers, Integers]:
    """Of a tile's rows and columns, how many friends each has on the other side: 2⟨x, y⟩ - |x|² >= |y|² - RADIUS²."""
    (row, rows), (column, columns) = tile
    products = offsets.products(rows, columns)
    products *= 2
    products -= squares[row, None]
    friends = products >= squares[column] - float(RADIUS) ** 2
    return *tile, friends.sum(axis=1), friends.sum(axis=0)


def _count_across(
    records: Integers,
    inside: Integers,
    inside_squares: Floats,
    outside: Integers,
    outside_squares: Floats,
    counts: Integers,
) -> None:
    """Adds the friendships between near and far records; friends' norms differ by at most the radius."""
    margin = RADIUS + 1e-5 * NEAR  # generous: it covers the rounding of the squares and of NEAR's own margin
    candidates = inside[inside_squares >= (NEAR - 2 * margin) ** 2]
    for record in np.flatnonzero(outside_squares <= (NEAR + margin) ** 2):
        found = _friends_among(records, candidates, outside[record])
        counts[candidates] += found
        counts[outside[record]] += found.sum()


def _friends_among(records: Integers, candidates: Integers, record: int) -> NDArray[np.bool_]:
    """Which candidates are friends of the one record, block by block."""
    friends, rows = np.zeros(len(candidates), dtype=bool), max(1, _CELLS // (2 * records.shape[1]))
    for start in range(0, len(candidates), rows):
        block = slice(start, start + rows)
        friends[block] = within_radius(records[candidates[block]] - records[record])
    return friends
