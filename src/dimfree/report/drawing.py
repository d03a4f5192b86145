"""How the pictures of a report are drawn: Altair, as inline SVG. No column name is passed to the drawing library.

The colours are those of a light page; on a dark page the style sheet replaces them.
"""

import html
import re
from collections.abc import Sequence
from typing import Any

from dimfree.report.names import shown_name
from dimfree.results.verdicts import NAMES

INK, MUTED, GRID = "#1f2430", "#667085", "#e4e7ec"
COLOURS = ("#0e8a7b", "#1d5fb0", "#b45f06", "#98a2b3")  # one per verdict, in their order
SHAPES = ("diamond", "circle", "triangle-up", "cross")
PALE = "#a9b4c4"  # the longer error bars
NAME_LENGTH = 21  # letters beside a picture

Rows = list[dict[str, Any]]


def points(rows: Rows, across: Any, up: Any, *, size: int) -> Any:
    import altair as alt

    shape = alt.Shape("verdict:N", scale=alt.Scale(domain=list(NAMES), range=list(SHAPES)), legend=None)
    base = alt.Chart(alt.InlineData(values=rows)).mark_point(filled=True, opacity=1, size=size, strokeWidth=0)
    return base.encode(x=across, y=up, color=colour(), shape=shape)


def colour() -> Any:
    """No legend: the page has one as text."""
    import altair as alt

    return alt.Color("verdict:N", scale=alt.Scale(domain=list(NAMES), range=list(COLOURS)), legend=None)


def mark(place: int) -> str:
    """A placeholder for a name: some characters in names would end the process inside the drawing library."""
    return f"@name{place}@"


def svg(chart: Any, names: Sequence[str]) -> str:
    """SVG for a page: without links and sizes that only a file needs; names are inserted, escaped."""
    import vl_convert

    drawn = vl_convert.vegalite_to_svg(_styled(chart).to_dict())
    bare = re.sub(r' (xmlns(:xlink)?|version|aria-[a-z]+|role)="[^"]*"', "", drawn)
    shown = [html.escape(shown_name(name, NAME_LENGTH)) for name in names]
    return re.sub(r"@name(\d+)@", lambda found: shown[int(found[1])], bare)


def _styled(chart: Any) -> Any:
    axis = {"labelColor": MUTED, "titleColor": MUTED, "gridColor": GRID, "domainColor": GRID, "tickColor": GRID}
    sizes = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "titlePadding": 10}
    return chart.configure(
        aria=False,
        background="transparent",
        font="system-ui, sans-serif",
        axis={**axis, **sizes},
        view={"stroke": None},
    )
