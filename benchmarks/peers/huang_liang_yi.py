"""The shifted clipped mean: rotate, move to a private centre, clip at a private radius, add noise, rotate back.

After "Instance-optimal Mean Estimation Under Differential Privacy" (Huang, Liang, Yi, 2021): both quantiles are noisy
bisections, ten steps each, so everything is Gaussian. Shares and rank are those with which PLAN's authors measured it
(1 % of the clipped mean's budget for its radius, where Huang et al. spent a quarter): it does better with them.
Proof: proofs/comparison/baselines/huang_liang_yi.md. Notation: d columns, D of them after the rotation, n records.
"""

import math

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_between
from dimfree.accounting.budget import Neighbours
from dimfree.comparison.baselines.frame import Frame, open_frame, unspoken
from dimfree.comparison.baselines.rotation import Rotation
from dimfree.kernel.rows.clip import norms
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.clipped_sum import Ball, noisy_clipped_mean
from dimfree.mechanisms.medians import noisy_medians
from dimfree.mechanisms.search import STEPS, noisy_search
from dimfree.noise import Noise
from dimfree.paper.charged import Measured
from dimfree.results.release import Release
from dimfree.shapes import Isotropic

CENTRE, LENGTH, NOISE = 0.25, 0.0075, 0.7425  # shares of the precision
BISECTIONS = 10  # of the range of a coordinate, and of that of the lengths
_FAILURE = 0.01  # that a coordinate of the rotated mean lies outside its range
_MOVES = {Neighbours.ADD_REMOVE: 1, Neighbours.REPLACE_ONE: 2}  # of a clipped sum, in radii


@unspoken
def huang_liang_yi(
    X: object,
    *,
    epsilon: float,
    delta: float,
    radius: float,
    neighbours: str | Neighbours = "add-remove",
    on_missing: str = "raise",
    noise: Noise | None = None,
) -> Release:
    """The mean of records whose mean lies within `radius` of the origin.

    Guarantee: (epsilon, delta) in total, medians and clipping radius included.
    Proof: proofs/comparison/baselines/huang_liang_yi.md.
    Prior: `radius` holds the mean, and most records' distances from it. A wrong one costs accuracy, never privacy.
    """
    frame = open_frame(X, epsilon, delta, neighbours, on_missing, noise)
    reach = check_between("radius", radius, 1e-60, 1e60)
    rotation = Rotation(frame.dimension)
    space = Space(frame.space.records, Isotropic(1.0), basis=rotation)
    count_mu, mu = frame.count_mu(frame.mu)
    counted, costs = frame.count(count_mu)
    centre = _medians(frame, space, reach, mu * math.sqrt(CENTRE))
    length = _length(frame, space, centre.value, reach, mu)
    ball, count = Ball(centre.value, 1.0, length.value), max(counted, 1.0)
    offset = noisy_clipped_mean(
        space, ball, count, mu * math.sqrt(NOISE), frame.relation, "clipped sum", noise=frame.noise
    )
    mean = rotation.restored(ball.centre + offset.value)
    stddev = np.full(frame.dimension, offset.event.stddev * offset.event.step / count)  # a rotation leaves it alone
    costs += [centre.event, length.event, offset.event]
    return frame.released("huang-liang-yi", mean, stddev, costs, radius=reach, count=count, clipping_radius=ball.radius)


def _medians(frame: Frame, space: Space, reach: float, mu: float) -> Measured[Floats]:
    """A rough centre: the median of every coordinate in the range that a rotated mean keeps to."""
    spread = reach * coordinate_share(space.dimension)
    widths = np.full(space.dimension, 2 * spread / 2**BISECTIONS)
    purpose = "median of every coordinate"
    return noisy_medians(space.valid_blocks, spread, widths, mu, frame.relation, purpose, noise=frame.noise)


def coordinate_share(dimension: int) -> float:
    """Of a vector's length: what no coordinate exceeds after a random rotation, but for `_FAILURE` [Hoeffding]."""
    return min(1.0, math.sqrt(2 * math.log(2 * dimension / _FAILURE) / dimension))


def _length(frame: Frame, space: Space, centre: Floats, reach: float, mu: float) -> Measured[float]:
    """A length that all but `shortened` records keep to.

    Clipping so many of them biases the mean by about what its noise weighs; as many again for the search's own noise.
    """
    mu_noise, mu_length = mu * math.sqrt(NOISE), mu * math.sqrt(LENGTH)
    weight, missed = _MOVES[frame.relation] * math.sqrt(frame.dimension) / mu_noise, math.sqrt(BISECTIONS) / mu_length
    shortened = round(2 * (weight + missed) * STEPS)
    offsets = Ball(centre, 1.0, reach).offsets
    lengths = np.concatenate([np.zeros(0), *(norms(rows, reach, offsets) for rows in space.valid_blocks())])

    def excess(length: float) -> int:
        """How many fewer than `shortened` are longer, in 1/STEPS of a record: one record moves it by at most one."""
        return shortened - int(np.count_nonzero(lengths > length)) * STEPS

    grid = reach * np.arange(2**BISECTIONS + 1) / 2**BISECTIONS
    return noisy_search(excess, grid, 1.0, mu_length, "clipping radius", noise=frame.noise)
