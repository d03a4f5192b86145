"""Two references that are not private: the sample mean, and an oracle that knows the true mean.

Neither returns a Release: the result is marked "not private", and nothing that takes releases accepts it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dimfree._types import Floats
from dimfree._validate import check_array, check_lengths
from dimfree.accounting.budget import Neighbours
from dimfree.comparison.baselines.frame import open_frame, unspoken
from dimfree.data.records import open_records
from dimfree.kernel.statistics.clipped_sum import Ball, noisy_clipped_mean
from dimfree.noise import Noise

FLOOR, EMPIRICAL = "oracle-floor", "empirical-mean"
KNOWS_THE_MEAN = "It was told the true mean, and the exact number of records is used."
NO_NOISE = "It is the plain average of the records, without noise."


@dataclass(frozen=True, eq=False, repr=False)
class NotPrivate:
    """The result of a reference estimator: a mean that must not be published."""

    method: str
    mean: Floats
    why: str

    def __post_init__(self) -> None:
        mean = np.array(self.mean, dtype=np.float64)
        mean.setflags(write=False)
        object.__setattr__(self, "mean", mean)

    @property
    def private(self) -> bool:
        return False

    @property
    def refused(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<NotPrivate: {self.method}, dimension={len(self.mean)}, not private: {self.why}>"


@unspoken
def oracle_floor(
    X: object,
    *,
    epsilon: float,
    delta: float,
    mean: ArrayLike,
    stddevs: ArrayLike,
    neighbours: str | Neighbours = "add-remove",
    on_missing: str = "raise",
    noise: Noise | None = None,
) -> NotPrivate:
    """The oracle floor: clipped about the true `mean` in the shape of the true `stddevs`, noise at the full budget.

    r = sqrt(tr A) + sqrt(2‖A‖ log n), A = Σ^{1/2}; sensitivity r/n, under replace-one 2r/n. The sum is clipped and
    noised in integers, as every estimator's; the count is the true one.
    """
    frame = open_frame(X, epsilon, delta, neighbours, on_missing, noise)
    centre = check_array("mean", mean, rank=1)
    check_lengths("mean", len(centre), "column", frame.dimension)
    spread = frame.stddevs(stddevs)
    count, root = max(1, frame.space.count), np.sqrt(spread)
    target = Ball(centre, root, floor_radius(spread, count))
    offset = noisy_clipped_mean(frame.space, target, count, frame.mu, frame.relation, FLOOR, noise=frame.noise)
    return NotPrivate(FLOOR, centre + offset.value * root, KNOWS_THE_MEAN)


def floor_radius(stddevs: Floats, count: int) -> float:
    """r: hardly any Gaussian record lies farther from its mean, after rescaling by Σ^{-1/4}."""
    return float(np.sqrt(stddevs.sum()) + np.sqrt(2 * stddevs.max() * np.log(count)))


@unspoken
def empirical_mean(X: object, *, on_missing: str = "raise") -> NotPrivate:
    """The average of the valid records; not a number where there is none."""
    records = open_records(X, on_missing=on_missing)
    total, count = np.zeros(records.dimension), 0
    for rows, valid in records.blocks():  # an invalid row is handed out as zeros; what overflows is infinite
        total, count = total + rows.sum(axis=0), count + int(valid.sum())
    return NotPrivate(EMPIRICAL, total / count if count else np.full(records.dimension, np.nan), NO_NOISE)
