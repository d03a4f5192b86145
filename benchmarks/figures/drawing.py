"""What a figure is, and its picture: one set of rows, drawn and written down alike."""

import io
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


def chart(figure: dict[str, Any]) -> Any:
    """An Altair chart of a figure as written down: solid lines measured, triangles "more than", dashes for guides."""
    import altair as alt

    order = list(dict.fromkeys(one["series"] for one in figure["rows"]))
    logarithmic = alt.Scale(type="log", nice=False, padding=12)
    ticks = alt.Axis(format="~g", labelOverlap=True)
    legend = alt.Legend(title=None, symbolOpacity=1, symbolType="circle", labelLimit=320)
    base = alt.Chart(alt.InlineData(values=figure["rows"])).encode(
        x=alt.X("x:Q", scale=logarithmic, title=figure["x"], axis=ticks),
        y=alt.Y("y:Q", scale=logarithmic, title=figure["y"], axis=ticks),
        color=alt.Color("series:N", sort=order, scale=alt.Scale(scheme="tableau20"), legend=legend),
        tooltip=["series:N", "kind:N", "x:Q", "y:Q"],
    )
    of = {kind: base.transform_filter(alt.datum.kind == kind) for kind in (MEASURED, MORE, GUIDE)}
    marks = of[MEASURED].mark_line(point=True) if figure["joined"] else of[MEASURED].mark_point(filled=True, size=45)
    open_ended = of[MORE].mark_point(shape="triangle-up", filled=False, size=90)
    guides = of[GUIDE].mark_line(strokeDash=[5, 4])
    words = alt.TitleParams(figure["title"], anchor="start")
    return alt.layer(guides, marks, open_ended).properties(title=words, width=560, height=380)


def picture(figure: dict[str, Any]) -> str:
    """The SVG."""
    text = io.StringIO()
    chart(figure).save(text, format="svg")
    return text.getvalue()
