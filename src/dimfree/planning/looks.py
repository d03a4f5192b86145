"""What a look at the records' lengths would say of n records, a few of which are simulated. Public."""

import numpy as np

from dimfree._types import Floats
from dimfree.planning.thinned_table import SEED
from dimfree.programs.learn.tail import LengthCounts
from dimfree.simulation import public_simulation


def seen_lengths(
    lengths: Floats, edges: Floats, noise: float, count: float, count_stddev: float, draw: int
) -> LengthCounts:
    """Of `count` records, whose lengths are distributed as the simulated ones are; `noise`: of one cell."""
    counts = count / len(lengths) * np.histogram(lengths, np.concatenate([[0.0], edges, [np.inf]]))[0]
    counts = counts + noise * public_simulation([SEED, draw, 1]).normal(size=len(counts))
    return LengthCounts(edges, counts, noise, count, count_stddev)
