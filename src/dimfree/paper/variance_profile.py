"""Is this an easy instance? A private histogram of the coordinates' variances, as a release of its own.

Noise that follows the shape costs Σσ_i, spherical noise sqrt(d·Σσ_i²): how much there is to gain, and how many
coordinates would have to be learned for it, is given by how many variances lie in each [4^b, 4^{b+1}).
Every private step is Gaussian and all of them share one precision. Proof: proofs/paper/variance_profile.md.
Letters: d = coordinates, m = groups, V = a group's estimates, t_1 > … > t_J thresholds, N_j = #{i : V_i >= t_j}.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_at_least, check_choice
from dimfree.accounting.budget import SMALLEST_DELTA, SMALLEST_EPSILON, Budget, Neighbours, warn_of_weak_guarantee
from dimfree.accounting.discrete import idealised
from dimfree.accounting.events import SEARCH_STEPS, Costs, Gaussian, branches_profile
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.precision import largest_mu
from dimfree.accounting.profile import total_delta
from dimfree.data.records import BY_ROW, Records, as_records, require_valid
from dimfree.errors import memory_unspoken
from dimfree.noise import Noise, opened
from dimfree.paper.charged import Measured
from dimfree.paper.group_means import noisy_group_means
from dimfree.paper.group_variances import GroupVariances, group_sums, group_variances
from dimfree.paper.grouping import full_groups, slots
from dimfree.paper.noisy import noisy_count, noisy_search, queries
from dimfree.paper.profile_result import VarianceProfile
from dimfree.programs.choose.constants import (
    COARSEST_PROFILE,
    COMPLETE_GROUPS,
    GROUP,
    PROFILE_COUNT_SHARE,
    PROFILE_SEARCH_SHARE,
)

EDGES = np.ldexp(1.0, 2 * np.arange(-200, 201))  # where the total variance is looked for
TOO_FEW = "The number of records is too small for this budget; more records or a larger epsilon would be needed."
NO_SCALE = "The records do not vary, or vary on a scale outside the range that is looked at."
INCOMPLETE = "Too few groups of records are complete: many records are invalid."


@dataclass(frozen=True)
class _Plan:
    """Public: the precision of every step, and the thresholds' number."""

    count_mu: float
    search_mu: float
    means_mu: float
    thresholds: int  # J: down to a variance too small to matter, even times d

    @classmethod
    def of(cls, budget: Budget, relation: Neighbours, dimension: int) -> "_Plan":
        mu = _whole_mu(budget)
        counted = PROFILE_COUNT_SHARE if relation is Neighbours.ADD_REMOVE else 0.0
        return cls(
            count_mu=math.sqrt(counted) * mu,
            search_mu=math.sqrt(PROFILE_SEARCH_SHARE) * mu,
            means_mu=math.sqrt(1 - counted - PROFILE_SEARCH_SHARE) * mu,
            thresholds=math.ceil(math.log2(dimension)) + 3,
        )

    def log_stddev(self, dimension: int, groups: float) -> float:
        """Of the released mean of log2(1 + N_j) over so many complete groups."""
        most = math.log2(1 + dimension) * math.sqrt(self.thresholds)
        return most / self.means_mu / groups if groups else math.inf

    def suffices(self, dimension: int, groups: int) -> bool:
        search = math.sqrt(queries(len(EDGES) - 1)) / self.search_mu
        return 10 * search <= groups and self.log_stddev(dimension, groups) <= COARSEST_PROFILE


def _whole_mu(budget: Budget) -> float:
    """The precision of all steps together: the best Gaussian's, less what the chord bound of P9 adds to its delta."""
    epsilon, delta = idealised(budget.usable_epsilon, budget.delta)
    mu = largest_mu(epsilon, delta)
    while total_delta(epsilon, mu, partial(branches_profile, ())) > delta:
        mu *= 0.998
    return mu * (1 - 1e-12)


def variance_profile(
    X: object,
    *,
    epsilon: float,
    delta: float,
    neighbours: Literal["add-remove", "replace-one"] | Neighbours = "add-remove",
    on_missing: Literal["raise", "drop"] = "raise",
    noise: Noise | None = None,
) -> VarianceProfile:
    """How many coordinates have a variance in each [4^b, 4^{b+1}), with (epsilon, delta)-differential privacy.

    Guarantee: for neighbouring X the profiles, refusals included, are (epsilon, delta)-indistinguishable, with the
    default noise and on_missing="drop" (or "raise" where no row is invalid). Nothing about X need be known. The
    budget is this release's own: a mean released afterwards adds to it. Proof: proofs/paper/variance_profile.md.

    Parameters
    ----------
    X : table
        One row per person; any table that `release_mean` takes.
    epsilon, delta : float
        The budget of the whole profile.
    neighbours : {"add-remove", "replace-one"}
        Which tables count as neighbours. Under "replace-one" the number of records is public.
    on_missing : {"raise", "drop"}
        What happens to rows with NaN or infinite entries: an error, or a record that says nothing.
    noise : Noise, optional
        The source of noise; by default the operating system's. `SeededNoise` is for tests and is not private.

    Returns
    -------
    VarianceProfile
        Counts of coordinates in buckets of variance, or a refusal.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.
    InvalidRecords
        If X is no table of numbers, or has an invalid row with on_missing="raise".
    """
    budget, relation = Budget(epsilon, delta), Neighbours.parse(neighbours)
    check_at_least("epsilon", budget.epsilon, SMALLEST_EPSILON)
    check_at_least("delta", budget.delta, SMALLEST_DELTA)
    check_choice("on_missing", on_missing, BY_ROW)
    noise = opened(noise)
    if noise.private:
        warn_of_weak_guarantee(budget, stacklevel=3)
    with memory_unspoken():
        records = as_records(X, on_missing=on_missing)
    plan = _Plan.of(budget, relation, records.dimension)
    outcome = _Outcome(budget, relation, records.dimension, noise.private)
    if relation is Neighbours.REPLACE_ONE and not plan.suffices(records.dimension, full_groups(records.count, GROUP)):
        return outcome.refused(TOO_FEW)  # before any value is looked at
    with memory_unspoken():
        require_valid(records, on_missing)
        return _profile(records, plan, outcome, relation, noise)


