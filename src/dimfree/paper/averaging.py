"""The paper's Avg on some of the coordinates and some of the records: filter, count, mean (Algorithm 1; P1).

Guarantee: (epsilon, delta) under add-remove of one of the given records, whatever the block.
Proof: proofs/paper/averaging.md.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats, Integers
from dimfree._validate import check_positive
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import bound_distance, calibrate_filtered, remaining_mu
from dimfree.accounting.events import Bounded, Costs, Gaussian
from dimfree.data.blocks import Mask, peaks
from dimfree.data.records import Records
from dimfree.errors import AccountingError
from dimfree.kernel.parameters import check_classes
from dimfree.kernel.statistics.friends import RADIUS, are_on_grid, to_steps
from dimfree.kernel.statistics.stable import mean_event
from dimfree.noise import Noise
from dimfree.paper.friend_counts import all_counts
from dimfree.paper.noisy import noisy_mean, noisy_total, total_event
from dimfree.programs.choose.constants import PAPER_BOUND_SHARE
from dimfree.shapes import Shape

COUNT_SENSITIVITY = 1.0  # of the number kept, on friendly neighbors
MEAN_SENSITIVITY = 2.0  # times radius / kept: friendly records lie within twice the radius
SMALLEST_TOTAL = 2.0  # at or below it the release is refused: then C, C' > 0 is not certain


@dataclass(frozen=True)
class Block:
    """M, the friend radius λ after rescaling, and which coordinates (None: all): public or released."""

    shape: Shape
    radius: float
    coordinates: NDArray[np.intp] | None = None

    def __post_init__(self) -> None:
        check_classes(self.shape, None)
        check_positive("radius", self.radius)


@dataclass(frozen=True)
class Average:
    """A released mean of some coordinates, its noise variance in each, and the noise variance before restoring."""

    mean: Floats
    variance: Floats
    rescaled_variance: float


def average(records: Records, chosen: Mask, block: Block, budget: Budget, *, noise: Noise) -> Average | None:
    """Alg 1 for one block; None is ⊥: too few records are friends at this radius."""
    branch = calibrate_filtered(budget)
    bound_mu = math.sqrt(PAPER_BOUND_SHARE) * branch.mu
    asked = COUNT_SENSITIVITY, bound_mu, "number kept"
    counted = total_event(*asked)
    _check_fits(budget, branch, counted)
    values = _on_grid(records, chosen, block)
    kept = keep(all_counts(values, int(chosen.sum()) - len(values)), noise)  # l.1–3
    total = noisy_total(Fraction(int(kept.sum())), *asked, noise=noise)  # l.4
    lowest = total.value - (bound_distance(branch) * counted.stddev + 1) * counted.step
    if lowest <= SMALLEST_TOTAL:  # l.5
        return None
    width, step = values.shape[1], block.radius / RADIUS
    sensitivity = MEAN_SENSITIVITY / lowest * RADIUS
    event, bits = mean_event(sensitivity, remaining_mu(branch, bound_mu), width, step, "mean")
    _check_fits(budget, branch, counted, event)
    mean = noisy_mean(values, kept[: len(values)], event, bits, noise=noise)  # l.7
    variance = (event.stddev * event.step) ** 2
    return Average(block.shape.restore(mean.value), variance * block.shape.root_diagonal(width), variance)


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
    """What is drawn costs at most the budget, discrete noise and lifting included (P1, M8); by calibration always."""
    costs = Costs(budget, Neighbours.ADD_REMOVE, (), (branch,), chosen=0, after=events, filtered=True)
    if not costs.delta() <= budget.delta:
        raise AccountingError("An average exceeds its share of the budget.")


def keep(counts: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
    """BasicFilter: keep record j with probability clip(2·c_j/n - 1, 0, 1), by exact coins; 0/1 for every record."""
    n = len(counts)
    coins = noise.below(n, n) if n else np.zeros(0, dtype=np.int64)
    return (coins < 2 * counts - n).astype(np.int64)
