"""Known covariance: the stable core after its test, then refinement steps (P5', P6, P8, P9).

Letters: n̂ = released number of records.
"""

import math
from collections.abc import Sequence

import numpy as np

from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.events import Tested
from dimfree.programs.choose.constants import BLOCK_THRESHOLD, SCALE_SEARCH_SHARE
from dimfree.programs.choose.core import Size, choose_pilot_rate, choose_stable_cores, has_few_records
from dimfree.programs.choose.schedule import Moments, Schedule, choose_clip_level, choose_schedule
from dimfree.programs.learn.scale import FACTORS, keep_likely_searches, learn_scale
from dimfree.programs.learn.state import Knowledge, Output, StepSetting
from dimfree.programs.learn.steps import ExpectedRecords, run_schedule
from dimfree.programs.run import (
    NO_SCALE,
    TOO_FEW,
    UNSTABLE,
    Run,
    calibrate_run,
    draw_pilot_sample,
    open_table,
    read_public_size,
)
from dimfree.results.release import Release
from dimfree.shapes import DiagonalCovariance


def release_known(run: Run) -> Release:
    """Release count → branch → scale → core → refinement steps → restore (P4 to P6, P8, P9, M5')."""
    calibration = calibrate_known(run)
    session, size = open_table(run, calibration)
    schedule = _schedule(run, calibration, size)
    if schedule is None:
        return run.refuse(TOO_FEW, "stable", session.costs(), count=size.count)
    everyone, core = session.take(schedule.core.branch), schedule.core
    unseen = schedule.early < 1 and len(schedule.step_mus) < 2  # no step reads the pilot sample
    rate = size.rate if unseen else schedule.early
    early, chosen = draw_pilot_sample(everyone, size, rate)
    pairs, factor = chosen.pairs(size.capacity(size.rate)), 1.0  # of the standard deviations over those of the shape
    if run.learn_scale:
        read_count = max(size.count * size.rate, 1.0)
        factor, found = learn_scale(pairs, run.model.radii, read_count, core.branch.search_mu)
        if not found:
            return run.refuse(NO_SCALE, "stable", session.costs(), count=size.count)
    radius = core.radius * factor
    public = size.public | {"radius": radius, "full_share": float(core.full_share), "scale": factor}
    mean = pairs.core_mean(radius, core.full_share, core.budget, core.floor, schedule.core_mu)
    del pairs  # their memory is free for what follows
    if mean is None:
        return run.refuse(UNSTABLE, "recentered" if schedule.step_mus else "stable", session.costs(), **public)
    size = size.after_pass(core)
    setting = StepSetting(everyone, size.count, size.stddev or 0.0).on_sample(early, rate)
    spectrum, coordinates = run.spectrum * factor**2, run.coordinate_variances * factor**2
    expected = ExpectedRecords(spectrum, coordinates, schedule.length_mu > 0, 2 * radius)
    variance = np.full(run.dimension, mean.stddev**2)
    weight, block = np.ones_like(variance), expected.largest(schedule.block)
    weight[slice(None) if block is None else block] = schedule.weights[0]  # of the core's mean in the answer (P21)
    known = Knowledge.of(Output(mean.value, variance, weight))
    known, ball, bias = run_schedule(setting, known, schedule, expected, _level(run, size, core.branch.mu))
    public |= {"stages": len(schedule.step_mus), "block": schedule.block}
    if not schedule.step_mus or schedule.block < run.dimension:
        # the core's own mean, of the records that it read
        public |= {"averaged_at_least": size.sample_size_lower_bound}
    return run.answer_known(known, size, ball, bias, session.costs(), public)


def refuse_known(run: Run) -> Release | None:
    """Refuse by the public number of records alone (replace-one), at no cost."""
    calibration = calibrate_known(run)
    size = read_public_size(run, calibration)
    refused = _schedule(run, calibration, size) is None
    return run.refuse(TOO_FEW, "stable", run.no_costs(), count=size.count) if refused else None


def calibrate_known(run: Run) -> Calibration:
    """Calibrate the branches of a known covariance."""
    return calibrate_run(run, SCALE_SEARCH_SHARE if run.learn_scale else 0.0)


def _schedule(run: Run, calibration: Calibration, size: Size) -> Schedule | None:
    """Choose the core and the refinement steps, in units of the known covariance. Public."""
    branches: Sequence[Tested] = calibration.tested
    if run.learn_scale:
        branches = keep_likely_searches(branches, size, len(FACTORS) - 1, lambda branch: branch.search_mu)
    choices = choose_stable_cores(branches, size, run.failure, run.model)
    if not choices:
        return None
    size, mu = size.after_pass(min(choices, key=lambda choice: choice.needs)), max(each.branch.mu for each in choices)
    few_for_blocks = BLOCK_THRESHOLD * math.sqrt(run.dimension) / run.budget.epsilon
    return choose_schedule(
        choices,
        run.spectrum,
        max(size.count, 1.0),
        _level(run, size, calibration.tested[0].mu),
        run.relation,
        blocks=isinstance(run.table.shape, DiagonalCovariance) and size.count < few_for_blocks,
        # Lengths are released unless the model is exact.
        with_lengths=(run.learn_scale or run.model.factor > 1) and not has_few_records(size.count, mu, run.relation),
        early=choose_pilot_rate(size, mu**2, run.dimension),
    )


def _level(run: Run, size: Size, mu: float) -> float:
    """Choose the share of records that a refinement step leaves unclipped."""
    return choose_clip_level(size.count, run.budget.epsilon, Moments.of(run.spectrum).effective_rank, mu**2)
