"""A picture of the means of groups with Altair: a panel for each column, a row for each group. Public values only."""

from typing import Any

from dimfree._validate import check_choice, check_probability
from dimfree.errors import RefusedRelease
from dimfree.results.confidence_sets import TARGETS, Target
from dimfree.results.grouped import Means
from dimfree.results.names import shown_name, shown_names
from dimfree.results.plot import NAME_LENGTH, NAMED, WIDE, Rows, colour, points, require_altair, styled
from dimfree.results.reading import Reading, drawn_places
from dimfree.results.tables import nothing_to_show
from dimfree.results.verdicts import NAMES

MOST_PANELS = 12
_PANEL = WIDE // 2 - 60


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
    places = drawn_places(next(iter(readings.values())), MOST_PANELS)
    names = shown_names(first.columns, places)
    panels = [_panel(readings, int(place), name) for place, name in zip(places, names, strict=True)]
    counts = [(len(readings), len(means), "groups"), (len(panels), first.dimension, "columns")]
    said = ", ".join(f"{shown} of {every} {what}" for shown, every, what in counts if shown < every)
    text = f"Means of groups, {100 * level:g}% confidence intervals of the {target} mean"
    title = {"text": text, "subtitle": said, "anchor": "start"}
    return styled(alt.concat(*panels, columns=2).properties(title=title))


def _labels(names: list[str]) -> list[str]:
    """Names that were shortened to the same text are told apart by their place."""
    return [f"{at + 1}: {name}" if names.count(name) > 1 else name for at, name in enumerate(names)]


def _panel(readings: dict[str, Reading], place: int, name: str) -> Any:
    """One column: its mean in every group, with its interval."""
    import altair as alt

    rows: Rows = [
        {
            "group": group,
            "mean": float(reading.mean[place]),
            "low": float(reading.low[place]),
            "high": float(reading.high[place]),
            "verdict": NAMES[reading.verdicts[place]],
        }
        for group, reading in readings.items()
    ]
    scale = alt.Scale(zero=False, nice=True)
    up = alt.Y("group:N", sort=list(readings), title=None, axis=alt.Axis(grid=False, ticks=False))
    across = alt.X("low:Q", scale=scale, title=None, axis=alt.Axis(tickCount=5))
    bars = alt.Chart(alt.InlineData(values=rows)).mark_rule(strokeWidth=5, opacity=0.55)
    layers = [bars.encode(x=across, x2="high:Q", y=up, color=colour()), points(rows, alt.X("mean:Q"), up, size=70)]
    return alt.layer(*layers).properties(title=shown_name(name, NAME_LENGTH), width=_PANEL, height=22 * len(rows) + 20)
