"""One histogram for every coordinate, over cells not listed beforehand: the cell with the most records in each.

Every occupied cell gets Gaussian noise; a cell is published if its noisy count reaches a threshold that a cell of one
record reaches with small probability (M4 with Gaussian noise). One record moves one count in each coordinate, so all
histograms together are one Gaussian release of sensitivity sqrt(d).
Proof: proofs/mechanisms/gaussian_histogram.md.
"""

import math
from collections.abc import Iterable

import numpy as np
from scipy.special import ndtri

from dimfree._types import Integers
from dimfree._validate import check_probability
from dimfree.accounting.budget import CHANGED_RECORDS, Neighbours
from dimfree.accounting.events import Gaussian, charged_gaussian, refining_bits
from dimfree.accounting.losses import Failure
from dimfree.mechanisms import Measured
from dimfree.noise import Noise


def lone_cells(failure: float) -> Failure:
    """The cost of publishing, with at most this probability, a cell that one record has to itself."""
    return Failure("cells that one record has to itself", check_probability("failure", failure))


def moved_counts(dimension: int, relation: Neighbours) -> int:
    """How many counts move by one between neighbours, at most: one per changed record and coordinate."""
    return dimension * CHANGED_RECORDS[relation]


def tail_distance(failure: float, cells: int) -> float:
    """How many standard deviations a noise exceeds with probability failure / cells, rounded up."""
    return float(-ndtri(failure / cells)) * (1 + 1e-12) + 1e-9


def publishing(cells: int, mu: float, failure: float, purpose: str) -> tuple[Gaussian, int, int]:
    """The cost of noisy counts of which `cells` move by one, the bits of their grid, and the least that is published.

    In steps of the grid. Of `cells` cells with one record each, one is published with probability `failure` at most.
    """
    bits = refining_bits(math.sqrt(cells), mu)
    moves = math.sqrt(cells) * 2**bits * (1 + 1e-15)
    event = charged_gaussian(moves, mu, cells, 1 / 2**bits, purpose)
    return event, bits, 2**bits + math.ceil(event.stddev * tail_distance(failure, cells)) + 1


def heaviest_cells(
    coordinates: Iterable[Integers],
    dimension: int,
    mu: float,
    lone: Failure,
    relation: Neighbours,
    *,
    noise: Noise,
) -> Measured[Integers | None]:
    """The cell with the largest published count in every coordinate; None if some coordinate publishes none.

    `coordinates` yields tables of cells, one row a coordinate and one column a record, together `dimension` rows.
    Guarantee: the returned event and `lone`, composed. Proof: proofs/mechanisms/gaussian_histogram.md.
    """
    cells = moved_counts(dimension, relation)
    event, bits, least = publishing(cells, mu, lone.delta, "location histograms")
    peaks = [_peaks(table, bits, event, least, noise) for table in coordinates]
    found = None if any(part is None for part in peaks) else np.concatenate([p for p in peaks if p is not None])
    return Measured(found, event)


def _peaks(table: Integers, bits: int, event: Gaussian, least: int, noise: Noise) -> Integers | None:
    """Of every row the cell with the largest noisy count, ties to the lowest; None if one has none from `least` on."""
    rows, cells, counts = _histograms(table)
    if not len(counts):
        return None
    noisy = counts * 2**bits + noise.gaussian(event.stddev, len(counts))
    published = np.flatnonzero(noisy >= least)
    best = published[np.lexsort((cells[published], -noisy[published], rows[published]))]
    told, first = np.unique(rows[best], return_index=True)
    return cells[best[first]] if len(told) == len(table) else None


def _histograms(table: Integers) -> tuple[Integers, Integers, Integers]:
    """(row, cell, count) of every occupied cell. Private."""
    ordered = np.sort(table, axis=1)
    begins = np.ones(ordered.shape, dtype=np.bool_)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=begins[:, 1:])
    starts = np.flatnonzero(begins)
    counts = np.diff(starts, append=ordered.size)
    return starts // max(1, table.shape[1]), ordered.ravel()[starts], counts
