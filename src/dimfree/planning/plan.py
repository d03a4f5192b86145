"""`dimfree.plan`: given three of n, d, epsilon and accuracy, it finds the fourth. It reads no data."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from dimfree._validate import check_between, check_callable, check_probability
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.errors import InvalidParameter
from dimfree.planning.course import course
from dimfree.planning.outlook import smallest_count, whole_mu
from dimfree.planning.paper_bounds.stated import limits_of, needs_of
from dimfree.planning.plan_card import Plan
from dimfree.planning.predict import Prediction, predict
from dimfree.planning.question import MOST_RECORDS, Objective, Question, planned_objective
from dimfree.planning.solve import MOST_SOLVED, least_epsilon, least_records, most_columns
from dimfree.planning.spread import ANY_UNITS, spread_of

__all__ = ["Plan", "plan"]

ACCURACIES = (1e-70, 1e70)  # outside this range squares of ratios overflow
UNKNOWNS = ("n", "d", "epsilon", "accuracy")
_LIKELY = 1.4  # times the noise of a release that knows everything: about that of one that knows nothing
_NO_MORE = "no more columns were tried"

Tell = Callable[[str, int, int], None]  # (what is being done, steps done, steps in all)


@np.errstate(all="ignore")  # overflow raises InvalidParameter
def plan(
    *,
    n: int | None = None,
    d: int | None = None,
    spectrum: object = None,
    epsilon: float | None = None,
    delta: float | None = None,
    accuracy: float | None = None,
    objective: Objective = "auto",
    knowledge: Literal["nothing", "covariance"] = "nothing",
    neighbours: Literal["add-remove", "replace-one"] | Neighbours = "add-remove",
    outliers: float = 0.03,
    tails: Literal["heavy", "gaussian"] = "heavy",
    failure_probability: float = 0.01,
    confidence: float = 0.95,
    tell: Tell = lambda *_: None,
) -> Plan:
    """What to expect of `release_mean`, before there are records. It reads no data.

    Leave out exactly one of n, d, epsilon and accuracy: it is found, and rounded to the safe side within 2 % (n and
    epsilon up, d down).

    Parameters
    ----------
    n : int, optional
        Number of records.
    d : int, optional
        Number of columns. Where `spectrum` is an array, d is its length.
    spectrum : str or array_like
        Standard deviations of the columns: an array, or a name from `dimfree.planning.spectra` such as "S1". It may
        be left out unless objective is "total": to "relative" units do not matter.
    epsilon : float, optional
        Budget of the release.
    delta : float
        Budget of the release.
    accuracy : float, optional
        Root mean square of the Euclidean distance between the released mean and the population mean. With
        objective="relative": root mean square of the errors of all columns, each in its own standard deviations.
    objective : {"auto", "relative", "total"}, default "auto"
        As in `release_mean`. "auto" is "relative", the default for a table with named columns, unless `spectrum` or
        knowledge="covariance" is given; then it is "total", the default for an array without names.
    knowledge : {"nothing", "covariance"}, default "nothing"
        What the release will be given beforehand: nothing, or the covariance.
    neighbours : {"add-remove", "replace-one"}, default "add-remove"
        The neighbouring relation.
    outliers : float, default 0.03
        Share of records that may lie far outside, as in `Options`.
    tails : {"heavy", "gaussian"}, default "heavy"
        How far single records may lie from the mean, as in `Options`.
    failure_probability : float, default 0.01
        As in `Options`.
    confidence : float, default 0.95
        Confidence of the second error figure, a distance that is rarely exceeded.
    tell : callable, optional
        Called as tell(what, done, total) to show progress.

    Returns
    -------
    Plan

    Raises
    ------
    InvalidParameter
        If none or several of the four are left out, or if no value reaches the accuracy.

    Examples
    --------
    >>> from dimfree import plan
    >>> plan(d=100, spectrum="S2", epsilon=1, delta=1e-6, accuracy=0.1).n  # doctest: +SKIP
    4200
    """
    if delta is None:
        raise InvalidParameter("Expected delta=… as well: a plan is made for a whole promise (epsilon, delta).")
    objective = planned_objective(objective, knowledge, spectrum)  # type: ignore[assignment]
    if spectrum is None and objective != "relative":
        raise InvalidParameter("Expected spectrum=… as well: a name such as 'S1', or an array of standard deviations.")
    confidence = check_probability("confidence", confidence)
    check_callable("tell", tell)
    spectrum = ANY_UNITS if spectrum is None else spectrum
    if not isinstance(spectrum, str):
        d = len(spread_of(spectrum, d)[0])
    given: dict[str, Any] = {"n": n, "d": d, "epsilon": epsilon, "accuracy": accuracy}
    missing = _missing(given)
    accuracy = None if accuracy is None else check_between("accuracy", accuracy, *ACCURACIES)

    def ask(**place: Any) -> Question:
        at = {**given, **place}
        budget, stddevs = Budget(at["epsilon"], delta), spread_of(spectrum, at["d"])[0]
        relation = Neighbours.parse(neighbours)
        rules = (knowledge, outliers, tails, failure_probability, objective)
        return Question(at["n"], stddevs, budget, relation, *rules)

    question = ask() if missing == "accuracy" else _solved(missing, ask, accuracy or 0.0, _Steps(tell))
    return _written(missing, question, spread_of(spectrum, question.dimension)[1], confidence)


def _missing(given: dict[str, Any]) -> str:
    """The one of the four that is left out."""
    missing = [name for name in UNKNOWNS if given[name] is None]
    if not missing:
        raise InvalidParameter(f"Expected one of {', '.join(UNKNOWNS)} to be left out, to be found; all are given.")
    if len(missing) > 1:
        raise InvalidParameter(f"Expected only one of {', '.join(UNKNOWNS)} to be left out, got {' and '.join(missing)}"
                               f" missing: give {' or '.join(missing)} as well.")  # fmt: skip
    return missing[0]


class _Steps:
    """Reports which value is being tried."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._done = tell, 0

    def next(self, what: str) -> None:
        self._tell(what, self._done, max(10, self._done + 1))
        self._done += 1


