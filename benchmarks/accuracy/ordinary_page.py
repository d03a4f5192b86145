"""The targets of ordinary tables and of their error bars, and the page of ordinary.py."""

import math
from collections.abc import Sequence
from typing import Any

from benchmarks.accuracy.ordinary_peers import PEERS
from benchmarks.accuracy.ordinary_worlds import OUTLIERS, STANDARDISED
from benchmarks.accuracy.resolving import (
    MET,
    MISSED,
    OPEN,
    UNTRIED,
    VERDICT_HEADER,
    Figure,
    Verdict,
    judged,
    verdict_rows,
)
from benchmarks.accuracy.running import DELTA, Result
from benchmarks.record import table

TABLE, LAW = "table", "law"
RELATIVE, TOTAL = "relative", "total"  # objectives of release_mean
CONFIDENCE = 0.95
LIMITS = {  # (table, epsilon): z-rms
    ("breast cancer", 1.0): 0.13,
    ("breast cancer", 4.0): 0.05,
    ("wine", 4.0): 0.06,
    ("diabetes", 4.0): 0.022,
    ("iris", 4.0): 0.06,
    ("clinical 600", 1.0): 0.1,
    ("clinical 2000", 1.0): 0.035,
    ("decades, normal", 1.0): 0.036,
    ("decades, lognormal", 1.0): 0.036,
}
SEEN_FROM, OFF_SHARE = 30.0, 0.01  # signal-to-noise ratio, and the share of columns that may be off from there on
COVERAGE, LARGE = 0.93, 2000  # in every cell with so many records
ORACLE, ORACLE_MEDIAN, WIDTH = 2.0, 1.4, 3.0


def verdicts(cells: Sequence[Result]) -> list[Verdict]:
    tables, laws = ([cell for cell in cells if cell["section"] == section] for section in (TABLE, LAW))
    found = [_precise(tables, name, epsilon, limit) for (name, epsilon), limit in LIMITS.items()]
    found += [_ahead(tables, f"breast cancer, ε = {epsilon:g}") for epsilon in (1, 4)] + [_ahead(tables, "")]
    found += [_few_off(tables, "tables"), _few_off(laws, "laws")]
    found += [_refusals([cell for cell in laws if cell["dimension"] == d], d) for d in (1, 5)]
    return [*found, *_error_bars(laws), *(_standardised(tables, name) for name in (RELATIVE, TOTAL))]


def _precise(tables: Sequence[Result], name: str, epsilon: float, limit: float) -> Verdict:
    found = {c["name"]: _z(c, RELATIVE) for c in tables if (c["world"], c["epsilon"]) == (name, epsilon)}
    return judged(f"{name}, ε = {epsilon:g}: z-rms ≤ {limit}", limit, found)


def _z(cell: Result, name: str) -> Figure:
    return Figure.median(cell["estimators"][name]["draws"]["z"])


def _ahead(tables: Sequence[Result], ending: str) -> Verdict:
    """Judge whether our interval lies below that of every peer, in every table with this end of its name."""
    target = f"{ending or 'every table'}: relative is ahead of every peer that is given bounds"
    tried = [c for c in tables if c["name"].endswith(ending) and {RELATIVE, *PEERS} & set(c["estimators"]) > {RELATIVE}]
    if not tried:
        return {"target": target, "figure": "", "draws": "", "state": UNTRIED}
    states = {c["name"]: _against_peers(c) for c in tried}
    behind = [name for name, state in states.items() if state != MET]
    words = f"in {len(tried) - len(behind)} of {len(tried)}" + (f"; not in {', '.join(behind)}" if behind else "")
    state = next((each for each in (MISSED, OPEN) if each in states.values()), MET)
    return {"target": target, "figure": words, "draws": str(min(c["draws"] for c in tried)), "state": state}


def _against_peers(cell: Result) -> str:
    own, peers = _z(cell, RELATIVE), [_z(cell, name) for name in PEERS if name in cell["estimators"]]
    if any(peer.high < own.low for peer in peers):
        return MISSED
    return MET if all(own.high < peer.low for peer in peers) else OPEN


def _few_off(cells: Sequence[Result], words: str) -> Verdict:
    """Judge the worst share of columns that are off, and count those that were not marked."""
    target = f"{words}, SNR ≥ {SEEN_FROM:g}: at most {OFF_SHARE:.0%} of columns off by > 1/2 SD, all marked"
    tried = {c["name"]: c["estimators"][RELATIVE] for c in cells if c["snr"] >= SEEN_FROM}
    rows = {name: row for name, row in tried.items() if row["columns"]}
    found = judged(target, OFF_SHARE, {n: Figure.sure(r["off"] / r["columns"], r["columns"]) for n, r in rows.items()})
    off = sum(row["off"] for row in rows.values())
    silent = off - sum(row["off_marked"] or 0 for row in rows.values())
    figure = f"{found['figure']}; {silent} of {off} not marked" if rows else ""
    return {**found, "figure": figure, "state": MISSED if silent else found["state"]}


def _refusals(cells: Sequence[Result], dimension: int) -> Verdict:
    refused = {c["name"]: Figure.sure(c["estimators"][TOTAL]["refusals"], c["draws"]) for c in cells}
    return judged(f"laws, d = {dimension}: total refuses nothing", 0, refused)


