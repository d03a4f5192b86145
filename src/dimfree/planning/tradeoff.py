"""`dimfree.tradeoff`: the predicted error along epsilon or n, from which value on privacy is free, and a picture."""

import importlib.util
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dimfree._validate import check_callable, check_count, check_each, check_positive, install_command
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.errors import InvalidFile, InvalidParameter
from dimfree.planning.predict import predict
from dimfree.planning.question import (
    ANY_UNITS,
    Document,
    Knowledge,
    Objective,
    Question,
    Tell,
    planned_objective,
    spread_of,
)
from dimfree.results.tables import picture_bytes

FREE = 1.1  # privacy is called free where the error is at most this times the sampling error
ENDINGS = (".svg", ".png", ".html", ".json")
PRIVATE, SAMPLING = "private mean", "sampling error alone"


@dataclass(frozen=True)
class TradeoffRow:
    """Prediction at one value of the axis: root mean square Euclidean errors; None where a release would be refused."""

    at: float
    error: float | None
    sampling: float  # of the plain mean of the same records, which is not private
    noise: float | None
    refused: bool

    @property
    def ratio(self) -> float:
        """The private error over the sampling error; infinite where there is no private error."""
        return math.inf if self.error is None else self.error / self.sampling


@dataclass(frozen=True, kw_only=True)
class Tradeoff(Document):
    """Predicted errors along one axis. `tradeoff` returns one.

    Attributes
    ----------
    axis : {"n", "epsilon"}
        What varies.
    rows : tuple of TradeoffRow
        One for each value of the axis.
    knee : float or None
        From this value of the axis on, the error stays within 1.1 times the sampling error. None where it never does.
    n : int or None
        Number of records; None where n is the axis.
    epsilon : float or None
        None where epsilon is the axis.
    d : int
        Number of columns.
    spectrum : str
        Name of the standard deviations of the columns.
    delta : float
        Budget of the release.
    neighbours, objective, knowledge : str
        As given to `tradeoff`.
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
    neighbours: str
    objective: str
    knowledge: str

    def header(self) -> tuple[str, ...]:
        """Titles of the columns of `cells`.

        Returns
        -------
        tuple of str
        """
        return (self.axis, "error", "sampling", "noise", "error / sampling")

    def cells(self) -> list[tuple[str, ...]]:
        """A table of text, one line for each value of the axis.

        Returns
        -------
        list of tuple of str
        """

        def text(value: float | None) -> str:
            return "–" if value is None or math.isinf(value) else f"{value:.3g}"

        return [
            (
                shown(self.axis, row.at),
                "refused" if row.refused else text(row.error),
                *map(text, (row.sampling, row.noise, row.ratio)),
            )
            for row in self.rows
        ]

    def conditions(self) -> str:
        """What all rows have in common, in a sentence.

        Returns
        -------
        str
        """
        fixed = f"epsilon = {self.epsilon:g}" if self.axis == "n" else f"n = {self.n}"
        known = "the covariance is known" if self.knowledge == "covariance" else "nothing is known of the spread"
        aim = "; errors in each column's own standard deviations" if self.objective == "relative" else ""
        return f"{self.spectrum}, d = {self.d}, {fixed}, delta = {self.delta:g}, {self.neighbours}; {known}{aim}."

    def verdict(self) -> str:
        """From which value of the axis on privacy is free, in a sentence.

        Returns
        -------
        str
        """
        cost = f"the error is within {FREE:g} × the sampling error"
        if self.knee is None:
            return f"Privacy is not free in this range: nowhere up to its end is it true that {cost}."
        if self.knee == self.rows[0].at:
            return f"Privacy is free in all of this range: {cost}."
        return f"Privacy is free from {self.axis} = {shown(self.axis, self.knee)} on: {cost}."

    @classmethod
    def from_json(cls, text: str) -> "Tradeoff":
        """The curve that `to_json` wrote.

        Parameters
        ----------
        text : str
            JSON text.

        Returns
        -------
        Tradeoff

        Raises
        ------
        InvalidFile
            If the text is anything else.
        """
        try:
            data = json.loads(text)
            if data.pop("format") != cls._format:
                raise ValueError
            return cls(rows=tuple(TradeoffRow(**row) for row in data.pop("rows")), **data)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InvalidFile("Expected the text that Tradeoff.to_json of this version writes.") from None

    def to_markdown(self) -> str:
        """The curve as a Markdown table.

        Returns
        -------
        str
        """
        lines = [self.header(), ("---",) * len(self.header()), *self.cells()]
        table = ["| " + " | ".join(cells) + " |" for cells in lines]
        return "\n".join([self.conditions(), "", *table, "", self.verdict()]) + "\n"

    def chart(self) -> Any:
        """An Altair chart of error and sampling error against the axis, on logarithmic scales, with the knee.

        Returns
        -------
        altair.Chart
        """
        return _chart(self)


@np.errstate(all="ignore")  # overflow raises InvalidParameter
def tradeoff(
    *,
    n: int | Sequence[int],
    epsilon: float | Sequence[float],
    delta: float,
    spectrum: object = None,
    d: int | None = None,
    objective: Objective = "auto",
    knowledge: Knowledge = "nothing",
    neighbours: Literal["add-remove", "replace-one"] | Neighbours = "add-remove",
    outliers: float = 0.03,
    tails: Literal["heavy", "gaussian"] = "heavy",
    failure_probability: float = 0.01,
    tell: Tell = lambda *_: None,
) -> Tradeoff:
    """Predicted error of `release_mean` along a list of n or a list of epsilon. It reads no data.

    Each row is the prediction of `dimfree.plan`. The knee is interpolated between rows on logarithmic scales.

    Parameters
    ----------
    n : int or sequence of int
        Number of records. Exactly one of n and epsilon is a list.
    epsilon : float or sequence of float
        Budget of the release.
    delta : float
        Budget of the release.
    spectrum, d, objective, knowledge, neighbours, outliers, tails, failure_probability, tell
        As in `plan`.

    Returns
    -------
    Tradeoff

    Raises
    ------
    InvalidParameter
        If not exactly one of n and epsilon is a list, or a value cannot be used.

    Examples
    --------
    >>> from dimfree import tradeoff
    >>> curve = tradeoff(n=10_000, epsilon=[0.1, 1, 10], delta=1e-6, spectrum="S2", d=100)  # doctest: +SKIP
    >>> curve.verdict()  # doctest: +SKIP
    """
    check_callable("tell", tell)
    axis, values = _axis_and_values({"n": n, "epsilon": epsilon})
    objective = planned_objective(objective, knowledge, spectrum)  # type: ignore[assignment]
    units = ANY_UNITS if spectrum is None and objective == "relative" else spectrum
    if units is None or (isinstance(units, str) and d is None):
        raise InvalidParameter(
            "Expected the spread of the records: a spectrum by its name together with d, or an array of standard"
            " deviations."
        )
    stddevs, name = spread_of(units, d)

    def question(at: Any) -> Question:
        place: dict[str, Any] = {"n": n, "epsilon": epsilon, axis: at}
        rules = (knowledge, outliers, tails, failure_probability, objective)
        return Question(place["n"], stddevs, Budget(place["epsilon"], delta), Neighbours.parse(neighbours), *rules)

    questions, rows = [question(at) for at in values], []  # errors are raised before any time is spent
    for step, (at, each) in enumerate(zip(values, questions, strict=True)):
        tell(f"{axis} = {shown(axis, at)}", step, len(values))
        found = predict(each)
        error, noise = (None, None) if found.refused else (found.error, found.noise)
        rows.append(TradeoffRow(at, error, each.sampling, noise, found.refused))
    first = questions[0]
    return Tradeoff(
        axis=axis,
        rows=tuple(rows),
        knee=knee_of(rows),
        n=None if axis == "n" else first.count,
        epsilon=None if axis == "epsilon" else first.budget.epsilon,
        d=first.dimension,
        spectrum=name,
        delta=first.budget.delta,
        neighbours=str(first.relation),
        objective=first.objective,
        knowledge=first.knowledge,
    )


def knee_of(rows: Sequence[TradeoffRow]) -> float | None:
    """The smallest value above which no row exceeds FREE, interpolated linearly between rows on logarithmic scales."""
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


def _axis_and_values(given: dict[str, Any]) -> tuple[str, list[Any]]:
    """The axis and its values, smallest first, each once."""
    lists = [
        name
        for name, value in given.items()
        if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)
    ]
    if len(lists) != 1:
        got = "both are" if lists else "neither is"
        raise InvalidParameter(f"Expected exactly one of n and epsilon to be a list, the axis of the curve; {got}.")
    axis = lists[0]
    check: Callable[..., Any] = check_count if axis == "n" else check_positive
    need = "a whole number of at least 1" if axis == "n" else "a finite number above 0"
    values = sorted(check_each(axis, given[axis], check, need))
    if not values or len(set(values)) < len(values):
        raise InvalidParameter(f"Expected {axis} to have at least one value, and every value once.")
    return axis, values


def shown(axis: str, at: float) -> str:
    """A value of the axis as text. Numbers of records are rounded up."""
    return str(math.ceil(at)) if axis == "n" else f"{at:.3g}"


def require_altair() -> None:
    """Refuse before anything is predicted if a chart could not be drawn."""
    if importlib.util.find_spec("altair") is None or importlib.util.find_spec("vl_convert") is None:
        raise InvalidParameter(f"A chart needs Altair: install it with {install_command('charts')}.")


def figures(curve: Tradeoff) -> list[dict[str, Any]]:
    """One record for each error there is, as a chart wants them."""
    private = [{"line": PRIVATE, "at": row.at, "error": row.error} for row in curve.rows if row.error is not None]
    return private + [{"line": SAMPLING, "at": row.at, "error": row.sampling} for row in curve.rows]


def _chart(curve: Tradeoff) -> Any:
    """The private error, the sampling error dashed, the knee upright, on logarithmic scales."""
    require_altair()
    import altair as alt

    points, lines = figures(curve), [PRIVATE, SAMPLING]
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
    words = alt.TitleParams("What privacy costs", subtitle=[curve.conditions(), curve.verdict()])
    knee = []
    if curve.knee is not None:  # its label is on the side that has space
        late = curve.knee > math.sqrt(curve.rows[0].at * curve.rows[-1].at)
        label = f"free from {curve.axis} = {shown(curve.axis, curve.knee)}"
        base = alt.Chart(alt.InlineData(values=[{"at": curve.knee, "label": label}])).encode(x=across)
        words = base.mark_text(align="right" if late else "left", baseline="top", dx=-4 if late else 4)
        knee = [base.mark_rule(strokeWidth=1.5, color="#777"), words.encode(y=alt.value(4), text="label:N")]
    title = alt.TitleParams("What privacy costs", subtitle=[curve.conditions(), curve.verdict()])
    return alt.layer(*knee, drawn.mark_line(point=True)).properties(title=title, width=560, height=380)


def chart_bytes(curve: Tradeoff, ending: str) -> bytes:
    """The picture in the format of a file's ending; an .html file needs no network."""
    return picture_bytes(curve.chart(), ending)
