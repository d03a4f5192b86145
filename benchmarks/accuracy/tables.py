"""The results of known.py for people: one section for each kind of cell."""

from collections.abc import Sequence
from typing import Any

from benchmarks.accuracy.cells import ESTIMATORS, WATCHED
from benchmarks.accuracy.resolving import VERDICT_HEADER, verdict_rows
from benchmarks.accuracy.running import left_out_lines, minutes_line
from benchmarks.record import provenance_lines, table

CellResult = dict[str, Any]


def report(result: dict[str, Any]) -> list[str]:
    cells = result["cells"]
    lines = ["# Known covariance", "", *provenance_lines(result["run"]), ""]
    lines += [
        minutes_line(result),
        *left_out_lines(result),
        "",
        *_legend(result["seeded"]),
        "",
    ]
    lines += ["## Bars", "", *table(VERDICT_HEADER, verdict_rows(result["verdicts"])), ""]
    lines += ["## Accuracy", "", *_accuracy(of_section(cells, "accuracy")), ""]
    lines += ["## Where the budget goes", "", *_spending(of_section(cells, "accuracy")), ""]
    lines += ["## Other budgets", "", *_budget(of_section(cells, "budget")), ""]
    lines += ["## Free of the dimension", "", *_dimension(of_section(cells, "dimension")), ""]
    lines += ["## Robustness", "", *_robustness(of_section(cells, "robustness")), ""]
    return [*lines, "## Passing", "", *_passing(of_section(cells, "passing"), result["pooled"])]


def of_section(cells: Sequence[CellResult], section: str) -> list[CellResult]:
    return [cell for cell in cells if cell["section"] == section]


def _legend(seeded: bool) -> list[str]:
    noise = "SeededNoise (not private)" if seeded else "SystemNoise (exact, private)"
    return [
        f"ε = 1 unless said, δ = 1e-6; mean at distance 10·sqrt(tr Σ); noise (Passing apart): {noise}.",
        "np, floor: median L2 error of the sample mean and of the oracle (true mean public, full budget, add/remove,",
        "sensitivity r/n, also where an estimator is replace-one). error/floor: median error over the oracle's median",
        "error on the same draws. noise ratio: length of `noise_stddev` over the oracle's. from sample mean: distance",
        "of the release from the (honest) sample mean over the length of the oracle's noise; what exceeds the noise",
        "ratio is clipping bias. Medians, quartiles in brackets; of bars, exact 95 % intervals of the median by order",
        "statistics (none below six draws), the yardstick taken as it is. Unknown scale: the standard deviations",
        "handed over are 100 times too small. Large cells have fewer draws and fewer estimators.",
    ]


def _accuracy(cells: Sequence[CellResult]) -> list[str]:
    figures = {"error_over_floor": "error/floor", "noise_ratio": "noise ratio", "from_sample_mean": "from sample mean"}
    lines = []
    for figure, title in figures.items():
        lines += [f"### {title[0].upper()}{title[1:]}", "", *wide(cells, figure), ""]
    return lines[:-1]


def wide(cells: Sequence[CellResult], figure: str) -> list[str]:
    """One column per estimator that any of the cells tries."""
    names = [name for name in ESTIMATORS if any(name in cell["estimators"] for cell in cells)]
    header = ["spectrum", "n", "d", "draws", "np", "floor", *names]
    rows = []
    for cell in cells:
        tried = cell["estimators"]
        rows.append([*_place(cell), *(_figure(tried[name], figure) if name in tried else "" for name in names)])
    return table(header, rows)


def _place(cell: CellResult) -> list[str]:
    world = [str(cell[key]) for key in ("spectrum", "count", "dimension", "trials")]
    return world + [f"{cell[key][1]:.3g}" for key in ("np", "floor")]


def _figure(row: dict[str, Any], figure: str) -> str:
    if row.get(figure) is None:
        return "always refused"
    low, median, high = row[figure]
    refused = f", {row['refusals']} refused" if row["refusals"] else ""
    return f"{median:.2f} [{low:.2f}, {high:.2f}]{refused}"


