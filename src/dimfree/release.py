"""The hall: one screen per estimator, one call per step of the mathematics.

Letters: n̂ = released number of records, T = stability statistic, W = total weight, C = kept records.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dimfree._validate import check_choice, check_probability, check_share
from dimfree.accounting.calibrate import (
    calibrate_bounded,
    calibrate_filtered,
    calibrate_private_count,
    calibrate_public_count,
)
from dimfree.accounting.events import Bounded, Gaussian, Ledger, Tested
from dimfree.budget import Budget, Neighbours
from dimfree.core import basic, soft, stable
from dimfree.core.friends import friend_counts
from dimfree.errors import InvalidParameter
from dimfree.grid import RADIUS, IntegerRecords, on_grid
from dimfree.mechanisms import Measured
from dimfree.mechanisms.bit import passes
from dimfree.mechanisms.count import noisy_count, noisy_total
from dimfree.mechanisms.gaussian import noisy_mean
from dimfree.noise import Noise, SystemNoise
from dimfree.records import Records, open_records
from dimfree.result import Guarantee, Release
from dimfree.shape import Shape, as_shape
from dimfree.tuning import BoundedChoice, HonestModel, StableChoice, choose_core, choose_stable, default_bounded

Integers = NDArray[np.int64]

CORES = ("auto", "stable", "soft", "basic")
TAILS = ("heavy", "gaussian")
TOO_FEW = "The number of records is too small for this budget; more records or a larger epsilon would be needed."
UNSTABLE = "The stability test did not pass: records too few, too far apart for the given covariance, or bad luck."
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
    `on_invalid` "raise" stops at a non-finite entry, which tells the caller about the data and is not covered by the
    guarantee; "neutral" counts such a row and gives it no weight. `noise` is for tests; leave it None to be private.
    """
    budget, relation = Budget(epsilon, delta), Neighbours.parse(neighbours)
    check_choice("core", core, CORES)
    check_choice("tails", tails, TAILS)
    check_probability("failure_probability", failure_probability)
    check_share("outliers", outliers, below=0.3)
    if relation is Neighbours.REPLACE_ONE and core in ("soft", "basic"):
        raise InvalidParameter(f"core={core!r} is proved for neighbours='add-remove' only; use 'stable' or 'auto'.")
    records = open_records(X, on_invalid=on_invalid)
    known = as_shape(covariance, shape, records.dimension)
    model = HonestModel.of(known.spectrum(records.dimension), outliers, tails)
    run = _Run(records, known, model, budget, relation, failure_probability, noise or SystemNoise())
    return _ESTIMATORS[core](run)


@dataclass(frozen=True, repr=False)
class _Run:
    """What one release works on, and how its outcome is written down."""

    records: Records
    shape: Shape
    model: HonestModel
    budget: Budget
    relation: Neighbours
    failure: float
    noise: Noise

    def refused(self, reason: str, method: str, ledger: Ledger, **public: float | str) -> Release:
        return Release.refused_because(reason, **self._common(method, ledger, public))

    def released(self, mean: Measured[NDArray[np.float64]], method: str, ledger: Ledger, **public: float) -> Release:
        dimension = self.records.dimension
        stddev = mean.event.stddev * mean.event.step * np.sqrt(self.shape.root_diagonal(dimension))
        restored = self.shape.restore(mean.value)
        return Release.released(mean=restored, noise_stddev=stddev, **self._common(method, ledger, public))

    def ledger(self, before: tuple[Gaussian, ...], menu: tuple[Tested | Bounded, ...], **rest: Any) -> Ledger:
        return Ledger(self.budget, self.relation, before, menu, **rest)

    def _common(self, method: str, ledger: Ledger, public: dict[str, Any]) -> dict[str, Any]:
        promise = Guarantee(self.budget.epsilon, self.budget.delta, self.relation, self.noise.private)
        dimension, columns = self.records.dimension, self.records.columns
        return {
            "guarantee": promise,
            "ledger": ledger,
            "method": method,
            "dimension": dimension,
            "columns": columns,
            "parameters": public,
        }


def _private_count(run: _Run, *, bounded: bool) -> Release:
    """Add/remove: release n̂, let it choose a core from the public menu, run that core (P5', P9)."""
    plan = calibrate_private_count(run.budget, run.failure / 2, bounded=bounded)
    counted = noisy_count(run.records.count, plan.count_stddev, noise=run.noise)  # P5'
    choice = choose_core(plan, counted.value, run.failure, run.model)
    ledger = run.ledger((counted.event,), plan.menu)
    if choice is None:
        return run.refused(TOO_FEW, "stable", ledger, count=counted.value)
    if isinstance(choice, BoundedChoice):
        return _soft_mean(run, choice, ledger, count=counted.value)
    return _stable_mean(run, choice, ledger, count=counted.value)


