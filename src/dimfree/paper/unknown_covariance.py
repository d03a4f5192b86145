"""The paper's Algorithm 2, line by line, with the constants that make it private.

n̂ → two halves by secret coins → groups vote on the variances (first half) → two averages (second half).
A record is in one half only, so the halves share the budget without dividing it. Proof: proofs/paper/kernel.md.
Letters: k, l, m as in the plan; Σ̂ = learned variances; λ = friend radius; β = failure probability.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree._validate import check_choice
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.data.records import BY_ROW
from dimfree.ledger.charging import check_ledger
from dimfree.ledger.ledger import Ledger
from dimfree.noise import Noise
from dimfree.options import Options
from dimfree.paper.averaging import Average, Block
from dimfree.paper.kernel import PaperGroups, PaperTable
from dimfree.paper.releasing import Outcome, release_by
from dimfree.paper.shares import Shares, choose_steps, paper_shares
from dimfree.programs.choose.constants import COVERED, ZERO_VARIANCE
from dimfree.programs.run import CAUTION, TOO_FEW
from dimfree.request import Request, open_records
from dimfree.results.release import Release
from dimfree.shapes import Diagonal

METHOD = "paper"
SCALES = (1e-60, 1e60)  # standard deviations whose powers stay in the range of floats
NO_VOTE = "The groups do not agree on the variances: too few records for this budget, or very long tails."
NO_SCALE = "The records do not vary, or vary on a scale outside the range of the arithmetic; change the units."
LOW_WEIGHT = (
    "Too few records are within the learned radius of each other, or they lie too far from zero for their SD; subtract"
    " a public center first."
)

Coordinates = NDArray[np.intp]


def algorithm2(
    X: object,
    *,
    epsilon: float,
    delta: float,
    neighbours: Literal["add-remove", "replace-one"] | Neighbours = "add-remove",
    unit: object = None,
    unit_rows: int | None = None,
    on_missing: Literal["raise", "drop"] = "raise",
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    failure_probability: float = 0.01,
    ledger: Ledger | None = None,
    noise: Noise | None = None,
) -> Release:
    """Release the mean by the paper's Algorithm 2, without prior knowledge.

    Guarantee: (epsilon, delta)-differential privacy under `neighbours`. Proof: proofs/paper/kernel.md.
    The released mean is that of a random half of the records plus noise. `noise_stddev` and intervals cover the
    distance from that half's mean. The mean of all records differs from it by a standard error of σ/sqrt(n).

    Parameters
    ----------
    X : table
        Any table that `release_mean` takes.
    epsilon, delta : float
        The privacy budget of the release.
    failure_probability : float
        β in the choice of k, l, m and λ. It does not affect privacy.
    neighbours, unit, unit_rows, on_missing, columns, exclude, ledger, noise
        As in `release_mean`; `on_missing` is "raise" or "drop".

    Returns
    -------
    Release
        The mean with its noise and charges, or a refusal with a public reason.

    Raises
    ------
    InvalidParameter, InvalidRecords, BudgetExceeded
        As in `release_mean`. Nothing is charged.

    Examples
    --------
    >>> import numpy as np
    >>> from dimfree.paper import algorithm2
    >>> X = np.random.default_rng(0).normal(size=(4000, 5))
    >>> algorithm2(X, epsilon=1.0, delta=1e-6).dimension
    5
    """
    check_choice("on_missing", on_missing, BY_ROW)
    request = Request.checked(
        epsilon=epsilon,
        delta=delta,
        options=Options(failure_probability=failure_probability),
        neighbours=neighbours,
        unit=unit,
        unit_rows=unit_rows,
        on_missing=on_missing,
        columns=columns,
        exclude=exclude,
        noise=noise,
    )
    check_ledger(ledger)
    opened = open_records(X, request)
    if request.relation is Neighbours.REPLACE_ONE:
        request.warn_of_weak_guarantee(opened.records.count)
    failure = CAUTION * request.options.failure_probability
    return release_by(lambda table: average_by_halves(table, failure), opened, request, ledger, METHOD)


def average_by_halves(table: PaperTable, failure: float) -> Outcome:
    """Algorithm 2 as a program: halves, variances by votes, two averages."""
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
    share = shares.average(len(blocks))
    averages = [second.average(block, share) for block in blocks]  # l.14–15: ⊥ from either is ⊥
    found = [one for one in averages if one is not None]
    return _joined(public, blocks, found) if len(found) == len(blocks) else Outcome(public, refusal=LOW_WEIGHT)


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


def learn_variances(groups: PaperGroups, k: int, shares: Shares) -> Learned | None:
    """l.8–13; None is ⊥ from any of the votes."""
    step = shares.variance_step(k)
    top = _top(groups, k, step) if k else {}
    if top is None:
        return None
    bottom = np.setdiff1d(np.arange(groups.dimension), list(top))
    rest = groups.total(bottom, step) if len(bottom) else 0.0  # l.13
    if rest is None:
        return None
    return Learned(np.array(list(top), dtype=np.intp), np.array(list(top.values())), bottom, rest)


def _top(groups: PaperGroups, k: int, step: Budget) -> dict[int, float] | None:
    """l.8–12: the k-th largest variance, the coordinates above an eighth of it, the variance of each."""
    kth = groups.kth_largest(k, step)  # l.8
    if kth is None:
        return None
    found = groups.top(kth / 8, k, step)  # l.9
    voted = groups.each(found, step) if found else []  # l.10–12
    values = [value for value in voted if value is not None]
    return dict(zip(found, values, strict=True)) if len(values) == len(voted) else None


def coordinate_blocks(learned: Learned, records: float, failure: float) -> list[Block]:
    """M and λ of the two averages (l.14–15): λ covers sqrt(2 tr A) + 2 sqrt(2 tr A log(n/β)), A the true spread.

    A zero stands for "constant as far as the votes can tell": it is raised to a tiny part of the largest estimate.
    """
    reach = math.sqrt(2 * COVERED) * (1 + 2 * math.sqrt(math.log(records / failure)))
    least, blocks = ZERO_VARIANCE * learned.largest, []
    if len(learned.top):
        variances = np.maximum(learned.variances, least)
        radius = reach * math.sqrt(float(np.sqrt(variances).sum()))
        blocks.append(Block(Diagonal(variances), radius, learned.top))
    if len(learned.bottom):
        radius = reach * math.sqrt(max(learned.bottom_sum, least))
        blocks.append(Block(Diagonal(np.ones(len(learned.bottom))), radius, learned.bottom))
    return blocks


def _joined(public: dict[str, float], blocks: list[Block], averages: list[Average]) -> Outcome:
    dimension = sum(len(one.mean) for one in averages)
    mean, variance = np.empty(dimension), np.empty(dimension)
    for block, one in zip(blocks, averages, strict=True):
        mean[block.coordinates], variance[block.coordinates] = one.mean, one.variance
    return Outcome(public, mean, np.sqrt(variance))