_RECENTRED = ("recentred", "recentred, robust defaults", "recentred, unknown scale", "recentred, replace-one")
_SHARES = {"before": "before", "core_share": "core", "stage_share": "stages", "search_share": "searches"}


def _spending(cells: Sequence[CellResult]) -> list[str]:
    """How the optimiser splits the precision, and what the test and the menu of P9 take off the whole budget."""
    words = [
        "slack: mu of the whole budget over mu of the chosen branch, so the factor by which the noise exceeds that of",
        "one Gaussian at the full budget (what n̂, a learned scale, the stability test and P9's menu cost together).",
        "before: precision mu² of n̂ and of the scale's searches, over the whole budget's. core, stages, searches:",
        "shares of the branch's precision. Exact discrete noise itself costs less than 1e-6 of ε: the ledger",
        "refuses more. Medians.",
        "",
    ]
    return words + spending_table(cells, _RECENTRED, _SHARES)


def spending_table(cells: Sequence[CellResult], names: Sequence[str], shares: dict[str, str]) -> list[str]:
    """One row per cell and estimator; `shares` maps figures to headings."""
    rows = []
    for cell in cells:
        for name in names:
            row = cell["estimators"].get(name, {})
            if row.get("slack"):
                place = [str(cell[key]) for key in ("spectrum", "count", "dimension")]
                spent = [f"{row[key][1]:.1%}" for key in shares]
                rows.append([*place, name, f"{row['stages'][1]:.0f}", f"{row['slack'][1]:.3f}", *spent])
    return table(["spectrum", "n", "d", "estimator", "number of stages", "slack", *shares.values()], rows)


def in_rows(cells: Sequence[CellResult], extra: str, title: str) -> list[str]:
    """One row per cell, for sections with one estimator."""
    header = ["spectrum", "n", "d", "draws", "np", "floor", title, "error/floor", "noise ratio", "from sample mean"]
    figures = ("error_over_floor", "noise_ratio", "from_sample_mean")
    rows = []
    for cell in cells:
        (row,) = cell["estimators"].values()
        rows.append([*_place(cell), f"{cell[extra]}", *(_figure(row, figure) for figure in figures)])
    return table(header, rows)


def _budget(cells: Sequence[CellResult]) -> list[str]:
    return ["Estimator: recentred.", "", *in_rows(cells, "epsilon", "ε")]


def _dimension(cells: Sequence[CellResult]) -> list[str]:
    return ["Estimator: recentred.", "", *in_rows(cells, "epsilon", "ε")]


def _robustness(cells: Sequence[CellResult]) -> list[str]:
    words = [
        "Estimator: recentred, robust defaults. Same covariance as the Gaussian worlds; errors against the mean of the",
        "honest law. The floor is the oracle on the same records, outliers included (clipped like the others). Gross",
        "outliers lie at 100·sqrt(tr Σ). t4 coordinates: independent; t4 records: one heavy factor for all of them.",
        "S5 is reported without a bar.",
        "",
    ]
    return words + in_rows(cells, "data", "data")


def _passing(cells: Sequence[CellResult], everything: dict[str, Any]) -> list[str]:
    words = [
        "Honest draws at d = 50 with SeededNoise (not private), refusals counted; 95 % intervals. The core alone: the",
        "stages follow the test and cannot refuse.",
        "",
    ]
    header = ["spectrum", "n", "draws", *[f"pass: {name}" for name in WATCHED]]
    rows = [[cell["spectrum"], str(cell["count"]), str(cell["trials"]), *_shares(cell["estimators"])] for cell in cells]
    return words + table(header, [*rows, ["all", "", "", *_shares(everything)]])


def _shares(estimators: dict[str, Any]) -> list[str]:
    rows = [estimators.get(name) for name in WATCHED]
    return [_share(row) if row else "" for row in rows]


def _share(row: dict[str, Any]) -> str:
    low, high = row["interval"]
    return f"{row['pass']:.4f} [{low:.4f}, {high:.4f}]"
