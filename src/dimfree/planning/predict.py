"""Predict the error of `release_mean` by running its estimator on simulated records.

Letters: n̂ = released number of records, here an assumed number.
"""

import math
import warnings
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from dimfree._types import Floats
from dimfree._validate import check_probability
from dimfree.accounting.budget import CHANGED_RECORDS, Budget
from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.discrete import idealize
from dimfree.accounting.events import Costs, OnlyGaussian, Tested
from dimfree.accounting.ladder import DENOMINATOR
from dimfree.accounting.precision import largest_mu
from dimfree.beliefs import Beliefs
from dimfree.errors import InvalidParameterError
from dimfree.noise import SeededNoise
from dimfree.planning.question import Prediction, Question
from dimfree.planning.simulated_table import SimulatedTable
from dimfree.programs.choose.core import Size, choose_core_sample, choose_stable_cores
from dimfree.programs.columns.run import count_records_needed
from dimfree.programs.known import calibrate_known
from dimfree.programs.run import TOO_FEW, UNKNOWN, Run, calibrate_run
from dimfree.programs.unknown import choose_branch
from dimfree.release import complete
from dimfree.request import Request
from dimfree.results.quantiles import length_quantile

MAX_COLUMNS = 200_000  # in a simulation
TOO_FEW_COLUMNS = "Too few records for objective='relative' with this many columns at this budget."
REFUSED = "refused"
UNUSED = "tests and unused"
_MAX_SEARCHED = 2**40  # records
_MAX_PAIRS, _COLUMNS_PER_PREDICTION = 24, 2_000  # pairs of runs; one pair is enough for so many columns
_ENOUGH_PAIRS, _STANDARD_ERROR = 4, 0.1  # of the mean square error, relative: no more pairs are run below it
_FEW = 100.0  # records times precision: below it noise varies much between releases, and all pairs are run
_METHODS = {
    "columns": "There are enough records to estimate the center and the SD of every column separately, without a test.",
    "auto": "Without prior knowledge, scale, center and variances are estimated inside the budget.",
    "recentered": "The covariance is known: refinement steps follow the stable core.",
    "stable": "The covariance is known: the stable core alone has less noise than with refinement steps after it.",
}


@dataclass(frozen=True)
class Course:
    """The course of a release, by simulated releases and public thresholds.

    Attributes
    ----------
    method : str
        The estimator, as in `Release.method`; "refused" for a refusal.
    why : str
        The reason, in a sentence.
    shares : tuple of (str, float)
        Shares of the precision of the total budget as one Gaussian release, by purpose. They sum to 1; the last is for
        stability tests, unused branches and unused releases.
    pass_probability : float
        Lower bound of the probability that data that fit the model are not refused.
    smallest_count : int
        The smallest number of records that is not refused as too few; 0 if every number is.
    """

    method: str
    why: str
    shares: tuple[tuple[str, float], ...]
    pass_probability: float
    smallest_count: int


def predict(question: Question, confidence: float = 0.95, pairs: int = _MAX_PAIRS) -> Prediction:
    """Predict the error of releases that are not refused; `pairs`: maximum number of simulated pairs of runs."""
    level, found = check_probability("confidence", confidence), simulate_releases(question, pairs)
    sampling, noise = question.sampling, float(found.variances.sum())
    if found.refusal is not None:
        return Prediction(sampling, math.inf, 0.0, math.inf, math.inf, refused=True, remark=found.refusal)
    total = question.stddevs**2 / question.count + found.variances * (1 + found.bias / noise)
    error = math.sqrt(sampling**2 + noise + found.bias)
    return Prediction(sampling, math.sqrt(noise), math.sqrt(found.bias), error, length_quantile(total, level))


