"""Known covariance: the stable core after its test, then recentring stages (P5', P6, P8, P9).

Letters: n̂ = released number of records.
"""

import math
from collections.abc import Sequence

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.events import Tested
from dimfree.kernel import Ball, Pairs, Released
from dimfree.programs.choose.constants import BLOCK_RULE, SCALE_SEARCH_SHARE
from dimfree.programs.choose.core import Size, are_few, stable_choices
from dimfree.programs.choose.sample import early_rate
from dimfree.programs.choose.stages import Moments, Schedule, best_schedule, clip_level
from dimfree.programs.learn.knowledge import Knowledge, Output
from dimfree.programs.learn.scale import (
    LearnedScale,
    factor_clearance,
    learn_scale,
    with_likely_searches,
)
from dimfree.programs.learn.stages import Honest, run_schedule
from dimfree.programs.learn.state import StageSetting
from dimfree.programs.opening import calibrated, early_sample, open_table, public_size
from dimfree.programs.run import NO_SCALE, TOO_FEW, UNSTABLE, Run
from dimfree.results.release import Release
from dimfree.shapes import Diagonal


def release_known(run: Run) -> Release:
    """count → branch → scale → core → stages → restore (P4 to P6, P8, P9, M5')."""
    calibration = calibrate_known(run)
    session, size = open_table(run, calibration)
    schedule = choose_schedule(run, calibration, size)
    if schedule is None:
        return run.refused(TOO_FEW, "stable", session.costs(), count=size.count)
    everyone = session.take(schedule.branch)
    unseen = schedule.early < 1 and len(schedule.stage_mus) < 2  # no stage looks at the early sample
    rate = size.rate if unseen else schedule.early
    early, chosen = early_sample(everyone, size, rate)
    pairs = chosen.pairs(size.capacity(size.rate))
    scale = _scale(run, schedule, size, pairs)
    if not scale.found:
        return run.refused(NO_SCALE, "stable", session.costs(), count=size.count)
    core, radius = schedule.core, schedule.core.radius * scale.factor
    public = size.public | {"radius": radius, "full_share": float(core.full_share), "scale": scale.factor}
    method = "recentred" if schedule.stage_mus else "stable"
    mean = pairs.core_mean(radius, core.full_share, core.budget, core.floor, schedule.core_mu)
    del pairs  # their memory is free for what follows
    if mean is None:
        return run.refused(UNSTABLE, method, session.costs(), **public)
    size = size.after_pass(core)
    setting = StageSetting(everyone, size.count, size.stddev or 0.0).on_sample(early, rate)
    level = level_of(run, size, schedule.branch.mu)
    known, ball, bias = _stages(run, setting, schedule, level, scale.factor, mean)
    public |= {"stages": len(schedule.stage_mus), "block": schedule.block}
    if not schedule.stage_mus or schedule.block < run.dimension:
        public |= {"averaged_at_least": size.looked_at_least}  # the core's own mean, of the records it looked at
    return run.released(known, method, session.costs(), public, size=size, ball=ball, bias=bias)


def calibrate_known(run: Run) -> Calibration:
    """Return the branches of a known covariance."""
    return calibrated(run, SCALE_SEARCH_SHARE if run.learn_scale else 0.0)


def refuse_known(run: Run) -> Release | None:
    """Replace-one: the refusal that the public number of records alone decides, at no cost."""
    calibration = calibrate_known(run)
    size = public_size(run, calibration)
    refused = choose_schedule(run, calibration, size) is None
    return run.refused(TOO_FEW, "stable", run.no_costs(), count=size.count) if refused else None


def choose_schedule(run: Run, calibration: Calibration, size: Size) -> Schedule | None:
    """The public choice of the core and the stages, in units of the shape's own scale."""

    def clearance(count: float, branch: Tested) -> float:
        return factor_clearance(count, branch.search_mu, run.relation)

    branches: Sequence[Tested] = calibration.tested
    if run.learn_scale:
        branches = with_likely_searches(branches, size, clearance)
    root_d, choices = math.sqrt(run.dimension), stable_choices(branches, size, run.failure, run.model)
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
        blocks=isinstance(run.table.shape, Diagonal) and size.count < BLOCK_RULE * root_d / run.budget.epsilon,
        looked=run.looks and not few,
        early=early_rate(size, mu**2, run.dimension) if choices else 1.0,
    )


def level_of(run: Run, size: Size, mu: float) -> float:
    """The share of honest records that a stage leaves unclipped."""
    return clip_level(size.count, run.budget.epsilon, Moments.of(run.spectrum).effective_rank, mu**2)


def _scale(run: Run, schedule: Schedule, size: Size, pairs: Pairs) -> LearnedScale:
    """The factor over the shape's own scale: 1 where it is known, else from the distances among the core's sample."""
    if not run.learn_scale:
        return LearnedScale(1.0, True)
    looked_at, search_mu = max(size.count * size.rate, 1.0), schedule.branch.search_mu
    return learn_scale(pairs, run.model.radii, looked_at, search_mu)


def _stages(
    run: Run, setting: StageSetting, schedule: Schedule, level: float, factor: float, mean: Released[Floats]
) -> tuple[Knowledge, Ball | None, float]:
    """The core's mean and the recentring stages after it (P8), with their weights in the answer (P21)."""
    radius = schedule.core.radius * factor
    honest = Honest(run.spectrum * factor**2, run.coordinate_variances * factor**2, schedule.look_mu > 0, 2 * radius)
    variance = np.full(run.dimension, (mean.stddev) ** 2)
    weight, block = np.ones_like(variance), honest.largest(schedule.block)
    weight[slice(None) if block is None else block] = schedule.weights[0]
    known = Knowledge.of(Output(mean.value, variance, weight))
    return run_schedule(setting, known, schedule, honest, level)
