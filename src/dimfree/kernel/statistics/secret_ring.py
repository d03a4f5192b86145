"""What secret coins choose: samples of the records, and a ring on which each valid record is beside two others.

Samples (P8, P16): under add/remove every record has its own coin. No amplification is claimed. Proof: proofs/kernel.md.
Ring (P15, P16): the order of secret keys, closed to a circle; a record and its successor are a pair. One record more or
less changes three pairs at most. Differences of neighbors need no center. Proof: proofs/statistics/secret_ring.md.
"""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats, Integers
from dimfree.accounting.budget import Neighbours
from dimfree.data.blocks import Mask, Rows, SparseRows, densely, gathered, minus, peaks
from dimfree.data.records import Records
from dimfree.kernel.rows.clip import exact_squares, squares
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.scores import Scoring
from dimfree.noise import Noise
from dimfree.progress import during
from dimfree.shapes import Isotropic
from dimfree.shapes.exact_product import LARGEST, saturate
from dimfree.threads import cores, in_order

RING_SENSITIVITY = {Neighbours.ADD_REMOVE: math.sqrt(5), Neighbours.REPLACE_ONE: 2 * math.sqrt(2)}  # of scores (P15)
KEY = 2**61  # keys of the ring are below it
_COIN, _KEY = 2**32, 2**62  # the coins and keys of samples are below them
_CELLS = 2**20  # entries of a working block
_BITS = 20  # of the largest entry of a difference, where its length is taken
_SMALLEST_EXPONENT = -900  # a smaller difference is taken as if it reached 2**-900: every factor is a normal number


def poisson_samples(count: int, rates: Sequence[float], noise: Noise) -> list[NDArray[np.bool_]]:
    """Add-remove: each record with each public rate, by the same coins: samples lie within each other (P16)."""
    coins = noise.below(_COIN, count)
    return [coins < int(rate * _COIN) for rate in rates]


def fixed_samples(count: int, sizes: Sequence[int], noise: Noise) -> list[NDArray[np.bool_]]:
    """Replace-one: so many positions, by the same order of all: samples lie within each other."""
    first, second = noise.below(_KEY, count), noise.below(_KEY, count)  # the second breaks ties of the first
    place = np.empty(count, dtype=np.int64)
    place[np.lexsort((second, first))] = np.arange(count)
    return [place < size for size in sizes]


def pair_scoring(scale: Floats, norm: float) -> Scoring:
    """Scores of φ((x - y)²/(2·R·scale²)), of half the differences; an infinite scale leaves a coordinate out. Public. A
    score is a non-negative vector of norm at most BALL. Two pairs go and one comes, so the sum over all pairs moves by
    at most √5·BALL under add-remove; by 2√2·BALL under replace-one."""
    return Scoring(np.zeros(len(scale)), scale / math.sqrt(2), norm)


def ring_order(count: int, noise: Noise) -> Integers:
    """Positions in the order of fresh secret keys; equal keys in the order of the positions. Private."""
    return np.argsort(noise.below(KEY, count), kind="stable")  # P15, P16


@during("differences in the core's sample")
def ring_differences(space: Space, sampled: Mask | None, capacity: int, *, noise: Noise) -> Space:
    """Half of each valid (sampled) record less half of its successor, a row for each; memory for `capacity`. Private.
    Halves, so that the difference of finite records is finite. A lone record is its own successor."""
    size = max(space.count if sampled is None else int(sampled.sum()), capacity)
    rows = gathered(space.chosen_blocks(sampled), (size, space.dimension), np.float64, cores())
    return Space(half_differences(rows, ring_order(len(rows), noise)), Isotropic(1.0))


def ring_lengths(differences: Space, scale: Floats) -> Floats:
    """|(x - y) / scale| of every pair, a function of its two records alone, bit for bit; an infinite scale leaves a
    coordinate out."""
    return differences.listed(partial(_lengths, scale / 2))


@np.errstate(all="ignore")  # a warning or error could reveal records
def half_differences(rows: Rows, order: Integers) -> Records:
    """x/2 - y/2, entry by entry, of each row x in this order and its successor y. Overwrites dense rows."""
    if isinstance(rows, np.ndarray):
        _subtract_successors(rows, order)
        rows.flags.writeable = False
        return Records(rows, None)
    rows = rows[order]
    if isinstance(rows, SparseRows):
        halves: Rows = rows.with_values(rows.values / 2)
    else:
        halves = rows.over(np.full(rows.shape[1], 2.0), LARGEST)
    differences = minus(halves, halves[np.roll(np.arange(len(order)), -1)])
    if isinstance(differences, SparseRows):
        return Records(differences.matrix, None)
    return Records(differences, None).where_it_lies()


def _subtract_successors(rows: Floats, order: Integers) -> None:
    """A few columns at a time, so that no second table is needed; the first row is the successor of the last."""
    across = max(1, _CELLS // max(len(rows), 1))

    def subtract(start: int) -> None:
        columns = rows[:, start : start + across]
        halves = columns[order]
        halves /= 2
        np.subtract(halves[:-1], halves[1:], out=columns[:-1])
        np.subtract(halves[-1:], halves[:1], out=columns[-1:])

    list(in_order(subtract, range(0, rows.shape[1], across), cores()))


@np.errstate(all="ignore")  # a warning or error could reveal records
def _lengths(units: Floats, rows: Rows) -> Floats:
    """Norms of rows whose coordinates are divided by public units, and held within the floats; sparse rows stay so."""
    if isinstance(rows, SparseRows):
        stored = rows.with_values(saturate(rows.values / units[rows.columns]))
        return _norms(stored, peaks(stored))
    quotients = densely(rows) / units
    largest = peaks(quotients)
    if not np.isfinite(largest).all():  # else there is nothing to hold
        largest = peaks(saturate(quotients))
    return _norms(quotients, largest)


def _norms(rows: Floats | SparseRows, largest: Floats) -> Floats:
    """Norms of finite rows: whole numbers of steps, a power of two chosen by the largest entry of the row alone."""
    exponents = np.maximum(np.frexp(largest)[1], _SMALLEST_EXPONENT)
    factors = np.ldexp(1.0, _BITS - exponents)  # after which no entry is too large
    if isinstance(rows, SparseRows):
        whole = squares(rows.with_values(rows.values * rows.spread(factors)), 1.0)
    else:
        steps = rows * factors[:, None]
        whole = exact_squares(np.rint(steps, out=steps))
    return np.sqrt(whole) * np.ldexp(1.0, exponents - _BITS)
