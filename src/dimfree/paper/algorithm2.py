"""The paper's Algorithm 2, line by line, with the constants that make it private (shape="paper"). For comparison.

n̂ → two halves by secret coins → groups vote on the variances (first half) → two averages (second half).
A record is in one half only, so the halves share the budget without dividing it. Proof: proofs/paper/algorithm2.md.
Letters: k, l, m as in the plan; Σ̂ = learned variances; λ = friend radius; β = failure probability.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.composition import Composition
from dimfree.accounting.losses import Approximate, Pure
from dimfree.data.blocks import Mask
from dimfree.kernel.statistics.samples import fixed_sample, poisson_sample
from dimfree.paper.averaging import Average, CoordinateBlock, average
from dimfree.paper.group_variances import (
    GroupVariances,
    coordinate_variances,
    find_kth_largest_variance,
    group_variances,
    top_variances,
    variance_sum,
)
from dimfree.paper.grouping import EMPTY, slots
from dimfree.paper.laplace_count import laplace_count
from dimfree.paper.shares import HALVES, Shares, Steps, choose_steps, paper_shares
from dimfree.programs.choose.constants import COVERED, ZERO_VARIANCE
from dimfree.programs.learn.knowledge import Knowledge, Output
from dimfree.programs.run import TOO_FEW, Run
from dimfree.results.release import Release

METHOD = "paper"
SCALES = (1e-60, 1e60)  # standard deviations whose powers stay in the range of floats
NO_VOTE = "The groups do not agree on the variances: too few records for this budget, or very long tails."
NO_SCALE = "The records do not vary, or vary on a scale outside the range of the arithmetic; change the units."
LOW_WEIGHT = "Too few records are within the learned radius of each other."
FAR = "The records lie too far from zero for their spread; subtract a public centre first."

Coordinates = NDArray[np.intp]


@dataclass(frozen=True)
class Learned:
    """Released: which coordinates have a variance of their own, those variances, and the sum of the others."""

    top: Coordinates
    variances: Floats
    bottom: Coordinates
    bottom_sum: float

    @property
    def largest(self) -> float:
        return max([self.bottom_sum, *self.variances])


def refuse_paper(run: Run) -> Release | None:
    """Replace-one: the refusal that the public number of records alone decides, at no cost."""
    shares = paper_shares(run.budget, run.relation)
    steps = choose_steps(shares.surely(run.records.count), run.space.dimension, shares, run.failure)
    return _refused(run, TOO_FEW, shares, (), {"count": run.records.count}) if steps is None else None


def release_paper(run: Run) -> Release:
    """Algorithm 2: halves, variances by votes, two averages.

    What is released is the mean of a random half of the records plus noise: `noise_stddev` and the error bars speak
    of the distance from that half's mean. The mean of all records differs from it by a deviation of σ/sqrt(n).
    """
    shares = paper_shares(run.budget, run.relation)
    count, spent = _counted(run, shares)
    public: dict[str, float] = {"count": count}
    steps = choose_steps(shares.surely(count), run.space.dimension, shares, run.failure)  # l.1–2
    if steps is None:
        return _refused(run, TOO_FEW, shares, spent, public)
    public |= {"top": steps.top, "group_size": steps.size, "groups": steps.groups}
    first = _first_half(run)  # l.3
    learned = _learn(run, _grouped(run, first, steps), steps, shares)  # l.4–13
    if learned is None:
        return _refused(run, NO_VOTE, shares, spent, public, halves=True)
    if not SCALES[0] ** 2 < learned.largest < SCALES[1] ** 2:
        return _refused(run, NO_SCALE, shares, spent, public, halves=True)
    blocks = coordinate_blocks(learned, max(count / 2, 2.0), run.failure)
    averages = _averages(run, ~first, blocks, shares)  # l.14–15
    if averages is None:
        return _refused(run, LOW_WEIGHT, shares, spent, public, halves=True)
    if any(one.far for one in averages):
        return _refused(run, FAR, shares, spent, public, halves=True)
    return _released(run, _joined(blocks, averages), shares, spent, public)


def _counted(run: Run, shares: Shares) -> tuple[float, tuple[Pure, ...]]:
    if shares.count_epsilon is None:
        return run.records.count, ()
    counted = laplace_count(run.records.count, shares.count_epsilon, noise=run.noise)  # M6
    return counted.value, (counted.event,)


def _first_half(run: Run) -> Mask:
    """l.3: by a secret coin for each record (add/remove), or a fixed number of positions (replace-one)."""
    if run.relation is Neighbours.REPLACE_ONE:
        return fixed_sample(run.records.count, run.records.count // 2, run.noise)
    return poisson_sample(run.records.count, 0.5, run.noise)


def _grouped(run: Run, first: Mask, steps: Steps) -> GroupVariances:
    """l.4–6: slots over the first half, then V of every group."""
    indices = np.append(np.flatnonzero(first), EMPTY)  # the last entry is what an empty slot points to
    layout = slots(len(indices) - 1, steps.groups, steps.size, run.noise)  # M1
    return group_variances(run.records, indices[layout])


def _learn(run: Run, groups: GroupVariances, steps: Steps, shares: Shares) -> Learned | None:
    """l.8–13; None is ⊥ from any of the votes."""
    step, dimension = shares.variance_step(steps.top), groups.dimension
    top, variances = (_top(run, groups, steps.top, step) if steps.top else ([], [])) or ([], None)
    if variances is None:
        return None
    bottom = np.setdiff1d(np.arange(dimension), top)
    if not len(bottom):
        return Learned(np.array(top, dtype=np.intp), np.array(variances), bottom, 0.0)
    rest = variance_sum(groups, bottom, step.epsilon, step.delta, noise=run.noise).value  # l.13
    if rest is None:
        return None
    return Learned(np.array(top, dtype=np.intp), np.array(variances), bottom, rest)


def _top(run: Run, groups: GroupVariances, k: int, step: Budget) -> tuple[list[int], list[float]] | None:
    """l.8–12: the k-th largest variance, the coordinates above an eighth of it, the variance of each."""
    kth = find_kth_largest_variance(groups, k, step.epsilon, step.delta, noise=run.noise).value  # l.8
    if kth is None:
        return None
    found = top_variances(groups, kth / 8, k, step.epsilon, step.delta, noise=run.noise).value  # l.9
    if not found:
        return [], []
    voted = coordinate_variances(groups, found, step.epsilon, step.delta, noise=run.noise)  # l.10–12
    values = [one.value for one in voted]
    return None if None in values else (list(found), [value for value in values if value is not None])


def coordinate_blocks(learned: Learned, records: float, failure: float) -> list[CoordinateBlock]:
    """M and λ of the two averages (l.14–15): λ covers sqrt(2 tr A) + 2 sqrt(2 tr A log(n/β)), A the true spread.

    A zero stands for "constant as far as the votes can tell": it is raised to a tiny part of the largest estimate.
    """
    reach = math.sqrt(2 * COVERED) * (1 + 2 * math.sqrt(math.log(records / failure)))
    least, blocks = ZERO_VARIANCE * learned.largest, []
    if len(learned.top):
        variances = np.maximum(learned.variances, least)
        radius = reach * math.sqrt(float(np.sqrt(variances).sum()))
        blocks.append(CoordinateBlock(learned.top, variances, radius))
    if len(learned.bottom):
        radius = reach * math.sqrt(max(learned.bottom_sum, least))
        blocks.append(CoordinateBlock(learned.bottom, np.ones(len(learned.bottom)), radius))
    return blocks


def _averages(run: Run, second: Mask, blocks: list[CoordinateBlock], shares: Shares) -> list[Average] | None:
    """Both averages are asked for, whatever the first one says: ⊥ from either is ⊥."""
    budget = shares.average(len(blocks))
    found = [average(run.records, second, block, budget, noise=run.noise) for block in blocks]
    return None if None in found else [one for one in found if one is not None]


def _joined(blocks: list[CoordinateBlock], averages: list[Average]) -> Output:
    dimension = sum(len(block.coordinates) for block in blocks)
    mean, variance = np.empty(dimension), np.empty(dimension)
    for block, one in zip(blocks, averages, strict=True):
        mean[block.coordinates], variance[block.coordinates] = one.mean, one.variance
    return Output(mean, variance, weight=1.0)


def _ledger(run: Run, shares: Shares, spent: tuple[Pure, ...], halves: bool) -> Composition:
    """The count, then one entry for both halves: a record is in one of them."""
    either = Approximate(HALVES, shares.half.epsilon, shares.half.delta)
    return Composition(run.budget, run.relation, (*spent, *([either] if halves else [])))


def _refused(
    run: Run,
    reason: str,
    shares: Shares,
    spent: tuple[Pure, ...],
    public: dict[str, float],
    *,
    halves: bool = False,
) -> Release:
    return run.refused(reason, METHOD, _ledger(run, shares, spent, halves), **public)


def _released(run: Run, output: Output, shares: Shares, spent: tuple[Pure, ...], public: dict[str, float]) -> Release:
    ledger = _ledger(run, shares, spent, halves=True)
    # the noise covers half of the records, and no spread of theirs is stated
    return run.released(Knowledge.of(output), METHOD, ledger, public, records_modelled=False)