def _error_bars(cells: Sequence[Result]) -> list[Verdict]:
    """Judge intervals, balls and errors of laws with at least LARGE records."""
    laws = [cell for cell in cells if cell["count"] >= LARGE]
    words = f"{TOTAL}, laws, n ≥ {LARGE}"
    over = {c["name"]: _over_oracle(c) for c in laws}
    middle = {f"{len(laws)} cells": Figure.median([each.value for each in over.values()])} if laws else {}
    widths = {c["name"]: c["estimators"][TOTAL]["width_over_rms"] for c in laws}
    width = {name: Figure.sure(math.inf if each is None else each, 0) for name, each in widths.items()}
    return [
        _covering(laws, f"{words}: intervals cover ≥ {COVERAGE}", TOTAL, "covered"),
        _covering(laws, f"{words}: balls cover ≥ {COVERAGE}", TOTAL, "ball"),
        judged(f"{words}: error ≤ {ORACLE:g} × oracle", ORACLE, over),
        judged(f"{words}: median over cells ≤ {ORACLE_MEDIAN} × oracle", ORACLE_MEDIAN, middle),
        judged(f"{words}: half width ≤ {WIDTH:g} × error", WIDTH, width),
    ]


def _covering(cells: Sequence[Result], target: str, name: str, figure: str) -> Verdict:
    """Judge coverage; columns of one draw move together, so that draws alone are counted."""
    shares = {c["name"]: Figure.share(_covered(c, name, figure) * c["draws"], c["draws"]) for c in cells}
    return judged(target, COVERAGE, shares, at_most=False)


def _covered(cell: Result, name: str, figure: str) -> float:
    """Return the share for the mean of these records; if a law has outliers, of these records clipped."""
    row = cell["estimators"][name]
    return float(row[f"{figure}_clipped" if cell["world"] == OUTLIERS else figure] or 0.0)


def _over_oracle(cell: Result) -> Figure:
    answered = [error for error in cell["estimators"][TOTAL]["draws"]["error"] if error is not None]
    return Figure.rms(answered, cell["oracle"]) if answered else Figure.sure(math.inf, cell["draws"])


def _standardised(tables: Sequence[Result], name: str) -> Verdict:
    """Judge intervals about the mean of these records, on the standardized tables that are answered."""
    tried = [c for c in tables if c["world"].endswith(STANDARDISED)]
    answered = [c for c in tried if c["estimators"][name]["covered"] is not None]
    return _covering(answered, f"{name}, standardized tables: intervals cover ≥ {COVERAGE}", name, "covered")


# --- The page

_LEGEND = [
    f"δ = {DELTA:g}, add-remove; the same records for every estimator; errors from the mean of these records; seeded",
    "noise (not private). z-rms: root mean square over columns of error / the column's own standard deviation,",
    "constant columns left out; median over draws, exact 95 % interval of it in brackets, refused draws infinitely",
    "far off. relative, total: `objective`. Laplace, Gaussian, OpenDP, diffprivlib: noise in every column between",
    "the true bounds of these records, widened; the number of records is public for them and free; Laplace by the",
    "better of basic and exact composition; a record changes a sum by the width, centered: by half of it. off:",
    "share of columns off by more than half a standard deviation, and how many of them the release marks",
    "unresolved. covered: of 95 % intervals, by these records' mean; clipped: by the mean of the records clipped to",
    "`release.clipping`; law: of intervals for the population; first column: of mixed laws, the one unlike the others.",
    "ball: of 95 % balls. half width: of the intervals, over the rms error. oracle: clips about the true mean at",
    "the radius that is best in hindsight over the draws of a law, all precision in one Gaussian; errors over it",
    "are root mean squares. SNR = n·mu/sqrt(d). Constants may be looked at on settled tables and laws, not on those",
    "held out.",
]
_PLACE = ["world", "half", "n × d", "ε", "SNR", "draws"]
_DETAILS = ("covered", "covered_clipped", "ball", "ball_clipped", "covered_law", "covered_first", "width_over_rms")
_DETAIL_NAMES = ("covered", "covered, clipped", "ball", "ball, clipped", "law", "first column", "half width")


def report(result: Result) -> list[str]:
    lines = [*_LEGEND, "", "## Targets", "", *table(VERDICT_HEADER, verdict_rows(result["verdicts"])), ""]
    if tables := [cell for cell in result["cells"] if cell["section"] == TABLE]:
        lines += ["## Tables: z-rms", "", *_comparison(tables), ""]
        lines += [line for name in (RELATIVE, TOTAL) for line in _details(tables, name)]
    laws = [cell for cell in result["cells"] if cell["section"] == LAW]
    lines += [line for name in (TOTAL, RELATIVE) if laws for line in _details(laws, name)]
    return lines[:-1]


def _place(cell: Result) -> list[str]:
    size = f"{cell['count']} × {cell['dimension']}"
    return [cell["world"], cell["half"], size, f"{cell['epsilon']:g}", f"{cell['snr']:.0f}", str(cell["draws"])]


def _comparison(cells: Sequence[Result]) -> list[str]:
    names = [name for name in (RELATIVE, TOTAL, *PEERS) if any(name in cell["estimators"] for cell in cells)]
    rows = [[*_place(cell), *(_z(cell, n).words if n in cell["estimators"] else "" for n in names)] for cell in cells]
    return table([*_PLACE, *names], rows)


def _details(cells: Sequence[Result], name: str) -> list[str]:
    header = [*_PLACE, "error / oracle", "off", "of them marked", "unresolved", "refused", *_DETAIL_NAMES, "s"]
    rows = [[*_place(cell), *_detail(cell["estimators"][name])] for cell in cells]
    return [f"## {cells[0]['section'].capitalize()}s: {name}, in detail", "", *table(header, rows), ""]


def _detail(row: dict[str, Any]) -> list[str]:
    off = "" if not row["columns"] else f"{row['off'] / row['columns']:.2%}"
    marks = ["" if row[key] is None else str(row[key]) for key in ("off_marked", "unresolved", "refusals")]
    return [_number(row["over_oracle"]), off, *marks, *(_number(row[key]) for key in (*_DETAILS, "seconds"))]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
