"""Pictures with Altair: means with error bars, of a release or of groups, and noise against spread. Public values only.

A picture holds a few hundred columns at most. The colours are those of a light page.
"""

import importlib
import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dimfree._validate import check_choice, check_probability, install_command
from dimfree.errors import InvalidParameter, RefusedRelease
from dimfree.results.confidence_sets import TARGETS, Target
from dimfree.results.grouped import Means
from dimfree.results.names import shown_name, shown_names
from dimfree.results.reading import NAMES, PRECISION, Places, Reading
from dimfree.results.release import Release
from dimfree.results.tables import nothing_to_show

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
KINDS = ("mean", "noise")

Rows = list[dict[str, Any]]


def release_plot(release: Release, kind: str, level: float, target: Target) -> Any:
    """The chart of `Release.plot`."""
    check_choice("kind", kind, KINDS)
    check_choice("target", target, TARGETS)
    level = check_probability("level", level)
    require_altair()
    reading = Reading.of(release, level, target)
    places = reading.drawn_places(MOST_DRAWN)
    names = shown_names(release.columns, places)
    said = _cut((len(places), reading.dimension, "columns"))
    if kind == "mean":
        title = f"Released mean, {100 * level:g}% confidence intervals of the {target} mean"
        chart = mean_picture(reading, places, names, [shown_name(name, NAME_LENGTH) for name in names])
    else:
        if not reading.compared:
            raise InvalidParameter("Expected kind='mean': this release does not know the spread of any column.")
        title = "Noise against the spread of each column"
        chart = noise_picture(reading, places, names)
    if isinstance(chart.padding, dict):  # a fixed frame: the title needs space of its own
        chart = chart.properties(padding={**chart.padding, "top": 50 if said else 34})
    return styled(chart.properties(title={"text": title, "subtitle": said, "anchor": "start"}))


def means_plot(means: Means, level: float, target: Target) -> Any:
    """The chart of `Means.plot`."""
    check_choice("target", target, TARGETS)
    level = check_probability("level", level)
    done = {key: each for key, each in means.items() if not each.refused}
    if not done:
        raise RefusedRelease(nothing_to_show(means))
    require_altair()
    import altair as alt

    labels = _labels([shown_name(key, NAME_LENGTH) for key in done])[:NAMED]
    shown_releases = list(done.values())[:NAMED]
    readings = dict(zip(labels, [Reading.of(each, level, target) for each in shown_releases], strict=True))
    first = next(iter(done.values()))
    places = next(iter(readings.values())).drawn_places(MOST_PANELS)
    names = shown_names(first.columns, places)
    panels = [_panel(readings, int(place), name) for place, name in zip(places, names, strict=True)]
    said = _cut((len(readings), len(means), "groups"), (len(panels), first.dimension, "columns"))
    text = f"Means of groups, {100 * level:g}% confidence intervals of the {target} mean"
    title = {"text": text, "subtitle": said, "anchor": "start"}
    return styled(alt.concat(*panels, columns=2).properties(title=title))


def _labels(names: list[str]) -> list[str]:
    """Names that were shortened to the same text are told apart by their place."""
    return [f"{at + 1}: {name}" if names.count(name) > 1 else name for at, name in enumerate(names)]


def _panel(readings: dict[str, Reading], place: int, name: str) -> Any:
    """One column: its mean in every group, with its interval."""
    import altair as alt

    rows: Rows = [{"group": group, **_marks(reading, place)} for group, reading in readings.items()]
    scale = alt.Scale(zero=False, nice=True)
    up = alt.Y("group:N", sort=list(readings), title=None, axis=alt.Axis(grid=False, ticks=False))
    across = alt.X("low:Q", scale=scale, title=None, axis=alt.Axis(tickCount=5))
    bars = alt.Chart(alt.InlineData(values=rows)).mark_rule(strokeWidth=5, opacity=0.55)
    layers = [bars.encode(x=across, x2="high:Q", y=up, color=colour()), points(rows, alt.X("mean:Q"), up, size=70)]
    return alt.layer(*layers).properties(
        title=shown_name(name, NAME_LENGTH), width=WIDE // 2 - 60, height=22 * len(rows) + 20
    )


