"""Known covariance: the noise of a release in closed form, stage by stage as `stages.run_schedule` goes. No simulation.

Where lengths are looked at, the radius is that of a simulated histogram. Notation: n̂ = released number of records.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree.accounting.budget import CHANGED_RECORDS
from dimfree.data.blocks import Mask
from dimfree.noise import public_simulation
from dimfree.paper import soft
from dimfree.planning.looks import seen_lengths
from dimfree.planning.outlook import Outlook
from dimfree.programs.choose.constants import (
    CLIPPING_ENTRIES,
    CLIPPING_PROBES,
    LEAST_CLIPPING_PROBES,
    LENGTH_QUANTILES,
    SIMULATED_LOOKS,
)
from dimfree.programs.choose.core import BoundedChoice
from dimfree.programs.choose.stages import Moments, Schedule
from dimfree.programs.known import level_of
from dimfree.programs.learn.radius import read_edges
from dimfree.programs.learn.stages import Honest, schedule_radius
from dimfree.programs.learn.state import StageSetting


def known_noise(seen: Outlook) -> tuple[Floats, float]:
    """(the noise variance of every column of the released mean, the mean square of what clipping adds to it)."""
    roots = seen.run.space.shape.root_diagonal(seen.run.space.dimension)
    if isinstance(seen.choice, BoundedChoice):
        return soft_stddev(seen, seen.choice) ** 2 * roots, 0.0
    if not isinstance(seen.choice, Schedule):
        raise TypeError("A known covariance is released by a schedule or by the soft core.")
    shift, variance = _recentred(seen, seen.choice)
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


def _recentred(seen: Outlook, schedule: Schedule) -> tuple[Floats, Floats]:
    """Per rescaled coordinate of the answer: how far clipping typically moves it, and the variance of its noise.

    `errors` holds, for every output, its share of the fresh noise of each: clipping leaves some of its centre's error.
    """
    run, core = seen.run, schedule.core
    honest = Honest(run.spectrum, run.coordinate_variances, schedule.look_mu > 0, 2 * core.radius)
    setting = StageSetting(run.space, seen.size.count, run.relation, run.noise, seen.size.stddev or 0.0)
    stages = _Stages(honest, schedule, level_of(run, seen.size, schedule.branch.mu), setting)
    dimension, outputs = run.space.dimension, len(schedule.stage_mus) + 1
    variances = np.full((outputs, dimension), 1e300)  # says nothing
    variances[0] = (core.radius * core.sensitivity / schedule.core_mu) ** 2
    errors, shifts = np.zeros((outputs, outputs, dimension)), np.zeros((outputs, dimension))
    errors[np.arange(outputs), np.arange(outputs)] = 1.0
    miscount = setting.count_stddev / setting.count  # offsets are divided by n̂: so much of the centre's error
    for index, radius in enumerate(stages.radii(variances)):
        before = 1 / variances[: index + 1]
        weights, centre = before / before.sum(axis=0), 1 / before.sum(axis=0)
        kept, own = stages.clipped(radius, centre)
        errors[index + 1] += np.hypot(kept, miscount) * (weights[:, None] * errors[: index + 1]).sum(axis=0)
        shifts[index + 1] = own + kept * (weights * shifts[: index + 1]).sum(axis=0)
    roots = np.sqrt(stages.weights()[:, None] / variances)
    roots[0, stages.outside] = 1.0
    roots /= roots.sum(axis=0)
    shares = (roots[:, None] * errors).sum(axis=0)
    return (roots * shifts).sum(axis=0), (shares**2 * variances).sum(axis=0)


@dataclass(frozen=True)
class _Stages:
    """What all stages of a schedule share."""

    honest: Honest
    schedule: Schedule
    level: float
    setting: StageSetting

    @property
    def moments(self) -> Moments:
        return Moments.of(self.honest.spectrum[: self.schedule.block])

    @property
    def block(self) -> NDArray[np.intp]:
        found = self.honest.largest(self.schedule.block)
        return np.arange(len(self.honest.coordinates)) if found is None else found

    @property
    def outside(self) -> Mask:
        """The coordinates that no stage recentres."""
        found = np.ones(len(self.honest.coordinates), dtype=bool)
        found[self.block] = False
        return found

    def weights(self) -> Floats:
        """α of the core and the stages, in the block."""
        return np.array(self.schedule.weights)

    def radii(self, variances: Floats) -> Iterator[float]:
        """The clipping radius of each stage as expected; its output's variance is written into `variances` first."""
        moments, moves, ratio = self.moments, self.setting.moves, None
        for index, mu in enumerate(self.schedule.stage_mus):
            spread = float((1 / (1 / variances[: index + 1, self.block]).sum(axis=0)).mean())
            radius = float(moments.radius(self.level, spread))
            if self.honest.looked and self.schedule.weights[index + 1] and ratio is None:
                ratio = self._looked(spread) / radius
            radius *= ratio or 1.0
            last = index + 1 == len(self.schedule.stage_mus)
            seen = self.setting.count * (1.0 if last else self.schedule.early)
            variances[index + 1, self.block] = (radius * moves / (seen * mu)) ** 2
            yield radius

    def _looked(self, spread: float) -> float:
        """Root mean square of the radius that a look suggests, for Gaussian records and a centre off by `spread`."""
        moments, rank, mu = self.moments, self.moments.effective_rank, self.schedule.look_mu
        with np.errstate(invalid="ignore"):  # with few columns the fitted law of |z|² begins a little below 0
            lengths = np.nan_to_num(moments.radius((np.arange(LENGTH_QUANTILES) + 0.5) / LENGTH_QUANTILES, spread))
        predicted, off = math.sqrt(moments.first + moments.size * spread), math.sqrt(len(self.outside) * spread)
        edges = read_edges(rank, predicted, self.honest.farthest + off)
        noise, count = math.sqrt(CHANGED_RECORDS[self.setting.relation]) / mu, self.setting.count
        looks = (
            seen_lengths(lengths, edges, noise, count, self.setting.count_stddev, draw)
            for draw in range(SIMULATED_LOOKS)
        )
        found = [schedule_radius(seen, self.setting, self.schedule, self.honest)[0] for seen in looks]
        return float(np.sqrt(np.mean(np.square(found))))

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
        left = ((shrink**2 - slope**2) * z**2).mean(axis=0) / self.setting.count
        kept, own = np.zeros((2, len(centre)))
        kept[block], own[block] = 1 - slope, np.sqrt(np.maximum(left, 0.0))
        return kept, own
