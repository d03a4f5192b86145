"""Known covariance: the noise of a release in closed form, stage by stage as `stages.run_schedule` goes. No simulation.

Letters: V = variance per rescaled coordinate of what is known; ρ = clipping radius; E = excess, in records.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.core import soft
from dimfree.estimators.choose.constants import (
    CLIPPING_ENTRIES,
    CLIPPING_PROBES,
    LEAST_CLIPPING_PROBES,
    LENGTH_QUANTILES,
    SEARCHED_STAGES,
)
from dimfree.estimators.choose.core import BoundedChoice
from dimfree.estimators.choose.stages import Moments, Schedule
from dimfree.estimators.known import level_of
from dimfree.estimators.learn.knowledge import Knowledge, Output
from dimfree.estimators.learn.radius import RadiusSearch, search_grid, searched, trusted, unsearched
from dimfree.estimators.learn.stages import Honest
from dimfree.mechanisms.search import count_stddev
from dimfree.noise import public_simulation
from dimfree.planning.outlook import Outlook


def known_noise(seen: Outlook) -> tuple[Floats, float]:
    """(the noise variance of every column of the released mean, the mean square of what clipping adds to it)."""
    roots = seen.run.space.shape.root_diagonal(seen.run.space.dimension)
    if isinstance(seen.choice, BoundedChoice):
        return soft_stddev(seen, seen.choice) ** 2 * roots, 0.0
    if not isinstance(seen.choice, Schedule):
        raise TypeError("A known covariance is released by a schedule or by the soft core.")
    shift, variance = _recentred(seen, seen.choice).combined()
    return variance * roots, float((shift**2 * roots).sum())


def soft_stddev(seen: Outlook, choice: BoundedChoice) -> float:
    """Of the soft core, per rescaled coordinate, at the total weight to be expected."""
    total = soft_total(seen, choice)
    lowest = max(total - choice.distance * soft.TOTAL_SENSITIVITY / choice.bound_mu, soft.SMALLEST_TOTAL)
    return soft.MEAN_SENSITIVITY * choice.radius / lowest / choice.mean_mu


def soft_total(seen: Outlook, choice: BoundedChoice) -> float:
    """W of Gaussian records: each weighs clip(2·(share of friends) - 1)."""
    views = seen.run.model.radii.squared
    friends = (views <= choice.radius**2).mean(axis=1)
    return float(np.clip(2 * friends - 1, 0, 1).mean()) * seen.size.count


def _recentred(seen: Outlook, schedule: Schedule) -> Knowledge:
    """The knowledge after the core and every stage. Its values are how far clipping typically moves each coordinate.

    `stated` is what the release itself takes its knowledge to be, and sets the radii; what is returned has the share
    of the centre's noise that clipping really leaves.
    """
    run, core = seen.run, schedule.core
    honest = Honest(run.spectrum, run.coordinate_variances, run.searches, 2 * core.radius)
    stages = _Stages(honest, schedule, level_of(run, seen.size, schedule.branch.mu), seen.size.count, run.relation)
    first = np.full(run.space.dimension, (core.radius * core.sensitivity / schedule.core_mu) ** 2)
    miscount = (seen.size.stddev or 0.0) / seen.size.count  # offsets are divided by n̂: so much of the centre's error
    bias = unsearched(honest.coordinates).bias if honest.searched else 0.0
    stated = true = Knowledge.of(Output(np.zeros_like(first), first, bias))
    for index in range(len(schedule.stage_mus)):
        shift, variance = true.combined()
        output, radius = stages.output(index, stated.combined()[1], variance)
        kept, own = stages.clipped(radius, variance)
        stated = stated.add(output)
        true = true.add(replace(output, value=own + kept * shift, centre_share=np.hypot(kept, miscount)))
    return true


@dataclass(frozen=True)
class _Stages:
    """What all stages of a schedule share."""

    honest: Honest
    schedule: Schedule
    level: float
    count: float
    relation: Neighbours

    @property
    def moments(self) -> Moments:
        return Moments.of(self.honest.spectrum[: self.schedule.block])

    @property
    def block(self) -> NDArray[np.intp]:
        found = self.honest.largest(self.schedule.block)
        return np.arange(len(self.honest.coordinates)) if found is None else found

    def output(self, index: int, stated: Floats, true: Floats) -> tuple[Output, float]:
        """The output of a stage as it is stated, and ρ as expected."""
        honest, moments, mu = self.honest, self.moments, self.schedule.stage_mus[index]
        radius = float(moments.radius(self.level, float(stated[self.block].mean())))
        squared, clipping = radius**2, unsearched(honest.coordinates) if honest.searched else trusted(self.level)
        if honest.searched and index >= len(self.schedule.stage_mus) - SEARCHED_STAGES:
            search = RadiusSearch.balanced(self.schedule.search_mu, mu, moments.effective_rank, math.inf)
            squared = searched_square(moments, radius, float(true[self.block].mean()), search, self.count)
            clipping = searched(search, self.count, honest.coordinates)
        moves = 1 if self.relation is Neighbours.ADD_REMOVE else 2
        fresh = np.full(len(stated), np.inf)
        fresh[self.block] = squared * (moves / (self.count * mu)) ** 2
        return Output(np.zeros(len(stated)), fresh, clipping.bias, clipping.centre_share), math.sqrt(squared)

    def clipped(self, radius: float, centre: Floats) -> tuple[Floats, Floats]:
        """Of each coordinate: the share of the centre's own error that clipping passes on, and what it adds itself.

        With z a record about the centre and s = E[∂clip(z)/∂z], the first is 1 - s. The second is the part of a mean
        of clipped records that is no multiple of the sample mean: ((E[clip(z)²] - s²·E[z²])/n)^{1/2}.
        """
        block, spread = self.block, self.honest.coordinates + centre
        rows = max(LEAST_CLIPPING_PROBES, min(CLIPPING_PROBES, CLIPPING_ENTRIES // len(block)))
        z = public_simulation().normal(size=(rows, len(block))) * np.sqrt(spread[block])
        lengths = np.sqrt((z**2).sum(axis=1))[:, None]
        shrink = np.minimum(1.0, radius / lengths)
        slope = (shrink * np.where(shrink < 1, 1 - (z / lengths) ** 2, 1.0)).mean(axis=0)
        left = ((shrink**2 - slope**2) * z**2).mean(axis=0) / self.count
        kept, own = np.zeros((2, len(centre)))
        kept[block], own[block] = 1 - slope, np.sqrt(np.maximum(left, 0.0))
        return kept, own


def searched_square(moments: Moments, radius: float, spread: float, search: RadiusSearch, count: float) -> float:
    """E[ρ²] of a noisy search about a predicted radius, for Gaussian records and a centre off by `spread` each way."""
    grid = radius * search_grid(search.window)
    with np.errstate(invalid="ignore"):  # with few columns the fitted law of |z|² begins a little below 0
        lengths = np.nan_to_num(moments.radius((np.arange(LENGTH_QUANTILES) + 0.5) / LENGTH_QUANTILES, spread))
    excess = count * np.clip(lengths / grid[:, None] - 1, 0.0, 1.0).mean(axis=1)
    noise = count_stddev(len(grid) - 1, 1.0, search.mu)
    return float(found_law(ndtr((search.target - excess) / noise)) @ grid**2)


def found_law(positive: Floats) -> Floats:
    """Where `mechanisms.search.noisy_search` ends: the probability of each grid point, given those of a yes at each."""
    law, open_cells = np.zeros(len(positive)), [(0, len(positive) - 1, 1.0)]
    while open_cells:
        low, high, weight = open_cells.pop()
        if high - low <= 1:
            law[high] += weight
            continue
        middle = (low + high) // 2
        open_cells += [(low, middle, weight * positive[middle]), (middle, high, weight * (1 - positive[middle]))]
    return law
