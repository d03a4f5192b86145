"""The pictures of a report: the mean with error bars, and mean over noise by rank."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dimfree.report.drawing import INK, MUTED, PALE, Rows, colour, mark, points, svg
from dimfree.report.numbers import with_noise_digits
from dimfree.report.reading import Places, Reading, drawn_ranks
from dimfree.results.verdicts import NAMES

NAMED = 30  # up to this many rows are labelled with their names
MOST_DRAWN = 300
_WIDE, _NAME_ROOM, _VALUE_ROOM = 700, 190, 90
_NAMED_ROOM = {"left": _NAME_ROOM, "right": 14, "top": 6, "bottom": 44}  # left for names, below for the axis
_MIXED = 30.0  # ratio of lengths of error bars above which the axis is logarithmic


def mean_chart(reading: Reading, places: Places, names: Sequence[str]) -> str:
    """The released mean with error bars: named rows where coordinates are few, else along the column numbers.

    In mixed units every column has its own: bars are in spreads of the column, and its mean stands beside them.
    """
    import altair as alt

    drawn = reading.in_spreads() if reading.mixed else reading
    values = alt.Scale(zero=True, nice=True) if reading.mixed else _values_scale(reading, places)
    title = "off the mean, in spreads of the column" if reading.mixed else _mean_title(values)
    rows = [
        {
            "place": at if reading.dimension <= NAMED else int(place),
            "mean": float(drawn.mean[place]),
            "low": float(drawn.low[place]),
            "high": float(drawn.high[place]),
            "all_low": float(drawn.all_low[place]),
            "all_high": float(drawn.all_high[place]),
            "verdict": NAMES[reading.verdicts[place]],
            "label": mark(at),
            "value": _value(reading, int(place)) if reading.mixed else "",
        }
        for at, place in enumerate(places)
    ]
    if reading.dimension <= NAMED:
        return svg(_named_rows(rows, values, title, reading.mixed), [names[place] for place in places])
    return svg(_along_columns(rows, values, title), [])


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
    return svg(
        alt.layer(
            line.mark_rule(strokeDash=[5, 4], color=MUTED, strokeWidth=1.2).encode(y=alt.Y("at:Q")),
            line.mark_text(align="right", baseline="bottom", dy=-4, color=MUTED, text=words).encode(
                x=alt.value(_WIDE), y=alt.Y("at:Q")
            ),
            points(rows, across, up, size=34 if reading.dimension > 60 else 60),
        ).properties(width=_WIDE, height=250),
        [],
    )


def _value(reading: Reading, place: int) -> str:
    return with_noise_digits(float(reading.noise[place]), float(reading.mean[place]))


def _values_scale(reading: Reading, places: Places) -> Any:
    """Linear, unless columns in very different units would hide each other."""
    import altair as alt

    widths = reading.high[places] - reading.low[places]
    shortest = float(np.quantile(widths, 0.25, method="lower"))
    if widths.max() > _MIXED * shortest:
        return alt.Scale(type="symlog", constant=shortest, nice=False, padding=10)
    return alt.Scale(zero=False, nice=True)


def _mean_title(scale: Any) -> str:
    return "released mean" + (" (log. away from 0)" if scale.type == "symlog" else "")


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


def _named_rows(rows: Rows, scale: Any, title: str, valued: bool) -> Any:
    """A row for each column; `valued`: with its mean as a number at the right."""
    import altair as alt

    wide, room = _WIDE - _NAME_ROOM - valued * _VALUE_ROOM, _NAMED_ROOM["right"] + valued * _VALUE_ROOM
    up = alt.Y("place:O", axis=None, scale=alt.Scale(padding=0.5))
    across = alt.X("low:Q", scale=scale, title=title, axis=_axis(scale, rows, 7))
    base = alt.Chart(alt.InlineData(values=rows))
    names = base.mark_text(align="right", baseline="middle", dx=-12, color=INK, fontSize=12.5)
    values = base.mark_text(align="right", baseline="middle", color=INK, fontSize=12.5)
    return alt.layer(
        names.encode(x=alt.value(0), y=up, text="label:N"),
        values.encode(x=alt.value(wide + room), y=up, text="value:N"),
        base.mark_rule(strokeWidth=1.5, color=PALE).encode(x=alt.X("all_low:Q", scale=scale), x2="all_high:Q", y=up),
        base.mark_rule(strokeWidth=5, opacity=0.55).encode(x=across, x2="high:Q", y=up, color=colour()),
        points(rows, alt.X("mean:Q", scale=scale, title=title), up, size=70),
    ).properties(width=wide, height=max(90, 26 * len(rows)), autosize="none", padding={**_NAMED_ROOM, "right": room})


def _along_columns(rows: Rows, scale: Any, title: str) -> Any:
    import altair as alt

    across = alt.X("place:Q", title="column", scale=alt.Scale(nice=False, padding=6), axis=alt.Axis(grid=False))
    up = alt.Y("low:Q", scale=scale, title=title, axis=_axis(scale, rows, 6))
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=across)
    thick = 4 if len(rows) <= 120 else 1.8
    return alt.layer(
        base.mark_rule(strokeWidth=1, color=PALE).encode(y=alt.Y("all_low:Q", scale=scale), y2="all_high:Q"),
        base.mark_rule(strokeWidth=thick, opacity=0.55).encode(y=up, y2="high:Q", color=colour()),
        points(rows, across, alt.Y("mean:Q", scale=scale, title=title), size=16 if len(rows) <= 120 else 10),
    ).properties(width=_WIDE, height=290)


def text_of_chart(reading: Reading) -> str:
    """A description of the picture, for readers who do not see it."""
    said = ", ".join(f"{count} {word}" for word, count in reading.counts() if count)
    if reading.mixed:
        return f"{reading.dimension} means with error bars, each in units of its own column's spread; {said}."
    low, high = float(reading.mean.min()), float(reading.mean.max())
    return f"Means from {low:.4g} to {high:.4g} with error bars; {said}."
