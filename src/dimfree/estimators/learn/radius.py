"""Clipping radii: one look at the records' lengths, and the radius that it suggests.

One private step: `noisy_tail`, a histogram of lengths (P20). The rest is a function of public and released numbers.
Proof: proofs/estimators/learn/stages.md (S2). Letters: z = a record's offset from the centre, rescaled; R = clipping
radius.
"""

import math

import numpy as np

from dimfree._types import Floats
from dimfree.estimators.choose.constants import LENGTH_LOOK_MOST, LENGTH_READ_LEAST
from dimfree.estimators.choose.stages import look_share
from dimfree.estimators.learn.state import StageSetting
from dimfree.estimators.learn.tail import LengthCounts, Tail, length_edges, outer_radius
from dimfree.mechanisms import Measured
from dimfree.mechanisms.clipped_sum import Ball
from dimfree.mechanisms.length_histogram import noisy_length_counts


def look_precision(rank: float, precision: float, left: float) -> float:
    """Of what is left of the precision, for the look: more where few coordinates share the length of a record."""
    return min(look_share(rank) * precision, LENGTH_LOOK_MOST * left)


def noisy_tail(
    setting: StageSetting, ball: Ball, rank: float, mu: float, *, farthest: float = math.inf, times: float = 1.0
) -> Measured[Tail]:
    """What a noisy histogram of the lengths |z| says of their tail (P20); the ball's radius is the expected length.

    `farthest`: records of a larger |z| are not honest ones, and no radius is drawn out to them. `times`: for how many
    records each one of a simulated table stands.
    """
    edges = read_edges(rank, ball.radius, farthest)
    found = noisy_length_counts(setting.space, ball, edges, mu, setting.relation, noise=setting.noise)
    stddev = found.event.stddev * found.event.step
    counts = found.value if math.isinf(farthest) else np.append(found.value[:-1], 0.0)
    total = setting.count - (found.value - counts).sum()
    seen = LengthCounts(edges, counts * times, stddev * times, total * times, setting.count_stddev * times)
    return Measured(Tail.fitted(seen, rank, ball.radius), found.event)


def read_edges(rank: float, predicted: float, farthest: float = math.inf) -> Floats:
    """Public: edges of the histogram of lengths, up to `farthest`, but beyond the expected length in any case."""
    edges, end = length_edges(rank) * predicted, max(farthest, LENGTH_READ_LEAST * predicted)
    return edges if end >= edges[-1] else np.append(edges[edges < end], end)


def looked_radius(tail: Tail, rank: float, mu: float, wide: float) -> float:
    """R: by the tail; at least `wide`, where noise stays far below the sampling error, as far as lengths were looked
    at: a tail is no guide to rare large records."""
    return max(outer_radius(tail, rank, mu), min(wide, tail.last_edge))
