"""One picture of a comparison: error against the axis, one line for each estimator. Altair, loaded when asked for."""

import importlib.util
import io
from typing import Any

from dimfree._validate import install_command
from dimfree.comparison.outcome import WARNING, Comparison
from dimfree.errors import InvalidParameter

ENDINGS = (".svg", ".png", ".html", ".json")
_TITLES = {"n": "records n", "d": "columns d", "epsilon": "epsilon", "spectrum": "spectrum"}


def require_altair() -> None:
    if importlib.util.find_spec("altair") is None or importlib.util.find_spec("vl_convert") is None:
        raise InvalidParameter(f"A chart needs Altair: install it with {install_command('charts')}.")


def chart(comparison: Comparison) -> Any:
    """An Altair chart on logarithmic scales: medians, a band over the quartiles; not private references are dashed."""
    require_altair()
    import altair as alt

    logarithmic = alt.Scale(type="log", nice=False)
    legend = alt.Legend(title=None, symbolOpacity=1, symbolType="circle")
    colour = alt.Color("estimator:N", sort=comparison.names, scale=alt.Scale(scheme="tableau20"), legend=legend)
    base = alt.Chart(alt.InlineData(values=comparison.figures())).encode(color=colour)
    title, places = _TITLES[comparison.axis], [str(at) for at in comparison.points]
    if comparison.axis == "spectrum":  # side by side at each name
        across = alt.X("spectrum:N", sort=places, title=title, axis=alt.Axis(labelAngle=0))
        base = base.encode(x=across, xOffset=alt.XOffset("estimator:N", sort=comparison.names))
        spread, medians = base.mark_rule(), base.mark_point(filled=True, size=80, opacity=1)
    else:
        ticks = alt.Axis(values=[float(at) for at in places])
        base = base.encode(x=alt.X(f"{comparison.axis}:Q", scale=logarithmic, title=title, axis=ticks))
        dashed = alt.StrokeDash("private:N", sort=[True, False], legend=None)
        spread, medians = base.mark_area(opacity=0.15), base.mark_line(point=True).encode(strokeDash=dashed)
    spread = spread.encode(y=alt.Y("low:Q", scale=logarithmic), y2="high:Q")
    medians = medians.encode(
        y=alt.Y("error:Q", scale=logarithmic, title="Euclidean error"), tooltip=["estimator:N", "told:N", "error:Q"]
    )
    words = alt.TitleParams("Error at equal privacy", subtitle=[*comparison.conditions(), WARNING])
    return alt.layer(spread, medians).properties(title=words, width=560, height=380)


def chart_bytes(comparison: Comparison, ending: str) -> bytes:
    """The picture in the format that a file's ending asks for."""
    return encoded(chart(comparison), ending)


def encoded(drawn: Any, ending: str) -> bytes:
    """Any picture in the format that a file's ending asks for; an .html file needs no network to be looked at."""
    if ending == ".png":
        picture = io.BytesIO()
        drawn.save(picture, format="png", scale_factor=2)
        return picture.getvalue()
    text = io.StringIO()
    drawn.save(text, format=ending[1:], **({"inline": True} if ending == ".html" else {}))
    return text.getvalue().encode()
