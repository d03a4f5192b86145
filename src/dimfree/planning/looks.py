"""What a look at the records' lengths would say of n records, some of which are simulated. Public."""

import numpy as np

from dimfree._types import Floats
from dimfree.estimators.learn.tail import LengthCounts, Tail
from dimfree.noise import public_simulation
from dimfree.planning.thinned_table import SEED


def seen_tail(
    lengths: Floats, edges: Floats, rank: float, predicted: float, noise: float, count: tuple[float, float], draw: int
) -> Tail:
    """Of `count` (n̂, its standard deviation) records, whose lengths are distributed as the simulated ones are.

    `noise`: the standard deviation of one cell of the histogram.
    """
    total, total_stddev = count
    counts = total / len(lengths) * np.histogram(lengths, np.concatenate([[0.0], edges, [np.inf]]))[0]
    counts = counts + noise * public_simulation([SEED, draw, 1]).normal(size=len(counts))
    return Tail.fitted(LengthCounts(edges, counts, noise, total, total_stddev), rank, predicted)
