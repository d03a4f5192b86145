"""Altair plots of public values: means with confidence intervals, and noise against SD."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_choice, check_probability, install_command
from dimfree.errors import InvalidParameterError, RefusedReleaseError
from dimfree.results.confidence_sets import TARGETS, Target
from dimfree.results.grouped import GroupMeans
from dimfree.results.mean_table import NAMES, PRECISION, MeanTable, Places, shorten_name, shorten_names
from dimfree.results.release import Release
from dimfree.results.tables import explain_no_means

try:
    import altair as alt
except ImportError:
    raise InvalidParameterError(f"A plot needs Altair: run {install_command('charts')}.") from None

INK, MUTED, GRID = "#1f2430", "#667085", "#e4e7ec"
COLORS = ("#0e8a7b", "#1d5fb0", "#b45f06", "#98a2b3")  # one per verdict
SHAPES = ("diamond", "circle", "triangle-up", "cross")
PALE = "#a9b4c4"  # the simultaneous intervals
NAME_LENGTH = 21  # letters of a label
MAX_NAMED = 30  # up to this many rows have labels
MAX_DRAWN, MAX_PANELS = 300, 12
WIDE, _NAME_ROOM, _VALUE_ROOM = 700, 190, 90
_NAMED_ROOM = {
    "left": _NAME_ROOM,
    "right": 14,
    "top": 6,
    "bottom": 44,
}  # at the left for names, at the bottom for the axis
_MIXED = 30.0  # ratio of interval lengths above which the axis is logarithmic
DASHED: dict[str, Any] = {"strokeDash": [5, 4], "color": MUTED, "strokeWidth": 1.2}

Rows = list[dict[str, Any]]


def plot_release(release: Release, kind: str, level: float, target: Target) -> Any:
    """Draw the chart of `Release.plot`."""
    check_choice("kind", kind, ("mean", "noise"))
    check_choice("target", target, TARGETS)
    level = check_probability("level", level)
    table = MeanTable(release, level, target)
    places = table.choose_places(MAX_DRAWN)
    names = shorten_names(release.columns, places)
    cut = _describe_cut((len(places), table.dimension, "columns"))
    if kind == "mean":
        title = f"Released means with {100 * level:g}% confidence intervals of the {target} mean"
        chart = draw_means(table, places, names, [shorten_name(name, NAME_LENGTH) for name in names])
    else:
        if not table.compared:
            raise InvalidParameterError("`kind` must be 'mean', because this release has no SD of any column.")
        title = "Noise against the SD of each column"
        chart = _draw_noise(table, places, names)
    if isinstance(chart.padding, dict):  # a fixed frame needs space for the title
        chart = chart.properties(padding={**chart.padding, "top": 50 if cut else 34})
    return style_axes(chart.properties(title={"text": title, "subtitle": cut, "anchor": "start"}))


def plot_means(means: GroupMeans, level: float, target: Target) -> Any:
    """Draw the chart of `GroupMeans.plot`."""
    check_choice("target", target, TARGETS)
    level = check_probability("level", level)
    done = {key: each for key, each in means.items() if not each.refused}
    if not done:
        raise RefusedReleaseError(explain_no_means(means))
    tables = [MeanTable(each, level, target) for each in list(done.values())[:MAX_NAMED]]
    shown = [shorten_name(key, NAME_LENGTH) for key in done][:MAX_NAMED]
    labels = [f"{at + 1}: {name}" if shown.count(name) > 1 else name for at, name in enumerate(shown)]
    places = tables[0].choose_places(MAX_PANELS)
    panels = [_draw_panel(tables, labels, int(place)) for place in places]
    cut = _describe_cut((len(tables), len(means), "groups"), (len(panels), tables[0].dimension, "columns"))
    text = f"Group means with {100 * level:g}% confidence intervals of the {target} mean"
    title = {"text": text, "subtitle": cut, "anchor": "start"}
    return style_axes(alt.concat(*panels, columns=2).properties(title=title))


def _draw_panel(tables: Sequence[MeanTable], labels: Sequence[str], place: int) -> Any:
    """Draw the mean of one column in every group, with its interval."""
    rows: Rows = [
        {"group": label, **_collect_marks(table, table.ends, place)}
        for label, table in zip(labels, tables, strict=True)
    ]
    up = alt.Y("group:N", sort=list(labels), title=None, axis=alt.Axis(grid=False, ticks=False))
    across = alt.X("low:Q", scale=alt.Scale(zero=False, nice=True), title=None, axis=alt.Axis(tickCount=5))
    bars = chart_rows(rows).mark_rule(strokeWidth=5, opacity=0.55)
    layers = [
        bars.encode(x=across, x2="high:Q", y=up, color=_encode_verdict()),
        points(rows, alt.X("mean:Q"), up, size=70),
    ]
    title = shorten_name(tables[0].row(place)["name"], NAME_LENGTH)
    return alt.layer(*layers).properties(title=title, width=WIDE // 2 - 60, height=22 * len(rows) + 20)


def _describe_cut(*counts: tuple[int, int, str]) -> str:
    """Return how many of how many are drawn, if not all."""
    return ", ".join(f"{drawn} of {every} {what}" for drawn, every, what in counts if drawn < every)


def draw_means(table: MeanTable, places: Places, names: Sequence[str], labels: Sequence[str]) -> Any:
    """Draw the means with intervals, for mixed units relative to the SD; `labels` are shortened `names`."""
    ends = table.scale_ends() if table.mixed else table.ends
    scale = alt.Scale(zero=True, nice=True) if table.mixed else _choose_scale(table, places)
    title = "released mean" + (" (log. away from 0)" if scale.type == "symlog" else "")
    title = "difference from the mean, in SDs of the column" if table.mixed else title
    named = table.dimension <= MAX_NAMED
    rows = [
        {
            "place": at if named else place,
            **_collect_marks(table, ends, place),
            "label": labels[at] if named else "",
            "value": table.row(place)["mean"] if table.mixed else "",
            **_make_tooltip(table, place, names[at]),
        }
        for at, place in enumerate(places.tolist())
    ]
    return _draw_rows(rows, scale, title, table.mixed) if named else _draw_along_columns(rows, scale, title)


def _draw_noise(table: MeanTable, places: Places, names: Sequence[str]) -> Any:
    """Draw noise against SD for each column with a known SD, with the limits of the verdicts."""
    rows: Rows = [
        {
            "SD": float(table.sd[place]),
            "noise": float(table.noise[place]),
            "verdict": NAMES[table.verdicts[place]],
            **_make_tooltip(table, place, names[at]),
        }
        for at, place in enumerate(places.tolist())
        if table.sd[place] > 0
    ]
    low, high = min(row["SD"] for row in rows) / 1.5, max(row["SD"] for row in rows) * 1.5
    how: dict[str, Any] = {
        "scale": alt.Scale(type="log", nice=False, padding=16),
        "axis": alt.Axis(tickCount=5, grid=False, format="~g"),
    }
    across = alt.X("SD:Q", title="SD of the column (logarithmic)", **how)
    up = alt.Y("noise:Q", title="SD of the noise", **how)
    lines = [
        chart_rows([{"SD": at, "noise": share * at} for at in (low, high)]).mark_line(**DASHED).encode(x=across, y=up)
        for share in (1.0, PRECISION)
    ]
    below = {"SD": low, "noise": PRECISION * low, "text": f"noise = {PRECISION:g} SD"}
    near: list[tuple[Any, Any, int]] = [
        (below, "left", 14),
        ({"SD": high, "noise": high, "text": "noise = SD"}, "right", -10),
    ]
    labels = [
        chart_rows([label]).mark_text(color=MUTED, align=side, dy=down).encode(x=across, y=up, text="text:N")
        for label, side, down in near
    ]
    marks = points(rows, across, up, size=60 if len(rows) <= 60 else 30)
    return alt.layer(*lines, *labels, marks).properties(width=WIDE, height=320)


def chart_rows(rows: Rows) -> Any:
    """Return a chart of these rows."""
    return alt.Chart(alt.InlineData(values=rows))


def points(rows: Rows, across: Any, up: Any, *, size: int) -> Any:
    shape = alt.Shape("verdict:N", scale=alt.Scale(domain=list(NAMES), range=list(SHAPES)), legend=None)
    base = chart_rows(rows).mark_point(filled=True, opacity=1, size=size, strokeWidth=0)
    chart = base.encode(x=across, y=up, color=_encode_verdict(), shape=shape)
    if "name" not in rows[0]:
        return chart
    shown = [alt.Tooltip(f"{field}:N") for field in ("name", "mean ± interval", "noise / SD", "verdict")]
    return chart.encode(tooltip=shown, description="description:N")


def _encode_verdict() -> Any:
    return alt.Color("verdict:N", scale=alt.Scale(domain=list(NAMES), range=list(COLORS)), legend=None)


def style_axes(chart: Any) -> Any:
    """Set the style of the axes, without a frame."""
    axis = {"labelColor": MUTED, "titleColor": MUTED, "gridColor": GRID, "domainColor": GRID, "tickColor": GRID}
    sizes = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "titlePadding": 10}
    return chart.configure(
        background="transparent", font="system-ui, sans-serif", axis={**axis, **sizes}, view={"stroke": None}
    )


def _collect_marks(table: MeanTable, ends: dict[str, Floats], place: int) -> dict[str, Any]:
    """Return the mean, its intervals and its verdict."""
    return {**{name: float(end[place]) for name, end in ends.items()}, "verdict": NAMES[table.verdicts[place]]}


def _make_tooltip(table: MeanTable, place: int, name: str) -> dict[str, str]:
    """Return the tooltip of a column."""
    row = table.row(place)
    mean = f"{row['mean']} ({row['interval']})" if table.without[place] else f"{row['mean']} {row['interval']}"
    return {
        "name": name,
        "mean ± interval": mean,
        "noise / SD": row["over"],
        "description": f"{name}: {mean}, {row['verdict']}",
    }


def _choose_scale(table: MeanTable, places: Places) -> Any:
    """Return a linear scale, or a logarithmic one if the interval lengths differ a lot."""
    with np.errstate(invalid="ignore"):  # infinite ends
        widths = np.where(table.without, table.noise, table.high - table.low)[places]
    shortest = float(np.quantile(widths, 0.25, method="lower"))
    if widths.max() > _MIXED * shortest:
        return alt.Scale(type="symlog", constant=shortest, nice=False, padding=10)
    return alt.Scale(zero=False, nice=True)


def _choose_axis(scale: Any, rows: Rows, ticks: int) -> Any:
    """Return the axis: zero and a few powers of ten if logarithmic, else the ticks of Vega."""
    if scale.type != "symlog":
        return alt.Axis(tickCount=ticks, labelFlush=False)
    largest = max(scale.constant, *(max(abs(row["all_low"]), abs(row["all_high"])) for row in rows))
    exponents = range(math.ceil(math.log10(scale.constant)), math.floor(math.log10(largest)) + 1)
    powers = [10.0**exponent for exponent in list(exponents)[:: max(1, math.ceil(len(exponents) / 5))]]
    values = [*(-power for power in powers), 0.0, *powers]
    return alt.Axis(values=values, labelFlush=False, format=",~f", labelOverlap=True)


def _draw_rows(rows: Rows, scale: Any, title: str, valued: bool) -> Any:
    """Draw one row per column; `valued`: with its mean as a number at the right."""
    wide, room = WIDE - _NAME_ROOM - valued * _VALUE_ROOM, _NAMED_ROOM["right"] + valued * _VALUE_ROOM
    up = alt.Y("place:O", axis=None, scale=alt.Scale(padding=0.5))
    across = alt.X("low:Q", scale=scale, title=title, axis=_choose_axis(scale, rows, 7))
    base = chart_rows(rows)
    names = base.mark_text(align="right", baseline="middle", dx=-12, color=INK, fontSize=12.5)
    values = base.mark_text(align="right", baseline="middle", color=INK, fontSize=12.5)
    return alt.layer(
        names.encode(x=alt.value(0), y=up, text="label:N"),
        values.encode(x=alt.value(wide + room), y=up, text="value:N"),
        base.mark_rule(strokeWidth=1.5, color=PALE).encode(x=alt.X("all_low:Q", scale=scale), x2="all_high:Q", y=up),
        base.mark_rule(strokeWidth=5, opacity=0.55).encode(x=across, x2="high:Q", y=up, color=_encode_verdict()),
        points(rows, alt.X("mean:Q", scale=scale, title=title), up, size=70),
    ).properties(width=wide, height=max(90, 26 * len(rows)), autosize="none", padding={**_NAMED_ROOM, "right": room})


def _draw_along_columns(rows: Rows, scale: Any, title: str) -> Any:
    across = alt.X("place:Q", title="column", scale=alt.Scale(nice=False, padding=6), axis=alt.Axis(grid=False))
    up = alt.Y("low:Q", scale=scale, title=title, axis=_choose_axis(scale, rows, 6))
    base, few = chart_rows(rows).encode(x=across), len(rows) <= 120
    return alt.layer(
        base.mark_rule(strokeWidth=1, color=PALE).encode(y=alt.Y("all_low:Q", scale=scale), y2="all_high:Q"),
        base.mark_rule(strokeWidth=4 if few else 1.8, opacity=0.55).encode(y=up, y2="high:Q", color=_encode_verdict()),
        points(rows, across, alt.Y("mean:Q", scale=scale, title=title), size=16 if few else 10),
    ).properties(width=WIDE, height=290)
