"""The pictures of a report as inline SVG. No column name is passed to the drawing library.

On a dark page the style sheet replaces the colours.
"""

import html
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from dimfree.accounting.guarantee import Guarantee
from dimfree.report.tradeoff import RATES, Tradeoff, detected, gaussian_missed
from dimfree.results.names import shown_name
from dimfree.results.plot import COLOURS, MOST_DRAWN, MUTED, NAME_LENGTH, PALE, WIDE, mean_picture, points, styled
from dimfree.results.reading import NAMES, PRECISION, Places, Reading, drawn_ranks

_BINS = 40  # bars of a histogram


def mean_chart(reading: Reading, places: Places, names: Sequence[str]) -> str:
    """The released mean with error bars. No name (one for each place) is passed to the drawing library."""
    marks, labels = [mark(at) for at in range(len(places))], [mark(at, "label") for at in range(len(places))]
    return svg(mean_picture(reading, places, marks, labels), names)


def strength_chart(reading: Reading) -> str:
    """Mean over noise by rank, with the line above which the sign of the sample mean is certain."""
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
    title = "coordinates by strength, the strongest first" + (" (logarithmic)" if far else "")
    across = alt.X(
        "rank:Q",
        title=title,
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
    words = f"sign of the sample mean sure above {reading.threshold:.3g}"
    return svg(
        alt.layer(
            line.mark_rule(strokeDash=[5, 4], color=MUTED, strokeWidth=1.2).encode(y=alt.Y("at:Q")),
            line.mark_text(align="right", baseline="bottom", dy=-4, color=MUTED, text=words).encode(
                x=alt.value(WIDE), y=alt.Y("at:Q")
            ),
            points(rows, across, up, size=34 if reading.dimension > 60 else 60),
        ).properties(width=WIDE, height=250),
        [],
    )


def ratio_chart(reading: Reading) -> str:
    """How many columns have which noise over spread, of all columns whose spread is known."""
    import altair as alt

    known = np.log10(reading.over_spread[np.isfinite(reading.over_spread)])
    low, high = min(float(known.min()), math.log10(PRECISION)) - 0.1, max(float(known.max()), 0.0) + 0.1
    counts, edges = np.histogram(known, bins=_BINS, range=(low, high))
    ends = 10.0**edges
    rows = [
        {"from": float(ends[at]), "to": float(ends[at + 1]), "columns": int(count), "none": 0}
        for at, count in enumerate(counts)
        if count
    ]
    across = alt.X(
        "from:Q",
        title="noise / spread (logarithmic)",
        scale=alt.Scale(type="log", domain=[float(ends[0]), float(ends[-1])], nice=False),
        axis=alt.Axis(tickCount=5, grid=False, format="~g"),
    )
    up = alt.Y("columns:Q", title="columns", axis=alt.Axis(tickMinStep=1, tickCount=4, format=",d"))
    bars = alt.Chart(alt.InlineData(values=rows)).mark_rect(color=COLOURS[1])
    limits = alt.Chart(alt.InlineData(values=[{"at": PRECISION}, {"at": 1.0}]))
    return svg(
        alt.layer(
            bars.encode(x=across, x2="to:Q", y=up, y2="none:Q"),
            limits.mark_rule(strokeDash=[5, 4], color=MUTED, strokeWidth=1.2).encode(x=alt.X("at:Q")),
        ).properties(width=WIDE, height=180),
        [],
    )


def tradeoff_chart(curve: Tradeoff, guarantee: Guarantee) -> str:
    """The largest true-positive rate at each false-positive rate: of this release, of its promise, of a Gaussian."""
    import altair as alt

    rates = np.concatenate([[0.0], RATES])
    lines = (
        ("promise", [detected(guarantee, float(rate)) for rate in rates], PALE, [1, 0]),
        ("gaussian", (1 - gaussian_missed(curve.mu, rates)).tolist(), COLOURS[2], [5, 4]),
        ("release", (1 - curve.missed(rates)).tolist(), COLOURS[1], [1, 0]),
        ("guess", rates.tolist(), MUTED, [2, 3]),
    )
    share = alt.Scale(domain=[0, 1], nice=False)
    across = alt.X("rate:Q", title="false-positive rate", scale=share, axis=alt.Axis(format="%", tickCount=5))
    up = alt.Y("power:Q", title="true-positive rate, at most", scale=share, axis=alt.Axis(format="%", tickCount=5))
    drawn = [
        alt.Chart(
            alt.InlineData(values=[{"rate": float(x), "power": float(y)} for x, y in zip(rates, ys, strict=True)])
        )
        .mark_line(color=colour, strokeDash=dash, strokeWidth=2, interpolate="linear")
        .encode(x=across, y=up)
        for _, ys, colour, dash in lines
    ]
    return svg(alt.layer(*drawn).properties(width=WIDE, height=300), [])


def text_of_chart(reading: Reading) -> str:
    """A description of the picture, for readers who do not see it."""
    said = ", ".join(f"{count} {word}" for word, count in reading.counts() if count)
    if reading.mixed:
        return f"{reading.dimension} means with error bars, each in units of its own column's spread; {said}."
    low, high = float(reading.mean.min()), float(reading.mean.max())
    return f"Means from {low:.4g} to {high:.4g} with error bars; {said}."


def mark(place: int, kind: str = "name") -> str:
    """A placeholder for a name: some characters in names would end the process inside the drawing library."""
    return f"@{kind}{place}@"


def svg(chart: Any, names: Sequence[str]) -> str:
    """SVG for a page: without links and sizes that only a file needs; names are inserted, escaped.

    What a point tells (`description` in the picture) becomes its title, which browsers show under the pointer.
    """
    import vl_convert

    drawn = vl_convert.vegalite_to_svg(styled(chart).to_dict())
    titled = re.sub(r'<(path)( [^>]*?)aria-label="(@name[^"]*)"([^>]*)/>', r"<\1\2\4><title>\3</title></\1>", drawn)
    bare = re.sub(r' (xmlns(:xlink)?|version|aria-[a-z]+|role)="[^"]*"', "", titled)
    shown = {"name": [html.escape(shown_name(name)) for name in names]}
    shown["label"] = [html.escape(shown_name(name, NAME_LENGTH)) for name in names]
    return re.sub(r"@(name|label)(\d+)@", lambda found: shown[found[1]][int(found[2])], bare)
