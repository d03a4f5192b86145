"""Secret samples of the records, and a secret ring on which each valid record has two neighbors.

Samples (P8, P16): under add-remove every record has its own coin. No amplification is claimed. Proof: proofs/kernel.md.
Ring (P15, P16): the order of secret keys, closed to a circle; a record and its successor are a pair. One record more or
less changes three pairs at most. Differences of neighbors need no center. Proof: proofs/statistics/secret_ring.md.
"""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats, Integers
from dimfree.accounting.budget import Neighbors
from dimfree.data.blocks import Mask, Rows, SparseRows, gather_rows, peaks, subtract_rows, to_dense
from dimfree.data.records import Records
from dimfree.kernel.rows.clip import exact_squares, squares
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.scores import Scoring
from dimfree.noise import Noise
from dimfree.progress import during
from dimfree.shapes import IsotropicCovariance
from dimfree.shapes.exact_product import LARGEST, saturate
from dimfree.threads import cores, in_order

RING_SENSITIVITY = {Neighbors.ADD_REMOVE: math.sqrt(5), Neighbors.REPLACE_ONE: 2 * math.sqrt(2)}  # of scores (P15)
KEY = 2**61  # keys of the ring are below it
_COIN, _KEY = 2**32, 2**62  # the coins and keys of samples are below them
_CELLS = 2**20  # entries of a working block
_BITS = 20  # of the largest entry of a difference, for its length
_MIN_EXPONENT = -900  # a smaller difference is taken as if it reached 2**-900: every factor is a normal number


def poisson_samples(count: int, rates: Sequence[float], noise: Noise) -> list[NDArray[np.bool_]]:
    """Sample under add-remove: each record at each public rate, by the same coins, so that samples are nested (P16)."""
    coins = noise.below(_COIN, count)
    return [coins < int(rate * _COIN) for rate in rates]


def draw_fixed_samples(count: int, sizes: Sequence[int], noise: Noise) -> list[NDArray[np.bool_]]:
    """Sample under replace-one: positions by one order of all, so that samples are nested."""
    first, second = noise.below(_KEY, count), noise.below(_KEY, count)  # the second breaks ties of the first
    place = np.empty(count, dtype=np.int64)
    place[np.lexsort((second, first))] = np.arange(count)
    return [place < size for size in sizes]


def pair_scoring(scale: Floats, norm: float) -> Scoring:
    """Return the scoring φ((x - y)²/(2·R·scale²)) of half the differences. Public.
    An infinite scale leaves a coordinate out. A score is a non-negative vector of norm at most BALL. Two pairs
    disappear and one appears: the sensitivity of the sum is √5·BALL under add-remove and 2√2·BALL under replace-one."""
    return Scoring(np.zeros(len(scale)), scale / math.sqrt(2), norm)


def ring_order(count: int, noise: Noise) -> Integers:
    """Return positions in the order of fresh secret keys; equal keys in the order of the positions. Private."""
    return np.argsort(noise.below(KEY, count), kind="stable")  # P15, P16


@during("differences in the core's sample")
def ring_differences(space: Space, sampled: Mask | None, capacity: int, *, noise: Noise) -> Space:
    """Return half of each valid (sampled) record minus half of its successor; memory for `capacity`. Private.
    Halves keep the difference of finite records finite. A single record is its own successor."""
    size = max(space.count if sampled is None else int(sampled.sum()), capacity)
    rows = gather_rows(space.chosen_blocks(sampled), (size, space.dimension), np.float64, cores())
    return Space(half_differences(rows, ring_order(len(rows), noise)), IsotropicCovariance(1.0))


def ring_lengths(differences: Space, scale: Floats) -> Floats:
    """Return |(x - y) / scale| of every pair, a function of its two records alone, bit for bit.
    An infinite scale leaves a coordinate out."""
    return differences.map_records(partial(_lengths, scale / 2))


@np.errstate(all="ignore")  # a warning or error could reveal records
def half_differences(rows: Rows, order: Integers) -> Records:
    """Return x/2 - y/2 for each row x in this order and its successor y. Overwrites dense rows."""
    if isinstance(rows, np.ndarray):
        _subtract_successors(rows, order)
        rows.flags.writeable = False
        return Records(rows, None)
    rows = rows[order]
    if isinstance(rows, SparseRows):
        halves: Rows = rows.with_values(rows.values / 2)
    else:
        halves = rows.divide_columns(np.full(rows.shape[1], 2.0), LARGEST)
    differences = subtract_rows(halves, halves[np.roll(np.arange(len(order)), -1)])
    if isinstance(differences, SparseRows):
        return Records(differences.matrix, None)
    return Records(differences, None).on_its_device()


def _subtract_successors(rows: Floats, order: Integers) -> None:
    """Subtract a few columns at a time, without a second table; the first row is the successor of the last."""
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
    """Return norms of rows divided by public units and clipped to the range of floats; sparse rows stay sparse."""
    if isinstance(rows, SparseRows):
        stored = rows.with_values(saturate(rows.values / units[rows.columns]))
        return _norms(stored, peaks(stored))
    quotients = to_dense(rows) / units
    largest = peaks(quotients)
    if not np.isfinite(largest).all():  # else there is nothing to clip
        largest = peaks(saturate(quotients))
    return _norms(quotients, largest)


def _norms(rows: Floats | SparseRows, largest: Floats) -> Floats:
    """Return norms of finite rows in whole steps, a power of two that the largest entry of the row alone chooses."""
    exponents = np.maximum(np.frexp(largest)[1], _MIN_EXPONENT)
    factors = np.ldexp(1.0, _BITS - exponents)  # after which no entry is too large
    if isinstance(rows, SparseRows):
        whole = squares(rows.with_values(rows.values * rows.repeat_by_row(factors)), 1.0)
    else:
        steps = rows * factors[:, None]
        whole = exact_squares(np.rint(steps, out=steps))
    return np.sqrt(whole) * np.ldexp(1.0, exponents - _BITS)
