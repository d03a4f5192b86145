"""Turns a total budget into branches: pass probabilities (ladders) and precisions. All rounding is conservative.

Letters: f = how much smaller a branch's mu is than that of the best single Gaussian; mu_before = mu of the noisy count.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from scipy.special import ndtri

from dimfree.accounting.budget import Budget
from dimfree.accounting.discrete import idealised
from dimfree.accounting.events import (
    Bounded,
    Branch,
    Gaussian,
    OnlyGaussian,
    Tested,
    Unlisted,
    counted_records,
    ideal_delta,
)
from dimfree.accounting.ladder import shortest_ladder
from dimfree.accounting.lifting import before_lifting
from dimfree.accounting.precision import compose, largest_mu
from dimfree.accounting.profile import total_delta

# Values of f: from a long ladder and little noise to a short ladder and more noise; and, for each of them, the factor
# on the share of the searches: few records need precise ones.
SLACKS, _SEARCH_GROWTH = (1.01, 1.03, 1.08, 1.12, 1.16), (0.35, 0.35, 1.15, 2.9, 4.5)
_SLACKS_WITHOUT_SEARCH = (1.01, 1.03, 1.07, 1.15, 1.3, 1.6)
COUNT_STDDEV = 8.0  # of the noisy count, divided by the best single Gaussian's mu: 1.6 % of the precision
BOUND_FAILURE = 0.1  # share of delta for the noisy lower bound of the soft and basic cores
UNTESTED_SLACKS = (1.005, 1.01, 1.02, 1.05)  # f of a branch without a test beside tested ones: the first that fits
ALONE_SLACKS = (1.0, 1.0001, 1.001, *UNTESTED_SLACKS)  # … and where it is the only branch
_RING_SLACKS = (1.03, 1.07, 1.15)  # f of the branches whose searches are those of the ring
_MARGINS = (0.9, 0.75, 0.5)  # share of delta for each branch alone, so that the maximum over the branches fits


@dataclass(frozen=True)
class Calibration:
    """A noisy count, then one of the branches (`menu`), chosen by public numbers; together at most the budget."""

    count_stddev: float | None  # of the noisy count; None where the number of records is public
    tested: tuple[Tested, ...]
    untested: OnlyGaussian | None = None
    ringed: tuple[Tested, ...] = ()  # with the searches of the secret ring

    @property
    def before(self) -> tuple[Gaussian, ...]:
        return () if self.count_stddev is None else (counted_records(self.count_stddev),)

    @property
    def menu(self) -> tuple[Branch, ...]:
        return (*self.tested, *self.ringed, *(() if self.untested is None else (self.untested,)))


@lru_cache(maxsize=64)
def calibrate_private_count(
    budget: Budget, failure: float, *, untested: bool = False, search_share: float = 0.0, ring_share: float = 0.0
) -> Calibration:
    """Add/remove: a noisy count, then the branch chosen by it. The maximum over all branches fits the budget (P9, P18).

    `untested`: with a branch of Gaussian releases alone. It gives way: its precision is the largest that fits beside
    the others, which are the same with and without it.
    """
    epsilon, delta = idealised(budget.usable_epsilon, budget.delta)
    count_mu = largest_mu(epsilon, delta) / COUNT_STDDEV
    for margin in _MARGINS:
        tested, ringed = _tested(epsilon, delta, margin, count_mu, failure, search_share, ring_share)
        plan = Calibration(1 / count_mu, tested, ringed=ringed)
        if plan.menu and (fitting := _fitted(plan, epsilon, delta, UNTESTED_SLACKS if untested else ())):
            return fitting
    nothing = Calibration(1 / count_mu, ())
    return _fitted(nothing, epsilon, delta, ALONE_SLACKS if untested else ()) or nothing


def _fitted(plan: Calibration, epsilon: float, delta: float, slacks: tuple[float, ...]) -> Calibration | None:
    """The plan with a branch without a test of the largest precision that fits; without, if none does; None: too much.

    The one place where a menu is accepted: its profile, behind the count, is at most delta (P9, P18).
    """
    count_mu = 0.0 if plan.count_stddev is None else 1 / plan.count_stddev
    mu_full = largest_mu(epsilon, delta)
    alone = [OnlyGaussian(math.sqrt((mu_full / slack) ** 2 - count_mu**2)) for slack in slacks]
    before = compose(event.mu for event in plan.before)  # as it is charged
    for each in (*(replace(plan, untested=branch) for branch in alone), plan):
        if ideal_delta(epsilon, before, each.menu) <= delta:
            return each
    return None


@lru_cache(maxsize=64)
def calibrate_public_count(
    budget: Budget, failure: float, *, search_share: float = 0.0, ring_share: float = 0.0
) -> Calibration:
    """Replace-one: no count. Each branch alone fits the budget; the number of records, being public, chooses one,
    so only that one is charged."""
    epsilon, delta = idealised(budget.usable_epsilon, budget.delta)
    tested, ringed = (
        tuple(branch for branch in each if total_delta(epsilon, 0.0, branch.profile) <= delta)
        for each in _tested(epsilon, delta, 1 - 1e-6, 0.0, failure, search_share, ring_share)
    )
    return Calibration(None, tested, calibrate_gaussian(budget, private_count=False).untested, ringed)


@lru_cache(maxsize=64)
def calibrate_gaussian(budget: Budget, *, private_count: bool) -> Calibration:
    """Gaussian releases alone: the noisy count, if the number of records is private, and one branch without a test.

    The precisions add up to that of the best single Gaussian, or a little less (P17, P18).
    """
    epsilon, delta = idealised(budget.usable_epsilon, budget.delta)
    plan = Calibration(COUNT_STDDEV / largest_mu(epsilon, delta) if private_count else None, ())
    return _fitted(plan, epsilon, delta, ALONE_SLACKS) or plan


def _tested(
    epsilon: float, delta: float, margin: float, count_mu: float, failure: float, search_share: float, ring_share: float
) -> list[tuple[Tested, ...]]:
    """Branches with a test: of the core's searches, and of those of the ring (none at a share of 0).

    One for each slack that has a ladder; each alone costs at most (epsilon, margin·delta). Short ladders are for few
    records, which need a more precise search: its share grows with f (P9).
    """
    mu_full, found = largest_mu(epsilon, delta), []
    core = [(slack, growth * search_share) for slack, growth in zip(SLACKS, _SEARCH_GROWTH, strict=True)]
    ring = [(slack, ring_share) for slack in _RING_SLACKS if ring_share]
    for shares in (core if search_share else [(slack, 0.0) for slack in _SLACKS_WITHOUT_SEARCH], ring):
        branches = []
        for slack, share in shares:
            search_mu = math.sqrt(share) * mu_full / slack
            mu_before = compose((count_mu, search_mu))
            mu_after = math.sqrt((mu_full / slack) ** 2 - mu_before**2)
            ladder = shortest_ladder(epsilon, delta * margin, mu_before, mu_after, failure)
            branches += [] if ladder is None else [Tested(ladder, mu_after, search_mu)]
        found.append(tuple(branches))
    return found


def _bounded(epsilon: float, delta: float, mu_before: float = 0.0) -> Bounded:
    """The branch of the soft core: a Gaussian precision at the part of delta that the lower bound leaves (P3)."""
    mu = largest_mu(epsilon, delta * (1 - BOUND_FAILURE) * (1 - 1e-9))
    return Bounded(math.sqrt(mu**2 - mu_before**2) * (1 - 1e-12), delta * BOUND_FAILURE * (1 - 1e-9))


def calibrate_bounded(budget: Budget) -> Bounded:
    """The soft core alone: no count, one lower bound, one mean (P3)."""
    return _bounded(*idealised(budget.usable_epsilon, budget.delta))


def calibrate_unlisted(budget: Budget) -> Unlisted:
    """Counts of keys that nobody listed: the same parts of delta, here for the key of one person (M4)."""
    found = calibrate_bounded(budget)
    return Unlisted(found.mu, found.failure)


def calibrate_filtered(budget: Budget) -> Bounded:
    """The branch of the paper's core: what the lifting of P1 leaves for a lower bound and a mean."""
    return _bounded(*idealised(*before_lifting(budget.usable_epsilon, budget.delta)))


def bound_distance(branch: Bounded) -> float:
    """How many noise standard deviations below the noisy total the lower bound lies: fails with branch.failure."""
    return float(-ndtri(branch.failure)) * (1 + 1e-12) + 1e-3


def remaining_mu(branch: Branch, *spent: float) -> float:
    """What is left of a branch's precision after some of it was spent, rounded down."""
    return math.sqrt(max(0.0, branch.mu**2 - compose(spent) ** 2)) * (1 - 1e-12)
