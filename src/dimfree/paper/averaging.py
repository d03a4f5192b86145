"""Avg of the paper on some coordinates and some records: filter, count, mean (Algorithm 1; P1).

Guarantee: (epsilon, delta) under add-remove of one of the given records, whatever the block.
Proofs: proofs/paper/averaging.md; of the friend counts, proofs/statistics/friends.md.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dimfree._types import Floats, Integers
from dimfree._validate import check_positive
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.calibrate import calibrate_filtered, remaining_mu
from dimfree.accounting.events import Bounded, Costs, Gaussian
from dimfree.data.blocks import Mask, peaks
from dimfree.data.records import Records
from dimfree.errors import AccountingError
from dimfree.kernel.parameters import check_classes
from dimfree.kernel.statistics.friends import NEAR, RADIUS, Offsets, about, are_on_grid, middle, to_steps, within_radius
from dimfree.kernel.statistics.stable import mean_event, round_mean
from dimfree.noise import Noise
from dimfree.paper.mechanisms import noisy_total, total_event
from dimfree.programs.choose.constants import PAPER_BOUND_SHARE
from dimfree.shapes import Covariance
from dimfree.threads import cores, in_order

COUNT_SENSITIVITY = 1.0  # of the number kept, on friendly neighbors
MEAN_SENSITIVITY = 2.0  # times radius / kept: friendly records lie within twice the radius
MIN_TOTAL = 2.0  # at or below it the release is refused: then C, C' > 0 is not certain
_ROWS = 1024  # tile of rows
_CELLS = 2**20  # entries of pairs that are decided one by one
_THREADS = 4  # each holds a tile; the products have threads of their own


@dataclass(frozen=True)
class Block:
    """M, the friend radius λ after rescaling, and which coordinates (None: all): public or released."""

    shape: Covariance
    radius: float
    coordinates: NDArray[np.intp] | None = None

    def __post_init__(self) -> None:
        check_classes(self.shape, None)
        check_positive("radius", self.radius)


class Average(NamedTuple):
    """A released mean of some coordinates, its noise variance in each, and the noise variance before restoring."""

    mean: Floats
    variance: Floats
    rescaled_variance: float


def average(records: Records, chosen: Mask, block: Block, budget: Budget, *, noise: Noise) -> Average | None:
    """Run Algorithm 1 for one block; None is ⊥: too few records are friends at this radius."""
    branch = calibrate_filtered(budget)
    bound_mu = math.sqrt(PAPER_BOUND_SHARE) * branch.mu
    asked = COUNT_SENSITIVITY, bound_mu, "number kept"
    counted = total_event(*asked)
    _check_fits(budget, branch, counted)
    values = _on_grid(records, chosen, block)
    alone = np.ones(int(chosen.sum()) - len(values), dtype=np.int64)  # invalid or off the grid: friends of themselves
    kept = keep(np.concatenate([friend_counts(values), alone]), noise)  # l.1–3
    total = noisy_total(Fraction(int(kept.sum())), *asked, noise=noise)  # l.4
    lowest = total.value - (bound_distance(branch) * counted.stddev + 1) * counted.step
    if lowest <= MIN_TOTAL:  # l.5
        return None
    width, step = values.shape[1], block.radius / RADIUS
    sensitivity = MEAN_SENSITIVITY / lowest * RADIUS
    event, bits = mean_event(sensitivity, remaining_mu(branch, bound_mu), width, step, "mean")
    _check_fits(budget, branch, counted, event)
    noisy = round_mean(values, kept[: len(values)], bits) + noise.gaussian(event.stddev, event.dimension)  # l.7
    mean, variance = noisy.astype(np.float64) * event.step, (event.stddev * event.step) ** 2
    return Average(block.shape.restore(mean), variance * block.shape.root_diagonal(width), variance)


def bound_distance(branch: Bounded) -> float:
    """Return the distance of the lower bound below the noisy total, in noise SDs; it fails with branch.failure."""
    return float(-ndtri(branch.failure)) * (1 + 1e-12) + 1e-3


def _on_grid(records: Records, chosen: Mask, block: Block) -> Integers:
    """Rescale and round each chosen record; invalid ones and those off the grid are left out."""
    rescaling, step = block.shape.rescaling(), block.radius / RADIUS
    width = records.dimension if block.coordinates is None else len(block.coordinates)
    parts, start = [np.zeros((0, width), dtype=np.int64)], 0
    for rows, valid in records.blocks():
        kept = rows[valid & chosen[start : start + len(rows)]]
        rescaled = rescaling(kept if block.coordinates is None else np.ascontiguousarray(kept[:, block.coordinates]))
        parts.append(to_steps(rescaled[are_on_grid(peaks(rescaled), step)], step))
        start += len(rows)
    return np.concatenate(parts)


def _check_fits(budget: Budget, branch: Bounded, *events: Gaussian) -> None:
    """Refuse noise that costs more than the budget, with discrete noise and lifting (P1, M8)."""
    costs = Costs(budget, Neighbors.ADD_REMOVE, (), (branch,), chosen=0, after=events, filtered=True)
    if not costs.delta() <= budget.delta:
        raise AccountingError("An average exceeds its share of the budget.")


def keep(counts: Integers, noise: Noise) -> Integers:
    """BasicFilter: keep record j with probability clip(2·c_j/n - 1, 0, 1), by exact coins; 0/1 for every record."""
    n = len(counts)
    coins = noise.below(n, n) if n else np.zeros(0, dtype=np.int64)
    return (coins < 2 * counts - n).astype(np.int64)


def friend_counts(records: Integers) -> Integers:
    """Count #{k : |x_j - x_k| <= RADIUS} for every integer record j, exactly, in memory O(n·tile)."""
    counts, places = np.zeros(len(records), dtype=np.int64), np.arange(len(records))
    tiles = [places[start : start + _ROWS] for start in range(0, len(records), _ROWS)]
    pairs = [(rows, columns) for rows in tiles for columns in tiles if rows[0] <= columns[0]]
    offsets = about(records, middle(records))  # any center is right; near one, products are enough
    found = in_order(partial(_friends, records, offsets, offsets.squares()), pairs, min(cores(), _THREADS, len(pairs)))
    for (rows, columns), (of_rows, of_columns) in zip(pairs, found, strict=True):
        counts[rows] += of_rows
        if columns[0] > rows[0]:
            counts[columns] += of_columns
    return counts


