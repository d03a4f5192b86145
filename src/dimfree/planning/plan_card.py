"""Plan: the result of `dimfree.plan`, as numbers for JSON and as rows of text for a card."""

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

from dimfree.accounting.budget import weak_guarantee
from dimfree.paper.bounds import Limit
from dimfree.paper.sample_sizes import Need
from dimfree.planning.course import Course
from dimfree.planning.question import Prediction

FORMAT = 3


@dataclass(frozen=True, kw_only=True)
class Plan:
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
    needs: tuple[Need, ...]
    limits: tuple[Limit, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON. Infinite values, such as an error where nothing is released, are None.

        Returns
        -------
        dict
        """
        return {"format": FORMAT, **_plain(asdict(self))}

    def to_json(self) -> str:
        """The plan as JSON text.

        Returns
        -------
        str
        """
        return json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"

    def rows(self) -> list[tuple[str, str]]:
        """Rows (name, text) for a card. The value that was found comes first.

        Returns
        -------
        list of (str, str)
        """
        found = {
            "n": ("records n", f"{self.n}"),
            "d": ("columns d", f"{self.d} ({self.spectrum})"),
            "epsilon": ("epsilon", f"{self.epsilon:.4g}"),
            "accuracy": ("error", self._error()),
        }
        first = found.pop(self.solved_for)
        return [
            (f"{first[0]} (found)", first[1]),
            *found.values(),
            *self._promise(),
            *self._expected(),
            *self._bounds(),
        ]

    def _error(self) -> str:
        expected = self.prediction
        if not math.isfinite(expected.error):
            return expected.remark
        remark = f"; {expected.remark}" if expected.remark else ""
        unit = "of each column's standard deviation (root mean square over the columns)"
        words = unit if self.objective == "relative" else "(root mean square)"
        return f"{expected.error:.4g} {words}, within {expected.error_within:.4g} with confidence " + (
            f"{self.confidence:g}; by simulation{remark}"
        )

    def _promise(self) -> list[tuple[str, str]]:
        known = "the covariance" if self.knowledge == "covariance" else "nothing"
        promise = [("delta", f"{self.delta:g}"), ("neighbours", self.neighbours)]
        promise += [("warning", weak) for weak in weak_guarantee(self.epsilon, self.delta, self.n)]
        return [*promise, ("objective", self.objective), ("known beforehand", known)]

    def _expected(self) -> list[tuple[str, str]]:
        course, expected = self.course, self.prediction
        parts = f"sampling {expected.sampling:.3g}, noise {expected.noise:.3g}, bias {expected.bias:.3g}"
        shares = ", ".join(f"{purpose} {share:.1%}" for purpose, share in course.shares)
        verdict = "free" if self.free else "not free"
        return [
            *([("made of", parts)] if math.isfinite(expected.error) else []),
            ("method", f"{course.method}: {course.why}"),
            *([("budget", shares)] if shares else []),
            ("chance to pass", f"at least {course.pass_probability:.4g} on records that fit the model"),
            ("refused below", f"n = {course.smallest_count}" if course.smallest_count else "any n"),
            ("privacy", f"{verdict} at this n: the noise is below the sampling error from n = {self.free_at:.3g} on"),
        ]

    def _bounds(self) -> list[tuple[str, str]]:
        enough = [("enough, by theorem", f"{_records(need.records)}: {need.theorem}") for need in self.needs]
        told = [limit for limit in self.limits if limit.records > 1]  # that one record is needed says nothing
        return [*enough, *(("needed, by theorem", f"{_records(limit.records)}: {limit.theorem}") for limit in told)]


def _records(bound: float) -> str:
    """A number of records with three digits, and whole."""
    return f"n = {math.ceil(float(f'{bound:.3g}')):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
