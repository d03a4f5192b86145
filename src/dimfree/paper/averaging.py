"""The paper's Avg on some of the coordinates and some of the records: filter, count, mean (Algorithm 1; P1).

Guarantee: (epsilon, delta) under add/remove of one of the given records, whatever the block.
Proof: proofs/paper/averaging.md.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import bound_distance, calibrate_filtered, remaining_mu
from dimfree.accounting.events import Bounded, Costs, Gaussian
from dimfree.data.blocks import Mask
from dimfree.data.records import Records
from dimfree.errors import AccountingError
from dimfree.kernel.rows.grid import EDGE, RADIUS, IntegerRecords, to_steps
from dimfree.kernel.statistics.friends import all_counts
from dimfree.noise import Noise
from dimfree.paper import basic
from dimfree.paper.noisy import noisy_mean, noisy_total
from dimfree.programs.choose.constants import PAPER_BOUND_SHARE
from dimfree.shapes import Diagonal

_FAR = EDGE / 2  # in steps: a mean beyond it may come from records cut off at the edge of the grid


@dataclass(frozen=True)
class CoordinateBlock:
    """Which coordinates, their variances M and the friend radius λ after rescaling: public or released numbers."""

    coordinates: NDArray[np.intp]
    variances: Floats
    radius: float

    def on_grid(self, records: Records, chosen: Mask) -> IntegerRecords:
        """The chosen records, each rescaled and rounded by itself; invalid ones are only counted."""
        shape, step, size = Diagonal(self.variances), self.radius / RADIUS, int(chosen.sum())
        parts, start = [np.zeros((0, len(self.coordinates)), dtype=np.int64)], 0
        for rows, valid in records.blocks():
            kept = valid & chosen[start : start + len(rows)]
            parts.append(to_steps(shape.rescale(rows[kept][:, self.coordinates]), step))
            start += len(rows)
        values = np.concatenate(parts)
        return IntegerRecords(values, size - len(values))


@dataclass(frozen=True)
class Average:
    """A released mean of some coordinates and the variance of its noise, in the units of the records."""

    mean: Floats
    variance: Floats
    far: bool  # so far from zero, for its radius, that the grid may have cut records off


def average(records: Records, chosen: Mask, block: CoordinateBlock, budget: Budget, *, noise: Noise) -> Average | None:
    """Alg 1 for one block; None is ⊥: too few records are friends at this radius."""
    branch = calibrate_filtered(budget)
    bound_mu = math.sqrt(PAPER_BOUND_SHARE) * branch.mu
    integers = block.on_grid(records, chosen)
    kept = basic.keep(all_counts(integers), noise)  # l.1–3
    total = noisy_total(Fraction(int(kept.sum())), basic.COUNT_SENSITIVITY, bound_mu, "number kept", noise=noise)  # l.4
    lowest = total.value - (bound_distance(branch) * total.event.stddev + 1) * total.event.step
    if lowest <= basic.SMALLEST_TOTAL:  # l.5
        _charge(budget, branch, total.event)
        return None
    step = block.radius / RADIUS
    moves = basic.MEAN_SENSITIVITY / lowest * RADIUS
    mean = noisy_mean(
        integers.values, kept[: len(integers.values)], moves, remaining_mu(branch, bound_mu), step, noise=noise
    )  # l.7
    _charge(budget, branch, total.event, mean.event)
    shape, variance = Diagonal(block.variances), (mean.event.stddev * mean.event.step) ** 2
    restored, spread = shape.restore(mean.value), variance * shape.root_diagonal(len(block.variances))
    return Average(restored, spread, bool(np.abs(mean.value).max() >= _FAR * step))


def _charge(budget: Budget, branch: Bounded, *events: Gaussian) -> None:
    """What was drawn costs at most the budget, discrete noise and lifting included (P1, M8); by calibration always."""
    ledger = Costs(budget, Neighbours.ADD_REMOVE, (), (branch,), chosen=0, after=events, filtered=True)
    if not ledger.delta() <= budget.delta:
        raise AccountingError("An average exceeds its share of the budget.")
