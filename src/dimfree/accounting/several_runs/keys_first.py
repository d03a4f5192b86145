"""A budget of which a part finds the keys of groups, ahead of the runs about the groups (M9).

Proof: proofs/kernel.md (G1).
"""

import math
from collections.abc import Callable

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import calibrate_unlisted
from dimfree.accounting.events import Costs
from dimfree.accounting.precision import largest_mu
from dimfree.accounting.several_runs.composed_runs import ComposedRuns
from dimfree.accounting.several_runs.sharing import gaussian_budget

_KEYS_DELTA, _REST_DELTA = 0.2, 0.8  # of delta, stated for each
_KEPT = 0.99  # of delta, so that the slack of discrete noise fits
_FACTORS = (0.995, 0.98, 0.96, 0.93, 0.9, 0.8)  # of the mu that is left; the first that fits. Each may take seconds
_SPLIT = (0.2, 0.8)  # if none does: of epsilon and delta
_PARTS = (1.0, 0.5, 0.2)  # of the rest of such a split; the first whose runs add up to the whole: the last do


def keys_opening(budget: Budget) -> Costs:
    """What finding the keys is charged, whatever is found."""
    return Costs(budget, Neighbours.ADD_REMOVE, (), (calibrate_unlisted(budget),))


def keys_and_rest(
    whole: Budget, share: float, openings: Callable[[Budget], tuple[Costs, ...]]
) -> tuple[Budget, Budget]:
    """Budgets of the keys, with this share of the precision, and of all that follows; they compose to the whole.

    `openings`: what a budget for the rest is charged, by two runs at most. What is returned was checked.
    """
    whole = Budget(whole.usable_epsilon, whole.delta)  # what a run keeps of a larger promise
    mu, most = largest_mu(whole.epsilon, whole.delta), 2 * whole.epsilon
    keys = gaussian_budget(math.sqrt(share) * mu, _KEYS_DELTA * whole.delta, most)
    for factor in _FACTORS:
        rest = gaussian_budget(factor * math.sqrt(1 - share) * mu, _REST_DELTA * whole.delta, most)
        runs = ComposedRuns((keys_opening(keys), *openings(rest)))
        if runs.delta(whole.epsilon * (1 - 1e-4)) <= _KEPT * whole.delta:
            return keys, rest
    return _added_up(whole, openings)


def _added_up(whole: Budget, openings: Callable[[Budget], tuple[Costs, ...]]) -> tuple[Budget, Budget]:
    """Budgets whose runs add up to the whole.

    The runs of the rest may compose to it though their epsilons add up to more: each is at most twice that of the rest
    (`shared_out`), so that a fifth of the rest is small enough for two runs.
    """
    keys, most = whole.split(_SPLIT)
    for part in _PARTS:
        rest = Budget(part * most.epsilon, part * most.delta)
        if ComposedRuns((keys_opening(keys), *openings(rest))).delta(whole.epsilon) <= whole.delta:
            break
    return keys, rest
