"""What the public optimiser will choose for a number of records: the same functions as the release, and no table.

Notation: n̂ = released number of records, here a number that one supposes.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import Calibration, calibrate_gaussian
from dimfree.accounting.discrete import idealised
from dimfree.accounting.events import OnlyGaussian
from dimfree.accounting.precision import largest_mu
from dimfree.data.records import Records
from dimfree.noise import SeededNoise
from dimfree.planning.question import Question
from dimfree.programs.choose.core import (
    BoundedChoice,
    Size,
    StableChoice,
    choose_soft,
    default_core_sample,
    stable_choices,
)
from dimfree.programs.choose.stages import Schedule
from dimfree.programs.columns.run import records_needed, untested_branch
from dimfree.programs.known import choose_known
from dimfree.programs.opening import UNKNOWN, calibrated
from dimfree.programs.run import Run
from dimfree.programs.unknown import choose_core, choose_ring
from dimfree.request import Request

Choice = Schedule | BoundedChoice | StableChoice | OnlyGaussian  # the last: every column by itself


@dataclass(frozen=True)
class Outlook:
    """A run over an empty table of the right width, the calibration of its budget, and the choice made from it."""

    run: Run
    menu: Calibration
    size: Size
    choice: Choice | None  # None: a public refusal


@lru_cache(maxsize=4)  # few: each may hold simulated distances
def outlook(question: Question) -> Outlook:
    """What a release would choose if n̂ were the number of records."""
    run, menu = _opened(question)
    size = Size(float(question.count), menu.count_stddev, default_core_sample(menu))
    unknown = question.knowledge == "nothing"
    choice = _choose_unknown(question, run, menu, size) if unknown else choose_known(run, menu, size)
    return Outlook(run, menu, size, choice if _enough_for(choice, question.count) else None)


def _enough_for(choice: Choice | None, count: int) -> bool:
    """Whether so many records are enough for the test of a choice: n̂ may leave that to the test (P14)."""
    core = choice.core if isinstance(choice, Schedule) else choice
    return not isinstance(core, StableChoice) or core.needs <= count


def _choose_unknown(question: Question, run: Run, menu: Calibration, size: Size) -> StableChoice | OnlyGaussian | None:
    """As `release_unknown` and `release_columns` choose, by public numbers."""
    core = None if question.objective == "relative" else choose_core(run, menu, size)
    ring = None if question.objective == "relative" else choose_ring(run, menu, size)
    return untested_branch(run, menu, size, alone=core is None) or ring or core


def smallest_count(question: Question) -> int:
    """The fewest records that are not refused for want of records, but for failure_probability; 0 where none will do.

    Under add/remove n̂ may fall below n by some deviations, and is then not refused as long as there may be enough
    records (P14); but the test asks for the records themselves.
    """
    if question.objective == "relative":
        return records_needed(question.budget, question.relation, question.dimension, question.failure_probability)
    run, menu = _opened(question)
    sample = default_core_sample(menu)
    short = -float(ndtri(question.failure_probability)) * (menu.count_stddev or 0.0)

    def suffices(count: int) -> bool:
        sizes = (Size(max(count - off, 0.0), menu.count_stddev, sample) for off in (short, 0.0))
        return all(_has_choice(question, run, menu, size, count) for size in sizes)

    high = 2
    while not suffices(high):
        high *= 2
        if high > 2**40:
            return 0
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def _has_choice(question: Question, run: Run, menu: Calibration, size: Size, count: int) -> bool:
    """Whether there is any choice that `count` records are enough for; the best one takes longer to find."""
    if question.knowledge == "nothing":
        choice = _choose_unknown(question, run, menu, size)
        return choice is not None and _enough_for(choice, count)
    if menu.bounded and choose_soft(menu.bounded, size.count, run.model):
        return True
    return any(each.needs <= count for each in stable_choices(menu.tested, size, run.failure, run.model))


def _opened(question: Question) -> tuple[Run, Calibration]:
    run = _run(question)
    if question.objective == "relative":
        return run, calibrate_gaussian(run.budget, private_count=run.relation is Neighbours.ADD_REMOVE)
    if question.knowledge == "nothing":
        return run, calibrated(run, **UNKNOWN)
    return run, calibrated(run, 0.0, bounded=question.relation is Neighbours.ADD_REMOVE)


def _run(question: Question) -> Run:
    """The run of a release with these options, over a table without rows; the coordinates are the columns."""
    request = Request.checked(
        epsilon=question.budget.epsilon,
        delta=question.budget.delta,
        objective="relative" if question.objective == "relative" else "total",
        neighbours=question.relation,
        covariance=None if question.knowledge == "nothing" else question.stddevs**2,
        basis=None,
        noise=SeededNoise(0),
        options=question.options,
    )
    return Run.of(request, Records(np.zeros((0, question.dimension)), None))


def whole_mu(budget: Budget) -> float:
    """The whole budget as one Gaussian precision: what shares are shares of."""
    return largest_mu(*idealised(budget.usable_epsilon, budget.delta))
