"""`dimfree.plan`: a plan, or the predicted error along a list of n or epsilon, with its chart."""

import importlib.util
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dimfree._validate import (
    check_callable,
    check_count,
    check_each,
    check_positive,
    check_probability,
    install_command,
)
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.errors import InvalidFileError, InvalidParameterError
from dimfree.options import Tails
from dimfree.planning.plan import find_plan
from dimfree.planning.predict import predict
from dimfree.planning.question import (
    ANY_UNITS,
    GIVEN,
    Document,
    Knowledge,
    Objective,
    Question,
    Tell,
    resolve_objective,
    resolve_stddevs,
)
from dimfree.results.tables import encode_picture

FREE = 1.1  # privacy is called free where the error is at most this times the sampling error
ENDINGS = (".svg", ".png", ".html", ".json")
PRIVATE, SAMPLING = "private mean", "sampling error alone"


@dataclass(frozen=True)
class TradeoffRow:
    """Prediction at one value of the axis: root mean square errors; None if a release would be refused."""

    at: float
    error: float | None
    sampling: float  # error of the non-private sample mean
    noise: float | None
    refused: bool

    @property
    def ratio(self) -> float:
        """The predicted error over the sampling error; infinite for a refusal."""
        return math.inf if self.error is None else self.error / self.sampling


@dataclass(frozen=True, kw_only=True)
class Tradeoff(Document):
    """Predicted errors along one axis. `dimfree.plan` returns one for a list of n or epsilon.

    Attributes
    ----------
    axis : {"n", "epsilon"}
        What varies.
    rows : tuple of TradeoffRow
        Predictions, one for each value of the axis.
    knee : float or None
        From this value of the axis on, the error stays within 1.1 times the sampling error. None if it does not.
    n : int or None
        Number of records; None if n is the axis.
    epsilon : float or None
        Privacy budget; None if epsilon is the axis.
    d : int
        Number of columns.
    spectrum : str
        Name of the SDs of the columns.
    delta : float
        Privacy budget.
    neighbors, objective, knowledge : str
        As given to `plan`.
    """

    _format = 2

    axis: str
    rows: tuple[TradeoffRow, ...]
    knee: float | None
    n: int | None
    epsilon: float | None
    d: int
    spectrum: str
    delta: float
    neighbors: str
    objective: str
    knowledge: str

    def header(self) -> tuple[str, ...]:
        """Return the titles of the columns of `cells`.

        Returns
        -------
        tuple of str
        """
        return (self.axis, "error", "sampling", "noise", "error / sampling")

    def cells(self) -> list[tuple[str, ...]]:
        """Return a table of text, one line for each value of the axis.

        Returns
        -------
        list of tuple of str
        """

        def text(value: float | None) -> str:
            return "–" if value is None or math.isinf(value) else f"{value:.3g}"

        return [
            (
                format_value(self.axis, row.at),
                "refused" if row.refused else text(row.error),
                *map(text, (row.sampling, row.noise, row.ratio)),
            )
            for row in self.rows
        ]

    def conditions(self) -> str:
        """Describe what all rows have in common.

        Returns
        -------
        str
        """
        fixed = f"epsilon = {self.epsilon:g}" if self.axis == "n" else f"n = {self.n}"
        known = "known covariance" if self.knowledge == "covariance" else "no prior knowledge"
        aim = "; errors in SDs of each column" if self.objective == "relative" else ""
        return f"{self.spectrum}, d = {self.d}, {fixed}, delta = {self.delta:g}, {self.neighbors}; {known}{aim}."

    def verdict(self) -> str:
        """State from which value of the axis on privacy is free.

        Returns
        -------
        str
        """
        cost = f"the error is within {FREE:g} × the sampling error"
        if self.knee is None:
            return f"Privacy is not free in this range: at its end the error exceeds {FREE:g} × the sampling error."
        if self.knee == self.rows[0].at:
            return f"Privacy is free in all of this range: {cost}."
        return f"Privacy is free from {self.axis} = {format_value(self.axis, self.knee)} on: {cost}."

    @classmethod
    def from_json(cls, text: str) -> "Tradeoff":
        """Read the curve that `to_json` wrote.

        Parameters
        ----------
        text : str
            JSON text.

        Returns
        -------
        Tradeoff

        Raises
        ------
        InvalidFileError
            If the text is anything else.
        """
        try:
            data = json.loads(text)
            if data.pop("format") != cls._format:
                raise ValueError
            return cls(rows=tuple(TradeoffRow(**row) for row in data.pop("rows")), **data)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InvalidFileError("The text must be what Tradeoff.to_json of this version writes.") from None

    def to_markdown(self) -> str:
        """Return the curve as a Markdown table.

        Returns
        -------
        str
        """
        lines = [self.header(), ("---",) * len(self.header()), *self.cells()]
        table = ["| " + " | ".join(cells) + " |" for cells in lines]
        return "\n".join([self.conditions(), "", *table, "", self.verdict()]) + "\n"

    def chart(self) -> Any:
        """Draw error and sampling error against the axis with Altair, on logarithmic scales, with the knee.

        Returns
        -------
        altair.Chart
        """
        return _chart(self)


