"""The public numbers of the paper's Algorithm 2: how the budget is shared, how many coordinates and groups.

Nothing here sees a record. Letters: n = records in a half, d = coordinates, k = coordinates to be learned,
l = pairs in a group, m = groups, β = failure probability. Proof of the shares: proofs/paper/kernel.md.
"""

import math
from dataclasses import dataclass

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.paper.above_threshold import sparse_scale
from dimfree.paper.grouping import full_groups
from dimfree.paper.histogram import publishing_threshold
from dimfree.paper.noisy import laplace_stddev
from dimfree.paper.variance_votes import repeated_share
from dimfree.programs.choose import constants as c

_ROUNDING = 1e-9
LARGEST_LIFTED = 20.0  # no filtered release costs more than this, however large its epsilon (P1)
_STEPS = 4  # FindKthLargestVariance, TopVar, the top variances, the sum of the others: equal shares, as printed


@dataclass(frozen=True)
class Shares:
    """What the count costs (None: it is public), and what either half of the records may cost."""

    count_epsilon: float | None
    half: Budget
    relation: Neighbours

    def surely(self, count: float) -> float:
        """About how many records the first half has at least: two standard deviations below its expected size."""
        if self.count_epsilon is None:
            return count // 2
        return count / 2 - laplace_stddev(self.count_epsilon) - math.sqrt(max(count, 0.0))

    def variance_step(self, k: int) -> Budget:
        """Of each step on the first half: four of them, or a single sum where nothing is learned."""
        return self.half if k == 0 else Budget(self.half.epsilon / _STEPS, self.half.delta / _STEPS)

    def average(self, blocks: int) -> Budget:
        """Of each Avg call on the second half, under add/remove: replace-one takes two steps through Z (P1)."""
        epsilon, delta = self.half.epsilon, self.half.delta
        if self.relation is Neighbours.REPLACE_ONE:
            epsilon = min(epsilon / 2, LARGEST_LIFTED)
            delta /= 1 + math.exp(epsilon)
        return Budget(epsilon / blocks * (1 - 1e-12), delta / blocks * (1 - 1e-12))


def paper_shares(budget: Budget, relation: Neighbours) -> Shares:
    """Count and halves together cost at most the budget; the halves are disjoint, so they cost it once."""
    whole = whole_half(budget, relation)
    if relation is Neighbours.REPLACE_ONE:
        return whole
    epsilon = whole.half.epsilon
    half = Budget((1 - c.PAPER_COUNT_SHARE) * epsilon * (1 - _ROUNDING), whole.half.delta)
    return Shares(c.PAPER_COUNT_SHARE * epsilon, half, relation)


def whole_half(budget: Budget, relation: Neighbours) -> Shares:
    """Without a count: all of the budget for the half that a record is in, or for all records."""
    return Shares(None, Budget(budget.usable_epsilon, budget.delta * (1 - _ROUNDING)), relation)


@dataclass(frozen=True)
class Steps:
    """k, l and m of Algorithm 2, line 2–4."""

    top: int
    pairs: int
    groups: int

    @property
    def size(self) -> int:
        return 2 * self.pairs


def choose_steps(records: float, dimension: int, shares: Shares, failure: float) -> Steps | None:
    """The largest k that the formula and the number of groups allow; None where not even k = 0 will be answered.

    `records` is what the first half surely has. The printed k hides a constant: a k whose steps would almost surely
    end in ⊥ is lowered. Groups are as large as the votes allow, up to where the estimates are valid.
    """
    least = max(1, math.ceil(c.FEWEST_PAIRS * math.log(16 * dimension)))
    groups = full_groups(records, 2 * least)
    if groups < votes_needed(0, dimension, shares, failure):
        return None
    low, high = 0, printed_top(records, dimension, shares.variance_step(1), failure)
    while low < high:
        middle = (low + high + 1) // 2
        fits = groups >= votes_needed(middle, dimension, shares, failure)
        low, high = (middle, high) if fits else (low, middle - 1)
    most = max(least, math.ceil(c.ENOUGH_PAIRS * math.log(3 * dimension)))
    largest = int(records // (2 * math.ceil(votes_needed(low, dimension, shares, failure))))
    pairs = min(max(largest, least), most)
    return Steps(low, pairs, full_groups(records, 2 * pairs))


def printed_top(records: float, dimension: int, step: Budget, failure: float) -> int:
    """k of Algorithm 2, line 2, with the share of one step; clipped to 0..d."""
    signal = step.epsilon * records
    if signal <= 1:
        return 0
    log_delta = math.log(1 / step.delta)
    cost = (math.log(dimension) * math.log(1 / (step.delta * failure))) ** 2 * log_delta + math.log(signal)
    return min(dimension, math.floor(signal**2 / cost))


def votes_needed(top: int, dimension: int, shares: Shares, failure: float) -> float:
    """Groups that make every step on the first half answer with probability about 1 - β, if the estimates are valid."""
    step = shares.variance_step(top)
    if top == 0:
        return _histogram_votes(step.epsilon, step.delta, failure)
    each = repeated_share(top, step.epsilon, step.delta)
    noise = 3 * sparse_scale(top, step.epsilon, step.delta) * math.log(2 * dimension / failure)
    return max(noise / c.TOP_MARGIN, _histogram_votes(*each, failure / top))


def _histogram_votes(epsilon: float, delta: float, failure: float) -> float:
    return c.VALID_VOTES * (publishing_threshold(epsilon, delta) + 2 / epsilon * math.log(1 / failure))
