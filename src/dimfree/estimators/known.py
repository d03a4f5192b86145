"""Known covariance: the stable core after its test, then recentring stages (P5', P6, P8, P9).

Letters: n̂ = released number of records.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.events import Tested
from dimfree.core.distances import PairDistances, pair_distances
from dimfree.estimators.choose.constants import BLOCK_RULE, SCALE_SEARCH_SHARE
from dimfree.estimators.choose.core import BoundedChoice, Size, are_few, choose_soft, stable_choices
from dimfree.estimators.choose.sample import early_rate
from dimfree.estimators.choose.stages import Moments, Schedule, best_schedule, clip_level
from dimfree.estimators.learn.knowledge import Knowledge, Output
from dimfree.estimators.learn.scale import (
    LearnedScale,
    factor_clearance,
    learn_scale,
    with_likely_searches,
)
from dimfree.estimators.learn.stages import Honest, run_schedule
from dimfree.estimators.learn.state import StageSetting
from dimfree.estimators.opening import calibrated, charged, core_mean, early_sample, released_size
from dimfree.estimators.run import NO_SCALE, TOO_FEW, UNSTABLE, Run
from dimfree.estimators.without_test import soft_mean
from dimfree.geometry.shape import Diagonal
from dimfree.mechanisms import Measured
from dimfree.mechanisms.clipped_sum import Ball
from dimfree.results.release import Release


def release_known(run: Run, *, bounded: bool = False) -> Release:
    """count → branch → scale → core → stages → restore (P4 to P6, P8, P9, M5').

    `bounded`: the soft core is among the branches.
    """
    calibration = calibrated(run, _search_share(run), bounded=bounded)
    size, before = released_size(run, calibration)  # P5'
    schedule = choose_known(run, calibration, size)
    if isinstance(schedule, BoundedChoice):
        ledger = run.ledger(before, calibration.menu, chosen=len(calibration.tested))
        return soft_mean(run, schedule, ledger, size.capacity(1.0), count=size.count)
    if schedule is None:
        return run.refused(TOO_FEW, "stable", run.ledger(before, calibration.menu), count=size.count)
    ledger = charged(run, calibration, before, schedule.branch)  # P9
    rate = _early_rate(schedule, size)
    early, sampled = early_sample(run, size, rate)  # P16
    pairs = pair_distances(early.space, sampled, size.capacity(size.rate))
    scale = _scale(early, schedule, size, pairs)  # M5'
    ledger = replace(ledger, searches=scale.events)
    if not scale.found:
        return run.refused(NO_SCALE, "stable", ledger, count=size.count)
    core, radius = schedule.core, schedule.core.radius * scale.factor
    public = size.public | {"radius": radius, "full_share": float(core.full_share), "scale": scale.factor}
    method = "recentred" if schedule.stage_mus else "stable"
    mean = core_mean(early, core, radius, schedule.core_mu, pairs)  # P4, P5, P6
    del pairs  # their memory is free for what follows
    if mean is None:
        return run.refused(UNSTABLE, method, ledger, **public)
    size = size.after_pass(core)
    setting = StageSetting(run.space, size.count, run.relation, run.noise, size.stddev or 0.0)
    setting = setting.on_sample(early.records, rate)
    known, ball, bias = _stages(
        run, setting, schedule, level_of(run, size, schedule.branch.mu), scale.factor, mean
    )  # P8, P21
    public |= {"stages": len(schedule.stage_mus), "block": schedule.block}
    if not schedule.stage_mus or schedule.block < run.space.dimension:
        public |= {"averaged_at_least": size.looked_at_least}  # the core's own mean, of the records it looked at
    return run.released(known, method, replace(ledger, after=known.events), public, size=size, ball=ball, bias=bias)


def release_cheapest(run: Run) -> Release:
    """The stable or the soft core, whichever promises less noise at the released count."""
    return release_known(run, bounded=run.relation is Neighbours.ADD_REMOVE and not run.learn_scale)


def refuse_known(run: Run) -> Release | None:
    """Replace-one: the refusal that the public number of records alone decides, at no cost."""
    calibration = calibrated(run, _search_share(run))
    size, _ = released_size(run, calibration)
    refused = choose_schedule(run, calibration, size) is None
    return run.refused(TOO_FEW, "stable", run.ledger((), ()), count=size.count) if refused else None


def choose_known(run: Run, calibration: Calibration, size: Size) -> Schedule | BoundedChoice | None:
    """Stable core and stages, or the soft core if it is a branch and promises less noise; None: a refusal."""
    schedule = choose_schedule(run, calibration, size)
    soft = choose_soft(calibration.bounded, size.count, run.model) if calibration.bounded else None
    if soft and (schedule is None or soft.noise**2 * run.spectrum.sum() < schedule.error):
        return soft
    return schedule


def choose_schedule(run: Run, calibration: Calibration, size: Size) -> Schedule | None:
    """The public choice of the core and the stages, in units of the shape's own scale."""

    def clearance(count: float, branch: Tested) -> float:
        return factor_clearance(count, branch.search_mu, run.relation)

    branches: Sequence[Tested] = calibration.tested
    if run.learn_scale:
        branches = with_likely_searches(branches, size, clearance)
    root_d, choices = math.sqrt(run.space.dimension), stable_choices(branches, size, run.failure, run.model)
    if choices:
        size = size.after_pass(min(choices, key=lambda choice: choice.needs))
    mu = max((choice.branch.mu for choice in choices), default=0.0)
    few = are_few(size.count, mu, run.relation)
    return best_schedule(
        choices,
        run.spectrum,
        max(size.count, 1.0),
        level_of(run, size, calibration.tested[0].mu if calibration.tested else 1.0),
        run.relation,
        blocks=isinstance(run.space.shape, Diagonal) and size.count < BLOCK_RULE * root_d / run.budget.epsilon,
        most_stages=run.most_stages,
        looked=run.looks and not few,
        early=early_rate(size, mu**2, run.space.dimension) if choices else 1.0,
    )


def level_of(run: Run, size: Size, mu: float) -> float:
    """The share of honest records that a stage leaves unclipped."""
    return clip_level(size.count, run.budget.epsilon, Moments.of(run.spectrum).effective_rank, mu**2)


def _early_rate(schedule: Schedule, size: Size) -> float:
    """Of the early sample; where no stage looks at it, no larger than the core's."""
    alone = schedule.early < 1 and len(schedule.stage_mus) < 2
    return size.rate if alone else schedule.early


def _scale(run: Run, schedule: Schedule, size: Size, pairs: PairDistances) -> LearnedScale:
    """The factor over the shape's own scale: 1 where it is known, else from the distances among the core's sample."""
    if not run.learn_scale:
        return LearnedScale(1.0, True, ())
    looked_at, search_mu = max(size.count * size.rate, 1.0), schedule.branch.search_mu
    return learn_scale(pairs, run.model.radii, looked_at, search_mu, run.relation, noise=run.noise)


def _stages(
    run: Run, setting: StageSetting, schedule: Schedule, level: float, factor: float, mean: Measured[Floats]
) -> tuple[Knowledge, Ball | None, float]:
    """The core's mean and the recentring stages after it (P8), with their weights in the answer (P21)."""
    radius = schedule.core.radius * factor
    honest = Honest(run.spectrum * factor**2, run.coordinate_variances * factor**2, schedule.look_mu > 0, 2 * radius)
    variance = np.full(run.space.dimension, (mean.event.stddev * mean.event.step) ** 2)
    weight, block = np.ones_like(variance), honest.largest(schedule.block)
    weight[slice(None) if block is None else block] = schedule.weights[0]
    known = Knowledge.of(Output(mean.value, variance, weight), mean.event)
    return run_schedule(setting, known, schedule, honest, level)


def _search_share(run: Run) -> float:
    return SCALE_SEARCH_SHARE if run.learn_scale else 0.0