def _cut(*counts: tuple[int, int, str]) -> str:
    """How many are drawn of how many, where it is not all."""
    return ", ".join(f"{drawn} of {every} {what}" for drawn, every, what in counts if drawn < every)


def require_altair() -> None:
    try:
        importlib.import_module("altair")
    except ImportError:
        raise InvalidParameter(f"A plot needs Altair: install it with {install_command('charts')}.") from None


def picture_bytes(chart: Any, ending: str) -> bytes:
    """A chart in the format that a file's ending asks for; an .html file needs no network to be looked at."""
    if ending == ".png":
        picture = io.BytesIO()
        chart.save(picture, format="png", scale_factor=2)
        return picture.getvalue()
    text = io.StringIO()
    chart.save(text, format=ending[1:], **({"inline": True} if ending == ".html" else {}))
    return text.getvalue().encode()


def mean_picture(reading: Reading, places: Places, names: Sequence[str], labels: Sequence[str]) -> Any:
    """The released mean with error bars: named rows where columns are few, else along the column numbers.

    In mixed units every column has its own: bars are in spreads of the column, and its mean stands beside them.
    `names` and `labels` (the same, shortened) belong to `places`.
    """
    import altair as alt

    drawn = reading.in_spreads() if reading.mixed else reading
    scale = alt.Scale(zero=True, nice=True) if reading.mixed else _values_scale(reading, places)
    title = "released mean" + (" (log. away from 0)" if scale.type == "symlog" else "")
    title = "off the mean, in spreads of the column" if reading.mixed else title
    named = reading.dimension <= NAMED
    rows = [
        {
            "place": at if named else int(place),
            **_marks(drawn, int(place)),
            "label": labels[at] if named else "",
            "value": reading.mean_text(int(place)) if reading.mixed else "",
            **_told(reading, int(place), names[at]),
        }
        for at, place in enumerate(places)
    ]
    return _named_rows(rows, scale, title, reading.mixed) if named else _along_columns(rows, scale, title)


def noise_picture(reading: Reading, places: Places, names: Sequence[str]) -> Any:
    """The noise of each column whose spread is known against that spread, with the limits of the verdicts."""
    import altair as alt

    known = [(at, int(place)) for at, place in enumerate(places) if reading.spread[place] > 0]
    rows = [
        {
            "spread": float(reading.spread[place]),
            "noise": float(reading.noise[place]),
            "verdict": NAMES[reading.verdicts[place]],
            **_told(reading, place, names[at]),
        }
        for at, place in known
    ]
    spreads = reading.spread[[place for _, place in known]]
    low, high = float(spreads.min()) / 1.5, float(spreads.max()) * 1.5
    how: dict[str, Any] = {
        "scale": alt.Scale(type="log", nice=False, padding=16),
        "axis": alt.Axis(tickCount=5, grid=False, format="~g"),
    }
    across = alt.X("spread:Q", title="spread: standard deviation of one record (logarithmic)", **how)
    up = alt.Y("noise:Q", title="standard deviation of the noise", **how)
    lines = [
        alt.Chart(alt.InlineData(values=[{"spread": at, "noise": share * at} for at in (low, high)]))
        .mark_line(strokeDash=[5, 4], color=MUTED, strokeWidth=1.2)
        .encode(x=across, y=up)
        for share in (1.0, PRECISION)
    ]
    below = {"spread": low, "noise": PRECISION * low, "said": f"noise = {PRECISION:g} spread"}
    above = {"spread": high, "noise": high, "said": "noise = spread"}
    near: list[tuple[Any, Any, int]] = [(below, "left", 14), (above, "right", -10)]
    words = [
        alt.Chart(alt.InlineData(values=[said]))
        .mark_text(color=MUTED, align=side, dy=down)
        .encode(x=across, y=up, text="said:N")
        for said, side, down in near
    ]
    marks = points(rows, across, up, size=60 if len(rows) <= 60 else 30)
    return alt.layer(*lines, *words, marks).properties(width=WIDE, height=320)


