"""What the templates of a report read: one release, or the means of groups, prepared once for pages and registries."""

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.several_runs import runs_of
from dimfree.errors import InvalidParameter
from dimfree.planning.predict import predict, smallest_count
from dimfree.planning.question import Question
from dimfree.programs.run import NO_SCALE, OUT_OF_RANGE, TOO_FEW, UNSTABLE
from dimfree.release_groups import NO_SHAPE
from dimfree.report.charts import mean_chart, ratio_chart, strength_chart, text_of_chart, tradeoff_chart
from dimfree.report.rendering import rendered, versions, words
from dimfree.report.summary import column_rows, gathered, spread_words
from dimfree.report.tradeoff import Tradeoff, attacks
from dimfree.results.grouped import NO_GROUP, Means, shape_source
from dimfree.results.mean_table import MeanTable, delta_warning, digits, shown_name, shown_names, spanned
from dimfree.results.plot import COLOURS, GRID, INK, MOST_DRAWN, MUTED, PALE
from dimfree.results.release import Release

MOST_ROWS, MOST_IN_ORDER = 60, 100  # coordinates in the table; so many are listed in their own order
FEW_ROWS, FEW_DRAWN = 12, 120  # for one group among several
MOST_PICTURED, MOST_SECTIONS = 24, 200  # groups with a picture; with a section of their own
MOST_DIRECTIONS = 5  # described on the page; the release holds all of them
MOST_SIMULATED = 1000  # columns of a plan; more would take longer than the rest of the report
KNOWLEDGE = {"auto": "nothing", "columns": "nothing", "recentred": "covariance", "stable": "covariance"}
REASONS = {
    TOO_FEW: "too few",
    UNSTABLE: "unstable",
    NO_SCALE: "no scale",
    OUT_OF_RANGE: "out of range",
    NO_SHAPE: "no shape",
}  # of refusals, as words.toml names their remedies
_SENTENCES = re.compile(r"(?<=\.) (?=[A-Z])")

Context = dict[str, Any]  # what a template reads


def facts_of(release: Release | Means) -> Context:
    """Return what pages and registry entries have in common."""
    first = release if isinstance(release, Release) else release.overall or next(iter(release.values()), None)
    return {
        "release": release,
        "guarantee": release.guarantee,
        "ledger": release.ledger,
        "curve": Tradeoff.of(release.ledger),
        "charges": gathered(release.ledger),
        "method": NO_GROUP if first is None else f"{first.method}: {_method(first)}",
        "no_group": NO_GROUP,
        "paper": words()["paper"],
        "fingerprint": hashlib.sha256(release.to_json().encode("utf-8")).hexdigest(),  # of the record, as --json has it
        "versions": versions(),
    }


def page_of(release: Release | Means, level: float, rules: Mapping[str, object]) -> Context:
    """Return what a page shows of a release beyond its facts."""
    facts = facts_of(release)
    curve, names = facts["curve"], ("precise", "rough", "lost", "unknown-mark")
    swaps = {INK: "ink", MUTED: "muted", GRID: "line", PALE: "pale", **dict(zip(COLOURS, names, strict=True))}
    return {
        **facts,
        **(_groups(release, level) if isinstance(release, Means) else {"view": view_of(release, level, rules)}),
        "promised": attacks(release.guarantee, curve),
        "curve_svg": None if curve is None else tradeoff_chart(curve, release.guarantee),
        "warning": delta_warning(release),
        "code": code_of(release),
        "bibtex": rendered("bibtex.txt", version=facts["versions"]["dimfree"]),
        "swaps": swaps,
    }


def _groups(means: Means, level: float) -> Context:
    among, overall = max(2, len(means)), means.overall
    views = [
        (shown_name(key), view_of(each, level, {}, among=among, pictures=at < MOST_PICTURED))
        for at, (key, each) in enumerate(means.items())
    ]
    outcomes = [view["outcome"] for _, view in views if view["outcome"]]
    return {
        "views": views,
        "overall": None if overall is None else view_of(overall, level, {}, among=among, pictures=False),
        "shape_source": shape_source(means),
        "longest": max((each["noise_length"] for each in outcomes), default=1.0),
        "own_units": any(each["own_units"] for each in outcomes),  # then a length over all columns means nothing
        "most_sections": MOST_SECTIONS,
        "most_pictured": MOST_PICTURED,
    }


def code_of(release: Release | Means) -> str:
    """A call that makes such a release. What the record does not contain is an ellipsis."""
    first = release if isinstance(release, Release) else release.overall
    known = first is not None and first.method in ("recentred", "stable", "soft", "basic")
    return rendered(
        "code.txt",
        call="release_mean" if isinstance(release, Release) else "release_means",
        guarantee=release.guarantee,
        private_keys=isinstance(release, Means) and release.key_costs is not None,
        known=shape_source(release) == "given" if isinstance(release, Means) else known,
        method=first and first.method,
    )


def view_of(
    release: Release, level: float, rules: Mapping[str, object], *, among: int = 1, pictures: bool = True
) -> Context:
    """One release: its `outcome`, or `steps` to take after a refusal; `among` releases on one page are shorter."""
    refused = release.refused
    return {
        "release": release,
        "outcome": None if refused else _outcome(release, level, among == 1, pictures),
        "planned": None if refused or among > 1 else planned_noise(release, rules),
        "steps": _next_steps(release) if refused else [],
        "method": _method(release),
        "parameters": parameter_rows(release),
    }


