"""Calibrate the branches of a total budget: pass probabilities (ladders) and precisions, rounded conservatively.

The result is not trusted: the kernel accepts branches only if their profile fits the budget (P9, P18).

Letters: f = how much smaller a branch's mu is than that of the best single Gaussian; mu_before = mu of the noisy count.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Budget
from dimfree.accounting.discrete import before_lifting, idealize
from dimfree.accounting.events import (
    Bounded,
    Branch,
    Gaussian,
    OnlyGaussian,
    Tested,
    Unlisted,
    ideal_delta,
    make_count,
)
from dimfree.accounting.ladder import DENOMINATOR, Ladder, ladder_profile
from dimfree.accounting.precision import COARSE, compose, hockey_stick, largest_mu, total_delta

# Values of f: from a long ladder and little noise to a short ladder and more noise; and, for each of them, the factor
# on the share of the searches: few records need precise ones.
SLACKS, _SEARCH_GROWTH = (1.01, 1.03, 1.08, 1.12, 1.16), (0.35, 0.35, 1.15, 2.9, 4.5)
_SLACKS_WITHOUT_SEARCH = (1.01, 1.03, 1.07, 1.15, 1.3, 1.6)
COUNT_STDDEV = 8.0  # of the noisy count, divided by the best single Gaussian's mu: 1.6 % of the precision
BOUND_FAILURE = 0.1  # share of delta for the noisy lower bound of the soft and basic cores
UNTESTED_SLACKS = (1.005, 1.01, 1.02, 1.05)  # f of a branch without a test next to tested ones: the first that fits
ALONE_SLACKS = (1.0, 1.0001, 1.001, *UNTESTED_SLACKS)  # … and as the only branch
_RING_SLACKS = (1.03, 1.07, 1.15)  # f of the branches whose searches are those of the ring
_MARGINS = (0.9, 0.75, 0.5)  # share of delta for each branch alone, so that the maximum over the branches fits
_START = 1.015  # the level x_0 at which the ladder is built, times epsilon: the best of a search over 0.94 … 1.06
_LANES = 40  # candidates for its failure mass delta_0
_MAX_STEPS = 4000
_TABLE = 2**14  # rises that are tabled, evenly in their logarithm: read off to a millionth
_SPARSE, _ENDS = 16, 8  # the search among ladders checks every 16th pair of rungs, and some at either end


@dataclass(frozen=True)
class Calibration:
    """A noisy count, then one of the `branches`, chosen by public numbers; together at most the budget."""

    count_stddev: float | None  # of the noisy count; None if the number of records is public
    tested: tuple[Tested, ...]
    untested: OnlyGaussian | None = None
    ringed: tuple[Tested, ...] = ()  # with the searches of the secret ring

    @property
    def before(self) -> tuple[Gaussian, ...]:
        return () if self.count_stddev is None else (make_count(self.count_stddev),)

    @property
    def branches(self) -> tuple[Branch, ...]:
        return (*self.tested, *self.ringed, *(() if self.untested is None else (self.untested,)))


@lru_cache(maxsize=64)
def calibrate_private_count(
    budget: Budget, failure: float, *, untested: bool = False, search_share: float = 0.0, ring_share: float = 0.0
) -> Calibration:
    """Calibrate add-remove: a noisy count, then the branch it chooses; the maximum over all branches fits (P9, P18).
    `untested`: with a branch of Gaussian releases alone, of the largest precision that the others leave."""
    epsilon, delta = idealize(budget.usable_epsilon, budget.delta)
    count_mu = largest_mu(epsilon, delta) / COUNT_STDDEV
    for margin in _MARGINS:
        tested, ringed = _calibrate_tested(epsilon, delta, margin, count_mu, failure, search_share, ring_share)
        plan = Calibration(1 / count_mu, tested, ringed=ringed)
        if plan.branches and (fitting := _fit_untested(plan, epsilon, delta, UNTESTED_SLACKS if untested else ())):
            return fitting
    nothing = Calibration(1 / count_mu, ())
    return _fit_untested(nothing, epsilon, delta, ALONE_SLACKS if untested else ()) or nothing


def _fit_untested(plan: Calibration, epsilon: float, delta: float, slacks: tuple[float, ...]) -> Calibration | None:
    """Return the plan with the most precise untested branch that fits, or without one; None: it exceeds the budget."""
    count_mu = 0.0 if plan.count_stddev is None else 1 / plan.count_stddev
    mu_full = largest_mu(epsilon, delta)
    alone = [OnlyGaussian(math.sqrt((mu_full / slack) ** 2 - count_mu**2)) for slack in slacks]
    before = compose(event.mu for event in plan.before)  # as it is charged
    for each in (*(replace(plan, untested=branch) for branch in alone), plan):
        if ideal_delta(epsilon, before, each.branches) <= delta:
            return each
    return None


@lru_cache(maxsize=64)
def calibrate_public_count(
    budget: Budget, failure: float, *, search_share: float = 0.0, ring_share: float = 0.0
) -> Calibration:
    """Calibrate replace-one: the public number of records chooses a branch; each alone fits the budget."""
    epsilon, delta = idealize(budget.usable_epsilon, budget.delta)
    tested, ringed = (
        tuple(branch for branch in each if total_delta(epsilon, 0.0, branch.profile) <= delta)
        for each in _calibrate_tested(epsilon, delta, 1 - 1e-6, 0.0, failure, search_share, ring_share)
    )
    return Calibration(None, tested, calibrate_gaussian(budget, private_count=False).untested, ringed)


@lru_cache(maxsize=64)
def calibrate_gaussian(budget: Budget, *, private_count: bool) -> Calibration:
    """Calibrate Gaussian releases alone, about as precise as the best single Gaussian, with the count (P17, P18)."""
    epsilon, delta = idealize(budget.usable_epsilon, budget.delta)
    plan = Calibration(COUNT_STDDEV / largest_mu(epsilon, delta) if private_count else None, ())
    return _fit_untested(plan, epsilon, delta, ALONE_SLACKS) or plan


def _calibrate_tested(
    epsilon: float, delta: float, margin: float, count_mu: float, failure: float, search_share: float, ring_share: float
) -> list[tuple[Tested, ...]]:
    """Calibrate branches with a test, for the searches of core and ring; each alone costs (epsilon, margin·delta).
    Short ladders are for few records, which need a more precise search: its share grows with f (P9)."""
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


def _calibrate_bounded(epsilon: float, delta: float) -> Bounded:
    """Return a Gaussian precision at the part of delta that the lower bound leaves (P3)."""
    mu = largest_mu(epsilon, delta * (1 - BOUND_FAILURE) * (1 - 1e-9))
    return Bounded(mu * (1 - 1e-12), delta * BOUND_FAILURE * (1 - 1e-9))


def calibrate_bounded(budget: Budget) -> Bounded:
    """Calibrate one lower bound and one mean, without a count (P3)."""
    return _calibrate_bounded(*idealize(budget.usable_epsilon, budget.delta))


def calibrate_unlisted(budget: Budget) -> Unlisted:
    """Calibrate counts of keys that are not listed: the same parts of delta, here for the key of one person (M4)."""
    found = calibrate_bounded(budget)
    return Unlisted(found.mu, found.failure)


def calibrate_filtered(budget: Budget) -> Bounded:
    """Return the branch of the paper's core: what the lifting of P1 leaves for a lower bound and a mean."""
    return _calibrate_bounded(*idealize(*before_lifting(budget.usable_epsilon, budget.delta)))