def describe_course(question: Question) -> Course:
    """Describe the estimator, its budget shares and pass probability, by the charges of simulated releases."""
    found, least = simulate_releases(question, _MAX_PAIRS), find_smallest_count(question)
    if found.refusal is None:
        chance = _compute_pass_probability(question, found.ledgers[0])
        return Course(found.method, _METHODS[found.method], _compute_shares(question, found.ledgers), chance, least)
    why = found.refusal
    if question.count < least or not least:
        needed = f"about {least} are needed" if least else "no number of them suffices at this budget"
        aim, advice = "for the stability test", ""
        if question.objective == "relative":
            aim, advice = "to estimate so many columns separately", " objective='total' may work."
        why = f"There are too few records {aim} at this budget; {needed}.{advice}"
    return Course(REFUSED, why, (), 0.0, least)


def _compute_shares(question: Question, ledgers: tuple[Costs, ...]) -> tuple[tuple[str, float], ...]:
    """Compute (purpose, share) in the order of the releases; numbered steps count together."""
    whole, spent = len(ledgers) * total_mu(question.budget) ** 2, defaultdict[str, float](float)
    for ledger in ledgers:
        for event in (*ledger.before, *ledger.searches, *ledger.after):
            spent[event.purpose.rstrip(" 0123456789")] += event.mu**2 / whole
    return (*spent.items(), (UNUSED, max(0.0, 1 - sum(spent.values()))))


def _compute_pass_probability(question: Question, run: Costs) -> float:
    """Compute the probability that n̂ is not refused (1 - β at the smallest count), times that of the stability test."""
    chance, beta = 1.0, question.failure_probability
    if run.before:
        chance = float(ndtr((question.count - find_smallest_count(question)) * run.before[0].mu - ndtri(beta)))
    taken = None if run.chosen is None else run.branches[run.chosen]
    if isinstance(taken, OnlyGaussian):
        return chance
    assert isinstance(taken, Tested)  # `Session.take` accepts no other branch
    return chance * taken.ladder.rungs[-1] / DENOMINATOR * (1 - beta / 2)


@dataclass(frozen=True)
class Simulated:
    """The results of seeded runs on simulated records.

    `variances` of the noise of each column, as the releases state it; `bias`: mean squared error that mirrored noise
    does not cancel; `runs`: method and charges of each; `refusal` of most runs.
    """

    variances: Floats
    bias: float
    runs: tuple[tuple[str, Costs], ...] = ()
    refusal: str | None = None

    @property
    def method(self) -> str:
        """The most frequent method."""
        return Counter(method for method, _ in self.runs).most_common(1)[0][0]

    @property
    def ledgers(self) -> tuple[Costs, ...]:
        """The charges of the runs with this method."""
        return tuple(costs for method, costs in self.runs if method == self.method)


