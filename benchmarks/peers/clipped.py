"""The clipped Gaussian mean about a public point: what one builds from a general library when a bound is known.

Every record is clipped to a ball that the user names before looking, the sum gets Gaussian noise for that ball, and
the quotient by the number of records is the mean. Clip, clamp and noise are the parts that OpenDP offers for it
(Dwork, McSherry, Nissim and Smith 2006; noise by the exact curve of Balle and Wang 2018).
"""

import numpy as np
from numpy.typing import ArrayLike

from dimfree._types import Floats
from dimfree._validate import check_array, check_between, check_lengths
from dimfree.accounting.budget import Neighbours
from dimfree.comparison.baselines.frame import open_frame, unspoken
from dimfree.kernel.statistics.clipped_sum import Ball, noisy_clipped_mean
from dimfree.noise import Noise
from dimfree.programs.run import TOO_FEW
from dimfree.results.release import Release

METHOD = "clipped"
LARGEST = 1e60  # of the radius and, inverted, the smallest: squares stay in the range of floats


@unspoken
def clipped(
    X: object,
    *,
    epsilon: float,
    delta: float,
    radius: float,
    centre: ArrayLike | None = None,
    neighbours: str | Neighbours = "add-remove",
    on_missing: str = "raise",
    noise: Noise | None = None,
) -> Release:
    """The mean of the records, each clipped to the ball of `radius` about `centre` (the origin where none is given).

    Guarantee: (epsilon, delta) in total. Proof: proofs/comparison/baselines/clipped.md.
    The whole budget is one Gaussian precision; under add/remove a small part of it counts the records. Prior knowledge:
    `radius` and `centre`, public. Too small a ball biases the mean, too large a one is paid for in noise.
    """
    frame = open_frame(X, epsilon, delta, neighbours, on_missing, noise)
    ball = Ball(_centre(centre, frame.dimension), 1.0, check_between("radius", radius, 1 / LARGEST, LARGEST))
    count_mu, mean_mu = frame.count_mu(frame.mu)
    count, costs = frame.count(count_mu)
    if count < 1:
        return frame.refused(METHOD, TOO_FEW, costs, radius=ball.radius, count=count)
    offset = noisy_clipped_mean(frame.space, ball, count, mean_mu, frame.relation, "clipped mean", noise=frame.noise)
    stddev = np.full(frame.dimension, offset.event.stddev * offset.event.step / count)
    costs.append(offset.event)
    return frame.released(METHOD, ball.centre + offset.value, stddev, costs, radius=ball.radius, count=count)


def _centre(given: ArrayLike | None, dimension: int) -> Floats:
    if given is None:
        return np.zeros(dimension)
    centre = check_array("centre", given, rank=1)
    check_lengths("centre", len(centre), "column", dimension)
    return centre
