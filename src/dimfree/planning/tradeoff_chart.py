"""One picture of a trade-off: the private error against its axis, above the sampling error. Altair, when asked for."""

import importlib.util
import math
from typing import Any

from dimfree._validate import install_command
from dimfree.errors import InvalidParameter
from dimfree.planning.tradeoff import Tradeoff, shown
from dimfree.results.tables import picture_bytes

ENDINGS = (".svg", ".png", ".html", ".json")
PRIVATE, SAMPLING = "private mean", "sampling error alone"
_TITLES = {"n": "records n", "epsilon": "epsilon"}
_ROOM = 1.1  # above the highest and below the lowest point


def require_altair() -> None:
    if importlib.util.find_spec("altair") is None or importlib.util.find_spec("vl_convert") is None:
        raise InvalidParameter(f"A chart needs Altair: install it with {install_command('charts')}.")


def figures(curve: Tradeoff) -> list[dict[str, Any]]:
    """One record for each error there is, as a chart wants them."""
    private = [{"line": PRIVATE, "at": row.at, "error": row.error} for row in curve.rows if row.error is not None]
    return private + [{"line": SAMPLING, "at": row.at, "error": row.sampling} for row in curve.rows]


def chart(curve: Tradeoff) -> Any:
    """An Altair chart on logarithmic scales: the private error, the sampling error dashed, the knee upright."""
    require_altair()
    import altair as alt

    points, lines = figures(curve), [PRIVATE, SAMPLING]
    heights = [point["error"] for point in points]
    domain = [min(heights) / _ROOM, max(heights) * _ROOM]
    ticks, log = alt.Axis(values=[row.at for row in curve.rows]), alt.Scale(type="log", nice=False)
    across = alt.X("at:Q", scale=log, title=_TITLES[curve.axis], axis=ticks)
    legend = alt.Legend(title=None, orient="bottom", labelLimit=0, symbolType="stroke", symbolSize=400)
    drawn = alt.Chart(alt.InlineData(values=points)).encode(
        x=across,
        y=alt.Y("error:Q", scale=alt.Scale(type="log", domain=domain), title="Euclidean error (RMS), predicted"),
        color=alt.Color("line:N", sort=lines, scale=alt.Scale(domain=lines), legend=legend),
        strokeDash=alt.StrokeDash("line:N", sort=lines, scale=alt.Scale(domain=lines, range=[[1, 0], [6, 4]])),
        tooltip=["line:N", "at:Q", "error:Q"],
    )
    words = alt.TitleParams("What privacy costs", subtitle=[curve.conditions(), curve.verdict()])
    return alt.layer(*_knee(curve, across), drawn.mark_line(point=True)).properties(title=words, width=560, height=380)


def _knee(curve: Tradeoff, across: Any) -> list[Any]:
    """A vertical line where privacy becomes free, with its label on the side that has space."""
    import altair as alt

    if curve.knee is None:
        return []
    label = f"free from {curve.axis} = {shown(curve.axis, curve.knee)}"
    base = alt.Chart(alt.InlineData(values=[{"at": curve.knee, "label": label}])).encode(x=across)
    late = curve.knee > math.sqrt(curve.rows[0].at * curve.rows[-1].at)
    words = base.mark_text(align="right" if late else "left", baseline="top", dx=-4 if late else 4)
    return [base.mark_rule(strokeWidth=1.5, color="#777"), words.encode(y=alt.value(4), text="label:N")]


def chart_bytes(curve: Tradeoff, ending: str) -> bytes:
    """The picture in the format that a file's ending asks for; an .html file needs no network to be looked at."""
    return picture_bytes(chart(curve), ending)
