"""The hall: one screen per estimator, one call per step of the mathematics.

Letters: n̂ = released number of records, T = stability statistic, W = total weight, C = kept records.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dimfree._validate import check_at_least, check_choice, check_magnitude, check_probability, check_share, check_whole
from dimfree.accounting.calibrate import (
    Calibration,
    calibrate_bounded,
    calibrate_filtered,
    calibrate_private_count,
    calibrate_public_count,
)
from dimfree.accounting.events import Branch, Gaussian, Ledger
from dimfree.budget import SMALLEST_DELTA, SMALLEST_EPSILON, Budget, Neighbours
from dimfree.core import basic, soft, stable
from dimfree.core.friends import all_counts
from dimfree.errors import InvalidParameter
from dimfree.grid import RADIUS, IntegerRecords, on_grid
from dimfree.mechanisms import Measured
from dimfree.mechanisms.bit import passes
from dimfree.mechanisms.count import noisy_count, noisy_total
from dimfree.mechanisms.gaussian import noisy_mean
from dimfree.noise import Noise, SystemNoise
from dimfree.records import ON_INVALID, as_records, require_valid
from dimfree.result import Release
from dimfree.run import Run
from dimfree.sample import fixed_sample, poisson_sample
from dimfree.scale import learn_scale, learnable
from dimfree.schedule import Moments, Schedule, best_schedule, clip_level
from dimfree.shape import Diagonal, Shape, as_shape
from dimfree.space import Mask, Space
from dimfree.stages import Clipping, Honest, Knowledge, Output, StageSetting, recentre, unsearched
from dimfree.tuning import (
    BoundedChoice,
    HonestModel,
    Size,
    choose_soft,
    core_sample_suffices,
    default_bounded,
    default_core_sample,
    stable_choices,
)

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

CORES = ("auto", "stable", "soft", "basic")
TAILS = ("heavy", "gaussian")
MOST_STAGES = 20
CAUTION = 0.7  # of failure_probability is shared out; the rest is for what the public models of honest data miss
SCALES = ("known", "learn")
SEARCH_SHARE = 0.05  # of the precision, for an unknown scale
BLOCK_RULE = 30.0  # with fewer than this times sqrt(d)/epsilon records, recentring only a block may pay (P8)
TOO_FEW = "The number of records is too small for this budget; more records or a larger epsilon would be needed."
UNSTABLE = "The stability test did not pass: records too few, too far apart for the given covariance, or bad luck."
NO_SCALE = "The scale of the records was not found within the public window around the given covariance."
LOW_WEIGHT = "Too few records agree with each other at the given covariance and budget."


def release_mean(
    X: object,
    *,
    epsilon: float,
    delta: float,
    covariance: ArrayLike | None = None,
    shape: Shape | None = None,
    neighbours: str | Neighbours = "add-remove",
    core: str = "auto",
    failure_probability: float = 0.01,
    on_invalid: str = "raise",
    outliers: float = 0.03,
    tails: str = "heavy",
    scale: str = "known",
    stages: int | str = "auto",
    core_sample: int | str = "auto",
    noise: Noise | None = None,
) -> Release:
    """Release the mean of the rows of X with (epsilon, delta)-differential privacy in total.

    Guarantee: for neighbouring X the releases, refusals included, are (epsilon, delta)-indistinguishable, with the
    default noise and on_invalid="neutral" (or "raise" where no row is invalid). Proof: proofs/README.md.

    Parameters: `covariance` (d,) variances or (d, d), or a `shape`; public knowledge, never computed from X.
    `neighbours` "add-remove" protects the number of records too, "replace-one" takes it as public.
    `core` "auto" takes the one with the least predicted noise. `failure_probability` bounds the chance of a refusal on
    honest data. `outliers` is the share of arbitrary records tolerated (costs accuracy: more unstable records must be
    allowed for); `tails` "heavy" widens the friend radius by half over the Gaussian optimum, "gaussian" does not.
    `scale` "learn" takes the covariance as known up to one unknown factor. `stages` is the number of recentring stages
    at most; 0 is the core alone. The quadratic core looks at about `core_sample` records; the stages see all.
    `on_invalid` "raise" stops at a non-finite entry, which tells the caller about the data and is not covered by the
    guarantee; "neutral" counts such a row and gives it no weight. `noise` is for tests; leave it None to be private.
    """
    budget, relation = Budget(epsilon, delta), Neighbours.parse(neighbours)
    check_at_least("epsilon", budget.epsilon, SMALLEST_EPSILON)
    check_at_least("delta", budget.delta, SMALLEST_DELTA)
    check_choice("core", core, CORES)
    check_choice("tails", tails, TAILS)
    check_probability("failure_probability", failure_probability)
    check_share("outliers", outliers, below=0.3)
    check_choice("scale", scale, SCALES)
    most_stages = None if stages == "auto" else check_whole("stages", stages, least=0, most=MOST_STAGES)
    sample = None if core_sample == "auto" else check_whole("core_sample", core_sample, least=1)
    if (scale == "learn" or most_stages) and core in ("soft", "basic"):
        raise InvalidParameter(f"core={core!r} stands alone: leave stages='auto' and scale='known', or use 'stable'.")
    if relation is Neighbours.REPLACE_ONE and core in ("soft", "basic"):
        raise InvalidParameter(f"core={core!r} is proved for neighbours='add-remove' only; use 'stable' or 'auto'.")
    check_choice("on_invalid", on_invalid, ON_INVALID)
    records = as_records(X)
    known = as_shape(covariance, shape, records.dimension)
    spectrum = check_magnitude("covariance", known.spectrum(records.dimension))
    run = Run(
        Space(records, known),
        HonestModel.of(spectrum, outliers, tails),
        spectrum,
        budget,
        relation,
        CAUTION * failure_probability,
        scale == "learn",
        most_stages,
        sample,
        noise or SystemNoise(),
    )
    if relation is Neighbours.REPLACE_ONE and (refusal := _public_refusal(run)):
        return refusal  # before any value is looked at
    require_valid(records, on_invalid)
    return _ESTIMATORS[core](run)


def _stable(run: Run, *, bounded: bool = False) -> Release:
    """n̂, the public choice, the unknown scale if any, then core and stages (P5', P6, P8, P9)."""
    menu = _calibrated(run, bounded=bounded)
    size, before = _released_size(run, menu)
    schedule = _schedule(run, size, menu)
    gentle = choose_soft(menu.bounded, size.count, run.model) if menu.bounded else None
    if gentle and (schedule is None or gentle.noise**2 * run.spectrum.sum() < schedule.error):
        return _soft_mean(run, gentle, run.ledger(before, menu.menu, chosen=len(menu.tested)), count=size.count)
    if schedule is None:
        return run.refused(TOO_FEW, "stable", run.ledger(before, menu.menu), count=size.count)
    menu_used, chosen = _charged(run, menu, schedule)
    sampled = _core_sample(run, size)
    factor = 1.0
    if run.learn_scale:
        learned = learn_scale(run.space, sampled, run.model.radii, menu.search_mu, run.relation, noise=run.noise)
        before, factor = (*before, *learned.events), learned.factor
        if not learned.found:
            return run.refused(NO_SCALE, "stable", run.ledger(before, menu_used), count=size.count)
    ledger = run.ledger(before, menu_used, chosen=chosen)
    return _recentred(run, schedule, size, factor, sampled, ledger)


def _calibrated(run: Run, *, bounded: bool) -> Calibration:
    """The menu of branches that the budget allows. Public, like the check of the core's sample size."""
    share = SEARCH_SHARE if run.learn_scale else 0.0
    if run.relation is Neighbours.REPLACE_ONE:
        menu = calibrate_public_count(run.budget, run.failure / 2, search_share=share)
    else:
        menu = calibrate_private_count(run.budget, run.failure / 2, bounded=bounded, search_share=share)
    if run.core_sample and not core_sample_suffices(run.core_sample, menu, run.failure, run.model.outliers):
        raise InvalidParameter(
            f"Expected core_sample={run.core_sample!r} to be large enough for the stability test at this budget; "
            "use a larger core_sample or a larger epsilon."
        )
    return menu


def _released_size(run: Run, menu: Calibration) -> tuple[Size, tuple[Gaussian, ...]]:
    """What is public about the number of records, and what that has cost."""
    sample = run.core_sample or default_core_sample(menu)
    if menu.count_stddev is None:
        return Size(run.records.count, None, sample), ()
    counted = noisy_count(run.records.count, menu.count_stddev, noise=run.noise)  # P5'
    return Size(counted.value, menu.count_stddev, sample), (counted.event,)


def _public_refusal(run: Run) -> Release | None:
    """Replace-one: the refusal that the public number of records alone decides, at no cost."""
    menu = _calibrated(run, bounded=False)
    size, _ = _released_size(run, menu)
    refused = _schedule(run, size, menu) is None
    return run.refused(TOO_FEW, "stable", run.ledger((), ()), count=size.count) if refused else None


def _schedule(run: Run, size: Size, menu: Calibration) -> Schedule | None:
    """The public optimiser's choice for the core and the stages, in units of the shape's own scale."""
    if run.learn_scale and not learnable(size.count * size.rate, menu.search_mu, run.relation):
        return None
    root_d = math.sqrt(run.space.dimension)
    return best_schedule(
        stable_choices(menu.tested, size, run.failure, run.model),
        run.spectrum,
        max(size.count, 1.0),
        _level(run, size, menu.tested[0].mu if menu.tested else 1.0),
        run.relation,
        blocks=isinstance(run.space.shape, Diagonal) and size.count < BLOCK_RULE * root_d / run.budget.epsilon,
        most_stages=run.most_stages,
        searched=run.searches,
    )


def _level(run: Run, size: Size, mu: float) -> float:
    return clip_level(size.count, run.budget.epsilon, Moments.of(run.spectrum).effective_rank, mu**2)


def _charged(run: Run, menu: Calibration, schedule: Schedule) -> tuple[tuple[Branch, ...], int]:
    """Add/remove: n̂ chose, so the whole menu is charged (P9). Replace-one: a public number chose; one branch is."""
    if run.relation is Neighbours.REPLACE_ONE:
        return (schedule.branch,), 0
    return menu.menu, menu.menu.index(schedule.branch)


def _core_sample(run: Run, size: Size) -> Mask | None:
    """The records that the quadratic core looks at; None: all (P8)."""
    if size.rate >= 1:
        return None
    if run.relation is Neighbours.REPLACE_ONE:
        return fixed_sample(run.records.count, size.core_sample, run.noise)
    return poisson_sample(run.records.count, size.rate, run.noise)


def _recentred(
    run: Run, schedule: Schedule, size: Size, factor: float, sampled: Mask | None, ledger: Ledger
) -> Release:
    """The stable core behind its bit, then recentring stages, all outputs combined (P4, P5, P6, P8)."""
    core, radius = schedule.core, schedule.core.radius * factor
    public = size.public | {"radius": radius, "full_share": float(core.full_share), "scale": factor}
    method = "recentred" if schedule.stage_mus else "stable"
    integers = on_grid(run.space, radius, sampled)
    counts = all_counts(integers)
    statistic = stable.stability(counts, core.full_share, core.budget)  # P4
    if core.floor is not None:
        statistic = stable.capped_by_count(statistic, integers.count, core.floor)  # P5'
    if not passes(statistic, core.branch.ladder, noise=run.noise):  # P6
        return run.refused(UNSTABLE, method, ledger, **public)
    weights = stable.weights(counts, stable.start_share(integers.count, run.relation), core.full_share)
    mean = _noisy_mean(run, integers, weights, core.sensitivity * RADIUS, schedule.core_mu, radius)  # P5
    known = Knowledge()
    known.add(_core_output(run, mean, factor), mean.event)
    recentre(  # P8
        StageSetting(run.space, size.count, run.relation, run.noise),
        known,
        schedule,
        Honest(run.spectrum * factor**2, run.coordinate_variances * factor**2, run.searches, 2 * radius),
        _level(run, size, schedule.branch.mu),
    )
    public |= {"stages": len(schedule.stage_mus), "block": schedule.block}
    return run.released(known, method, replace(ledger, after=tuple(known.events)), **public)


def _core_output(run: Run, mean: Measured[Floats], factor: float) -> Output:
    variance = np.full(run.space.dimension, (mean.event.stddev * mean.event.step) ** 2)
    clipping = unsearched(run.coordinate_variances * factor**2) if run.searches else Clipping()
    return Output(mean.value, variance, clipping.bias)


def _soft(run: Run) -> Release:
    """The soft core by itself (P3)."""
    branch = calibrate_bounded(run.budget)
    return _soft_mean(run, default_bounded(branch, run.model), run.ledger((), (branch,), chosen=0))


def _soft_mean(run: Run, choice: BoundedChoice, ledger: Ledger, **public: float) -> Release:
    """Weights without a test, behind a noisy lower bound on their total (P2, P3)."""
    integers = on_grid(run.space, choice.radius)
    weights = soft.soft_weights(all_counts(integers))
    total = noisy_total(
        soft.total_weight(weights), soft.TOTAL_SENSITIVITY, choice.bound_mu, "total weight", noise=run.noise
    )
    return _bounded_mean(run, "soft", choice, integers, weights, total, soft.MEAN_SENSITIVITY, ledger, public)


def _basic(run: Run) -> Release:
    """The paper's Algorithm 1 with exact accounting (P1)."""
    branch = calibrate_filtered(run.budget)
    choice = default_bounded(branch, run.model)
    integers = on_grid(run.space, choice.radius)
    kept = basic.keep(all_counts(integers), run.noise)  # Alg 1, l.2–3
    total = noisy_total(
        Fraction(int(kept.sum())), basic.COUNT_SENSITIVITY, choice.bound_mu, "number kept", noise=run.noise
    )  # Alg 1, l.4
    ledger = run.ledger((), (branch,), chosen=0, filtered=True)
    return _bounded_mean(run, "basic", choice, integers, kept, total, basic.MEAN_SENSITIVITY, ledger, {})


def _bounded_mean(
    run: Run,
    method: str,
    choice: BoundedChoice,
    integers: IntegerRecords,
    weights: Integers,
    total: Measured[float],
    moves: float,
    ledger: Ledger,
    public: dict[str, float],
) -> Release:
    """A mean whose noise rests on a released lower bound of the total weight; refuses where the bound is too low."""
    lowest = total.value - (choice.distance * total.event.stddev + 1) * total.event.step
    public = public | {"radius": choice.radius, "weight_lower_bound": lowest}
    if lowest <= soft.SMALLEST_TOTAL:  # Alg 1, l.5; P3
        return run.refused(LOW_WEIGHT, method, replace(ledger, after=(total.event,)), **public)
    mean = _noisy_mean(run, integers, weights, moves / lowest * RADIUS, choice.mean_mu, choice.radius)
    known = Knowledge(events=[total.event])
    known.add(Output(mean.value, np.full(run.space.dimension, (mean.event.stddev * mean.event.step) ** 2)), mean.event)
    return run.released(known, method, replace(ledger, after=tuple(known.events)), **public)


def _noisy_mean(
    run: Run, integers: IntegerRecords, weights: Integers, moves: float, mu: float, radius: float
) -> Measured[NDArray[np.float64]]:
    weights = weights[: len(integers.values)]  # an invalid record adds nothing, whatever its weight
    return noisy_mean(integers.values, weights, moves, mu, radius / RADIUS, noise=run.noise)


def _auto(run: Run) -> Release:
    alone = run.relation is Neighbours.ADD_REMOVE and not run.learn_scale
    return _stable(run, bounded=alone)


_ESTIMATORS: dict[str, Callable[[Run], Release]] = {
    "auto": _auto,
    "stable": _stable,
    "soft": _soft,
    "basic": _basic,
}
