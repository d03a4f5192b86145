"""How long the records are, seen from a public centre: a histogram of their lengths, or a quantile of them (P20).

A record is in one cell, so one record moves one count by one: sensitivity 1, √2 under replace-one. The number of
records up to an edge moves by at most one under either.
Proof: proofs/mechanisms/length_histogram.md.
"""

import math
from functools import partial

import numpy as np

from dimfree._types import Floats, Integers
from dimfree.accounting.budget import CHANGED_RECORDS, Neighbours
from dimfree.accounting.events import charged_gaussian, refining_bits
from dimfree.data.blocks import Rows
from dimfree.data.progress import during
from dimfree.geometry.clip import norms
from dimfree.geometry.space import Space
from dimfree.mechanisms import Measured
from dimfree.mechanisms.clipped_sum import Ball
from dimfree.mechanisms.search import STEPS, noisy_crossing
from dimfree.noise import Noise


@during("lengths of the records")
def length_counts(space: Space, ball: Ball, edges: Floats) -> Integers:
    """How many valid records have a length up to the first edge, up to the next, …, beyond the last. Private."""
    return space.summed(partial(_counts_of, ball.before(space.units), edges), len(edges) + 1)


def _counts_of(ball: Ball, edges: Floats, rows: Rows) -> Integers:
    lengths = norms(ball.seen(rows), float(edges[-1]), ball.offsets)
    return np.bincount(np.searchsorted(edges, lengths, side="left"), minlength=len(edges) + 1).astype(np.int64)


def noisy_length_counts(
    space: Space, ball: Ball, edges: Floats, mu: float, relation: Neighbours, *, noise: Noise
) -> Measured[Floats]:
    """The histogram of lengths |(x - c)/scale| over public edges, in records, with Gaussian noise (P20)."""
    counts = length_counts(space, ball, edges)
    moves = math.sqrt(CHANGED_RECORDS[relation]) * (1 + 1e-15)  # P20
    bits = refining_bits(moves, mu)
    event = charged_gaussian(moves * 2**bits, mu, len(counts), 1 / 2**bits, "lengths of the records")
    return Measured((counts * 2**bits + noise.gaussian(event.stddev, len(counts))) * event.step, event)


def noisy_length(
    space: Space, ball: Ball, edges: Floats, share: float, count: float, mu: float, *, noise: Noise
) -> Measured[float]:
    """About the edge up to which a share of `count` records are long, by a search (M5'); `count` is released or public.

    For few records: the counts of a search are more precise than the cells of a histogram.
    """
    within = np.cumsum(length_counts(space, ball, edges))
    target = round(share * count * STEPS)

    def excess(edge: float) -> int:
        return int(within[np.searchsorted(edges, edge)]) * STEPS - target

    return noisy_crossing(excess, edges, share, count, 1.0, mu, "length of most records", noise=noise)
