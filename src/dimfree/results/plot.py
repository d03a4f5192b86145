"""Pictures with Altair, which this module needs: means with error bars, and noise against SD. Public values only."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_choice, check_probability, install_command
from dimfree.errors import InvalidParameter, RefusedRelease
from dimfree.results.confidence_sets import TARGETS, Target
from dimfree.results.grouped import Means
from dimfree.results.mean_table import NAMES, PRECISION, MeanTable, Places, shown_name, shown_names
from dimfree.results.release import Release
from dimfree.results.tables import nothing_to_show

try:
    import altair as alt
except ImportError:
    raise InvalidParameter(f"A plot needs Altair: install it with {install_command('charts')}.") from None

INK, MUTED, GRID = "#1f2430", "#667085", "#e4e7ec"
COLOURS = ("#0e8a7b", "#1d5fb0", "#b45f06", "#98a2b3")  # one per verdict, in their order
SHAPES = ("diamond", "circle", "triangle-up", "cross")
PALE = "#a9b4c4"  # the longer error bars
NAME_LENGTH = 21  # letters beside a picture
NAMED = 30  # up to this many rows are labelled with their names
MOST_DRAWN, MOST_PANELS = 300, 12
WIDE, _NAME_ROOM, _VALUE_ROOM = 700, 190, 90
_NAMED_ROOM = {"left": _NAME_ROOM, "right": 14, "top": 6, "bottom": 44}  # left for names, below for the axis
_MIXED = 30.0  # ratio of lengths of error bars above which the axis is logarithmic
DASHED: dict[str, Any] = {"strokeDash": [5, 4], "color": MUTED, "strokeWidth": 1.2}

Rows = list[dict[str, Any]]


def release_plot(release: Release, kind: str, level: float, target: Target) -> Any:
    """Return the chart of `Release.plot`."""
    check_choice("kind", kind, ("mean", "noise"))
    check_choice("target", target, TARGETS)
    level = check_probability("level", level)
    table = MeanTable(release, level, target)
    places = table.drawn_places(MOST_DRAWN)
    names = shown_names(release.columns, places)
    cut = _cut((len(places), table.dimension, "columns"))
    if kind == "mean":
        title = f"Released mean, {100 * level:g}% confidence intervals of the {target} mean"
        chart = mean_picture(table, places, names, [shown_name(name, NAME_LENGTH) for name in names])
    else:
        if not table.compared:
            raise InvalidParameter("Expected kind='mean': this release does not know the spread of any column.")
        title = "Noise against the spread of each column"
        chart = _noise_picture(table, places, names)
    if isinstance(chart.padding, dict):  # a fixed frame: the title needs space of its own
        chart = chart.properties(padding={**chart.padding, "top": 50 if cut else 34})
    return styled(chart.properties(title={"text": title, "subtitle": cut, "anchor": "start"}))


def means_plot(means: Means, level: float, target: Target) -> Any:
    """Return the chart of `Means.plot`."""
    check_choice("target", target, TARGETS)
    level = check_probability("level", level)
    done = {key: each for key, each in means.items() if not each.refused}
    if not done:
        raise RefusedRelease(nothing_to_show(means))
    tables = [MeanTable(each, level, target) for each in list(done.values())[:NAMED]]
    shown = [shown_name(key, NAME_LENGTH) for key in done][:NAMED]
    labels = [f"{at + 1}: {name}" if shown.count(name) > 1 else name for at, name in enumerate(shown)]
    places = tables[0].drawn_places(MOST_PANELS)
    panels = [_panel(tables, labels, int(place)) for place in places]
    cut = _cut((len(tables), len(means), "groups"), (len(panels), tables[0].dimension, "columns"))
    text = f"Means of groups, {100 * level:g}% confidence intervals of the {target} mean"
    title = {"text": text, "subtitle": cut, "anchor": "start"}
    return styled(alt.concat(*panels, columns=2).properties(title=title))


def _panel(tables: Sequence[MeanTable], labels: Sequence[str], place: int) -> Any:
    """One column: its mean in every group, with its interval."""
    rows: Rows = [
        {"group": label, **_marks(table, table.ends, place)} for label, table in zip(labels, tables, strict=True)
    ]
    up = alt.Y("group:N", sort=list(labels), title=None, axis=alt.Axis(grid=False, ticks=False))
    across = alt.X("low:Q", scale=alt.Scale(zero=False, nice=True), title=None, axis=alt.Axis(tickCount=5))
    bars = of_rows(rows).mark_rule(strokeWidth=5, opacity=0.55)
    layers = [bars.encode(x=across, x2="high:Q", y=up, color=_colour()), points(rows, alt.X("mean:Q"), up, size=70)]
    title = shown_name(tables[0].row(place)["name"], NAME_LENGTH)
    return alt.layer(*layers).properties(title=title, width=WIDE // 2 - 60, height=22 * len(rows) + 20)


def _cut(*counts: tuple[int, int, str]) -> str:
    """How many are drawn of how many, if not all are."""
    return ", ".join(f"{drawn} of {every} {what}" for drawn, every, what in counts if drawn < every)


def mean_picture(table: MeanTable, places: Places, names: Sequence[str], labels: Sequence[str]) -> Any:
    """The released mean with error bars, in mixed units in SDs of the column; `labels` are shortened `names`."""
    ends = table.ends_in_spreads() if table.mixed else table.ends
    scale = alt.Scale(zero=True, nice=True) if table.mixed else _values_scale(table, places)
    title = "released mean" + (" (log. away from 0)" if scale.type == "symlog" else "")
    title = "off the mean, in spreads of the column" if table.mixed else title
    named = table.dimension <= NAMED
    rows = [
        {
            "place": at if named else place,
            **_marks(table, ends, place),
            "label": labels[at] if named else "",
            "value": table.row(place)["mean"] if table.mixed else "",
            **_tooltip(table, place, names[at]),
        }
        for at, place in enumerate(places.tolist())
    ]
    return _named_rows(rows, scale, title, table.mixed) if named else _along_columns(rows, scale, title)


def _noise_picture(table: MeanTable, places: Places, names: Sequence[str]) -> Any:
    """The noise of each column whose SD is known against that SD, with the limits of the verdicts."""
    rows: Rows = [
        {
            "spread": float(table.spread[place]),
            "noise": float(table.noise[place]),
            "verdict": NAMES[table.verdicts[place]],
            **_tooltip(table, place, names[at]),
        }
        for at, place in enumerate(places.tolist())
        if table.spread[place] > 0
    ]
    low, high = min(row["spread"] for row in rows) / 1.5, max(row["spread"] for row in rows) * 1.5
    how: dict[str, Any] = {
        "scale": alt.Scale(type="log", nice=False, padding=16),
        "axis": alt.Axis(tickCount=5, grid=False, format="~g"),
    }
    across = alt.X("spread:Q", title="spread: standard deviation of one record (logarithmic)", **how)
    up = alt.Y("noise:Q", title="standard deviation of the noise", **how)
    lines = [
        of_rows([{"spread": at, "noise": share * at} for at in (low, high)]).mark_line(**DASHED).encode(x=across, y=up)
        for share in (1.0, PRECISION)
    ]
    below = {"spread": low, "noise": PRECISION * low, "said": f"noise = {PRECISION:g} spread"}
    near: list[tuple[Any, Any, int]] = [
        (below, "left", 14),
        ({"spread": high, "noise": high, "said": "noise = spread"}, "right", -10),
    ]
    words = [
        of_rows([said]).mark_text(color=MUTED, align=side, dy=down).encode(x=across, y=up, text="said:N")
        for said, side, down in near
    ]
    marks = points(rows, across, up, size=60 if len(rows) <= 60 else 30)
    return alt.layer(*lines, *words, marks).properties(width=WIDE, height=320)


def of_rows(rows: Rows) -> Any:
    return alt.Chart(alt.InlineData(values=rows))


def points(rows: Rows, across: Any, up: Any, *, size: int) -> Any:
    shape = alt.Shape("verdict:N", scale=alt.Scale(domain=list(NAMES), range=list(SHAPES)), legend=None)
    base = of_rows(rows).mark_point(filled=True, opacity=1, size=size, strokeWidth=0)
    chart = base.encode(x=across, y=up, color=_colour(), shape=shape)
    if "name" not in rows[0]:
        return chart
    shown = [alt.Tooltip(f"{field}:N") for field in ("name", "mean ± interval", "noise / spread", "verdict")]
    return chart.encode(tooltip=shown, description="told:N")


def _colour() -> Any:
    return alt.Color("verdict:N", scale=alt.Scale(domain=list(NAMES), range=list(COLOURS)), legend=None)


def styled(chart: Any) -> Any:
    """Quiet axes, no frame."""
    axis = {"labelColor": MUTED, "titleColor": MUTED, "gridColor": GRID, "domainColor": GRID, "tickColor": GRID}
    sizes = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "titlePadding": 10}
    return chart.configure(
        background="transparent", font="system-ui, sans-serif", axis={**axis, **sizes}, view={"stroke": None}
    )


def _marks(table: MeanTable, ends: dict[str, Floats], place: int) -> dict[str, Any]:
    """The mean, its intervals and its verdict."""
    return {**{name: float(end[place]) for name, end in ends.items()}, "verdict": NAMES[table.verdicts[place]]}


def _tooltip(table: MeanTable, place: int, name: str) -> dict[str, str]:
    """What is shown of a column when the pointer is over it."""
    row = table.row(place)
    mean = f"{row['mean']} ({row['interval']})" if table.without[place] else f"{row['mean']} {row['interval']}"
    return {
        "name": name,
        "mean ± interval": mean,
        "noise / spread": row["over"],
        "told": f"{name}: {mean}, {row['verdict']}",
    }


def _values_scale(table: MeanTable, places: Places) -> Any:
    """Linear, unless columns in very different units would hide each other."""
    with np.errstate(invalid="ignore"):  # of infinite ends
        widths = np.where(table.without, table.noise, table.high - table.low)[places]
    shortest = float(np.quantile(widths, 0.25, method="lower"))
    if widths.max() > _MIXED * shortest:
        return alt.Scale(type="symlog", constant=shortest, nice=False, padding=10)
    return alt.Scale(zero=False, nice=True)


def _axis(scale: Any, rows: Rows, ticks: int) -> Any:
    """On a logarithmic axis zero and a few powers of ten; else the ticks that Vega chooses."""
    if scale.type != "symlog":
        return alt.Axis(tickCount=ticks, labelFlush=False)
    largest = max(scale.constant, *(max(abs(row["all_low"]), abs(row["all_high"])) for row in rows))
    exponents = range(math.ceil(math.log10(scale.constant)), math.floor(math.log10(largest)) + 1)
    powers = [10.0**exponent for exponent in list(exponents)[:: max(1, math.ceil(len(exponents) / 5))]]
    values = [*(-power for power in powers), 0.0, *powers]
    return alt.Axis(values=values, labelFlush=False, format=",~f", labelOverlap=True)


def _named_rows(rows: Rows, scale: Any, title: str, valued: bool) -> Any:
    """A row for each column; `valued`: with its mean as a number at the right."""
    wide, room = WIDE - _NAME_ROOM - valued * _VALUE_ROOM, _NAMED_ROOM["right"] + valued * _VALUE_ROOM
    up = alt.Y("place:O", axis=None, scale=alt.Scale(padding=0.5))
    across = alt.X("low:Q", scale=scale, title=title, axis=_axis(scale, rows, 7))
    base = of_rows(rows)
    names = base.mark_text(align="right", baseline="middle", dx=-12, color=INK, fontSize=12.5)
    values = base.mark_text(align="right", baseline="middle", color=INK, fontSize=12.5)
    return alt.layer(
        names.encode(x=alt.value(0), y=up, text="label:N"),
        values.encode(x=alt.value(wide + room), y=up, text="value:N"),
        base.mark_rule(strokeWidth=1.5, color=PALE).encode(x=alt.X("all_low:Q", scale=scale), x2="all_high:Q", y=up),
        base.mark_rule(strokeWidth=5, opacity=0.55).encode(x=across, x2="high:Q", y=up, color=_colour()),
        points(rows, alt.X("mean:Q", scale=scale, title=title), up, size=70),
    ).properties(width=wide, height=max(90, 26 * len(rows)), autosize="none", padding={**_NAMED_ROOM, "right": room})


def _along_columns(rows: Rows, scale: Any, title: str) -> Any:
    across = alt.X("place:Q", title="column", scale=alt.Scale(nice=False, padding=6), axis=alt.Axis(grid=False))
    up = alt.Y("low:Q", scale=scale, title=title, axis=_axis(scale, rows, 6))
    base, few = of_rows(rows).encode(x=across), len(rows) <= 120
    return alt.layer(
        base.mark_rule(strokeWidth=1, color=PALE).encode(y=alt.Y("all_low:Q", scale=scale), y2="all_high:Q"),
        base.mark_rule(strokeWidth=4 if few else 1.8, opacity=0.55).encode(y=up, y2="high:Q", color=_colour()),
        points(rows, across, alt.Y("mean:Q", scale=scale, title=title), size=16 if few else 10),
    ).properties(width=WIDE, height=290)