@np.errstate(all="ignore")  # overflow raises InvalidParameterError
def plan(
    *,
    n: int | Sequence[int] | None = None,
    d: int | None = None,
    spectrum: "str | ArrayLike | None" = None,
    epsilon: float | Sequence[float] | None = None,
    delta: float | None = None,
    accuracy: float | None = None,
    objective: Objective = "auto",
    knowledge: Knowledge = "nothing",
    neighbors: Literal["add-remove", "replace-one"] | Neighbors = "add-remove",
    outliers: float = 0.03,
    tails: Tails = "heavy",
    failure_probability: float = 0.01,
    confidence: float = 0.95,
    time_limit: float = 60.0,
    tell: Tell = lambda *_: None,
) -> Any:
    """Predict the error of a release, or find the n, d or epsilon that an error needs. No data are read.

    Leave out exactly one of n, d, epsilon and accuracy: it is found, rounded to the safe side within 2% (n and epsilon
    up, d down). A list of n or of epsilon gives the predicted error along this list. Predictions run the estimator of
    `release_mean` on simulated records: Gaussian, uncorrelated, with means about ten SDs from 0. A plan costs no
    privacy budget.

    Parameters
    ----------
    n : int or sequence of int, optional
        Number of records.
    d : int, optional
        Number of columns. If `spectrum` is an array, d is its length.
    spectrum : str or array_like, optional
        SDs of the columns: an array, or a name such as "S1" or "power:0.7". Only objective="relative" works without.
    epsilon : float or sequence of float, optional
        Privacy budget.
    delta : float
        Privacy budget.
    accuracy : float, optional
        Root mean square of the Euclidean distance between the released mean and the population mean. With
        objective="relative": root mean square, over the columns, of the errors in SDs of each column.
    objective : {"auto", "relative", "total"}, default "auto"
        As in `release_mean`. "auto" is "relative", the default for a table with named columns, unless `spectrum` or
        knowledge="covariance" is given; then it is "total", the default for an array without names.
    knowledge : {"nothing", "covariance"}, default "nothing"
        Prior knowledge that the release will be given.
    neighbors : {"add-remove", "replace-one"}, default "add-remove"
        Neighboring relation.
    outliers : float, default 0.03
        Share of outlying records, as in `Options`.
    tails : {"heavy", "gaussian"}, default "heavy"
        Tails of the records, as in `Options`.
    failure_probability : float, default 0.01
        Accepted probability of a refusal, as in `Options`.
    confidence : float, default 0.95
        Probability of `Plan.prediction.error_within`, an error that is rarely exceeded. Not used by a curve.
    time_limit : float, default 60
        Seconds after which a search for n, d or epsilon stops with the best value so far; `Plan.prediction.remark`
        then states so. Not used by a curve.
    tell : callable, optional
        Progress callback, called with (step, steps done, total steps).

    Returns
    -------
    Plan or Tradeoff
        `Tradeoff` for a list of n or epsilon, otherwise `Plan`.

    Raises
    ------
    InvalidParameterError
        If a value cannot be used, or no value meets the accuracy.

    Examples
    --------
    >>> from dimfree import plan
    >>> plan(d=20, epsilon=1, delta=1e-6, accuracy=0.1).n  # doctest: +SKIP
    >>> plan(n=10_000, epsilon=[0.1, 1, 10], delta=1e-6, d=20).verdict()  # doctest: +SKIP
    """
    if delta is None:
        raise InvalidParameterError("`delta` must be given as well: a privacy budget is (epsilon, delta).")
    aim = resolve_objective(objective, knowledge, spectrum)
    if spectrum is None and aim != "relative":
        raise InvalidParameterError(
            "`spectrum` must be given with objective='total': a name such as 'S1', or an array of SDs, one per column."
        )
    confidence, time_limit = check_probability("confidence", confidence), check_positive("time_limit", time_limit)
    check_callable("tell", tell)
    units = ANY_UNITS if spectrum is None else spectrum
    name = units if isinstance(units, str) else GIVEN
    given = {"n": n, "d": d if isinstance(units, str) else len(resolve_stddevs(units, d)), "epsilon": epsilon}

    def ask(**changed: Any) -> Question:
        at: dict[str, Any] = {**given, **changed}
        stddevs, budget, relation = (
            resolve_stddevs(units, at["d"]),
            Budget(at["epsilon"], delta),
            Neighbors.parse(neighbors),
        )
        return Question(at["n"], stddevs, budget, relation, knowledge, outliers, tails, failure_probability, aim)

    lists = [
        axis
        for axis in ("n", "epsilon")
        if isinstance(given[axis], Sequence | np.ndarray) and not isinstance(given[axis], str | bytes)
    ]
    if not lists:
        return find_plan(ask, {**given, "accuracy": accuracy}, name, confidence, (tell, time_limit))
    if len(lists) > 1 or accuracy is not None:
        raise InvalidParameterError(
            "A curve needs a list for one of n and epsilon, one value for the other, and no accuracy; got "
            + ("two lists." if len(lists) > 1 else "an accuracy.")
        )
    return _predict_curve(ask, lists[0], given[lists[0]], name, tell)


