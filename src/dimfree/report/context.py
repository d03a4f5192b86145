"""The values that the templates of reports and registry entries read, for one release or for group means."""

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dimfree.accounting.budget import Neighbors
from dimfree.accounting.several_runs import runs_of
from dimfree.errors import InvalidParameterError
from dimfree.planning.predict import find_smallest_count, predict
from dimfree.planning.question import Question
from dimfree.programs.run import NO_SCALE, OUT_OF_RANGE, TOO_FEW, UNSTABLE
from dimfree.release_groups import NO_SHAPE
from dimfree.report.charts import (
    describe_chart,
    draw_mean_chart,
    draw_ratio_chart,
    draw_strength_chart,
    draw_tradeoff_chart,
)
from dimfree.report.rendering import fill_template, list_versions, load_words
from dimfree.report.summary import describe_columns, describe_noise, gather_charges
from dimfree.report.tradeoff import Tradeoff, describe_attacks
from dimfree.results.grouped import NO_GROUP, GroupMeans, find_variance_source
from dimfree.results.mean_table import (
    MeanTable,
    describe_large_delta,
    format_digits,
    format_span,
    shorten_name,
    shorten_names,
)
from dimfree.results.plot import COLORS, GRID, INK, MAX_DRAWN, MUTED, PALE
from dimfree.results.release import Release

MAX_ROWS, MAX_IN_ORDER = 60, 100  # rows of the table; up to MAX_IN_ORDER columns are all listed, in table order
FEW_ROWS, FEW_DRAWN = 12, 120  # for one group among several
MAX_PLOTS, MAX_SECTIONS = 24, 200  # groups with a plot; with a section
MAX_DIRECTIONS = 5  # described in the report; the release holds all
MAX_SIMULATED = 1000  # columns of a prediction; more would take longer than the rest of the report
KNOWLEDGE = {"auto": "nothing", "columns": "nothing", "recentered": "covariance", "stable": "covariance"}
REASONS = {
    TOO_FEW: "too few",
    UNSTABLE: "unstable",
    NO_SCALE: "no scale",
    OUT_OF_RANGE: "out of range",
    NO_SHAPE: "no shape",
}  # keys of the remedies in words.toml
_SENTENCES = re.compile(r"(?<=\.) (?=[A-Z])")

Context = dict[str, Any]  # the values of a template


def collect_facts(release: Release | GroupMeans) -> Context:
    """Return the values that reports and registry entries share."""
    first = release if isinstance(release, Release) else release.overall or next(iter(release.values()), None)
    return {
        "release": release,
        "guarantee": release.guarantee,
        "costs": release.charges,
        "curve": Tradeoff.of(release.charges),
        "charges": gather_charges(release.charges),
        "method": NO_GROUP if first is None else f"{first.method}: {_describe_method(first)}",
        "no_group": NO_GROUP,
        "paper": load_words()["paper"],
        "fingerprint": hashlib.sha256(release.to_json().encode("utf-8")).hexdigest(),  # of the release file
        "versions": list_versions(),
    }


def page_of(release: Release | GroupMeans, level: float, rules: Mapping[str, object]) -> Context:
    """Return the values of a report."""
    facts = collect_facts(release)
    curve, names = facts["curve"], ("precise", "rough", "lost", "unknown-mark")
    swaps = {INK: "ink", MUTED: "muted", GRID: "line", PALE: "pale", **dict(zip(COLORS, names, strict=True))}
    return {
        **facts,
        **(
            _build_groups(release, level)
            if isinstance(release, GroupMeans)
            else {"view": build_view(release, level, rules)}
        ),
        "attacks": describe_attacks(release.guarantee, curve),
        "curve_svg": None if curve is None else draw_tradeoff_chart(curve, release.guarantee),
        "warning": describe_large_delta(release),
        "code": write_code(release),
        "methods": write_methods(release, level),
        "bibtex": fill_template("bibtex.txt", version=facts["versions"]["dimfree"]),
        "swaps": swaps,
    }


