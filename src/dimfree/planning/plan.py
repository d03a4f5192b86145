"""Find the fourth of n, d, epsilon and accuracy, given three of them: `dimfree.plan`. No data are read."""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np

from dimfree._validate import check_between, check_callable, check_positive, check_probability
from dimfree.accounting.budget import CHANGED_RECORDS, Budget, Neighbours, weak_guarantee
from dimfree.errors import InvalidParameter
from dimfree.paper import bounds
from dimfree.planning.predict import Course, course, predict, whole_mu
from dimfree.planning.question import (
    ANY_UNITS,
    Document,
    Knowledge,
    Objective,
    Prediction,
    Question,
    Tell,
    planned_objective,
    spread_of,
)
from dimfree.planning.solve import MAX_SOLVED, Search

ACCURACIES = (1e-70, 1e70)  # outside this range squares of ratios overflow
UNKNOWNS = ("n", "d", "epsilon", "accuracy")
_KNOWN = (bounds.known_covariance_records, bounds.customised_records, bounds.plan_records, bounds.folklore_records)
_SUFFICIENT = {
    "covariance": _KNOWN,
    "nothing": (bounds.unknown_covariance_records, bounds.easy_instance_records),
}

Bound = TypeVar("Bound", bounds.Need, bounds.Limit)


@dataclass(frozen=True, kw_only=True)
class Plan(Document):
    """A question with all its numbers, and what to expect.

    Attributes
    ----------
    solved_for : {"n", "d", "epsilon", "accuracy"}
        The value that was found.
    n, d : int
        Number of records and of columns.
    spectrum : str
        Name of the standard deviations of the columns.
    epsilon, delta : float
        Budget of the release.
    accuracy : float
        Predicted root mean square error: Euclidean, or over the columns in their own standard deviations.
    neighbours, objective, knowledge : str
        As given to `plan`.
    confidence : float
        Confidence of `prediction.error_within`.
    prediction : Prediction
        The predicted error and its parts: sampling, noise, bias.
    course : Course
        The estimator, its budget shares and its chance not to refuse.
    free_at : float
        Number of records above which the noise is below the sampling error.
    free : bool
        Whether n is at least `free_at`.
    needs, limits : tuple
        Numbers of records by theorem: enough, and necessary.
    """

    _format = 3

    solved_for: str
    n: int
    d: int
    spectrum: str
    epsilon: float
    delta: float
    accuracy: float
    neighbours: str
    objective: str
    knowledge: str
    confidence: float
    prediction: Prediction
    course: Course
    free_at: float
    free: bool
    needs: tuple[bounds.Need, ...]
    limits: tuple[bounds.Limit, ...]

    def rows(self) -> list[tuple[str, str]]:
        """Rows (name, text) for a card. The value that was found comes first.

        Returns
        -------
        list of (str, str)
        """
        expected, plan = self.prediction, self.course
        found = {
            "n": ("records n", f"{self.n}"),
            "d": ("columns d", f"{self.d} ({self.spectrum})"),
            "epsilon": ("epsilon", f"{self.epsilon:.4g}"),
            "accuracy": ("error", self._error()),
        }
        name, value = found.pop(self.solved_for)
        known = "the covariance" if self.knowledge == "covariance" else "nothing"
        rows = [(f"{name} (found)", value), *found.values(), ("delta", f"{self.delta:g}")]
        rows += [("neighbours", self.neighbours)]
        rows += [("warning", weak) for weak in weak_guarantee(self.epsilon, self.delta, self.n)]
        rows += [("objective", self.objective), ("known beforehand", known)]
        if math.isfinite(expected.error):
            parts = f"sampling {expected.sampling:.3g}, noise {expected.noise:.3g}, bias {expected.bias:.3g}"
            rows += [("made of", parts)]
        rows += [("method", f"{plan.method}: {plan.why}")]
        if plan.shares:
            rows += [("budget", ", ".join(f"{purpose} {share:.1%}" for purpose, share in plan.shares))]
        rows += [("chance to pass", f"at least {plan.pass_probability:.4g} on records that fit the model")]
        rows += [("refused below", f"n = {plan.smallest_count}" if plan.smallest_count else "any n")]
        verdict = f"{'free' if self.free else 'not free'} at this n: the noise is below the sampling error from"
        rows += [("privacy", f"{verdict} n = {self.free_at:.3g} on")]
        rows += [("enough, by theorem", f"{_records(need.records)}: {need.theorem}") for need in self.needs]
        necessary = [limit for limit in self.limits if limit.records > 1]  # any release needs one record
        return rows + [("needed, by theorem", f"{_records(each.records)}: {each.theorem}") for each in necessary]

    def _error(self) -> str:
        expected = self.prediction
        if not math.isfinite(expected.error):
            return expected.remark
        unit = "of each column's standard deviation (root mean square over the columns)"
        return (
            f"{expected.error:.4g} {unit if self.objective == 'relative' else '(root mean square)'}, within"
            f" {expected.error_within:.4g} with confidence {self.confidence:g}; by simulation"
            + (f"; {expected.remark}" if expected.remark else "")
        )