@lru_cache(maxsize=128)
def simulate_releases(question: Question, most: int = _MAX_PAIRS) -> Simulated:
    """Run up to `most` pairs with mirrored noise, until their mean square error is precise enough."""
    if question.dimension > MAX_COLUMNS:
        raise InvalidParameterError(f"`d` must be at most {MAX_COLUMNS}: wider tables are not simulated.")
    nothing = np.zeros(question.dimension)
    if not _has_enough(question, question.count, question.count):
        return Simulated(nothing, 0.0, refusal=TOO_FEW_COLUMNS if question.objective == "relative" else TOO_FEW)
    few = question.count * total_mu(question.budget) < _FEW * CHANGED_RECORDS[question.relation]
    fewest = 1 if question.dimension > _COLUMNS_PER_PREDICTION else 2
    found, refusals, errors = list[Simulated](), list[str](), list[float]()
    for draw in range(min(most, int(np.clip(_COLUMNS_PER_PREDICTION // question.dimension, fewest, _MAX_PAIRS)))):
        pair = _pair(question, draw)
        if pair.refusal is not None:
            refusals.append(pair.refusal)
        else:
            found.append(pair)
            errors.append(question.sampling**2 + float(pair.variances.sum()) + pair.bias)
        enough = _STANDARD_ERROR * math.sqrt(len(errors)) * float(np.mean(errors)) if errors else 0.0
        if not few and len(errors) >= _ENOUGH_PAIRS and np.std(errors, ddof=1) < enough:
            break
    if len(found) <= len(refusals):
        return Simulated(nothing, 0.0, refusal=refusals[0])
    variances, bias = np.mean([pair.variances for pair in found], axis=0), np.mean([pair.bias for pair in found])
    return Simulated(variances, float(bias), tuple(run for pair in found for run in pair.runs))


@lru_cache(maxsize=64)
def _pair(question: Question, draw: int) -> Simulated:
    """Run the program twice on the same simulated records, with mirrored noise."""
    variances, errors, runs = list[Floats](), list[Floats](), list[tuple[str, Costs]]()
    for sign in (1, -1):
        request, run, mean = _simulate_run(question, draw, sign)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a weak guarantee: a row of the plan states it
            release = complete(run, request, {})
        if release.refused:
            return Simulated(mean, 0.0, refusal=release.refusal)
        variances.append(release.noise_stddev**2)
        errors.append(release.mean - mean)
        assert isinstance(release.charges, Costs)  # of one run
        runs.append((release.method, release.charges))
    bias = float((((errors[0] + errors[1]) / 2) ** 2).sum())  # not canceled by mirrored noise
    return Simulated((variances[0] + variances[1]) / 2, bias, tuple(runs))


def _simulate_run(question: Question, draw: int = 0, sign: int = 1) -> tuple[Request, Run, Floats]:
    """Return the request, its run on simulated records, and their mean."""
    request = Request.from_arguments(
        epsilon=question.budget.epsilon,
        delta=question.budget.delta,
        objective=question.objective,
        neighbors=question.relation,
        covariance=None if question.knowledge == "nothing" else question.stddevs**2,
        noise=SeededNoise(0),  # for its checks alone: the table has its own noise
        options=question.options,
    )
    beliefs = Beliefs.of(request, question.dimension, None)
    rest = (beliefs.shape, request.budget, request.relation, draw, sign)
    table = SimulatedTable(question.stddevs, question.count, *rest)
    return request, beliefs.run(request, table, None, {}), table.mean


@lru_cache(maxsize=256)
def find_smallest_count(question: Question) -> int:
    """Find the fewest records that are not refused as too few, at failure_probability; 0 if none suffices.

    Under add/remove n̂ may fall below n by some SDs, and is then not refused if there may be enough records (P14); but
    the test needs the records themselves.
    """
    if question.objective == "relative":
        return count_records_needed(
            question.budget, question.relation, question.dimension, question.failure_probability
        )
    one = replace(question, count=1)
    short = -float(ndtri(question.failure_probability)) * (_open_simulated(one)[1].count_stddev or 0.0)
    counts = range(1, _MAX_SEARCHED + 1)
    found = bisect_left(counts, True, key=lambda n: all(_has_enough(one, n - off, n) for off in (short, 0.0)))
    return counts[found] if found < len(counts) else 0


def total_mu(budget: Budget) -> float:
    """Return mu of the total budget as one Gaussian release."""
    return largest_mu(*idealize(budget.usable_epsilon, budget.delta))


@lru_cache(maxsize=16)
def _open_simulated(question: Question) -> tuple[Run, Calibration]:
    """Return the run and its branches, which do not depend on the number of records."""
    _, run, _ = _simulate_run(question)
    return run, calibrate_known(run) if question.knowledge == "covariance" else calibrate_run(run, **UNKNOWN)


def _has_enough(question: Question, count: float, true_count: int) -> bool:
    """Return whether an estimator accepts this n̂, and its test can pass at the true number."""
    if question.objective == "relative":
        return count >= count_records_needed(question.budget, question.relation, question.dimension, 0.5)
    run, branches = _open_simulated(replace(question, count=1))
    size = Size(max(count, 0.0), branches.count_stddev, choose_core_sample(branches))
    if question.knowledge == "covariance":
        return any(
            each.needs <= true_count for each in choose_stable_cores(branches.tested, size, run.failure, run.model)
        )
    way = choose_branch(run, branches, size)
    return way is not None and (isinstance(way, OnlyGaussian) or way.needs <= true_count)