def _public_count(run: _Run) -> Release:
    """Replace-one: n is public and chooses the branch before any value is looked at (P6)."""
    menu = calibrate_public_count(run.budget, run.failure / 2)
    choice = choose_stable(menu, run.records.count, None, run.failure, run.model)
    if choice is None:
        return run.refused(TOO_FEW, "stable", run.ledger((), ()), count=run.records.count)
    return _stable_mean(run, choice, run.ledger((), (choice.branch,)), count=run.records.count)


def _stable_mean(run: _Run, choice: StableChoice, ledger: Ledger, **public: float) -> Release:
    """Friend counts, the bit, the weighted mean (P4, P5, P6)."""
    public |= {"radius": choice.radius, "full_share": float(choice.full_share), "stability_budget": choice.budget}
    integers = on_grid(run.records, run.shape, choice.radius)
    counts = _all_counts(integers)
    statistic = stable.stability(counts, choice.full_share, choice.budget)  # P4
    if choice.floor is not None:
        statistic = stable.capped_by_count(statistic, integers.count, choice.floor)  # P5'
    if not passes(statistic, choice.branch.ladder, noise=run.noise):  # P6
        return run.refused(UNSTABLE, "stable", ledger, **public)
    start = stable.start_share(integers.count, run.relation)
    weights = stable.weights(counts, start, choice.full_share)
    moves = choice.sensitivity * RADIUS  # P5
    mean = _noisy_mean(run, integers, weights, moves, choice.branch.mu, choice.radius)
    return run.released(mean, "stable", replace(ledger, after=(mean.event,)), **public)


def _soft(run: _Run) -> Release:
    """The soft core by itself (P3)."""
    branch = calibrate_bounded(run.budget)
    return _soft_mean(run, default_bounded(branch, run.model), run.ledger((), (branch,)))


def _soft_mean(run: _Run, choice: BoundedChoice, ledger: Ledger, **public: float) -> Release:
    """Weights without a test, behind a noisy lower bound on their total (P2, P3)."""
    integers = on_grid(run.records, run.shape, choice.radius)
    weights = soft.soft_weights(_all_counts(integers))
    total = noisy_total(
        soft.total_weight(weights), soft.TOTAL_SENSITIVITY, choice.bound_mu, "total weight", noise=run.noise
    )
    return _bounded_mean(run, "soft", choice, integers, weights, total, soft.MEAN_SENSITIVITY, ledger, public)


def _basic(run: _Run) -> Release:
    """The paper's Algorithm 1 with exact accounting (P1)."""
    branch = calibrate_filtered(run.budget)
    choice = default_bounded(branch, run.model)
    integers = on_grid(run.records, run.shape, choice.radius)
    kept = basic.keep(_all_counts(integers), run.noise)  # Alg 1, l.2–3
    total = noisy_total(
        Fraction(int(kept.sum())), basic.COUNT_SENSITIVITY, choice.bound_mu, "number kept", noise=run.noise
    )  # Alg 1, l.4
    ledger = run.ledger((), (branch,), filtered=True)
    return _bounded_mean(run, "basic", choice, integers, kept, total, basic.MEAN_SENSITIVITY, ledger, {})


def _bounded_mean(
    run: _Run,
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
    lowest = total.value - choice.distance * total.event.stddev * total.event.step
    public = public | {"radius": choice.radius, "weight_lower_bound": lowest}
    if lowest <= soft.SMALLEST_TOTAL:  # Alg 1, l.5; P3
        return run.refused(LOW_WEIGHT, method, replace(ledger, after=(total.event,)), **public)
    mean = _noisy_mean(run, integers, weights, moves / lowest * RADIUS, choice.mean_mu, choice.radius)
    return run.released(mean, method, replace(ledger, after=(total.event, mean.event)), **public)


def _all_counts(integers: IntegerRecords) -> Integers:
    """Friend counts of every record: valid ones first, then invalid ones, each a friend of itself only."""
    return np.concatenate([friend_counts(integers.values), np.ones(integers.invalid, dtype=np.int64)])


def _noisy_mean(
    run: _Run, integers: IntegerRecords, weights: Integers, moves: float, mu: float, radius: float
) -> Measured[NDArray[np.float64]]:
    weights = weights[: len(integers.values)]  # an invalid record adds nothing, whatever its weight
    return noisy_mean(integers.values, weights, moves, mu, radius / RADIUS, noise=run.noise)


def _auto(run: _Run) -> Release:
    return _public_count(run) if run.relation is Neighbours.REPLACE_ONE else _private_count(run, bounded=True)


def _stable(run: _Run) -> Release:
    return _public_count(run) if run.relation is Neighbours.REPLACE_ONE else _private_count(run, bounded=False)


_ESTIMATORS: dict[str, Callable[[_Run], Release]] = {
    "auto": _auto,
    "stable": _stable,
    "soft": _soft,
    "basic": _basic,
}