def remaining_mu(branch: Branch, *spent: float) -> float:
    """Return the precision that is left of a branch after some of it was spent, rounded down."""
    return math.sqrt(max(0.0, branch.mu**2 - compose(spent) ** 2)) * (1 - 1e-12)


# ---- the ladder of the stability bit: letters as in ladder.py


@lru_cache(maxsize=256)
def shortest_ladder(epsilon: float, delta: float, mu_before: float, mu_after: float, failure: float) -> Ladder | None:
    """Return the shortest ladder that reaches 1 - failure and is (epsilon, delta)-private with both mus, or None.
    A heuristic search: its result rests on the check in `_accept_ladder` alone (P9)."""
    level = epsilon - _refusal_loss(mu_before, delta)
    if level <= 0:
        return None
    start = epsilon * _START
    lowest = float(hockey_stick(mu_after, start))
    if lowest >= delta:
        return None
    masses = np.exp(np.linspace(math.log(max(lowest * 1.0001, delta * 1e-6)), math.log(delta), _LANES))
    heights = _heights(start, mu_after, -math.log(masses[0]))
    lanes = [lane for mass in masses if (lane := _lane(mass, heights, level, failure)) is not None]
    return _accept_ladder(lanes, epsilon, delta, mu_before, mu_after)


@lru_cache(maxsize=256)
def _refusal_loss(mu_before: float, delta: float) -> float:
    """Return the y with h_{mu_before}(y) = delta / 100: the loss that earlier releases may add to that of a refusal."""
    if mu_before == 0:
        return 0.0
    low, high = 0.0, 1.0
    while hockey_stick(mu_before, high) > delta / 100:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if hockey_stick(mu_before, middle) > delta / 100 else (low, middle)
    return high