def points(rows: Rows, across: Any, up: Any, *, size: int) -> Any:
    import altair as alt

    shape = alt.Shape("verdict:N", scale=alt.Scale(domain=list(NAMES), range=list(SHAPES)), legend=None)
    base = alt.Chart(alt.InlineData(values=rows)).mark_point(filled=True, opacity=1, size=size, strokeWidth=0)
    chart = base.encode(x=across, y=up, color=colour(), shape=shape)
    if "name" not in rows[0]:
        return chart
    shown = [alt.Tooltip(f"{field}:N") for field in ("name", "mean ± interval", "noise / spread", "verdict")]
    return chart.encode(tooltip=shown, description="told:N")


def colour() -> Any:
    import altair as alt

    return alt.Color("verdict:N", scale=alt.Scale(domain=list(NAMES), range=list(COLOURS)), legend=None)


def styled(chart: Any) -> Any:
    """Quiet axes, no frame."""
    axis = {"labelColor": MUTED, "titleColor": MUTED, "gridColor": GRID, "domainColor": GRID, "tickColor": GRID}
    sizes = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "titlePadding": 10}
    return chart.configure(
        background="transparent", font="system-ui, sans-serif", axis={**axis, **sizes}, view={"stroke": None}
    )


def _marks(reading: Reading, place: int) -> dict[str, Any]:
    """The mean, its intervals and its verdict."""
    ends = {name: float(getattr(reading, name)[place]) for name in ("mean", "low", "high", "all_low", "all_high")}
    return {**ends, "verdict": NAMES[reading.verdicts[place]]}


def _told(reading: Reading, place: int, name: str) -> dict[str, str]:
    """What is told of a column when the pointer is over it."""
    interval, over = reading.interval_text(place), reading.over_text(place)
    mean = f"{reading.mean_text(place)} {f'({interval})' if reading.without[place] else interval}"
    told = f"{name}: {mean}, {NAMES[reading.verdicts[place]]}"
    return {"name": name, "mean ± interval": mean, "noise / spread": over, "told": told}


def _values_scale(reading: Reading, places: Places) -> Any:
    """Linear, unless columns in very different units would hide each other."""
    import altair as alt

    widths = np.where(reading.without, reading.noise, reading.high - reading.low)[places]
    shortest = float(np.quantile(widths, 0.25, method="lower"))
    if widths.max() > _MIXED * shortest:
        return alt.Scale(type="symlog", constant=shortest, nice=False, padding=10)
    return alt.Scale(zero=False, nice=True)


def _axis(scale: Any, rows: Rows, ticks: int) -> Any:
    """On a logarithmic axis zero and a few powers of ten; else the ticks that Vega chooses."""
    import altair as alt

    if scale.type != "symlog":
        return alt.Axis(tickCount=ticks, labelFlush=False)
    largest = max(scale.constant, *(max(abs(row["all_low"]), abs(row["all_high"])) for row in rows))
    exponents = range(math.ceil(math.log10(scale.constant)), math.floor(math.log10(largest)) + 1)
    powers = [10.0**exponent for exponent in list(exponents)[:: max(1, math.ceil(len(exponents) / 5))]]
    return alt.Axis(
        values=[*(-power for power in powers), 0.0, *powers], labelFlush=False, format=",~f", labelOverlap=True
    )


def _named_rows(rows: Rows, scale: Any, title: str, valued: bool) -> Any:
    """A row for each column; `valued`: with its mean as a number at the right."""
    import altair as alt

    wide, room = WIDE - _NAME_ROOM - valued * _VALUE_ROOM, _NAMED_ROOM["right"] + valued * _VALUE_ROOM
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
    ).properties(width=WIDE, height=290)
