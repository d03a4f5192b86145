"""Cores without a test: soft weights, or the paper's coins. The noise is set by a released lower bound (P1, P2, P3).

Letters: W = total weight, C = kept records.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from dimfree._types import Integers
from dimfree.accounting.calibrate import calibrate_bounded, calibrate_filtered
from dimfree.accounting.events import Costs
from dimfree.core import basic, soft
from dimfree.core.friends import all_counts
from dimfree.estimators.choose.core import BoundedChoice, default_bounded
from dimfree.estimators.learn.knowledge import Knowledge, Output
from dimfree.estimators.opening import weighted_mean
from dimfree.estimators.run import LOW_WEIGHT, Run
from dimfree.geometry.grid import RADIUS, IntegerRecords, on_grid
from dimfree.mechanisms import Measured
from dimfree.mechanisms.count import noisy_total
from dimfree.results.release import Release


def release_soft(run: Run) -> Release:
    """The soft core by itself (P3)."""
    branch = calibrate_bounded(run.budget)
    return soft_mean(run, default_bounded(branch, run.model), run.ledger((), (branch,), chosen=0))


def soft_mean(run: Run, choice: BoundedChoice, ledger: Costs, capacity: int = 0, **public: float) -> Release:
    """Soft weights and a noisy lower bound on their total (P2, P3); `capacity` as in `on_grid`."""
    integers = on_grid(run.space, choice.radius, capacity=capacity)
    weights = soft.soft_weights(all_counts(integers))
    total = noisy_total(
        soft.total_weight(weights), soft.TOTAL_SENSITIVITY, choice.bound_mu, "total weight", noise=run.noise
    )
    return _bounded_mean(run, "soft", choice, integers, weights, total, soft.MEAN_SENSITIVITY, ledger, public)


def release_basic(run: Run) -> Release:
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
    ledger: Costs,
    public: dict[str, float],
) -> Release:
    """A mean whose noise is set by a released lower bound of the total weight; refused where the bound is too low."""
    lowest = total.value - (choice.distance * total.event.stddev + 1) * total.event.step
    public = public | {"radius": choice.radius, "weight_lower_bound": lowest}
    if lowest <= soft.SMALLEST_TOTAL:  # Alg 1, l.5; P3
        return run.refused(LOW_WEIGHT, method, replace(ledger, after=(total.event,)), **public)
    mean = weighted_mean(run, integers, weights, moves / lowest * RADIUS, choice.mean_mu, choice.radius)
    variance = np.full(run.space.dimension, (mean.event.stddev * mean.event.step) ** 2)
    known = Knowledge.of(Output(mean.value, variance, weight=1.0), total.event, mean.event)
    return run.released(known, method, replace(ledger, after=known.events), public)
