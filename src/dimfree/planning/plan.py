"""`dimfree.plan`: of n, d, epsilon and accuracy three are given, the fourth is found. Touches no data."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dimfree._validate import check_between, check_callable, check_flag, check_probability
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.errors import InvalidParameter
from dimfree.options import Tails
from dimfree.planning.course import course
from dimfree.planning.outlook import smallest_count, whole_mu
from dimfree.planning.paper_bounds.stated import limits_of, needs_of
from dimfree.planning.peers import predict_peers
from dimfree.planning.plan_card import Plan
from dimfree.planning.predict import predict
from dimfree.planning.question import Question
from dimfree.planning.solve import MOST_SOLVED, least_epsilon, least_records, most_columns
from dimfree.planning.spread import spread_of
from dimfree.request import NeighboursName

__all__ = ["Plan", "plan"]

ACCURACIES = (1e-70, 1e70)  # beyond, squares of ratios leave the range of floats
UNKNOWNS = ("n", "d", "epsilon", "accuracy")
_NO_MORE = "no more columns were tried"

Tell = Callable[[str, int, int], None]  # what is being done, how many steps are done, of how many


@np.errstate(all="ignore")  # what overflows is refused in words
def plan(
    *,
    n: int | None = None,
    d: int | None = None,
    spectrum: object = None,
    epsilon: float | None = None,
    delta: float | None = None,
    accuracy: float | None = None,
    knowledge: str = "nothing",
    neighbours: NeighboursName | Neighbours = "add-remove",
    outliers: float = 0.03,
    tails: Tails = "heavy",
    failure_probability: float = 0.01,
    confidence: float = 0.95,
    peers: bool = False,
    tell: Tell = lambda *_: None,
) -> Plan:
    """What to expect of `release_mean` before there are records: exactly one of n, d, epsilon, accuracy is left out.

    Touches no data. `accuracy` is the Euclidean error, root mean square, of the released mean about the mean that the
    records come from; `confidence` is that of a second figure, a distance rarely exceeded. `spectrum` is the name of
    one of `dimfree.comparison.spectra` or an array of standard deviations, one for each column; then d is its length.
    `knowledge` "covariance" is for a release that will be told it. What is found is rounded to the safe side, within 2
    %: n and epsilon up, d down. `peers` asks for a prediction of every estimator of a comparison.
    """
    if delta is None:
        raise InvalidParameter("Expected delta=… as well: a plan is made for a whole promise (epsilon, delta).")
    if spectrum is None:
        raise InvalidParameter("Expected spectrum=… as well: a name such as 'S1', or an array of standard deviations.")
    confidence = check_probability("confidence", confidence)
    peers = check_flag("peers", peers)
    check_callable("tell", tell)
    if not isinstance(spectrum, str):
        d = len(spread_of(spectrum, d)[0])
    given: dict[str, Any] = {"n": n, "d": d, "epsilon": epsilon, "accuracy": accuracy}
    missing = _missing(given)
    accuracy = None if accuracy is None else check_between("accuracy", accuracy, *ACCURACIES)

    def ask(**place: Any) -> Question:
        at = {**given, **place}
        budget, stddevs = Budget(at["epsilon"], delta), spread_of(spectrum, at["d"])[0]
        relation = Neighbours.parse(neighbours)
        return Question(at["n"], stddevs, budget, relation, knowledge, outliers, tails, failure_probability)

    question = ask() if missing == "accuracy" else _solved(missing, ask, accuracy or 0.0, _Steps(tell))
    return _written(missing, question, spread_of(spectrum, question.dimension)[1], confidence, peers, tell)


def _missing(given: dict[str, Any]) -> str:
    """The one that is left out."""
    missing = [name for name in UNKNOWNS if given[name] is None]
    if not missing:
        raise InvalidParameter(f"Expected one of {', '.join(UNKNOWNS)} to be left out, to be found; all are given.")
    if len(missing) > 1:
        raise InvalidParameter(f"Expected only one of {', '.join(UNKNOWNS)} to be left out, got {' and '.join(missing)}"
                               f" missing: give {' or '.join(missing)} as well.")  # fmt: skip
    return missing[0]


class _Steps:
    """Tells which value is tried."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._done = tell, 0

    def next(self, what: str) -> None:
        self._tell(what, self._done, max(10, self._done + 1))
        self._done += 1


def _solved(missing: str, ask: Callable[..., Question], aim: float, steps: _Steps) -> Question:
    """The question whose predicted error meets the aim."""

    def error(value: float) -> float:
        steps.next(f"trying {missing} = {value:.6g}")
        return predict(ask(**{missing: value})).error

    if missing == "n":
        first = ask(n=1)
        fewest = smallest_count(first)
        if not fewest:
            raise InvalidParameter("Expected a budget at which some number of records is not refused: raise epsilon.")
        return ask(n=least_records(error, aim, max(fewest, math.ceil((first.sampling / aim) ** 2))))
    if missing == "epsilon":
        probe = ask(epsilon=1.0)
        if probe.sampling >= aim:
            raise InvalidParameter(
                f"Expected accuracy={aim!r} to be above {probe.sampling:.4g}, the sampling error of so many records, "
                "which no epsilon lowers. Ask for a larger error, or for more records."
            )
        return ask(epsilon=least_epsilon(error, aim, probe.dimension))
    return ask(d=most_columns(error, aim, ask(d=1).knowledge))


def free_at(question: Question) -> float:
    """The n from which on noise is below the sampling error: ‖σ‖₁²/(‖σ‖₂²·mu²), mu the whole budget's precision.

    By noise² ≈ ‖σ‖₁²/(n·mu)² <= sampling² = ‖σ‖₂²/n; four times as many under replace-one, where a sum moves by twice
    as much. ‖σ‖₁²/‖σ‖₂² is at most d.
    """
    spread, moves = question.stddevs, 1 if question.relation is Neighbours.ADD_REMOVE else 2
    rank = float(spread.sum() ** 2 / np.square(spread).sum())
    return rank * (moves / whole_mu(question.budget)) ** 2


def _written(missing: str, question: Question, name: str, confidence: float, peers: bool, tell: Tell) -> Plan:
    prediction = predict(question, confidence)
    if missing == "d" and question.dimension == MOST_SOLVED[question.knowledge]:
        prediction = replace(prediction, remark=_NO_MORE)
    threshold = free_at(question)
    return Plan(
        solved_for=missing,
        n=question.count,
        d=question.dimension,
        spectrum=name,
        epsilon=question.budget.epsilon,
        delta=question.budget.delta,
        accuracy=prediction.error,
        neighbours=str(question.relation),
        knowledge=question.knowledge,
        confidence=confidence,
        prediction=prediction,
        course=course(question),
        peers=tuple(predict_peers(question, confidence, tell)) if peers else (),
        free_at=threshold,
        free=question.count >= threshold,
        needs=needs_of(question, prediction.error, confidence),
        limits=limits_of(question, prediction.error),
    )
