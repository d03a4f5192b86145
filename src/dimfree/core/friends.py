"""Friend counts: for every record, how many records (itself included) lie within the radius.

Exact and cheap at once: records near a common centre are integers of norm at most NEAR, so every partial sum of a
float64 matrix product is an integer below 2^53 and the product is exact in any order, on any number of threads.
Pairs that are not both near are decided by integer differences. Proof: proofs/core/friends.md.
"""

import numpy as np
from numpy.typing import NDArray

from dimfree.grid import RADIUS, IntegerRecords

NEAR = 2**25  # norm about the centre, in steps, below which float64 products are exact: 4·NEAR² <= 2^53
_ROWS = 1024  # tile of rows
_CELLS = 2**22  # entries of a working block
_CENTRE_SAMPLE = 129

Integers = NDArray[np.int64]


def all_counts(integers: IntegerRecords) -> Integers:
    """Friend counts of every record: valid ones first, then invalid ones, each a friend of itself only."""
    return np.concatenate([friend_counts(integers.values), np.ones(integers.invalid, dtype=np.int64)])


def friend_counts(records: Integers) -> Integers:
    """#{k : |x_j - x_k| <= RADIUS} for every record j, in memory O(n·tile)."""
    counts = np.zeros(len(records), dtype=np.int64)
    waiting = np.arange(len(records))
    centre = _middle(records)
    while len(waiting):
        squares = _squares(records, waiting, centre)
        near = squares <= NEAR**2 * (1 - 1e-6)  # then the float sum of squares had no rounding: it is exact
        if near.any():
            inside, outside = waiting[near], waiting[~near]
            counts[inside] += _counts_inside(records, inside, squares[near], centre)
            _count_across(records, inside, squares[near], outside, squares[~near], counts)
            waiting = outside
        if len(waiting):
            centre = records[waiting[0]]
    return counts


def _middle(records: Integers) -> Integers:
    """A centre that most records are near, if there is one. It decides how a pair is compared, not the outcome."""
    if not len(records):
        return np.zeros(records.shape[1], dtype=np.int64)
    sample = records[:: max(1, len(records) // _CENTRE_SAMPLE)]
    return np.sort(sample, axis=0)[len(sample) // 2]


def _squares(records: Integers, which: Integers, centre: Integers) -> NDArray[np.float64]:
    """Squared norms about the centre: exact where they are at most NEAR², within 1e-9 of the truth elsewhere."""
    squares = np.empty(len(which))
    rows = max(1, _CELLS // records.shape[1])
    for start in range(0, len(which), rows):
        offsets = (records[which[start : start + rows]] - centre).astype(np.float64)
        squares[start : start + rows] = np.einsum("ij,ij->i", offsets, offsets)
    return squares


def _counts_inside(records: Integers, inside: Integers, squares: NDArray[np.float64], centre: Integers) -> Integers:
    """Friend counts among near records, by symmetric tiles of exact products."""
    counts = np.zeros(len(inside), dtype=np.int64)
    for row, rows in _tiles(inside):
        for column, columns in _tiles(inside):
            if column.start < row.start:
                continue
            products = _products(records, rows, columns, centre)
            products *= 2
            friends = products >= squares[row, None] + (squares[None, column] - float(RADIUS) ** 2)
            counts[row] += friends.sum(axis=1)
            if column.start > row.start:
                counts[column] += friends.sum(axis=0)
    return counts


def _tiles(which: Integers) -> list[tuple[slice, Integers]]:
    return [(slice(s, s + _ROWS), which[s : s + _ROWS]) for s in range(0, len(which), _ROWS)]


def _products(records: Integers, rows: Integers, columns: Integers, centre: Integers) -> NDArray[np.float64]:
    """Inner products about the centre, accumulated over blocks of coordinates; exact."""
    total = np.zeros((len(rows), len(columns)))
    width = max(1, _CELLS // _ROWS)
    for start in range(0, records.shape[1], width):
        block = slice(start, start + width)
        left = (records[rows, block] - centre[block]).astype(np.float64)
        same = rows[0] == columns[0]
        right = left if same else (records[columns, block] - centre[block]).astype(np.float64)
        total += left @ right.T
    return total


def _count_across(
    records: Integers,
    inside: Integers,
    inside_squares: NDArray[np.float64],
    outside: Integers,
    outside_squares: NDArray[np.float64],
    counts: Integers,
) -> None:
    """Adds the friendships between near and far records; friends' norms differ by at most the radius."""
    margin = RADIUS + 1e-5 * NEAR  # generous: it covers the rounding of the squares and of NEAR's own margin
    candidates = inside[inside_squares >= (NEAR - 2 * margin) ** 2]
    for record in outside[outside_squares <= (NEAR + margin) ** 2]:
        friends = are_friends(records[candidates], records[record])
        counts[candidates] += friends
        counts[record] += friends.sum()


def are_friends(records: Integers, record: Integers) -> NDArray[np.bool_]:
    """The predicate itself: |x - y|² <= RADIUS², on integers."""
    return within_radius(records - record)


def within_radius(offsets: Integers) -> NDArray[np.bool_]:
    """|offset|² <= RADIUS² for whole-number rows, in any dimension.

    Differences that are too far already are cut to RADIUS + 1; float64 adds the squares exactly up to 2^53 and stays
    above RADIUS² = 2^40 once it is there.
    """
    near = np.minimum(np.abs(offsets), RADIUS + 1).astype(np.float64)
    return np.einsum("ij,ij->i", near, near) <= float(RADIUS) ** 2
