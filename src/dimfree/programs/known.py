"""Known covariance: the stable core after its test, then recentring stages (P5', P6, P8, P9).

Letters: n̂ = released number of records.
"""

import math
from collections.abc import Sequence

import numpy as np

from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.events import Tested
from dimfree.programs.choose.constants import BLOCK_RULE, SCALE_SEARCH_SHARE
from dimfree.programs.choose.core import Size, are_few, early_rate, stable_choices
from dimfree.programs.choose.stages import Moments, Schedule, best_schedule, clip_level
from dimfree.programs.learn.scale import FACTORS, learn_scale, with_likely_searches
from dimfree.programs.learn.stages import Honest, run_schedule
from dimfree.programs.learn.state import Knowledge, Output, StageSetting
from dimfree.programs.run import NO_SCALE, TOO_FEW, UNSTABLE, Run, calibrated, early_sample, open_table, public_size
from dimfree.results.release import Release
from dimfree.shapes import Diagonal


def release_known(run: Run) -> Release:
    """count → branch → scale → core → stages → restore (P4 to P6, P8, P9, M5')."""
    calibration = calibrate_known(run)
    session, size = open_table(run, calibration)
    schedule = _schedule(run, calibration, size)
    if schedule is None:
        return run.refused(TOO_FEW, "stable", session.costs(), count=size.count)
    everyone, core = session.take(schedule.core.branch), schedule.core
    unseen = schedule.early < 1 and len(schedule.stage_mus) < 2  # no stage looks at the early sample
    rate = size.rate if unseen else schedule.early
    early, chosen = early_sample(everyone, size, rate)
    pairs, factor = chosen.pairs(size.capacity(size.rate)), 1.0  # of the standard deviations over those of the shape
    if run.learn_scale:
        looked_at = max(size.count * size.rate, 1.0)
        factor, found = learn_scale(pairs, run.model.radii, looked_at, core.branch.search_mu)
        if not found:
            return run.refused(NO_SCALE, "stable", session.costs(), count=size.count)
    radius = core.radius * factor
    public = size.public | {"radius": radius, "full_share": float(core.full_share), "scale": factor}
    mean = pairs.core_mean(radius, core.full_share, core.budget, core.floor, schedule.core_mu)
    del pairs  # their memory is free for what follows
    if mean is None:
        return run.refused(UNSTABLE, "recentred" if schedule.stage_mus else "stable", session.costs(), **public)
    size = size.after_pass(core)
    setting = StageSetting(everyone, size.count, size.stddev or 0.0).on_sample(early, rate)
    spectrum, coordinates = run.spectrum * factor**2, run.coordinate_variances * factor**2
    honest = Honest(spectrum, coordinates, schedule.look_mu > 0, 2 * radius)
    variance = np.full(run.dimension, mean.stddev**2)
    weight, block = np.ones_like(variance), honest.largest(schedule.block)
    weight[slice(None) if block is None else block] = schedule.weights[0]  # of the core's mean in the answer (P21)
    known = Knowledge.of(Output(mean.value, variance, weight))
    known, ball, bias = run_schedule(setting, known, schedule, honest, _level(run, size, core.branch.mu))
    public |= {"stages": len(schedule.stage_mus), "block": schedule.block}
    if not schedule.stage_mus or schedule.block < run.dimension:
        public |= {"averaged_at_least": size.looked_at_least}  # the core's own mean, of the records it looked at
    return run.released(known, size, ball, bias, session.costs(), public)


def refuse_known(run: Run) -> Release | None:
    """Replace-one: the refusal that the public number of records alone decides, at no cost."""
    calibration = calibrate_known(run)
    size = public_size(run, calibration)
    refused = _schedule(run, calibration, size) is None
    return run.refused(TOO_FEW, "stable", run.no_costs(), count=size.count) if refused else None


def calibrate_known(run: Run) -> Calibration:
    """The branches of a known covariance."""
    return calibrated(run, SCALE_SEARCH_SHARE if run.learn_scale else 0.0)


def _schedule(run: Run, calibration: Calibration, size: Size) -> Schedule | None:
    """The public choice of the core and the stages, in units of the shape's own scale."""
    branches: Sequence[Tested] = calibration.tested
    if run.learn_scale:
        branches = with_likely_searches(branches, size, len(FACTORS) - 1, lambda branch: branch.search_mu)
    choices = stable_choices(branches, size, run.failure, run.model)
    if not choices:
        return None
    size, mu = size.after_pass(min(choices, key=lambda choice: choice.needs)), max(each.branch.mu for each in choices)
    few_for_blocks = BLOCK_RULE * math.sqrt(run.dimension) / run.budget.epsilon
    return best_schedule(
        choices,
        run.spectrum,
        max(size.count, 1.0),
        _level(run, size, calibration.tested[0].mu),
        run.relation,
        blocks=isinstance(run.table.shape, Diagonal) and size.count < few_for_blocks,
        # Lengths are looked at where the model is not trusted to the last per cent.
        looked=(run.learn_scale or run.model.factor > 1) and not are_few(size.count, mu, run.relation),
        early=early_rate(size, mu**2, run.dimension),
    )


def _level(run: Run, size: Size, mu: float) -> float:
    """The share of honest records that a stage leaves unclipped."""
    return clip_level(size.count, run.budget.epsilon, Moments.of(run.spectrum).effective_rank, mu**2)
