"""The plots of a report as inline SVG, in light colors. No column name reaches the drawing library."""

import html
import math
import re
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import vl_convert
from markupsafe import Markup

from dimfree.accounting.guarantee import Guarantee
from dimfree.report.tradeoff import RATES, Tradeoff, compute_detected, gaussian_missed
from dimfree.results import plot
from dimfree.results.mean_table import NAMES, PRECISION, MeanTable, Places, shorten_name

_BINS = 40  # bars of a histogram
_MIN_STRENGTH = 0.03  # smaller values are drawn here


def draw_mean_chart(table: MeanTable, places: Places, names: Sequence[str]) -> Markup:
    """Draw the means with intervals; names are placeholders, since some characters would end the process."""
    marks, labels = ([f"@{kind}{at}@" for at in range(len(places))] for kind in ("name", "label"))
    return svg(plot.draw_means(table, places, marks, labels), names)


def draw_strength_chart(table: MeanTable) -> Markup:
    """Draw |mean| / noise by rank, with the line above which the sign of the sample mean is certain."""
    order, far = np.argsort(-table.strength, kind="stable"), table.dimension > 200
    rows = [
        {
            "rank": rank + 1,
            "strength": max(_MIN_STRENGTH, float(table.strength[order[rank]])),
            "verdict": NAMES[table.verdicts[order[rank]]],
        }
        for rank in choose_ranks(table.dimension, plot.MAX_DRAWN).tolist()
    ]
    across = alt.X(
        "rank:Q",
        title="rank of the column" + (" (logarithmic)" if far else ""),
        scale=alt.Scale(type="log" if far else "linear", domain=[1, max(2, table.dimension)], nice=False, padding=8),
        axis=alt.Axis(tickMinStep=1, grid=False, format=",d", tickCount=6),
    )
    up = alt.Y(
        "strength:Q",
        title="|mean| / noise",
        scale=alt.Scale(type="log", nice=True),
        axis=alt.Axis(values=[10.0**power for power in range(-2, 13)], format=",~f"),
    )
    line, at = plot.chart_rows([{"at": table.threshold}]), alt.Y("at:Q")
    label = f"sign of the sample mean certain above {table.threshold:.3g}"
    name = line.mark_text(align="right", baseline="bottom", dy=-4, color=plot.MUTED, text=label)
    marks = plot.points(rows, across, up, size=34 if table.dimension > 60 else 60)
    layers = (line.mark_rule(**plot.DASHED).encode(y=at), name.encode(x=alt.value(plot.WIDE), y=at), marks)
    return svg(alt.layer(*layers).properties(width=plot.WIDE, height=250))


def choose_ranks(dimension: int, most: int) -> Places:
    """Return up to `most` ranks from 0: dense at first, then geometrically sparser."""
    if dimension <= most:
        return np.arange(dimension)
    return np.unique(np.geomspace(1, dimension, most).round().astype(np.intp)) - 1


def draw_ratio_chart(table: MeanTable) -> Markup:
    """Draw the histogram of noise / SD over the columns with a known SD."""
    known = np.log10(table.noise_to_sd[np.isfinite(table.noise_to_sd)])
    low, high = min(float(known.min()), math.log10(PRECISION)) - 0.1, max(float(known.max()), 0.0) + 0.1
    counts, edges = np.histogram(known, bins=_BINS, range=(low, high))
    ends = (10.0**edges).tolist()
    rows = [
        {"from": start, "to": end, "columns": count, "none": 0}
        for start, end, count in zip(ends, ends[1:], counts.tolist(), strict=False)
        if count
    ]
    across = alt.X(
        "from:Q",
        title="noise / SD (logarithmic)",
        scale=alt.Scale(type="log", domain=[ends[0], ends[-1]], nice=False),
        axis=alt.Axis(tickCount=5, grid=False, format="~g"),
    )
    up = alt.Y("columns:Q", title="columns", axis=alt.Axis(tickMinStep=1, tickCount=4, format=",d"))
    bars = plot.chart_rows(rows).mark_rect(color=plot.COLORS[1]).encode(x=across, x2="to:Q", y=up, y2="none:Q")
    limits = plot.chart_rows([{"at": PRECISION}, {"at": 1.0}]).mark_rule(**plot.DASHED).encode(x=alt.X("at:Q"))
    return svg(alt.layer(bars, limits).properties(width=plot.WIDE, height=180))


def draw_tradeoff_chart(curve: Tradeoff, guarantee: Guarantee) -> Markup:
    """Draw the largest true-positive rate by false-positive rate: this release, its guarantee, a Gaussian."""
    rates = np.concatenate([[0.0], RATES])
    lines = (
        ([compute_detected(guarantee, float(rate)) for rate in rates], plot.PALE, [1, 0]),
        ((1 - gaussian_missed(curve.mu, rates)).tolist(), plot.COLORS[2], [5, 4]),
        ((1 - curve.compute_missed(rates)).tolist(), plot.COLORS[1], [1, 0]),
        (rates.tolist(), plot.MUTED, [2, 3]),
    )
    share = alt.Scale(domain=[0, 1], nice=False)
    across = alt.X("rate:Q", title="false-positive rate", scale=share, axis=alt.Axis(format="%", tickCount=5))
    up = alt.Y("power:Q", title="true-positive rate, at most", scale=share, axis=alt.Axis(format="%", tickCount=5))
    drawn = [
        plot.chart_rows([{"rate": x, "power": y} for x, y in zip(rates.tolist(), ys, strict=True)])
        .mark_line(color=color, strokeDash=dash, strokeWidth=2, interpolate="linear")
        .encode(x=across, y=up)
        for ys, color, dash in lines
    ]
    return svg(alt.layer(*drawn).properties(width=plot.WIDE, height=300))


def describe_chart(table: MeanTable) -> str:
    """Return a text description of the plot for screen readers."""
    counts = ", ".join(f"{count} {word}" for word, count in table.counts() if count)
    if table.mixed:
        return f"{table.dimension} means with intervals, relative to the SD of each column; {counts}."
    low, high = float(table.mean.min()), float(table.mean.max())
    return f"Means from {low:.4g} to {high:.4g} with intervals; {counts}."


def svg(chart: Any, names: Sequence[str] = ()) -> Markup:
    """Return SVG for a page, without attributes that only a file needs; names are inserted and escaped.

    The description of a point becomes its title, which browsers show as a tooltip.
    """
    drawn = vl_convert.vegalite_to_svg(plot.style_axes(chart).to_dict())
    titled = re.sub(r'<(path)( [^>]*?)aria-label="(@name[^"]*)"([^>]*)/>', r"<\1\2\4><title>\3</title></\1>", drawn)
    bare = re.sub(r' (xmlns(:xlink)?|version|aria-[a-z]+|role)="[^"]*"', "", titled)
    shown = {"name": [html.escape(shorten_name(name)) for name in names]}
    shown["label"] = [html.escape(shorten_name(name, plot.NAME_LENGTH)) for name in names]
    return Markup(re.sub(r"@(name|label)(\d+)@", lambda found: shown[found[1]][int(found[2])], bare))
