"""Divide one budget among runs about the same people, so that together they spend all of it (M9).

The shares are shares of Gaussian precision. The epsilons of the parts add up to more than the whole, but the parts
compose to at most the whole. Proofs: proofs/accounting/composition.md; of keys that are found first, proofs/kernel.md
(G1).
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from dimfree.accounting.budget import MIN_EPSILON, Budget, Neighbors
from dimfree.accounting.calibrate import Calibration, calibrate_gaussian, calibrate_private_count, calibrate_unlisted
from dimfree.accounting.events import Costs
from dimfree.accounting.precision import hockey_stick, largest_mu
from dimfree.accounting.several_runs import ComposedRuns

Opening = Callable[[Budget], Costs]  # the costs that a run of a budget has on every path

_KEPT = 0.99  # of delta, so that the slack of discrete noise fits
_FACTORS = (0.88, 0.86, 0.83, 0.8, 0.75, 0.7)  # of the whole's mu: the tests cost some of it; a try may take seconds
_KEYS_DELTA, _REST_DELTA = 0.2, 0.8  # of delta, for the keys of groups and for all that follows
_REST_FACTORS = (0.995, 0.98, 0.96, 0.93, 0.9, 0.8)  # of the mu that the keys leave; the first that fits
_SPLIT = (0.2, 0.8)  # if none does: of epsilon and delta
_PARTS = (1.0, 0.5, 0.2)  # of the rest of such a split; the first whose runs add up to the whole: the last do


def price_opening(budget: Budget, failure: float, **branches: Any) -> Costs:
    """Return the costs of an add-remove run without the discrete slack; `branches`: as in `calibrate_private_count`."""
    return _price(budget, calibrate_private_count(budget, failure, **branches))


def price_gaussian_opening(budget: Budget) -> Costs:
    """Return the same for a run of Gaussian releases alone (P17)."""
    return _price(budget, calibrate_gaussian(budget, private_count=True))


def _price(budget: Budget, calibration: Calibration) -> Costs:
    return Costs(budget, Neighbors.ADD_REMOVE, calibration.before, calibration.branches)


def price_key_search(budget: Budget) -> Costs:
    """Return the charge of the search for keys, whatever it finds."""
    return Costs(budget, Neighbors.ADD_REMOVE, (), (calibrate_unlisted(budget),))


def divide_budget(budget: Budget, parts: Sequence[tuple[float, Opening]]) -> tuple[Budget, ...]:
    """Return a budget for each (share of precision, opening), as large as possible, checked to compose to the whole."""
    budget = Budget(budget.usable_epsilon, budget.delta)  # larger epsilons are used as the largest
    mu, most = largest_mu(budget.epsilon, budget.delta), 2 * budget.epsilon
    for factor in _FACTORS:
        budgets = tuple(
            gaussian_budget(factor * math.sqrt(share) * mu, share * budget.delta, most) for share, _ in parts
        )
        epsilons = [part.epsilon for part in budgets]
        if sum(epsilons) < budget.epsilon:
            return budget.split(epsilons)
        if _compose_to(budget, [begin(part) for (_, begin), part in zip(parts, budgets, strict=True)]):
            return budgets
    return budget.split([share for share, _ in parts])


def _compose_to(whole: Budget, runs: Sequence[Costs]) -> bool:
    return ComposedRuns(tuple(runs)).delta(whole.epsilon * (1 - 1e-4)) <= _KEPT * whole.delta


def keys_and_rest(
    whole: Budget, share: float, openings: Callable[[Budget], tuple[Costs, ...]]
) -> tuple[Budget, Budget]:
    """Return the budgets of the search for groups, with this share of the precision, and of all that follows.
    `openings`: the charges for a budget of the rest, of up to two runs. The result is checked. If only a
    plain split fits, the runs of the rest may compose to it though their epsilons add up to more: each is at most twice
    that of the rest (`divide_budget`), so that a fifth of the rest is small enough for two runs."""
    whole = Budget(whole.usable_epsilon, whole.delta)
    mu, most = largest_mu(whole.epsilon, whole.delta), 2 * whole.epsilon
    keys = gaussian_budget(math.sqrt(share) * mu, _KEYS_DELTA * whole.delta, most)
    for factor in _REST_FACTORS:
        rest = gaussian_budget(factor * math.sqrt(1 - share) * mu, _REST_DELTA * whole.delta, most)
        if _compose_to(whole, (price_key_search(keys), *openings(rest))):
            return keys, rest
    keys, remainder = whole.split(_SPLIT)
    for part in _PARTS:
        rest = Budget(part * remainder.epsilon, part * remainder.delta)
        if ComposedRuns((price_key_search(keys), *openings(rest))).delta(whole.epsilon) <= whole.delta:
            break
    return keys, rest


def gaussian_budget(mu: float, delta: float, most: float) -> Budget:
    """Return the (epsilon, delta) of a Gaussian of precision mu² at this delta; epsilon up to `most`, rounded up."""
    low, high = 0.0, most
    while high - low > 1e-9 * high and high > MIN_EPSILON:  # at a large delta any epsilon would do
        middle = (low + high) / 2
        low, high = (low, middle) if hockey_stick(mu, middle) <= delta else (middle, high)
    return Budget(high, delta)
