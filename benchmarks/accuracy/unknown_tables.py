"""The results of unknown.py for people: one section for each kind of cell, then the bars."""

from collections.abc import Sequence
from typing import Any

from benchmarks.accuracy.resolving import VERDICT_HEADER, verdict_rows
from benchmarks.accuracy.running import left_out_lines, minutes_line
from benchmarks.accuracy.tables import in_rows, of_section, spending_table, wide
from benchmarks.accuracy.unknown_cells import WATCHED
from benchmarks.record import provenance_lines, table

CellResult = dict[str, Any]

_FIGURES = {
    "error_over_floor": "Error/floor",
    "error_over_np": "Error/np",
    "noise_ratio": "Noise ratio",
    "from_sample_mean": "From sample mean",
    "seconds": "Seconds of one release",
}
_SHARES = {
    "before": "before",
    "core_share": "core",
    "variance_share": "variances",
    "stage_share": "stages",
    "search_share": "searches",
}


def report(result: dict[str, Any]) -> list[str]:
    cells = result["cells"]
    lines = ["# Unknown covariance", "", *provenance_lines(result["run"]), ""]
    lines += [minutes_line(result), *left_out_lines(result), "", *_legend(result["seeded"]), ""]
    lines += ["## Bars", "", *table(VERDICT_HEADER, verdict_rows(result["verdicts"])), "", "## Accuracy", ""]
    for figure, title in _FIGURES.items():
        lines += [f"### {title}", "", *wide(of_section(cells, "accuracy"), figure), ""]
    lines += ["## Where the budget goes", "", *_spending(of_section(cells, "accuracy")), ""]
    lines += ["## Robustness", "", *_robustness(of_section(cells, "robustness")), ""]
    return [*lines, "## Passing", "", *_passing(of_section(cells, "passing"), result["pooled"])]


def _legend(seeded: bool) -> list[str]:
    noise = "SeededNoise (not private)" if seeded else "SystemNoise (exact, private)"
    return [
        f"ε = 1, δ = 1e-6, add/remove unless said; mean at distance 10·sqrt(tr Σ); noise (Passing apart): {noise}.",
        'auto: nothing known. literal: the paper\'s Algorithm 2 (shape="paper"), nothing known. spherical: auto less',
        "its variances, so spherical noise and all precision in the stages. spherical, believed: the shape handed over",
        "as isotropic with unknown scale, which the records need not obey. known: the covariance handed over, with the",
        "same allowance for outliers. np, floor: median L2 error of the sample mean and of the oracle (true mean and",
        "covariance public, full budget, sensitivity r/n). error/floor, error/np: median error over those, on the same",
        "draws. noise ratio: length of `noise_stddev` over the oracle's. from sample mean: distance of the release",
        "from the (honest) sample mean over the length of the oracle's noise; what exceeds the noise ratio is clipping",
        "bias. Medians, quartiles in brackets; refused releases are left out of them and counted. Of bars: exact 95 %",
        "intervals of the median by order statistics (none below six draws), the yardstick taken as it is.",
    ]


def _spending(cells: Sequence[CellResult]) -> list[str]:
    words = [
        "slack: mu of the whole budget over mu of the chosen branch: what n̂, the search for a radius, the stability",
        "test and P9's menu cost together. before: precision mu² of n̂ and of that search, over the whole budget's.",
        "core, variances, stages, searches (of clipping radii): shares of the branch's precision. Medians.",
        "",
    ]
    return words + spending_table(cells, ("auto", "spherical", "known"), _SHARES)


def _robustness(cells: Sequence[CellResult]) -> list[str]:
    words = [
        "Estimator: auto. Same covariance as the Gaussian worlds; errors against the mean of the honest law. The floor",
        "is the oracle on the same records, outliers included (clipped like the others). Gross outliers lie at",
        "100·sqrt(tr Σ). t4 coordinates: independent; t4 records: one heavy factor for all of them.",
        "",
    ]
    return words + in_rows(cells, "data", "data")


def _passing(cells: Sequence[CellResult], everything: dict[str, Any]) -> list[str]:
    words = [
        "Honest Gaussian draws with SeededNoise (not private), each run up to its bit: the mean over the draws of the",
        "bit's exact probability, two standard errors, the least of them; a refusal ahead of the bit counts as 0.",
        "",
    ]
    header = ["spectrum", "n", "d", "draws", *[f"pass: {name}" for name in WATCHED]]
    rows = [[*(str(cell[key]) for key in _PLACE), *_shares(cell["estimators"])] for cell in cells]
    return words + table(header, [*rows, ["all", "", "", "", *_shares(everything)]])


_PLACE = ("spectrum", "count", "dimension", "trials")


def _shares(estimators: dict[str, Any]) -> list[str]:
    return [_share(estimators[name]) if name in estimators else "" for name in WATCHED]


def _share(row: dict[str, Any]) -> str:
    refused = f", {row['refusals']} refused for sure" if row["refusals"] else ""
    return f"{row['probability']:.4f} ± {2 * row['standard_error']:.4f}, least {row['least']:.3f}{refused}"
