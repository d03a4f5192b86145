"""The pictures of a report as inline SVG, drawn by Altair. No column name is passed to the drawing library.

The colours are those of a light page; on a dark page the style sheet replaces them.
"""

import html
import importlib
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from dimfree.errors import InvalidParameter
from dimfree.report.names import shown_name
from dimfree.report.reading import Places, Reading, drawn_ranks
from dimfree.results.verdicts import NAMES

INK, MUTED, GRID = "#1f2430", "#667085", "#e4e7ec"
COLOURS = ("#0e8a7b", "#1d5fb0", "#b45f06", "#98a2b3")  # one per verdict, in their order
SHAPES = ("diamond", "circle", "triangle-up", "cross")
PALE = "#a9b4c4"  # the longer error bars
NAMED = 30  # up to this many rows are labelled with their names
MOST_DRAWN = 300
_WIDE, _NAME_ROOM, _NAME_LENGTH = 700, 190, 21
_NAMED_ROOM = {"left": _NAME_ROOM, "right": 14, "top": 6, "bottom": 44}  # left for names, below for the axis
_MIXED = 30.0  # ratio of lengths of error bars above which the axis is logarithmic
_NEEDED = ("jinja2", "altair", "vl_convert")

Rows = list[dict[str, Any]]


def require_report() -> None:
    """Load whatever a report needs beyond dimfree itself; call it before any budget is spent."""
    try:
        for name in _NEEDED:
            importlib.import_module(name)
    except Exception:  # noqa: BLE001 - missing, or whatever a broken package raises
        raise InvalidParameter(
            "A report needs Jinja and Altair: install them with pip install 'dimfree[report]'."
        ) from None


def mean_chart(reading: Reading, places: Places, names: Sequence[str]) -> str:
    """The released mean with error bars: named rows where coordinates are few, else along the column numbers."""
    rows = [
        {
            "place": at if reading.dimension <= NAMED else int(place),
            "mean": float(reading.mean[place]),
            "low": float(reading.low[place]),
            "high": float(reading.high[place]),
            "all_low": float(reading.all_low[place]),
            "all_high": float(reading.all_high[place]),
            "verdict": NAMES[reading.verdicts[place]],
            "label": _mark(at),
        }
        for at, place in enumerate(places)
    ]
    values = _values_scale(reading, places)
    if reading.dimension <= NAMED:
        return _svg(_named_rows(rows, values), [names[place] for place in places])
    return _svg(_along_columns(rows, values), [])


def strength_chart(reading: Reading) -> str:
    """Mean over noise by rank, with the line above which a sign is certain."""
    import altair as alt

    order, ranks = reading.strongest(), drawn_ranks(reading.dimension, MOST_DRAWN)
    least = 0.03  # a smaller ratio is drawn as this
    rows = [
        {
            "rank": int(rank) + 1,
            "strength": max(least, float(reading.strength[order[rank]])),
            "verdict": NAMES[reading.verdicts[order[rank]]],
        }
        for rank in ranks
    ]
    far = reading.dimension > 200
    across = alt.X(
        "rank:Q",
        title="coordinates by strength, the strongest first" + (" (logarithmic)" if far else ""),
        scale=alt.Scale(type="log" if far else "linear", domain=[1, max(2, reading.dimension)], nice=False, padding=8),
        axis=alt.Axis(tickMinStep=1, grid=False, format=",d", tickCount=6),
    )
    up = alt.Y(
        "strength:Q",
        title="|mean| / noise",
        scale=alt.Scale(type="log", nice=True),
        axis=alt.Axis(values=[10.0**power for power in range(-2, 13)], format=",~f"),
    )
    line = alt.Chart(alt.InlineData(values=[{"at": reading.threshold}]))
    words = f"sign sure above {reading.threshold:.3g}"
    return _svg(
        alt.layer(
            line.mark_rule(strokeDash=[5, 4], color=MUTED, strokeWidth=1.2).encode(y=alt.Y("at:Q")),
            line.mark_text(align="right", baseline="bottom", dy=-4, color=MUTED, text=words).encode(
                x=alt.value(_WIDE), y=alt.Y("at:Q")
            ),
            _points(rows, across, up, size=34 if reading.dimension > 60 else 60),
        ).properties(width=_WIDE, height=250),
        [],
    )


def _values_scale(reading: Reading, places: Places) -> Any:
    """Linear, unless columns in very different units would hide each other."""
    import altair as alt

    widths = reading.high[places] - reading.low[places]
    shortest = float(np.quantile(widths, 0.25, method="lower"))
    if widths.max() > _MIXED * shortest:
        return alt.Scale(type="symlog", constant=shortest, nice=False, padding=10)
    return alt.Scale(zero=False, nice=True)