def _build_groups(means: GroupMeans, level: float) -> Context:
    among, overall = max(2, len(means)), means.overall
    views = [
        (shorten_name(key), build_view(each, level, {}, among=among, plots=at < MAX_PLOTS))
        for at, (key, each) in enumerate(means.items())
    ]
    outcomes = [view["outcome"] for _, view in views if view["outcome"]]
    return {
        "views": views,
        "overall": None if overall is None else build_view(overall, level, {}, among=among, plots=False),
        "shape_source": find_variance_source(means),
        "longest": max((each["noise_length"] for each in outcomes), default=1.0),
        "own_units": any(each["own_units"] for each in outcomes),  # no length over all columns is comparable
        "max_sections": MAX_SECTIONS,
        "max_plots": MAX_PLOTS,
    }


def write_code(release: Release | GroupMeans) -> str:
    """Return the call that makes such a release, with an ellipsis for values that the release does not contain."""
    first = release if isinstance(release, Release) else release.overall
    known = first is not None and first.method in ("recentered", "stable", "soft", "basic")
    return fill_template(
        "code.txt",
        call="release_mean" if isinstance(release, Release) else "release_group_means",
        guarantee=release.guarantee,
        private_keys=isinstance(release, GroupMeans) and release.key_charges is not None,
        known=find_variance_source(release) == "given" if isinstance(release, GroupMeans) else known,
    )


def write_methods(release: Release | GroupMeans, level: float) -> str:
    """Return a methods paragraph to quote."""
    groups = release if isinstance(release, GroupMeans) else None
    first = release if isinstance(release, Release) else release.overall or next(iter(release.values()), None)
    text = fill_template(
        "methods.txt",
        guarantee=release.guarantee,
        groups=groups,
        first=first,
        known=first is not None and first.method in ("recentered", "stable", "soft", "basic"),
        confidence=f"{100 * level:g}%",
        version=list_versions()["dimfree"],
    )
    return " ".join(text.split()).replace(" )", ")").replace(" ,", ",")


def build_view(
    release: Release, level: float, rules: Mapping[str, object], *, among: int = 1, plots: bool = True
) -> Context:
    """Return the values of one release: its `outcome`, or `steps` after a refusal; shorter among several."""
    refused = release.refused
    return {
        "release": release,
        "outcome": None if refused else _build_outcome(release, level, among == 1, plots),
        "planned": None if refused or among > 1 else predict_noise(release, rules),
        "steps": _list_steps(release) if refused else [],
        "method": _describe_method(release),
        "parameters": describe_parameters(release),
    }


def _build_outcome(release: Release, level: float, alone: bool, plots: bool) -> Context:
    table = MeanTable(release, level)
    most, in_order = (MAX_ROWS, MAX_IN_ORDER) if alone else (FEW_ROWS, FEW_ROWS)
    listed = np.arange(table.dimension) if table.dimension <= in_order else table.rank_places()[:most]
    drawn = table.choose_places(MAX_DRAWN if alone else FEW_DRAWN)
    ball = None if table.mixed else release.confidence_ball(level)
    known = table.noise_to_sd[np.isfinite(table.noise_to_sd)]
    over = format_span(format_digits(known.min(), 2), format_digits(known.max(), 2)) if len(known) else "unknown"
    counted = table.compared and table.dimension > MAX_IN_ORDER  # too many columns to list
    return {
        "table": table,
        "rows": [table.row(place) for place in listed.tolist()],
        "drawn": len(drawn),
        "mean_svg": draw_mean_chart(table, drawn, shorten_names(release.columns, drawn)) if plots else None,
        # a few columns need no ranking: the first plot shows all
        "strength_svg": draw_strength_chart(table) if plots and alone and table.dimension > 4 else None,
        "ratio_svg": draw_ratio_chart(table) if plots and alone and counted else None,
        "alternative": describe_chart(table),
        "noise": format_span(f"{table.noise.min():.2g}", f"{table.noise.max():.2g}"),
        "noise_length": float((table.noise**2).sum() ** 0.5),
        "own_units": ball is None,
        "ball": ball,
        "parts": [] if ball is None or math.isinf(ball.radius) else _SENTENCES.split(ball.statement())[1:],
        "lead": f"Noise / SD: {describe_noise(release)}" if table.by_columns else table.line,
        "by_columns": describe_columns(release)[1:],
        "noise_to_sd": f"{'≤ ' if table.bounded and len(known) else ''}{over}",
    }


@dataclass(frozen=True)
class Planned:
    """Root mean square Euclidean lengths. `sampling` is the sampling error, which privacy does not change."""

    noise: float
    sampling: float
    actual: float
    count: int


