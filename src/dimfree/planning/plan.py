"""Plans with scalar arguments: find the fourth of n, d, epsilon and accuracy, given three. No data are read."""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from dimfree._validate import check_between
from dimfree.accounting.budget import CHANGED_RECORDS, explain_weak_guarantee
from dimfree.errors import InvalidParameterError
from dimfree.paper import bounds
from dimfree.planning.predict import Course, describe_course, predict, total_mu
from dimfree.planning.question import Document, Prediction, Question
from dimfree.planning.solve import MAX_SOLVED, Search

ACCURACIES = (1e-70, 1e70)  # outside this range squares of ratios overflow
UNKNOWNS = ("n", "d", "epsilon", "accuracy")
_KNOWN = (bounds.known_covariance_records, bounds.customized_records, bounds.plan_records, bounds.folklore_records)
_SUFFICIENT = {
    "covariance": _KNOWN,
    "nothing": (bounds.unknown_covariance_records, bounds.easy_instance_records),
}

Bound = TypeVar("Bound", bounds.Need, bounds.Limit)


@dataclass(frozen=True, kw_only=True)
class Plan(Document):
    """A planned release: its numbers, and the predicted error. `dimfree.plan` returns one.

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
    neighbors, objective, knowledge : str
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
        Numbers of records by theorem: sufficient, and necessary.
    """

    _format = 3

    solved_for: str
    n: int
    d: int
    spectrum: str
    epsilon: float
    delta: float
    accuracy: float
    neighbors: str
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
        """List rows (name, text) for a card; the value that was found comes first.

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
        known = "the covariance" if self.knowledge == "covariance" else "none"
        rows = [(f"{name} (found)", value), *found.values(), ("delta", f"{self.delta:g}")]
        rows += [("neighbors", self.neighbors)]
        rows += [("warning", weak) for weak in explain_weak_guarantee(self.epsilon, self.delta, self.n)]
        rows += [("objective", self.objective), ("prior knowledge", known)]
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
        rows += [("enough, by theorem", f"{_format_records(need.records)}: {need.theorem}") for need in self.needs]
        necessary = [limit for limit in self.limits if limit.records > 1]  # any release needs one record
        return rows + [("needed, by theorem", f"{_format_records(each.records)}: {each.theorem}") for each in necessary]

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


def _format_records(bound: float) -> str:
    """Format a number of records, rounded up to three digits."""
    return f"n = {math.ceil(float(f'{bound:.3g}')):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def find_plan(ask: Callable[..., Question], given: dict[str, Any], name: str, confidence: float, search: Any) -> Plan:
    """Find the one value of `given` that is None, and plan with it; `search`: progress callback and time limit."""
    left_out = [each for each in UNKNOWNS if given[each] is None]
    if not left_out:
        raise InvalidParameterError(f"One of {', '.join(UNKNOWNS)} must be left out, to be found; all are given.")
    if len(left_out) > 1:
        raise InvalidParameterError(
            f"Only one of {', '.join(UNKNOWNS)} can be left out, got no {' and no '.join(left_out)}: give"
            f" {' or '.join(left_out)} as well."
        )
    missing, accuracy = left_out[0], given["accuracy"]
    if missing == "accuracy":
        return _write_plan(missing, ask(), name, confidence, "")
    aim = check_between("accuracy", accuracy, *ACCURACIES)
    question, remark = Search(missing, ask, aim, *search).solve_question()
    return _write_plan(missing, question, name, confidence, remark)


def free_at(question: Question, prediction: Prediction) -> float:
    """Return the n above which noise is below the sampling error: ‖σ‖₁²/(‖σ‖₂²·mu²), mu of the whole budget.

    From noise² ≈ ‖σ‖₁²/(n·mu)² <= sampling² = ‖σ‖₂²/n. Replace-one needs four times as many, since it doubles the
    sensitivity of a sum. Objective "relative": by the predicted noise, which falls as 1/n.
    """
    if question.objective == "relative" and not prediction.refused:
        return question.count * (prediction.noise / prediction.sampling) ** 2
    stddevs = question.stddevs
    rank = float(stddevs.sum() ** 2 / np.square(stddevs).sum())
    return rank * (CHANGED_RECORDS[question.relation] / total_mu(question.budget)) ** 2


def _write_plan(missing: str, question: Question, name: str, confidence: float, remark: str) -> Plan:
    prediction = predict(question, confidence)
    if missing == "d" and question.dimension == MAX_SOLVED[question.knowledge]:
        remark = "no more columns were tried"
    threshold, budget = free_at(question, prediction), question.budget

    def list_bounds(theorems: Sequence[Callable[..., Bound]], *rest: object) -> tuple[Bound, ...]:
        """List the theorems that apply to these numbers."""
        found = []
        for bound in theorems:
            with suppress(InvalidParameterError):
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
        neighbors=str(question.relation),
        objective=question.objective,
        knowledge=question.knowledge,
        confidence=confidence,
        prediction=replace(prediction, remark=remark) if remark else prediction,
        course=describe_course(question),
        free_at=threshold,
        free=question.count >= threshold,
        needs=list_bounds(sufficient, budget.delta, 1 - confidence),
        limits=(
            *list_bounds([bounds.fingerprinting_lower_bound], budget.delta),
            *list_bounds([bounds.packing_lower_bound]),
        ),
    )
