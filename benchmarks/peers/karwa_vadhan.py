"""The folklore estimator for unknown location: Karwa and Vadhan, one coordinate at a time.

Karwa and Vadhan, "Finite sample differentially private confidence intervals" (2018), find a Gaussian mean of known
variance in a stable histogram with cells one standard deviation wide, then clip to an interval around that cell. Done
for every coordinate, with spherical noise, this is the folklore estimator that the paper improves upon: it needs about
sqrt(d)/ε records to find anything, and its noise has length about sqrt(d·tr Σ)/(nε).
Proof: proofs/comparison/baselines/karwa_vadhan.md. Notation: σ_i = given standard deviations, n̂ = number of records
(released or public), β = failure probability.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from dimfree._types import Floats, Integers
from dimfree.accounting.budget import Neighbours
from dimfree.comparison.baselines.frame import Frame, open_frame, unspoken
from dimfree.data.blocks import Columns, densely
from dimfree.kernel.statistics.clipped_sum import Ball, noisy_clipped_mean
from dimfree.mechanisms.gaussian_histogram import heaviest_cells, lone_cells, moved_counts, tail_distance
from dimfree.noise import Noise
from dimfree.paper.algorithm2 import FAR
from dimfree.programs.run import TOO_FEW
from dimfree.results.release import Release

METHOD = "karwa-vadhan"
NOT_FOUND = "The location of some coordinate was not found: too few records, or stddevs far too small."
FAILURE = 0.01  # β
LONE_SHARE = 0.1  # of delta, for publishing a cell that one record has to itself
SHARES = (0.02, 0.8)  # of the precision, for finding the location: as much as n̂ asks for, within these
FOUND_MASS = 0.3413  # Φ(1) - 1/2: some cell of width σ holds at least this share of N(μ, σ²), wherever μ lies
OFF = 1.5  # the centre of the heaviest cell is within this of the mean, in standard deviations
OFF_SQUARED = 0.5  # and its square within this on average over coordinates: twice the worst expectation, 1/4
_EDGE = 2.0**52  # cells beyond are one cell
_FAR = 2.0**48  # a cell that far from zero is too coarse, in floats, to be a location
_ENTRIES = 2**22  # of a working block


@dataclass(frozen=True)
class Box(Ball):
    """A ball that first holds every coordinate within an interval about the centre."""

    reach: Floats | float = math.inf

    def offsets(self, values: Floats, columns: Columns, step: float = 1.0) -> Floats:
        reach = np.broadcast_to(self.reach, self.centre.shape)[columns] / step
        return np.clip(super().offsets(values, columns, step), -reach, reach)


@unspoken
def karwa_vadhan(
    X: object,
    *,
    epsilon: float,
    delta: float,
    stddevs: ArrayLike,
    neighbours: str | Neighbours = "add-remove",
    on_missing: str = "raise",
    noise: Noise | None = None,
) -> Release:
    """The mean, found coordinate by coordinate in histograms, then clipped and averaged with spherical noise.

    Guarantee: (epsilon, delta) in total. Proof: proofs/comparison/baselines/karwa_vadhan.md.
    Prior knowledge: `stddevs`, a bound on the standard deviation of every coordinate; no bound on the mean. All
    histograms are one Gaussian release (sensitivity sqrt(d)), so that everything composes by precision but for a tenth
    of delta. Refused where some coordinate shows no heavy cell. Records of uncorrelated coordinates are not clipped,
    up to a failure probability of 0.01.
    """
    frame = open_frame(X, epsilon, delta, neighbours, on_missing, noise)
    spread = frame.stddevs(stddevs)
    lone = lone_cells(LONE_SHARE * frame.budget.delta)
    count_mu, mu = frame.count_mu(frame.mu_beside(lone))
    count, costs = frame.count(count_mu)
    if count < 1:
        return frame.refused(METHOD, TOO_FEW, costs, count=count)
    cells_mu = _location_mu(count, frame.dimension, mu, lone.delta, frame.relation)
    cells = _cells(frame, spread)
    found = heaviest_cells(cells, frame.dimension, cells_mu, lone, frame.relation, noise=frame.noise)
    costs += [lone, found.event]
    if found.value is None:
        return frame.refused(METHOD, NOT_FOUND, costs, count=count)
    if np.abs(found.value).max() >= _FAR:
        return frame.refused(METHOD, FAR, costs, count=count)
    box = _box(found.value, spread, count)
    mean_mu = math.sqrt(mu**2 - cells_mu**2) * (1 - 1e-12)
    offset = noisy_clipped_mean(frame.space, box, count, mean_mu, frame.relation, "clipped mean", noise=frame.noise)
    stddev = np.full(frame.dimension, offset.event.stddev * offset.event.step / count)
    costs.append(offset.event)
    return frame.released(METHOD, box.centre + offset.value, stddev, costs, radius=box.radius, count=count)


def _location_mu(count: float, dimension: int, mu: float, lone: float, relation: Neighbours) -> float:
    """The least precision at which every coordinate is likely found, if n̂ allows for it. A function of released n̂."""
    z = float(-ndtri(FAILURE / (2 * dimension)))
    surely = FOUND_MASS * count - z * math.sqrt(FOUND_MASS * (1 - FOUND_MASS) * count) - 1
    cells = moved_counts(dimension, relation)
    stddev = max(surely, 1e-9 * count) / (z + tail_distance(lone, cells))
    share = cells / stddev**2 / mu**2
    return mu * math.sqrt(min(max(share, SHARES[0]), SHARES[1]))


def _cells(frame: Frame, spread: Floats) -> Iterator[Integers]:
    """Private: the cell of every record, some coordinates at a time; entry by entry, so a map of each record alone."""
    step = max(1, _ENTRIES // max(1, frame.space.count))
    for start in range(0, frame.dimension, step):
        block = slice(start, start + step)
        parts = [cells_of(densely(rows[:, block]), spread[block]) for rows in frame.space.valid_blocks()]
        empty = np.zeros((len(spread[block]), 0), dtype=np.int64)
        yield np.ascontiguousarray(np.concatenate([empty, *(part.T for part in parts)], axis=1))


def cells_of(rows: Floats, widths: Floats) -> Integers:
    """⌊x_i / σ_i⌋, held within the edge."""
    with np.errstate(all="ignore"):  # a warning or error could reveal records
        return np.clip(np.floor(rows / widths), -_EDGE, _EDGE).astype(np.int64)


def _box(cells: Integers, spread: Floats, count: float) -> Box:
    """Intervals that hold all honest entries, inside a ball that holds all honest records, each but for β.

    Entries: |x - c| <= (OFF + sqrt(2 log(2n̂d/β)))·σ_i. Records: a norm of Gaussians stays within sqrt(2‖Σ‖ log(n̂/β))
    of its root mean square, which is at most sqrt((1 + OFF_SQUARED)·tr Σ).
    """
    records = max(count, 2.0) / FAILURE
    reach = OFF + math.sqrt(2 * math.log(2 * records * len(spread)))
    length = float(np.linalg.norm(spread))
    norm = math.sqrt(1 + OFF_SQUARED) * length + float(spread.max()) * math.sqrt(2 * math.log(records))
    return Box((cells + 0.5) * spread, 1.0, min(reach * length, norm), reach=reach * spread)