def predict_noise(release: Release, rules: Mapping[str, object]) -> Planned | str:
    """Return the prediction of `dimfree plan` from the public numbers of the release, or why there is none."""
    if release.method not in KNOWLEDGE:
        return f"There is no prediction for the method “{release.method}”."
    if release.parameters.get("objective") == "relative":
        return (
            "The columns have different units, so lengths over all columns are not comparable. See `dimfree plan "
            "--objective relative`."
        )
    model, count = release.error_model, release.parameters.get("count")
    if model.record_stddev is None or not isinstance(count, int | float):
        return "A prediction needs the number of records and the SDs; this release states neither."
    if release.dimension > MAX_SIMULATED:
        return f"Above {MAX_SIMULATED} columns the simulation takes too long for a report; use `dimfree plan`."
    stddev = model.record_stddev if model.record_principal is None else np.sqrt(model.record_principal)
    own = runs_of(release.charges)[-1].budget  # of one group, without the charge of the overall run
    options: dict[str, Any] = {n: rules[n] for n in ("outliers", "tails", "failure_probability") if n in rules}
    count, knowledge = max(1, round(count)), KNOWLEDGE[release.method]
    try:
        expected = predict(Question(count, stddev, own, release.guarantee.neighbors, knowledge, **options))
    except InvalidParameterError:
        return "The released numbers are outside the range of the prediction."
    if not math.isfinite(expected.noise):
        return "The prediction from the public numbers is a refusal, but the release was not refused."
    actual = float(np.linalg.norm(release.noise_stddev))  # the known SD of the noise, which is public
    return Planned(expected.noise, expected.sampling, actual, count)


def _list_steps(release: Release) -> list[str]:
    """Return what makes a release more likely, the most helpful step first."""
    remedies, refusal = load_words()["remedies"], release.refusal or ""
    if release.method == "columns" and refusal != OUT_OF_RANGE:
        return list(remedies["columns"])
    steps, count = list(remedies[REASONS.get(refusal, "other")]), release.parameters.get("count")
    if release.method != "auto" or refusal != TOO_FEW or not isinstance(count, int | float):
        return steps  # the public numbers do not determine the minimum
    relation = release.guarantee.neighbors
    least = find_smallest_count(Question(1, np.ones(release.dimension), release.charges.budget, relation))
    if not least:
        return ["No number of records is enough at this budget: use a larger epsilon.", *steps]
    counted = "There were" if relation is Neighbors.REPLACE_ONE else "The noisy count was"
    needed = f"{counted} {max(count, 0):.0f} records; this budget and number of columns need about {least}."
    return [needed, *steps]


def _describe_method(release: Release) -> str:
    """Return what the method does, in a few sentences."""
    text = str(load_words()["methods"].get(release.method, load_words()["baseline"]))
    return text + load_words()["coordinates"] if "basis" in release.parameters else text


def describe_parameters(release: Release) -> list[tuple[str, str, str]]:
    """Return (name, value, meaning)."""
    meanings = dict(load_words()["parameters"])
    if "basis" in release.parameters:
        meanings["basis"] = load_words()["bases"].get(str(release.parameters["basis"]), meanings["basis"])
    if "directions" in release.parameters:
        meanings["directions"] += _describe_directions(release)
    return [
        (name, f"{value:.6g}" if isinstance(value, float) else shorten_name(value, 1000), meanings.get(name, ""))
        for name, value in release.parameters.items()
    ]


def _describe_directions(release: Release) -> str:
    """Describe share and angle of the strongest directions; missing ones were mostly error of the center."""
    if release.parameters.get("basis") != "learned":
        return "; not used, because their predicted gain is too small"
    found = None if release.estimated_variances is None else release.estimated_variances.directions
    pairs = [] if found is None else list(zip(found.shares.tolist(), np.degrees(found.angles), strict=True))
    shown = [
        f"{f'{100 * share:.0f}%' if share >= 0.01 else 'below 1%'} of the variance, angle at most "
        f"{math.ceil(angle - 1e-9)}°"  # an upper bound, so it is rounded up
        for share, angle in pairs
    ]
    more = [f"and {len(shown) - MAX_DIRECTIONS} more"] if len(shown) > MAX_DIRECTIONS else []
    fewer = [load_words()["left_out"]] if len(shown) < int(release.parameters["directions"]) else []
    return f": {'; '.join(shown[:MAX_DIRECTIONS] + more + fewer)}"
