"""How far from the mean `release_mean` will be, before there are any records: its own program, on simulated records."""

import math
import warnings
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_probability
from dimfree.accounting.several_runs.costs import AnyCosts
from dimfree.planning.outlook import is_enough, run_of
from dimfree.planning.question import Prediction, Question
from dimfree.planning.simulated_table import SEED, MirroredNoise, simulated_records
from dimfree.programs.run import TOO_FEW
from dimfree.release import complete
from dimfree.results.quantiles import length_quantile

MOST_COLUMNS = 200_000  # that are simulated
TOO_FEW_COLUMNS = "Too few records for objective='relative' with so many columns at this budget."
TOO_WIDE = f"A table of more than {MOST_COLUMNS} columns is not simulated."
_PAIRS, _COLUMNS, _CERTAINTY = (
    (2, 12),
    2_000,
    0.05,
)  # pairs of runs, of so many columns; the standard error that ends them
NAMES = {"nothing": "dimfree", "covariance": "dimfree known"}
TOLD = {"nothing": "nothing", "covariance": "σ"}


@dataclass(frozen=True)
class Simulated:
    """What some seeded runs released; none of them saw a person.

    `variances` of the noise of each column, as the releases state it; `bias`: mean squared error that mirrored noise
    does not cancel; `ledgers` and `method` of the runs that took the most frequent way; `refusal`: of most runs.
    """

    variances: Floats
    bias: float
    method: str
    ledgers: tuple[AnyCosts, ...]
    refusal: str | None = None


def predict(question: Question, confidence: float = 0.95) -> Prediction:
    """The expected error of `release_mean` on Gaussian records: root mean square, and the length kept with confidence.

    It speaks of releases that pass; `course` says how likely that is. The same question has the same answer.
    """
    level = check_probability("confidence", confidence)
    if not is_enough(question):
        return _without(question, TOO_FEW_COLUMNS if question.objective == "relative" else TOO_FEW, refused=True)
    if question.dimension > MOST_COLUMNS:
        return _without(question, TOO_WIDE)
    found = simulated(question)
    if found.refusal is not None:
        return _without(question, found.refusal, refused=True)
    return _predicted(question, found, level)


@lru_cache(maxsize=128)
def simulated(question: Question) -> Simulated:
    """Pairs of runs with mirrored noise, until their mean square error is known well enough."""
    fewest, most = _PAIRS
    found, refusals, errors = list[_Run](), list[str](), list[float]()
    for draw in range(int(np.clip(_COLUMNS // question.dimension, fewest, most))):
        pair = [_run(question, draw, sign) for sign in (1, -1)]
        refusals += [run.refusal for run in pair if run.refusal is not None]
        if all(run.refusal is None for run in pair):
            found += pair
            errors.append(question.sampling**2 + _squares(pair))
        if len(errors) > fewest and np.std(errors, ddof=1) < _CERTAINTY * math.sqrt(len(errors)) * np.mean(errors):
            break
    if len(errors) <= len(refusals) / 2 or not errors:
        return Simulated(np.zeros(question.dimension), 0.0, "refused", (), refusals[0])
    method = Counter(run.method for run in found).most_common(1)[0][0]
    ledgers = tuple(run.ledger for run in found if run.method == method)
    variances = np.mean([run.variances for run in found], axis=0)
    bias = np.mean([_uncancelled(found[i : i + 2]) for i in range(0, len(found), 2)])
    return Simulated(variances, float(bias), method, ledgers)


@dataclass(frozen=True)
class _Run:
    variances: Floats
    error: Floats
    method: str
    ledger: AnyCosts
    refusal: str | None


def _run(question: Question, draw: int, sign: int) -> _Run:
    rows, mean = simulated_records(question.stddevs, question.count, draw)
    request, run = run_of(question, rows, MirroredNoise(SEED + draw, sign))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a weak guarantee: a plan states it in words
        found = complete(run, request, {})
    if found.refused:
        return _Run(mean, mean, found.method, found.ledger, found.refusal)
    return _Run(found.noise_stddev**2, found.mean - mean, found.method, found.ledger, None)


def _uncancelled(pair: list[_Run]) -> float:
    return float((((pair[0].error + pair[1].error) / 2) ** 2).sum())


def _squares(pair: list[_Run]) -> float:
    return float(np.mean([run.variances.sum() for run in pair])) + _uncancelled(pair)


def _predicted(question: Question, found: Simulated, level: float) -> Prediction:
    noise, sampling = float(found.variances.sum()), question.sampling
    total = question.stddevs**2 / question.count + found.variances * (1 + found.bias / noise)
    return Prediction(
        NAMES[question.knowledge],
        TOLD[question.knowledge],
        sampling,
        math.sqrt(noise),
        math.sqrt(found.bias),
        math.sqrt(sampling**2 + noise + found.bias),
        length_quantile(total, level),
        "simulation",
    )


def _without(question: Question, remark: str, *, refused: bool = False) -> Prediction:
    """No answer: a refusal, or more than can be simulated."""
    name, told, infinite = NAMES[question.knowledge], TOLD[question.knowledge], math.inf
    how = "closed form" if refused else "cannot"
    return Prediction(name, told, question.sampling, infinite, 0.0, infinite, infinite, how, refused, remark)
