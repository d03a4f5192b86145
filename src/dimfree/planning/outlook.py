"""Decide whether a number of records is enough, by the public choices of the programs.

Letters: n̂ = released number of records, here an assumed number.
"""

from dataclasses import replace
from functools import lru_cache

from scipy.special import ndtr, ndtri

from dimfree._types import Floats
from dimfree.accounting.budget import Budget
from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.discrete import idealised
from dimfree.accounting.precision import largest_mu
from dimfree.beliefs import Beliefs
from dimfree.noise import SeededNoise
from dimfree.planning.question import Question
from dimfree.planning.simulated_table import SimulatedTable
from dimfree.programs.choose.core import Size, StableChoice, default_core_sample, stable_choices
from dimfree.programs.columns.run import records_needed, untested_branch
from dimfree.programs.known import calibrate_known
from dimfree.programs.opening import UNKNOWN, calibrated
from dimfree.programs.run import Run
from dimfree.programs.unknown import choose_core, choose_ring
from dimfree.request import Request

LARGEST_SEARCHED = 2**40


def simulated_run(question: Question, draw: int = 0, sign: int = 1) -> tuple[Request, Run, Floats]:
    """Return the request, its run on simulated records, and their mean."""
    request = Request.checked(
        epsilon=question.budget.epsilon,
        delta=question.budget.delta,
        objective=question.objective,  # type: ignore[arg-type]
        neighbours=question.relation,
        covariance=None if question.knowledge == "nothing" else question.stddevs**2,
        noise=SeededNoise(0),  # for its checks alone: the table has its own
        options=question.options,
    )
    beliefs, promise = Beliefs.of(request, question.dimension, None), (request.budget, request.relation)
    table = SimulatedTable(question.stddevs, question.count, beliefs.shape, *promise, draw, sign)
    return request, beliefs.run(request, table, None, {}), table.mean


@lru_cache(maxsize=256)
def smallest_count(question: Question) -> int:
    """Return the fewest records that are not refused as too few, but for failure_probability; 0 if none will do.

    Under add/remove n̂ may fall below n by some deviations, and is then not refused as long as there may be enough
    records (P14); but the test asks for the records themselves.
    """
    if question.objective == "relative":
        return records_needed(question.budget, question.relation, question.dimension, question.failure_probability)
    run, menu = _opened(replace(question, count=1))
    short = -float(ndtri(question.failure_probability)) * (menu.count_stddev or 0.0)
    low, high = 1, 2
    while not all(_suffices(question, run, menu, high - off, high) for off in (short, 0.0)):
        low, high = high, 2 * high
        if high > LARGEST_SEARCHED:
            return 0
    while high - low > 1:
        middle = (low + high) // 2
        enough = all(_suffices(question, run, menu, middle - off, middle) for off in (short, 0.0))
        low, high = (low, middle) if enough else (middle, high)
    return high


def is_enough(question: Question) -> bool:
    """Return whether so many records are not refused if n̂ is their number."""
    if question.objective == "relative":
        return question.count >= records_needed(question.budget, question.relation, question.dimension, 0.5)
    return _suffices(question, *_opened(replace(question, count=1)), question.count, question.count)


def chance_counted(question: Question, stddev: float | None) -> float:
    """Return the chance that n̂, with such noise, is not refused: 1 - failure_probability at `smallest_count`."""
    if stddev is None:
        return 1.0
    return float(ndtr((question.count - smallest_count(question)) / stddev - ndtri(question.failure_probability)))


def whole_mu(budget: Budget) -> float:
    """Return the whole budget as one Gaussian precision."""
    return largest_mu(*idealised(budget.usable_epsilon, budget.delta))


@lru_cache(maxsize=16)
def _opened(question: Question) -> tuple[Run, Calibration]:
    """Return the run and its branches, which do not depend on the number of records."""
    _, run, _ = simulated_run(question)
    return run, calibrate_known(run) if question.knowledge == "covariance" else calibrated(run, **UNKNOWN)


def _suffices(question: Question, run: Run, menu: Calibration, count: float, true_count: int) -> bool:
    """Return whether a program goes on at this n̂, with a test that the true number does not keep from passing."""
    size = Size(max(count, 0.0), menu.count_stddev, default_core_sample(menu))
    if question.knowledge == "covariance":
        return any(each.needs <= true_count for each in stable_choices(menu.tested, size, run.failure, run.model))
    core = choose_core(run, menu, size)
    if untested_branch(run, menu, size, alone=core is None):
        return True
    choice = choose_ring(run, menu, size) or core
    return isinstance(choice, StableChoice) and choice.needs <= true_count