def _profile(records: Records, plan: _Plan, outcome: "_Outcome", relation: Neighbours, noise: Noise) -> VarianceProfile:
    """n̂, the total variance by a noisy search, then the counts above thresholds below it (M1, M2, M5')."""
    groups, before = _groups(records, plan, relation, noise)
    if not plan.suffices(records.dimension, groups):
        return outcome.refused(TOO_FEW, *before)
    estimates = group_variances(records, slots(records.count, groups, GROUP, noise))  # M1
    total = _total_variance(estimates, plan.search_mu, noise)  # M5'
    if not EDGES[1] < total.value < EDGES[-1]:
        return outcome.refused(NO_SCALE, *before, total.event)
    edges = total.value * np.ldexp(1.0, -2 * np.arange(plan.thresholds))
    found = noisy_group_means(
        log_counts(estimates.values, edges),
        math.log2(1 + records.dimension),
        plan.means_mu,
        "coordinates above thresholds",
        noise=noise,
    )  # M2
    complete = found.value.groups  # N̂, released
    if complete < COMPLETE_GROUPS * groups:
        return outcome.refused(INCOMPLETE, *before, total.event, found.event)
    deviation = plan.log_stddev(records.dimension, complete)
    return outcome.found(edges, found.value.means, deviation, *before, total.event, found.event)


def _groups(records: Records, plan: _Plan, relation: Neighbours, noise: Noise) -> tuple[int, tuple[Gaussian, ...]]:
    """The public number of groups. Add/remove: somewhat fewer than n̂ allows, so that few slots stay empty."""
    if relation is Neighbours.REPLACE_ONE:
        return full_groups(records.count, GROUP), ()
    stddev = 1 / plan.count_mu
    counted = noisy_count(records.count, stddev, noise=noise)
    return full_groups(counted.value - 2 * stddev, GROUP), (counted.event,)


def _total_variance(estimates: GroupVariances, mu: float, noise: Noise) -> Measured[float]:
    """The median over groups of Σ_i V_i, as the next power of four."""
    sums = np.array(group_sums(estimates, range(estimates.dimension)))
    return noisy_search(partial(excess, sums), EDGES, mu, "total variance", noise=noise)


def excess(sums: Floats, edge: float) -> int:
    """Half of (sums at most the edge - sums above it), in steps of the search: one group moves it by at most one."""
    return (2 * int((sums <= edge).sum()) - len(sums)) * (SEARCH_STEPS // 2)


def log_counts(values: Floats, edges: Floats) -> Floats:
    """log2(1 + N_j) for every group (row) and threshold (column)."""
    counts = np.stack([(values >= edge).sum(axis=1) for edge in edges], axis=1)
    return np.log2(1.0 + np.arange(values.shape[1] + 1))[counts]  # from one table: the same count, the same bits


@dataclass(frozen=True)
class _Outcome:
    """Builds the profile or the refusal, with its promise and its ledger."""

    budget: Budget
    relation: Neighbours
    dimension: int
    private: bool

    def refused(self, reason: str, *spent: Gaussian) -> VarianceProfile:
        return VarianceProfile(self._promise, self._ledger(spent), self.dimension, refusal=reason)

    def found(self, edges: Floats, log_means: Floats, deviation: float, *spent: Gaussian) -> VarianceProfile:
        above = np.minimum(np.exp2(np.maximum(_monotone(log_means), 0.0)) - 1, self.dimension)
        counts = np.diff(above, prepend=0.0)
        return VarianceProfile(
            self._promise,
            self._ledger(spent),
            self.dimension,
            edges=tuple(map(float, edges)),
            counts=tuple(map(float, counts)),
            log2_stddev=float(deviation),
        )

    @property
    def _promise(self) -> Guarantee:
        return Guarantee(self.budget.epsilon, self.budget.delta, self.relation, self.private)

    def _ledger(self, spent: tuple[Gaussian, ...]) -> Costs:
        ledger = Costs(self.budget, self.relation, spent, ())
        if not ledger.delta() <= self.budget.delta:  # cannot happen; if it did, nothing would be released
            raise ValueError("The ledger of this profile exceeds its budget.")
        return ledger


def _monotone(values: Floats) -> Floats:
    """Halfway between the smallest growing sequence above the values and the largest one below."""
    above, below = np.maximum.accumulate(values), np.minimum.accumulate(values[::-1])[::-1]
    return (above + below) / 2
