"""One release prepared for a page: numbers as text, pictures as markup, and which words apply."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from dimfree.accounting.budget import Neighbours
from dimfree.planning.predict import smallest_count
from dimfree.planning.question import Question
from dimfree.programs.run import NO_SCALE, OUT_OF_RANGE, TOO_FEW, UNSTABLE
from dimfree.release_groups import NO_SHAPE
from dimfree.report.by_columns import column_rows, spread_words
from dimfree.report.charts import mean_chart, ratio_chart, strength_chart, text_of_chart
from dimfree.report.planned import planned_noise
from dimfree.report.rendering import digits, spanned, words
from dimfree.results.error_model import Reach
from dimfree.results.names import shown_name, shown_names, with_noise_digits
from dimfree.results.plot import MOST_DRAWN
from dimfree.results.reading import NAMES, Reading
from dimfree.results.release import Release

MOST_ROWS, MOST_IN_ORDER = 60, 100  # coordinates in the table; so many are listed in their own order
FEW_ROWS, FEW_DRAWN = 12, 120  # for one group among several
MOST_DIRECTIONS = 5  # described on the page; the release holds all of them
REASONS = {
    TOO_FEW: "too few",
    UNSTABLE: "unstable",
    NO_SCALE: "no scale",
    OUT_OF_RANGE: "out of range",
    NO_SHAPE: "no shape",
}  # of refusals, as words.txt names their remedies

_SENTENCES = re.compile(r"(?<=\.) (?=[A-Z])")


Context = dict[str, Any]  # what a template reads


def view_of(
    release: Release, level: float, rules: Mapping[str, object], *, among: int = 1, pictures: bool = True
) -> Context:
    """One release: its `outcome`, or `steps` to take after a refusal; `among` releases on one page are shorter."""
    refused = release.refused
    return {
        "release": release,
        "outcome": None if refused else _outcome(release, level, among, pictures),
        "planned": None if refused or among > 1 else planned_noise(release, rules),
        "steps": next_steps(release) if refused else [],
        "method": method_meaning(release),
        "parameters": parameter_rows(release),
    }


def _outcome(release: Release, level: float, among: int, pictures: bool) -> Context:
    reading = Reading.of(release, level)
    most, in_order = (MOST_ROWS, MOST_IN_ORDER) if among == 1 else (FEW_ROWS, FEW_ROWS)
    listed = np.arange(reading.dimension) if reading.dimension <= in_order else reading.foremost()[:most]
    drawn = reading.drawn_places(MOST_DRAWN if among == 1 else FEW_DRAWN)
    ball = None if reading.mixed else release.confidence_ball(level)
    counted = reading.compared and reading.dimension > MOST_IN_ORDER  # too many to list them all
    lengths, names = release.noise_stddev, shown_names(release.columns, drawn)
    return {
        "reading": reading,
        "rows": [_row(reading, release.reach, int(place), release.columns) for place in listed],
        "said_rows": _said(reading, len(listed), drawn=False),
        "said_drawn": _said(reading, len(drawn), drawn=True),
        # Markup: drawn here, from numbers and from names that were escaped on the way in
        "mean_svg": Markup(mean_chart(reading, drawn, names)) if pictures else None,
        # a few coordinates need no ranking: the first picture shows all of them
        "strength_svg": Markup(strength_chart(reading)) if pictures and among == 1 and reading.dimension > 4 else None,
        "ratio_svg": Markup(ratio_chart(reading)) if pictures and among == 1 and counted else None,
        "alternative": text_of_chart(reading),
        "noise": spanned(f"{lengths.min():.2g}", f"{lengths.max():.2g}"),
        "noise_length": float((lengths**2).sum() ** 0.5),
        "own_units": ball is None,
        "ball": ball,
        "parts": [] if ball is None or math.isinf(ball.radius) else _SENTENCES.split(ball.statement())[1:],
        "lead": f"Noise: {spread_words(release)}" if reading.by_columns else reading.line,
        "by_columns": column_rows(release)[1:],
        "over_spread": _over_range(reading),
    }


def _said(reading: Reading, shown: int, *, drawn: bool) -> str:
    if shown == reading.dimension:
        return f"All {shown} coordinates, in the order of the table." if shown > 2 else "In the order of the table."
    first = "noisiest beside their spread" if reading.by_columns else "strongest"
    chosen = f"the {first}" if reading.by_columns else f"the {first} by |mean| / noise"
    half = f"the {first}, half of them, and others spread evenly over the rest"
    return f"{shown} of {reading.dimension} coordinates: {half if drawn else chosen}. The release holds all of them."


def _row(reading: Reading, reach: Reach | None, place: int, columns: Sequence[str] | None) -> Context:
    noise, ratio = float(reading.noise[place]), float(reading.over_spread[place])
    return {
        "place": str(place),
        "name": shown_names(columns, [place])[0],
        "mean": reading.mean_text(place),
        "interval": reading.interval_text(place),
        "noise": with_noise_digits(noise, noise),
        "strength": digits(float(reading.strength[place]), 3),
        "over_spread": f"{'≤ ' if reading.bounded else ''}{digits(ratio, 2)}" if math.isfinite(ratio) else "–",
        "verdict": NAMES[reading.verdicts[place]],
        "counts_within": "" if reach is None else _counts_within(reach, place),
    }


def _counts_within(reach: Reach, place: int) -> str:
    """From where to where a record may lie in one column alone and count in full."""
    centre, far = float(reach.centre[place]), float(reach.columns[place])
    return spanned(with_noise_digits(far, centre - far), with_noise_digits(far, centre + far))


def _over_range(reading: Reading) -> str:
    """Noise over spread, of the columns where it is known."""
    known = reading.over_spread[np.isfinite(reading.over_spread)]
    if not len(known):
        return "not known"
    return f"{'≤ ' if reading.bounded else ''}{spanned(digits(known.min(), 2), digits(known.max(), 2))}"


def next_steps(release: Release) -> list[str]:
    """What makes a release more likely, the most helpful first."""
    if release.method == "columns" and release.refusal != OUT_OF_RANGE:
        return list(words("REMEDIES")["columns"])
    return [*_needed(release), *words("REMEDIES")[REASONS.get(release.refusal or "", "other")]]


def _needed(release: Release) -> list[str]:
    """How many records are needed; only where public numbers alone decide it."""
    count = release.parameters.get("count")
    if release.method != "auto" or release.refusal != TOO_FEW or not isinstance(count, int | float):
        return []
    question = Question(1, np.ones(release.dimension), release.ledger.budget, release.guarantee.neighbours)
    least = smallest_count(question)
    if not least:
        return ["At this budget no number of records is enough: agree on a larger epsilon."]
    counted = "There were" if release.guarantee.neighbours is Neighbours.REPLACE_ONE else "The noisy count was"
    return [f"{counted} {max(count, 0):.0f} records; at this budget and width about {least} are needed."]


def method_meaning(release: Release) -> str:
    """What the method did, in one or two sentences."""
    text = str(words("METHODS").get(release.method, words("BASELINE")))
    return text + words("COORDINATES") if "basis" in release.parameters else text


def parameter_rows(release: Release) -> list[tuple[str, str, str]]:
    """(name, value, meaning)."""
    return [
        (name, f"{value:.6g}" if isinstance(value, float) else shown_name(value, 1000), _meaning(release, name))
        for name, value in release.parameters.items()
    ]


def _meaning(release: Release, name: str) -> str:
    text = str(words("PARAMETERS").get(name, ""))
    if name == "basis":
        return str(words("BASES").get(str(release.parameters[name]), text))
    return f"{text}{_directions(release)}" if name == "directions" else text


def _directions(release: Release) -> str:
    """Share and angle of the strongest. A direction that is missing in the release was mostly error of the centre."""
    if release.parameters.get("basis") != "learned":
        return "; they were predicted to reduce the noise too little to be used"
    found = None if release.shape is None else release.shape.directions
    pairs = [] if found is None else list(zip(found.shares.tolist(), np.degrees(found.angles), strict=True))
    shown = [
        f"{f'{100 * share:.0f} %' if share >= 0.01 else 'below 1 %'} of the spread, turned by at most "
        f"{math.ceil(angle - 1e-9)}°"  # an upper bound, so it is rounded up
        for share, angle in pairs
    ]
    more = [f"and {len(shown) - MOST_DIRECTIONS} more"] if len(shown) > MOST_DIRECTIONS else []
    fewer = [str(words("LEFT_OUT"))] if len(shown) < int(release.parameters["directions"]) else []
    return f": {'; '.join(shown[:MOST_DIRECTIONS] + more + fewer)}"
