"""Predict the error of `release_mean` before there are any records: run its own program on simulated records."""

import math
import warnings
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_probability
from dimfree.accounting.events import Costs
from dimfree.errors import InvalidParameter
from dimfree.planning.outlook import is_enough, simulated_run
from dimfree.planning.question import Prediction, Question
from dimfree.programs.run import TOO_FEW
from dimfree.release import complete
from dimfree.results.quantiles import length_quantile

MAX_COLUMNS = 200_000  # that are simulated
TOO_FEW_COLUMNS = "Too few records for objective='relative' with so many columns at this budget."
REFUSED = "refused"
_MAX_PAIRS, _COLUMNS_PER_PREDICTION = 12, 2_000  # pairs of runs; one pair is enough for so many columns
_ENOUGH_PAIRS, _STANDARD_ERROR = 4, 0.05  # of the mean square error, relative: no more pairs are run below it


@dataclass(frozen=True)
class Simulated:
    """What seeded runs on simulated records released.

    `variances` of the noise of each column, as the releases state it; `bias`: mean squared error that mirrored noise
    does not cancel; `ledgers` and `method` of the runs that used the most frequent estimator; `refusal` of most runs.
    """

    variances: Floats
    bias: float
    method: str
    ledgers: tuple[Costs, ...]
    refusal: str | None = None


def predict(question: Question, confidence: float = 0.95) -> Prediction:
    """Return the expected error of `release_mean` on Gaussian records: root mean square, and a quantile.

    It is the error of releases that are not refused; `course` gives their probability. The same question has the same
    answer.
    """
    level, found = check_probability("confidence", confidence), simulated(question)
    sampling, noise = question.sampling, float(found.variances.sum())
    if found.refusal is not None:
        return Prediction(sampling, math.inf, 0.0, math.inf, math.inf, refused=True, remark=found.refusal)
    total = question.stddevs**2 / question.count + found.variances * (1 + found.bias / noise)
    return Prediction(
        sampling,
        math.sqrt(noise),
        math.sqrt(found.bias),
        math.sqrt(sampling**2 + noise + found.bias),
        length_quantile(total, level),
    )


@lru_cache(maxsize=128)
def simulated(question: Question) -> Simulated:
    """Run pairs with mirrored noise until their mean square error is known well enough."""
    if question.dimension > MAX_COLUMNS:
        raise InvalidParameter(f"Expected at most {MAX_COLUMNS} columns: wider tables are not simulated.")
    if not is_enough(question):
        return _refused(question, TOO_FEW_COLUMNS if question.objective == "relative" else TOO_FEW)
    fewest = 1 if question.dimension > _COLUMNS_PER_PREDICTION else 2
    found, refusals, errors = list[_Run](), list[str](), list[float]()
    for draw in range(int(np.clip(_COLUMNS_PER_PREDICTION // question.dimension, fewest, _MAX_PAIRS))):
        pair = [_run(question, draw, sign) for sign in (1, -1)]
        refusals += [run.refusal for run in pair if run.refusal is not None]
        if all(run.refusal is None for run in pair):
            found += pair
            errors.append(question.sampling**2 + sum(run.noise for run in pair) / 2 + _bias(*pair))
        if len(errors) >= _ENOUGH_PAIRS and np.std(errors, ddof=1) < _STANDARD_ERROR * len(errors) ** 0.5 * np.mean(
            errors
        ):
            break
    if len(errors) <= len(refusals) / 2:
        return _refused(question, refusals[0])
    method = Counter(run.method for run in found).most_common(1)[0][0]
    ledgers = tuple(run.ledger for run in found if run.ledger is not None and run.method == method)
    bias = np.mean([_bias(*found[i : i + 2]) for i in range(0, len(found), 2)])
    return Simulated(np.mean([run.variances for run in found], axis=0), float(bias), method, ledgers)


def _refused(question: Question, why: str) -> Simulated:
    return Simulated(np.zeros(question.dimension), 0.0, REFUSED, (), why)


@dataclass(frozen=True)
class _Run:
    variances: Floats
    error: Floats
    method: str
    ledger: Costs | None
    refusal: str | None

    @property
    def noise(self) -> float:
        return float(self.variances.sum())


def _run(question: Question, draw: int, sign: int) -> _Run:
    request, run, mean = simulated_run(question, draw, sign)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a weak guarantee: the plan has a row for it
        found = complete(run, request, {})
    if found.refused:
        return _Run(mean, mean, found.method, None, found.refusal)
    assert isinstance(found.ledger, Costs)  # of one run
    return _Run(found.noise_stddev**2, found.mean - mean, found.method, found.ledger, None)


def _bias(one: _Run, mirrored: _Run) -> float:
    """Return the squared length of what mirrored noise does not cancel."""
    return float((((one.error + mirrored.error) / 2) ** 2).sum())