def _solved(missing: str, ask: Callable[..., Question], aim: float, steps: _Steps) -> Question:
    """The question whose predicted error meets the accuracy asked for."""

    def error(value: float) -> float:
        steps.next(f"trying {missing} = {value:.6g}")
        return predict(ask(**{missing: value})).error

    if missing == "n":
        first = ask(n=1)
        fewest = smallest_count(first)
        if not fewest:
            raise InvalidParameter("Expected a budget at which some number of records is not refused: raise epsilon.")
        fewest = max(fewest, math.ceil((first.sampling / aim) ** 2))

        def records(n: float, found: float) -> float:
            """Where a/n + b/n² is the square of the aim: sampling, and noise."""
            a, b = first.sampling**2, found**2 * n**2 - first.sampling**2 * n
            return (a + math.sqrt(a**2 + 4 * aim**2 * max(b, 0.0))) / (2 * aim**2)

        guess = records(1.0, math.hypot(first.sampling, _likely_noise(first)))
        return ask(n=least_records(error, aim, fewest, math.ceil(min(guess, MOST_RECORDS)), records))
    if missing == "epsilon":
        probe = ask(epsilon=1.0)
        if probe.sampling >= aim:
            raise InvalidParameter(
                f"Expected accuracy={aim!r} to be above {probe.sampling:.4g}, the sampling error of so many records, "
                "which no epsilon lowers. Ask for a larger error, or for more records."
            )
        room = math.sqrt(aim**2 - probe.sampling**2)

        def budgets(epsilon: float, found: float) -> float:
            """Where the noise, as 1/epsilon, is all that the sampling error leaves of the aim."""
            return epsilon * math.sqrt(max(found**2 - probe.sampling**2, 0.0)) / room

        return ask(epsilon=least_epsilon(error, aim, probe.dimension, _likely_noise(probe) / room, budgets))
    return ask(d=most_columns(error, aim, ask(d=1).knowledge))


def _likely_noise(question: Question) -> float:
    """About how much noise: ‖σ‖₁/(n·mu), and as much again for the tests and for what is not known."""
    moves = 1 if question.relation is Neighbours.ADD_REMOVE else 2
    return _LIKELY * moves * float(question.stddevs.sum()) / (question.count * whole_mu(question.budget))


def free_at(question: Question, prediction: Prediction) -> float:
    """The n above which noise is below the sampling error: ‖σ‖₁²/(‖σ‖₂²·mu²), mu the precision of the whole budget.

    From noise² ≈ ‖σ‖₁²/(n·mu)² <= sampling² = ‖σ‖₂²/n. Four times as many under replace-one, where the sensitivity of a
    sum is doubled. ‖σ‖₁²/‖σ‖₂² is at most d. Objective "relative": by the predicted noise, which falls as 1/n.
    """
    if question.objective == "relative" and not prediction.refused:
        return question.count * (prediction.noise / prediction.sampling) ** 2
    spread, moves = question.stddevs, 1 if question.relation is Neighbours.ADD_REMOVE else 2
    rank = float(spread.sum() ** 2 / np.square(spread).sum())
    return rank * (moves / whole_mu(question.budget)) ** 2


def _written(missing: str, question: Question, name: str, confidence: float) -> Plan:
    prediction = predict(question, confidence)
    if missing == "d" and question.dimension == MOST_SOLVED[question.knowledge]:
        prediction = replace(prediction, remark=_NO_MORE)
    threshold = free_at(question, prediction)
    return Plan(
        solved_for=missing,
        n=question.count,
        d=question.dimension,
        spectrum=name,
        epsilon=question.budget.epsilon,
        delta=question.budget.delta,
        accuracy=prediction.error,
        neighbours=str(question.relation),
        objective=question.objective,
        knowledge=question.knowledge,
        confidence=confidence,
        prediction=prediction,
        course=course(question),
        free_at=threshold,
        free=question.count >= threshold,
        needs=() if question.objective == "relative" else needs_of(question, prediction.error, confidence),
        limits=limits_of(question, prediction.error),
    )