def _predict_curve(ask: Callable[..., Question], axis: str, given: Any, name: str, tell: Tell) -> Tradeoff:
    """Predict the error at each value of the axis, smallest first."""
    check: Callable[..., Any] = check_count if axis == "n" else check_positive
    need = "a whole number of at least 1" if axis == "n" else "a finite number above 0"
    values = sorted(check_each(axis, given, check, need))
    if not values or len(set(values)) < len(values):
        raise InvalidParameterError(f"`{axis}` must have at least one value, and every value once.")
    questions, rows = [ask(**{axis: at}) for at in values], []  # errors are raised before any time is spent
    for step, (at, each) in enumerate(zip(values, questions, strict=True)):
        tell(f"{axis} = {format_value(axis, at)}", step, len(values))
        found = predict(each)
        error, noise = (None, None) if found.refused else (found.error, found.noise)
        rows.append(TradeoffRow(at, error, each.sampling, noise, found.refused))
    first = questions[0]
    return Tradeoff(
        axis=axis,
        rows=tuple(rows),
        knee=find_knee(rows),
        n=None if axis == "n" else first.count,
        epsilon=None if axis == "epsilon" else first.budget.epsilon,
        d=first.dimension,
        spectrum=name,
        delta=first.budget.delta,
        neighbors=str(first.relation),
        objective=first.objective,
        knowledge=first.knowledge,
    )


def find_knee(rows: Sequence[TradeoffRow]) -> float | None:
    """Find the value above which no row exceeds FREE, interpolated between rows on logarithmic scales."""
    costly = [i for i, row in enumerate(rows) if row.ratio > FREE]
    last = costly[-1] if costly else -1
    if last == len(rows) - 1:
        return None
    after = rows[last + 1]
    if last < 0 or rows[last].refused:
        return after.at
    before = rows[last]
    part = math.log(before.ratio / FREE) / math.log(before.ratio / after.ratio)
    return before.at * (after.at / before.at) ** part


def format_value(axis: str, at: float) -> str:
    """Format a value of the axis; numbers of records are rounded up."""
    return str(math.ceil(at)) if axis == "n" else f"{at:.3g}"


def require_altair() -> None:
    """Raise InvalidParameterError if a chart cannot be drawn."""
    if importlib.util.find_spec("altair") is None or importlib.util.find_spec("vl_convert") is None:
        raise InvalidParameterError(f"A chart needs Altair: install it with {install_command('charts')}.")


def list_figures(curve: Tradeoff) -> list[dict[str, Any]]:
    """List the points of the chart, one for each error."""
    private = [{"line": PRIVATE, "at": row.at, "error": row.error} for row in curve.rows if row.error is not None]
    return private + [{"line": SAMPLING, "at": row.at, "error": row.sampling} for row in curve.rows]


def _chart(curve: Tradeoff) -> Any:
    """Draw the error, the sampling error dashed, and the knee as a vertical line."""
    require_altair()
    import altair as alt

    points, lines = list_figures(curve), [PRIVATE, SAMPLING]
    heights = [point["error"] for point in points]
    domain = [min(heights) / 1.1, max(heights) * 1.1]
    ticks, log = alt.Axis(values=[row.at for row in curve.rows]), alt.Scale(type="log", nice=False)
    across = alt.X("at:Q", scale=log, title={"n": "records n", "epsilon": "epsilon"}[curve.axis], axis=ticks)
    legend = alt.Legend(title=None, orient="bottom", labelLimit=0, symbolType="stroke", symbolSize=400)
    drawn = alt.Chart(alt.InlineData(values=points)).encode(
        x=across,
        y=alt.Y("error:Q", scale=alt.Scale(type="log", domain=domain), title="Euclidean error (RMS), predicted"),
        color=alt.Color("line:N", sort=lines, scale=alt.Scale(domain=lines), legend=legend),
        strokeDash=alt.StrokeDash("line:N", sort=lines, scale=alt.Scale(domain=lines, range=[[1, 0], [6, 4]])),
        tooltip=["line:N", "at:Q", "error:Q"],
    )

    knee = []
    if curve.knee is not None:  # its label is on the side that has space
        late = curve.knee > math.sqrt(curve.rows[0].at * curve.rows[-1].at)
        label = f"free from {curve.axis} = {format_value(curve.axis, curve.knee)}"
        base = alt.Chart(alt.InlineData(values=[{"at": curve.knee, "label": label}])).encode(x=across)
        words = base.mark_text(align="right" if late else "left", baseline="top", dx=-4 if late else 4)
        knee = [base.mark_rule(strokeWidth=1.5, color="#777"), words.encode(y=alt.value(4), text="label:N")]
    title = alt.TitleParams("What privacy costs", subtitle=[curve.conditions(), curve.verdict()])
    return alt.layer(*knee, drawn.mark_line(point=True)).properties(title=title, width=560, height=380)


def chart_bytes(curve: Tradeoff, ending: str) -> bytes:
    """Render the chart in the format of a file ending; an .html file needs no network."""
    return encode_picture(curve.chart(), ending)