def _outcome(release: Release, level: float, alone: bool, pictures: bool) -> Context:
    table = MeanTable(release, level)
    most, in_order = (MOST_ROWS, MOST_IN_ORDER) if alone else (FEW_ROWS, FEW_ROWS)
    listed = np.arange(table.dimension) if table.dimension <= in_order else table.foremost()[:most]
    drawn = table.drawn_places(MOST_DRAWN if alone else FEW_DRAWN)
    ball = None if table.mixed else release.confidence_ball(level)
    known = table.over_spread[np.isfinite(table.over_spread)]
    over = spanned(digits(known.min(), 2), digits(known.max(), 2)) if len(known) else "not known"
    counted = table.compared and table.dimension > MOST_IN_ORDER  # too many to list them all
    return {
        "table": table,
        "rows": [table.row(place) for place in listed.tolist()],
        "drawn": len(drawn),
        "mean_svg": mean_chart(table, drawn, shown_names(release.columns, drawn)) if pictures else None,
        # a few coordinates need no ranking: the first picture shows all of them
        "strength_svg": strength_chart(table) if pictures and alone and table.dimension > 4 else None,
        "ratio_svg": ratio_chart(table) if pictures and alone and counted else None,
        "alternative": text_of_chart(table),
        "noise": spanned(f"{table.noise.min():.2g}", f"{table.noise.max():.2g}"),
        "noise_length": float((table.noise**2).sum() ** 0.5),
        "own_units": ball is None,
        "ball": ball,
        "parts": [] if ball is None or math.isinf(ball.radius) else _SENTENCES.split(ball.statement())[1:],
        "lead": f"Noise: {spread_words(release)}" if table.by_columns else table.line,
        "by_columns": column_rows(release)[1:],
        "over_spread": f"{'≤ ' if table.bounded and len(known) else ''}{over}",
    }


@dataclass(frozen=True)
class Planned:
    """Root mean square Euclidean lengths. `sampling` is the sampling error of the records, private or not."""

    noise: float
    sampling: float
    actual: float
    count: int


def planned_noise(release: Release, rules: Mapping[str, object]) -> Planned | str:
    """Return what `dimfree plan` predicts from public numbers and known options of the release, or why it cannot."""
    if release.method not in KNOWLEDGE:
        return f"There is no plan for the method “{release.method}”."
    if release.parameters.get("objective") == "relative":
        return (
            "Columns have units of their own: there is no length to compare. See `dimfree plan --objective relative`."
        )
    model, count = release.error_model, release.parameters.get("count")
    if model.record_stddev is None or not isinstance(count, int | float):
        return "A plan needs the number of records and their spread; this release made neither public."
    if release.dimension > MOST_SIMULATED:
        return f"Beyond {MOST_SIMULATED} columns the simulation takes too long for a report; `dimfree plan` does it."
    spread = model.record_stddev if model.record_principal is None else np.sqrt(model.record_principal)
    own = runs_of(release.ledger)[-1].budget  # of one group: without the cost of the shared shape
    options: dict[str, Any] = {n: rules[n] for n in ("outliers", "tails", "failure_probability") if n in rules}
    count, knowledge = max(1, round(count)), KNOWLEDGE[release.method]
    try:
        expected = predict(Question(count, spread, own, release.guarantee.neighbours, knowledge, **options))
    except InvalidParameter:
        return "The released numbers lie outside the range of the plan."
    if not math.isfinite(expected.noise):
        return "By its public numbers the plan expected a refusal, but the release was not refused."
    actual = float(np.linalg.norm(release.noise_stddev))  # of the noise that was drawn: public, its law is known
    return Planned(expected.noise, expected.sampling, actual, count)


def _next_steps(release: Release) -> list[str]:
    """What makes a release more likely, the most helpful first."""
    remedies, refusal = words()["remedies"], release.refusal or ""
    if release.method == "columns" and refusal != OUT_OF_RANGE:
        return list(remedies["columns"])
    steps, count = list(remedies[REASONS.get(refusal, "other")]), release.parameters.get("count")
    if release.method != "auto" or refusal != TOO_FEW or not isinstance(count, int | float):
        return steps  # public numbers alone do not decide how many records are needed
    relation = release.guarantee.neighbours
    least = smallest_count(Question(1, np.ones(release.dimension), release.ledger.budget, relation))
    if not least:
        return ["At this budget no number of records is enough: agree on a larger epsilon.", *steps]
    counted = "There were" if relation is Neighbours.REPLACE_ONE else "The noisy count was"
    needed = f"{counted} {max(count, 0):.0f} records; at this budget and width about {least} are needed."
    return [needed, *steps]


def _method(release: Release) -> str:
    """What the method did, in one or two sentences."""
    text = str(words()["methods"].get(release.method, words()["baseline"]))
    return text + words()["coordinates"] if "basis" in release.parameters else text


def parameter_rows(release: Release) -> list[tuple[str, str, str]]:
    """Return (name, value, meaning)."""
    meanings = dict(words()["parameters"])
    if "basis" in release.parameters:
        meanings["basis"] = words()["bases"].get(str(release.parameters["basis"]), meanings["basis"])
    if "directions" in release.parameters:
        meanings["directions"] += _directions(release)
    return [
        (name, f"{value:.6g}" if isinstance(value, float) else shown_name(value, 1000), meanings.get(name, ""))
        for name, value in release.parameters.items()
    ]


def _directions(release: Release) -> str:
    """Share and angle of the strongest. A direction that is missing in the release was mostly error of the center."""
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
    fewer = [words()["left_out"]] if len(shown) < int(release.parameters["directions"]) else []
    return f": {'; '.join(shown[:MOST_DIRECTIONS] + more + fewer)}"
