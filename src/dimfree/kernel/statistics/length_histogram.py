"""How long the records are, seen from a public centre: a histogram of their lengths, or a quantile of them (P20).

A record is in one cell, so one record moves one count by one: sensitivity 1, √2 under replace-one. The number of
records up to an edge moves by at most one under either.
Proof: proofs/statistics/length_histogram.md.
"""

from functools import partial

import numpy as np

from dimfree._types import Floats, Integers
from dimfree.data.blocks import Rows
from dimfree.kernel.rows.clip import norms
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.clipped_sum import Ball
from dimfree.progress import during


@during("lengths of the records")
def length_counts(space: Space, ball: Ball, edges: Floats) -> Integers:
    """How many valid records have a length up to the first edge, up to the next, …, beyond the last. Private."""
    return space.summed(partial(_counts_of, ball.before(space.units), edges), len(edges) + 1)


def _counts_of(ball: Ball, edges: Floats, rows: Rows) -> Integers:
    lengths = norms(ball.seen(rows), float(edges[-1]), ball.offsets)
    return np.bincount(np.searchsorted(edges, lengths, side="left"), minlength=len(edges) + 1).astype(np.int64)
