"""How far from the mean `release_mean` will be, before there are any records. It reads no data.

Known covariance: closed form (`known_noise`). Nothing known: a public simulation (`thinned`, `columns_noise`).
"""

import math
from functools import lru_cache

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_probability
from dimfree.planning.columns_noise import simulated_route
from dimfree.planning.known_noise import known_noise
from dimfree.planning.outlook import outlook
from dimfree.planning.question import Prediction, Question
from dimfree.planning.spread import stddevs_of_public
from dimfree.programs.run import NO_SCALE, TOO_FEW
from dimfree.results.quantiles import length_quantile

__all__ = ["Prediction", "Question", "predict", "stddevs_of_public"]

NAMES = {"nothing": "dimfree", "covariance": "dimfree known"}
TOLD = {"nothing": "nothing", "covariance": "σ"}
MOST_COLUMNS = 200_000  # that are simulated where nothing is known
TOO_FEW_COLUMNS = "Too few records for objective='relative' with so many columns at this budget."
_TOO_WIDE = f"A table of more than {MOST_COLUMNS} columns is not simulated; with knowledge='covariance' none has to be."


def predict(question: Question, confidence: float = 0.95) -> Prediction:
    """The expected error of `release_mean` on Gaussian records: root mean square, and the length kept with confidence.

    It speaks of releases that pass; `course` says how likely that is. The same question has the same answer.
    """
    return _predicted(question, check_probability("confidence", confidence))


@lru_cache(maxsize=128)
def _predicted(question: Question, level: float) -> Prediction:
    seen = outlook(question)
    if seen.choice is None:
        return without(question, TOO_FEW_COLUMNS if question.objective == "relative" else TOO_FEW, refused=True)
    if question.knowledge == "covariance":
        return expected(question, *known_noise(seen), level, "closed form")
    if question.dimension > MOST_COLUMNS:
        return without(question, _TOO_WIDE)
    found = simulated_route(question)
    if not found.found:
        return without(question, NO_SCALE, refused=True)
    return expected(question, found.variances, found.excess, level, "simulation")


def expected(question: Question, variances: Floats, excess: float, level: float, how: str) -> Prediction:
    """From the noise of each column and what else the squared error holds; a negative rest is noise overstated."""
    claimed = float(variances.sum())
    noise, bias = max(claimed + min(excess, 0.0), 0.0), max(excess, 0.0)
    error = math.sqrt(question.sampling**2 + noise + bias)
    total = question.stddevs**2 / question.count + variances * ((noise + bias) / claimed)
    within = length_quantile(np.asarray(total), level)
    return Prediction(
        NAMES[question.knowledge],
        TOLD[question.knowledge],
        question.sampling,
        math.sqrt(noise),
        math.sqrt(bias),
        error,
        within,
        how,
    )


def without(question: Question, remark: str, *, refused: bool = False) -> Prediction:
    """No answer: a refusal, or more than can be simulated."""
    name, told, infinite = NAMES[question.knowledge], TOLD[question.knowledge], math.inf
    how = "closed form" if refused else "cannot"
    return Prediction(name, told, question.sampling, infinite, 0.0, infinite, infinite, how, refused, remark)