def _axis(scale: Any, rows: Rows, ticks: int) -> Any:
    """On a logarithmic axis zero and a few powers of ten; else the ticks that Vega chooses."""
    import altair as alt

    if scale.type != "symlog":
        return alt.Axis(tickCount=ticks, labelFlush=False)
    largest = max(max(abs(row["all_low"]), abs(row["all_high"])) for row in rows)
    exponents = range(math.ceil(math.log10(scale.constant)), math.floor(math.log10(largest)) + 1)
    powers = [10.0**exponent for exponent in list(exponents)[:: max(1, math.ceil(len(exponents) / 5))]]
    return alt.Axis(
        values=[*(-power for power in powers), 0.0, *powers], labelFlush=False, format=",~f", labelOverlap=True
    )


def _named_rows(rows: Rows, scale: Any) -> Any:
    import altair as alt

    title = "released mean" + (" (logarithmic away from zero)" if scale.type == "symlog" else "")
    up = alt.Y("place:O", axis=None, scale=alt.Scale(padding=0.5))
    across = alt.X("low:Q", scale=scale, title=title, axis=_axis(scale, rows, 7))
    base = alt.Chart(alt.InlineData(values=rows))
    names = base.mark_text(align="right", baseline="middle", dx=-12, color=INK, fontSize=12.5)
    return alt.layer(
        names.encode(x=alt.value(0), y=up, text="label:N"),
        base.mark_rule(strokeWidth=1.5, color=PALE).encode(x=alt.X("all_low:Q", scale=scale), x2="all_high:Q", y=up),
        base.mark_rule(strokeWidth=5, opacity=0.55).encode(x=across, x2="high:Q", y=up, color=_colour()),
        _points(rows, alt.X("mean:Q", scale=scale, title=title), up, size=70),
    ).properties(width=_WIDE - _NAME_ROOM, height=max(90, 26 * len(rows)), autosize="none", padding=_NAMED_ROOM)


def _along_columns(rows: Rows, scale: Any) -> Any:
    import altair as alt

    title = "released mean" + (" (log. away from 0)" if scale.type == "symlog" else "")
    across = alt.X("place:Q", title="column", scale=alt.Scale(nice=False, padding=6), axis=alt.Axis(grid=False))
    up = alt.Y("low:Q", scale=scale, title=title, axis=_axis(scale, rows, 6))
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=across)
    thick = 4 if len(rows) <= 120 else 1.8
    return alt.layer(
        base.mark_rule(strokeWidth=1, color=PALE).encode(y=alt.Y("all_low:Q", scale=scale), y2="all_high:Q"),
        base.mark_rule(strokeWidth=thick, opacity=0.55).encode(y=up, y2="high:Q", color=_colour()),
        _points(rows, across, alt.Y("mean:Q", scale=scale, title=title), size=16 if len(rows) <= 120 else 10),
    ).properties(width=_WIDE, height=290)


def _points(rows: Rows, across: Any, up: Any, *, size: int) -> Any:
    import altair as alt

    shape = alt.Shape("verdict:N", scale=alt.Scale(domain=list(NAMES), range=list(SHAPES)), legend=None)
    base = alt.Chart(alt.InlineData(values=rows)).mark_point(filled=True, opacity=1, size=size, strokeWidth=0)
    return base.encode(x=across, y=up, color=_colour(), shape=shape)


def _colour() -> Any:
    """No legend: the page has one as text."""
    import altair as alt

    return alt.Color("verdict:N", scale=alt.Scale(domain=list(NAMES), range=list(COLOURS)), legend=None)


def _mark(place: int) -> str:
    """A placeholder for a name: some characters in names would end the process inside the drawing library."""
    return f"@name{place}@"


def _svg(chart: Any, names: Sequence[str]) -> str:
    """SVG for a page: without links and sizes that only a file needs; names are inserted, escaped."""
    import vl_convert

    drawn = vl_convert.vegalite_to_svg(_styled(chart).to_dict())
    bare = re.sub(r' (xmlns(:xlink)?|version|aria-[a-z]+|role)="[^"]*"', "", drawn)
    shown = [html.escape(shown_name(name, _NAME_LENGTH)) for name in names]
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


def text_of_chart(reading: Reading) -> str:
    """A description of the picture, for readers who do not see it."""
    low, high = float(reading.mean.min()), float(reading.mean.max())
    said = ", ".join(f"{count} {word}" for word, count in reading.counts() if count)
    return f"Means from {low:.4g} to {high:.4g} with error bars; {said}."
