"""What a figure is, and its picture: one set of rows, drawn and written down alike."""

import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.accuracy.resolving import Verdict

MEASURED, MORE, GUIDE = "measured", "more than", "guide"  # what a row is; MORE: an end of the search, not a crossing


@dataclass(frozen=True)
class Figure:
    """A claim, what was measured of it, and the rows {series, kind, x, y} of the picture."""

    letter: str
    name: str
    title: str
    claim: str
    found: str
    x: str
    y: str
    rows: list[dict[str, Any]]
    header: list[str]
    table: list[list[str]]
    joined: bool = True
    numbers: dict[str, Any] = field(default_factory=dict)  # fits and ratios that the sentence rests on
    verdicts: list[Verdict] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def row(series: str, kind: str, x: float, y: float) -> dict[str, Any]:
    return {"series": series, "kind": kind, "x": x, "y": y}


def grouped(rows: Sequence[dict[str, Any]], series: str, kind: str = MEASURED) -> tuple[list[float], list[float]]:
    """(x, y) of one series."""
    chosen = [one for one in rows if (one["series"], one["kind"]) == (series, kind)]
    return [one["x"] for one in chosen], [one["y"] for one in chosen]


def chart(figure: dict[str, Any]) -> Any:
    """An Altair chart of a figure as written down: solid lines measured, triangles "more than", dashes for guides."""
    import altair as alt

    order = list(dict.fromkeys(one["series"] for one in figure["rows"]))
    base = alt.Chart(alt.InlineData(values=figure["rows"])).encode(
        x=alt.X("x:Q", scale=alt.Scale(type="log", nice=False, padding=12), title=figure["x"], axis=_ticks()),
        y=alt.Y("y:Q", scale=alt.Scale(type="log", nice=False, padding=12), title=figure["y"], axis=_ticks()),
        color=alt.Color("series:N", sort=order, scale=alt.Scale(scheme="tableau20"), legend=_legend()),
        tooltip=["series:N", "kind:N", "x:Q", "y:Q"],
    )
    of = {kind: base.transform_filter(alt.datum.kind == kind) for kind in (MEASURED, MORE, GUIDE)}
    marks = of[MEASURED].mark_line(point=True) if figure["joined"] else of[MEASURED].mark_point(filled=True, size=45)
    open_ended = of[MORE].mark_point(shape="triangle-up", filled=False, size=90)
    guides = of[GUIDE].mark_line(strokeDash=[5, 4])
    words = alt.TitleParams(figure["title"], anchor="start")
    return alt.layer(guides, marks, open_ended).properties(title=words, width=560, height=380)


def _ticks() -> Any:
    import altair as alt

    return alt.Axis(format="~g", labelOverlap=True)


def _legend() -> Any:
    import altair as alt

    return alt.Legend(title=None, symbolOpacity=1, symbolType="circle", labelLimit=320)


def picture(figure: dict[str, Any]) -> str:
    """The SVG."""
    text = io.StringIO()
    chart(figure).save(text, format="svg")
    return text.getvalue()
