"""Divides one budget among runs about the same people, so that together they spend all of it (M9).

The shares are shares of Gaussian precision. The epsilons of the parts add up to more than the whole, but the parts
compose to at most the whole. Proof: proofs/accounting/composition.md.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from dimfree.accounting.budget import SMALLEST_EPSILON, Budget, Neighbours
from dimfree.accounting.calibrate import Calibration, calibrate_gaussian, calibrate_private_count
from dimfree.accounting.events import Costs
from dimfree.accounting.precision import hockey_stick, largest_mu
from dimfree.accounting.several_runs.composed_runs import ComposedRuns

Opening = Callable[[Budget], Costs]  # the costs that a run of a budget has on every path

_KEPT = 0.99  # of delta, so that the slack of discrete noise fits
_FACTORS = (0.88, 0.86, 0.83, 0.8, 0.75, 0.7)  # of the whole's mu: the tests cost some of it; a try may take seconds


def opening(budget: Budget, failure: float, **branches: Any) -> Costs:
    """The costs of a run under add/remove: its count and its branches, all but the discrete slack.

    `branches`: as in `calibrate_private_count`.
    """
    return _opened(budget, calibrate_private_count(budget, failure, **branches))


def gaussian_opening(budget: Budget) -> Costs:
    """The same for a run of Gaussian releases alone (P17)."""
    return _opened(budget, calibrate_gaussian(budget, private_count=True))


def _opened(budget: Budget, menu: Calibration) -> Costs:
    return Costs(budget, Neighbours.ADD_REMOVE, menu.before, menu.menu)


def shared_out(budget: Budget, parts: Sequence[tuple[float, Opening]]) -> tuple[Budget, ...]:
    """A budget for each (share of precision, opening), as large as possible while all compose to at most the whole.

    The returned budgets were checked to compose to the whole. If nothing better is found, a plain split.
    """
    budget = Budget(budget.usable_epsilon, budget.delta)  # what a run keeps of a larger promise
    for factor in _FACTORS:
        budgets = tuple(_part(budget, factor, share) for share, _ in parts)
        epsilons = [part.epsilon for part in budgets]
        if sum(epsilons) < budget.epsilon:
            return budget.split(epsilons)
        if _fits(budget, parts, budgets):
            return budgets
    return budget.split([share for share, _ in parts])


def _fits(whole: Budget, parts: Sequence[tuple[float, Opening]], budgets: Sequence[Budget]) -> bool:
    ledgers = tuple(begin(part) for (_, begin), part in zip(parts, budgets, strict=True))
    return ComposedRuns(ledgers).delta(whole.usable_epsilon * (1 - 1e-4)) <= _KEPT * whole.delta


def _part(whole: Budget, factor: float, share: float) -> Budget:
    """The (epsilon, delta) of a Gaussian with this share of the whole's precision, at its share of delta."""
    mu = factor * math.sqrt(share) * largest_mu(whole.usable_epsilon, whole.delta)
    return gaussian_budget(mu, share * whole.delta, 2 * whole.usable_epsilon)


def gaussian_budget(mu: float, delta: float, most: float) -> Budget:
    """The (epsilon, delta) of a Gaussian of precision mu² at this delta; epsilon at most `most`, rounded up.

    At a large delta any epsilon would do, even 0, which is none: one below the smallest is not searched further.
    """
    low, high = 0.0, most
    while high - low > 1e-9 * high and high > SMALLEST_EPSILON:
        middle = (low + high) / 2
        low, high = (low, middle) if hockey_stick(mu, middle) <= delta else (middle, high)
    return Budget(high, delta)
