"""Algorithm 2 of the paper as a program, line by line, with the constants that make it private.

n̂ → two halves by secret coins → groups vote on the variances (first half) → two averages (second half).
A record is in one half only, so the halves share the budget without dividing it. Proof: proofs/paper/kernel.md.
Letters: n = records in a half, d = coordinates, k = coordinates to be learned, l = pairs in a group, m = groups,
Σ̂ = learned variances, λ = friend radius, β = failure probability.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dimfree._types import Floats, Integers
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.paper.averaging import Block
from dimfree.paper.kernel import PaperGroups, PaperTable
from dimfree.paper.mechanisms import publishing_threshold, sparse_scale
from dimfree.paper.variance_votes import full_groups, share_repeated
from dimfree.programs.choose import constants as c
from dimfree.programs.run import TOO_FEW
from dimfree.shapes import DiagonalCovariance

MAX_LIFTED = 20.0  # no filtered release costs more than this, however large its epsilon (P1)
SCALES = (1e-60, 1e60)  # standard deviations whose powers stay in the range of floats
NO_VOTE = "The groups do not agree on the variances: too few records for this budget, or very long tails."
NO_SCALE = "The records do not vary, or vary on a scale outside the range of the arithmetic; change the units."
LOW_WEIGHT = (
    "Too few records are within the learned radius of each other, or they lie too far from zero for their SD; subtract"
    " a public center first."
)
_ROUNDING = 1e-9
_STEPS = 4  # FindKthLargestVariance, TopVar, the top variances, the sum of the others: equal shares, as printed


@dataclass(frozen=True)
class Outcome:
    """The outcome of a program: a mean with the SD of its noise, or a refusal. Released and public."""

    public: Mapping[str, float] = field(default_factory=dict)
    mean: Floats | None = None
    noise_stddev: Floats | None = None
    refusal: str | None = None
    noise_principal: Floats | None = None  # principal variances of the noise, if the coordinates are not principal


@dataclass(frozen=True)
class Shares:
    """The budget of the count (None: it is public), and that of either half of the records."""

    count_epsilon: float | None
    half: Budget
    relation: Neighbors

    def surely(self, count: float) -> float:
        """Return a likely lower bound on the size of the first half: two SDs below its expected size."""
        if self.count_epsilon is None:
            return count // 2
        return count / 2 - math.sqrt(2) / self.count_epsilon - math.sqrt(max(count, 0.0))

    def variance_step(self, k: int) -> Budget:
        """Return the budget of each step on the first half: four steps, or one sum if no variance is estimated."""
        return self.half if k == 0 else Budget(self.half.epsilon / _STEPS, self.half.delta / _STEPS)

    def average(self, blocks: int) -> Budget:
        """Return the budget of each Avg on the second half, under add-remove: replace-one takes two steps (P1)."""
        epsilon, delta = self.half.epsilon, self.half.delta
        if self.relation is Neighbors.REPLACE_ONE:
            epsilon = min(epsilon / 2, MAX_LIFTED)
            delta /= 1 + math.exp(epsilon)
        return Budget(epsilon / blocks * (1 - 1e-12), delta / blocks * (1 - 1e-12))


def paper_shares(budget: Budget, relation: Neighbors) -> Shares:
    """Return budgets of the count and the halves within the whole; the halves are disjoint, so they cost it once."""
    whole = whole_half(budget, relation)
    if relation is Neighbors.REPLACE_ONE:
        return whole
    epsilon = whole.half.epsilon
    half = Budget((1 - c.PAPER_COUNT_SHARE) * epsilon * (1 - _ROUNDING), whole.half.delta)
    return Shares(c.PAPER_COUNT_SHARE * epsilon, half, relation)


def whole_half(budget: Budget, relation: Neighbors) -> Shares:
    """Return the whole budget for the half that a record is in, or for all records, without a count."""
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
    """Return the largest k that the formula and the number of groups allow; None if not even k = 0 is possible.

    `records`: a lower bound on the first half. A printed k, which hides a constant, is lowered if it leads to ⊥.
    """
    least = max(1, math.ceil(c.MIN_PAIRS * math.log(16 * dimension)))
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
    """Return k of Algorithm 2, line 2, with the share of one step; clipped to 0..d."""
    signal = step.epsilon * records
    if signal <= 1:
        return 0
    log_delta = math.log(1 / step.delta)
    cost = (math.log(dimension) * math.log(1 / (step.delta * failure))) ** 2 * log_delta + math.log(signal)
    return min(dimension, math.floor(signal**2 / cost))


def votes_needed(top: int, dimension: int, shares: Shares, failure: float) -> float:
    """Return the groups with which every step on the first half answers with probability about 1 - β."""
    step = shares.variance_step(top)
    each = share_repeated(top, step.epsilon, step.delta) if top else (step.epsilon, step.delta)
    votes = c.VALID_VOTES * (publishing_threshold(*each) + 2 / each[0] * math.log(1 / (failure / max(top, 1))))
    noise = 3 * sparse_scale(top, step.epsilon, step.delta) * math.log(2 * dimension / failure) if top else 0.0
    return max(noise / c.TOP_MARGIN, votes)


def average_by_halves(table: PaperTable, failure: float) -> Outcome:
    """Run Algorithm 2: halves, variances by votes, two averages."""
    shares = paper_shares(table.budget, table.relation)
    count = table.public_count if shares.count_epsilon is None else table.laplace_count(shares.count_epsilon).value
    public: dict[str, float] = {"count": count}
    steps = choose_steps(shares.surely(count), table.dimension, shares, failure)  # l.1–2
    if steps is None:
        return Outcome(public, refusal=TOO_FEW)
    public |= {"top": steps.top, "group_size": steps.size, "groups": steps.groups}
    first, second = table.halves(shares.half)  # l.3
    learned = learn_variances(first.groups(steps.groups, steps.size), steps.top, shares)  # l.4–13
    if learned is None:
        return Outcome(public, refusal=NO_VOTE)
    if not SCALES[0] ** 2 < learned.largest < SCALES[1] ** 2:
        return Outcome(public, refusal=NO_SCALE)
    blocks = coordinate_blocks(learned, max(count / 2, 2.0), failure)
    mean, variance = np.empty(table.dimension), np.empty(table.dimension)
    averages = [second.average(block, shares.average(len(blocks))) for block in blocks]  # l.14–15
    for block, one in zip(blocks, averages, strict=True):
        if one is None:  # ⊥ from either is ⊥
            return Outcome(public, refusal=LOW_WEIGHT)
        mean[block.coordinates], variance[block.coordinates] = one.mean, one.variance
    return Outcome(public, mean, np.sqrt(variance))


@dataclass(frozen=True)
class Learned:
    """Released: the coordinates with an estimated variance, those variances, and the sum of the others."""

    top: Integers
    variances: Floats
    bottom: Integers
    bottom_sum: float

    @property
    def largest(self) -> float:
        return max([self.bottom_sum, *self.variances])


def learn_variances(groups: PaperGroups, k: int, shares: Shares) -> Learned | None:
    """Run l.8–13: the k-th largest variance, the coordinates above an eighth of it, their variances; None is ⊥."""
    step, found, values = shares.variance_step(k), list[int](), list[float | None]()
    if k:
        kth = groups.kth_largest(k, step)  # l.8
        if kth is None:
            return None
        found = groups.top(kth / 8, k, step)  # l.9
        values = groups.each(found, step) if found else []  # l.10–12
    variances = [value for value in values if value is not None]
    if len(variances) < len(values):
        return None
    bottom = np.setdiff1d(np.arange(groups.dimension), found)
    rest = groups.total(bottom, step) if len(bottom) else 0.0  # l.13
    return None if rest is None else Learned(np.array(found, dtype=np.intp), np.array(variances), bottom, rest)


def coordinate_blocks(learned: Learned, records: float, failure: float) -> list[Block]:
    """Return M and λ of the averages (l.14–15): λ covers sqrt(2 tr A) + 2 sqrt(2 tr A log(n/β)), A the covariance."""
    factor = math.sqrt(2 * c.VARIANCE_FACTOR) * (1 + 2 * math.sqrt(math.log(records / failure)))
    least, blocks = c.ZERO_VARIANCE * learned.largest, []  # an estimate of zero is raised: it has no fourth root
    if len(learned.top):
        variances = np.maximum(learned.variances, least)
        radius = factor * math.sqrt(float(np.sqrt(variances).sum()))
        blocks.append(Block(DiagonalCovariance(variances), radius, learned.top))
    if len(learned.bottom):
        radius = factor * math.sqrt(max(learned.bottom_sum, least))
        blocks.append(Block(DiagonalCovariance(np.ones(len(learned.bottom))), radius, learned.bottom))
    return blocks