def _friends(
    records: Integers, offsets: Offsets, squares: Floats, tile: tuple[Integers, Integers]
) -> tuple[Integers, Integers]:
    """Count the friends of the rows and the columns of a tile: 2⟨x, y⟩ - |x|² >= |y|² - RADIUS².

    If both are near the center this is exact. Other pairs, if their norms allow, are decided by integer differences.
    """
    here, there = (squares[part] for part in tile)
    products = offsets.products(*tile)
    products *= 2
    products -= here[:, None]
    friends = products >= there - float(RADIUS) ** 2
    far, far_there = (part > NEAR**2 * (1 - 1e-6) for part in (here, there))  # else the float sum of squares is exact
    if far.any() or far_there.any():
        is_far = far[:, None] | far_there
        friends &= ~is_far
        norms, norms_there = np.sqrt(here)[:, None], np.sqrt(there)
        rows, columns = np.nonzero(is_far & (np.abs(norms - norms_there) <= 2 * RADIUS + 1e-7 * (norms + norms_there)))
        step = max(1, _CELLS // records.shape[1])
        for some in (slice(start, start + step) for start in range(0, len(rows), step)):
            offset = records[tile[0][rows[some]]] - records[tile[1][columns[some]]]
            friends[rows[some], columns[some]] = within_radius(offset)
    return friends.sum(axis=1), friends.sum(axis=0)
