"""The pictures of a report as inline SVG: the mean with error bars, and mean over noise by rank."""

import importlib
from collections.abc import Sequence

from dimfree.errors import InvalidParameter
from dimfree.report.drawing import mark, svg
from dimfree.results.plot import MOST_DRAWN, MUTED, WIDE, mean_picture, points
from dimfree.results.reading import Places, Reading, drawn_ranks
from dimfree.results.verdicts import NAMES

_NEEDED = ("jinja2", "altair", "vl_convert")


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
    """The released mean with error bars. No name is passed to the drawing library: they are inserted afterwards."""
    marks, labels = [mark(at) for at in range(len(places))], [mark(at, "label") for at in range(len(places))]
    return svg(mean_picture(reading, places, marks, labels), [names[place] for place in places])


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
                x=alt.value(WIDE), y=alt.Y("at:Q")
            ),
            points(rows, across, up, size=34 if reading.dimension > 60 else 60),
        ).properties(width=WIDE, height=250),
        [],
    )


def text_of_chart(reading: Reading) -> str:
    """A description of the picture, for readers who do not see it."""
    said = ", ".join(f"{count} {word}" for word, count in reading.counts() if count)
    if reading.mixed:
        return f"{reading.dimension} means with error bars, each in units of its own column's spread; {said}."
    low, high = float(reading.mean.min()), float(reading.mean.max())
    return f"Means from {low:.4g} to {high:.4g} with error bars; {said}."
