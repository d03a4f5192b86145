"""Known covariance: the stable core behind its bit, then recentring stages (P5', P6, P8, P9).

Letters: n̂ = released number of records.
"""

import math
from dataclasses import replace

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.events import Costs
from dimfree.data.blocks import Mask
from dimfree.estimators.choose.core import BoundedChoice, Size, choose_soft, stable_choices
from dimfree.estimators.choose.stages import Moments, Schedule, best_schedule, clip_level
from dimfree.estimators.learn.scale import learn_scale, learnable, pair_distances
from dimfree.estimators.learn.stages import Clipping, Honest, Knowledge, Output, StageSetting, recentre, unsearched
from dimfree.estimators.opening import calibrated, charged, core_mean, core_sample, released_size
from dimfree.estimators.run import NO_SCALE, TOO_FEW, UNSTABLE, Run
from dimfree.estimators.without_test import soft_mean
from dimfree.geometry.shape import Diagonal
from dimfree.mechanisms import Measured
from dimfree.results.release import Release

SEARCH_SHARE = 0.05  # of the precision, for an unknown scale
BLOCK_RULE = 30.0  # with fewer than this times sqrt(d)/epsilon records, recentring only a block may pay (P8)


def release_known(run: Run, *, bounded: bool = False) -> Release:
    """n̂, the public choice, the unknown scale if any, then core and stages (P5', P6, P8, P9)."""
    menu = calibrated(run, _search_share(run), bounded=bounded)
    size, before = released_size(run, menu)
    schedule = choose_known(run, menu, size)
    if isinstance(schedule, BoundedChoice):
        ledger = run.ledger(before, menu.menu, chosen=len(menu.tested))
        return soft_mean(run, schedule, ledger, size.capacity(1.0), count=size.count)
    if schedule is None:
        return run.refused(TOO_FEW, "stable", run.ledger(before, menu.menu), count=size.count)
    menu_used, chosen = charged(run, menu, schedule.branch)
    ledger, factor = run.ledger(before, menu_used, chosen=chosen), 1.0
    sampled = core_sample(run, size)
    if run.learn_scale:
        search_mu = schedule.branch.search_mu
        pairs = pair_distances(run.space, sampled, size.capacity(size.rate))
        learned = learn_scale(pairs, run.model.radii, search_mu, run.relation, noise=run.noise)
        del pairs  # before the core needs its place
        ledger, factor = replace(ledger, searches=learned.events), learned.factor
        if not learned.found:
            return run.refused(NO_SCALE, "stable", ledger, count=size.count)
    return _recentred(run, schedule, size, factor, sampled, ledger)


def refuse_known(run: Run) -> Release | None:
    """Replace-one: the refusal that the public number of records alone decides, at no cost."""
    menu = calibrated(run, _search_share(run))
    size, _ = released_size(run, menu)
    refused = choose_schedule(run, menu, size) is None
    return run.refused(TOO_FEW, "stable", run.ledger((), ()), count=size.count) if refused else None


def choose_known(run: Run, menu: Calibration, size: Size) -> Schedule | BoundedChoice | None:
    """Stable core and stages, or the soft core where the menu has it and it promises less noise; None: a refusal."""
    schedule = choose_schedule(run, menu, size)
    gentle = choose_soft(menu.bounded, size.count, run.model) if menu.bounded else None
    if gentle and (schedule is None or gentle.noise**2 * run.spectrum.sum() < schedule.error):
        return gentle
    return schedule


def choose_schedule(run: Run, menu: Calibration, size: Size) -> Schedule | None:
    """The public optimiser's choice for the core and the stages, in units of the shape's own scale."""
    branches = menu.tested
    if run.learn_scale:
        branches = tuple(b for b in branches if learnable(size.count * size.rate, b.search_mu, run.relation))
    root_d = math.sqrt(run.space.dimension)
    return best_schedule(
        stable_choices(branches, size, run.failure, run.model),
        run.spectrum,
        max(size.count, 1.0),
        level_of(run, size, menu.tested[0].mu if menu.tested else 1.0),
        run.relation,
        blocks=isinstance(run.space.shape, Diagonal) and size.count < BLOCK_RULE * root_d / run.budget.epsilon,
        most_stages=run.most_stages,
        searched=run.searches,
    )


def level_of(run: Run, size: Size, mu: float) -> float:
    """The share of honest records that a stage leaves unclipped."""
    return clip_level(size.count, run.budget.epsilon, Moments.of(run.spectrum).effective_rank, mu**2)


def _recentred(run: Run, schedule: Schedule, size: Size, factor: float, sampled: Mask | None, ledger: Costs) -> Release:
    """The stable core behind its bit, then recentring stages, all outputs combined (P4, P5, P6, P8)."""
    core, radius = schedule.core, schedule.core.radius * factor
    public = size.public | {"radius": radius, "full_share": float(core.full_share), "scale": factor}
    method = "recentred" if schedule.stage_mus else "stable"
    mean = core_mean(run, core, radius, schedule.core_mu, sampled, size.capacity(size.rate))
    if mean is None:
        return run.refused(UNSTABLE, method, ledger, **public)
    known = Knowledge()
    known.add(_core_output(run, mean, factor), mean.event)
    recentre(  # P8
        StageSetting(run.space, size.count, run.relation, run.noise),
        known,
        schedule,
        Honest(run.spectrum * factor**2, run.coordinate_variances * factor**2, run.searches, 2 * radius),
        level_of(run, size, schedule.branch.mu),
    )
    public |= {"stages": len(schedule.stage_mus), "block": schedule.block}
    if not schedule.stage_mus or schedule.block < run.space.dimension:
        public |= {"averaged_at_least": size.looked_at_least}  # the core's own mean, of the records it looked at
    return run.released(known, method, replace(ledger, after=tuple(known.events)), public)


def _core_output(run: Run, mean: Measured[Floats], factor: float) -> Output:
    variance = np.full(run.space.dimension, (mean.event.stddev * mean.event.step) ** 2)
    clipping = unsearched(run.coordinate_variances * factor**2) if run.searches else Clipping()
    return Output(mean.value, variance, clipping.bias)


def _search_share(run: Run) -> float:
    return SEARCH_SHARE if run.learn_scale else 0.0


def release_cheapest(run: Run) -> Release:
    """The stable or the soft core, whichever promises less noise at the released count."""
    return release_known(run, bounded=run.relation is Neighbours.ADD_REMOVE and not run.learn_scale)