def _records(bound: float) -> str:
    """A number of records with three digits, and whole."""
    return f"n = {math.ceil(float(f'{bound:.3g}')):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


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
    knowledge: Knowledge = "nothing",
    neighbours: Literal["add-remove", "replace-one"] | Neighbours = "add-remove",
    outliers: float = 0.03,
    tails: Literal["heavy", "gaussian"] = "heavy",
    failure_probability: float = 0.01,
    confidence: float = 0.95,
    time_limit: float = 60.0,
    tell: Tell = lambda *_: None,
) -> Plan:
    """Predict what `release_mean` will do, before there are records. No data are read.

    Leave out exactly one of n, d, epsilon and accuracy: it is found, and rounded to the safe side within 2 % (n and
    epsilon up, d down). Predictions run the program of `release_mean` on simulated records: Gaussian, uncorrelated,
    with means about ten standard deviations from 0.

    Parameters
    ----------
    n : int, optional
        Number of records.
    d : int, optional
        Number of columns. Where `spectrum` is an array, d is its length.
    spectrum : str or array_like
        Standard deviations of the columns: an array, or a name from `dimfree.planning.question` such as "S1". It may
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
    time_limit : float, default 60
        Seconds after which a search for n, d or epsilon stops. The plan then has the best value that was found, which
        meets the accuracy, and `prediction.remark` says that the search stopped.
    tell : callable, optional
        Called as tell(what, done, total) to show progress.

    Returns
    -------
    Plan

    Raises
    ------
    InvalidParameter
        If none or several of the four are left out, or if no value reaches the accuracy, or none in the time limit.

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
    time_limit = check_positive("time_limit", time_limit)
    check_callable("tell", tell)
    spectrum = ANY_UNITS if spectrum is None else spectrum
    if not isinstance(spectrum, str):
        d = len(spread_of(spectrum, d)[0])
    given: dict[str, Any] = {"n": n, "d": d, "epsilon": epsilon, "accuracy": accuracy}
    left_out = [name for name in UNKNOWNS if given[name] is None]
    if not left_out:
        raise InvalidParameter(f"Expected one of {', '.join(UNKNOWNS)} to be left out, to be found; all are given.")
    if len(left_out) > 1:
        raise InvalidParameter(
            f"Expected only one of {', '.join(UNKNOWNS)} to be left out, got {' and '.join(left_out)} missing: give"
            f" {' or '.join(left_out)} as well."
        )
    missing = left_out[0]
    accuracy = None if accuracy is None else check_between("accuracy", accuracy, *ACCURACIES)

    def ask(**place: Any) -> Question:
        at = {**given, **place}
        budget, stddevs = Budget(at["epsilon"], delta), spread_of(spectrum, at["d"])[0]
        relation = Neighbours.parse(neighbours)
        rules = (knowledge, outliers, tails, failure_probability, objective)
        return Question(at["n"], stddevs, budget, relation, *rules)

    if missing == "accuracy":
        question, remark = ask(), ""
    else:
        question, remark = Search(missing, ask, accuracy or 0.0, tell, time_limit).solved()
    return _written(missing, question, spread_of(spectrum, question.dimension)[1], confidence, remark)


def free_at(question: Question, prediction: Prediction) -> float:
    """The n above which noise is below the sampling error: ‖σ‖₁²/(‖σ‖₂²·mu²), mu of the whole budget.

    From noise² ≈ ‖σ‖₁²/(n·mu)² <= sampling² = ‖σ‖₂²/n. Four times as many under replace-one, where the sensitivity of a
    sum is doubled. Objective "relative": by the predicted noise, which falls as 1/n.
    """
    if question.objective == "relative" and not prediction.refused:
        return question.count * (prediction.noise / prediction.sampling) ** 2
    spread = question.stddevs
    rank = float(spread.sum() ** 2 / np.square(spread).sum())
    return rank * (CHANGED_RECORDS[question.relation] / whole_mu(question.budget)) ** 2


def _written(missing: str, question: Question, name: str, confidence: float, remark: str) -> Plan:
    prediction = predict(question, confidence)
    if missing == "d" and question.dimension == MAX_SOLVED[question.knowledge]:
        remark = "no more columns were tried"
    threshold, budget = free_at(question, prediction), question.budget

    def stated(theorems: Sequence[Callable[..., Bound]], *rest: object) -> tuple[Bound, ...]:
        """The bounds that are proved for these numbers."""
        found = []
        for bound in theorems:
            with suppress(InvalidParameter):
                found.append(bound(question.stddevs, prediction.error, budget.epsilon, *rest))
        return tuple(found)

    sufficient = () if question.objective == "relative" else _SUFFICIENT[question.knowledge]
    return Plan(
        solved_for=missing,
        n=question.count,
        d=question.dimension,
        spectrum=name,
        epsilon=budget.epsilon,
        delta=budget.delta,
        accuracy=prediction.error,
        neighbours=str(question.relation),
        objective=question.objective,
        knowledge=question.knowledge,
        confidence=confidence,
        prediction=replace(prediction, remark=remark) if remark else prediction,
        course=course(question),
        free_at=threshold,
        free=question.count >= threshold,
        needs=stated(sufficient, budget.delta, 1 - confidence),
        limits=(*stated([bounds.fingerprinting_lower_bound], budget.delta), *stated([bounds.packing_lower_bound])),
    )