def _heights(start: float, mu: float, top: float) -> Floats:
    """Return ln(p_k / p_2) for k = 2, 3, …, up to `top`, each as large as passing allows at loss `start`.
    The largest q allowed after p has q·h_mu(start - rise) = p_2 with rise = ln(q/p). So the rise follows from ln(p/p_2)
    alone, whatever p_2 is: it is read off a table of ln(p/p_2) at given rises."""
    rises = np.geomspace(np.logaddexp(0.0, start), start * 1e-5, _TABLE)
    table = -rises - np.log(np.maximum(hockey_stick(mu, start - rises), 1e-300))  # rising: from 0 or below
    heights = [0.0]
    while heights[-1] < top and len(heights) < _MAX_STEPS:
        heights.append(heights[-1] + float(np.interp(heights[-1], table, rises)))
    return np.array(heights)


def _lane(mass: float, heights: Floats, level: float, failure: float) -> Floats | None:
    """Return the rungs that begin at p_2 = mass, up to the first that reaches 1 - failure; None if there are too many.
    At first passing limits the rungs, at last a refusal does: 1 - p falls by the factor e^-level from rung to rung."""
    p = mass * np.exp(heights[heights < -math.log(mass)])
    limited = np.flatnonzero(p[1:] > 1 - (1 - p[:-1]) * math.exp(-level))
    p = p[: limited[0] + 1] if len(limited) else p
    steps = max(math.log((1 - p[-1]) / failure) / level, 0.0)
    if len(p) + steps > _MAX_STEPS:
        return None
    refusals = (1 - p[-1]) * np.exp(-level * np.arange(1, math.ceil(steps) + 2))
    lane = np.concatenate([[mass, mass], p, 1 - np.maximum(refusals, failure / 8)])  # never 0: it would show
    return lane[: max(int(np.argmax(lane >= 1 - failure)), 2) + 1]


def _floor_ladder(lane: Floats) -> Ladder:
    return Ladder(tuple(int(p * DENOMINATOR) for p in lane.tolist()))


def _accept_ladder(
    lanes: list[Floats], epsilon: float, delta: float, mu_before: float, mu_after: float
) -> Ladder | None:
    """Return the shortest lane that the accounting accepts; a larger mass gives a shorter ladder and a larger delta.
    The search checks a few pairs of rungs; its result is accepted only with all of them."""

    def spent(ladder: Ladder, every: int) -> float:
        lower = np.arange(2, ladder.length)
        lower = lower[(lower % every == 0) | (lower > ladder.length - _ENDS) | (lower < _ENDS)]
        return total_delta(epsilon, mu_before, partial(ladder_profile, ladder, mu_after, lower=lower), COARSE)

    low, high = -1, len(lanes)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if spent(_floor_ladder(lanes[middle]), _SPARSE) <= delta else (low, middle)
    while low >= 0 and spent(_floor_ladder(lanes[low]), 1) > delta:
        low -= 1
    return _floor_ladder(lanes[low]) if low >= 0 else None
