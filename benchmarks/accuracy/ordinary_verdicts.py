"""What was asked of ordinary tables and of error bars, and whether the figures of ordinary.py meet it."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.accuracy.ordinary_cells import LAW, TABLE, OrdinaryCell
from benchmarks.accuracy.ordinary_contestants import CORE, CORE_UNITS, EXACT, RELATIVE, RELATIVE_UNITS, TOTAL
from benchmarks.accuracy.ordinary_laws import OUTLIERS
from benchmarks.accuracy.ordinary_peers import PEERS
from benchmarks.accuracy.ordinary_tables import HELD_OUT, SETTLED, STANDARDISED
from benchmarks.accuracy.resolving import MET, MISSED, OPEN, UNTRIED, Figure, Verdict, judged

CellResult = dict[str, Any]

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
UNITS_LIMIT = 1.3  # times the z-rms of the table divided by its true deviations
SEEN_FROM, OFF_SHARE = 30.0, 0.01  # signal to noise, and the share of columns that may be off from there on
GAINS = {1: 2.0, 5: 1.3}  # dimension: how many times smaller than the core's error the total objective's is
COVERAGE, LARGE = 0.93, 2000  # in every cell with so many records
ORACLE, ORACLE_MEDIAN, WIDTH = 2.0, 1.4, 3.0


def informative(cell: OrdinaryCell) -> tuple[int, float]:
    """The order of the plan: tables with a limit, other tables, laws that have bars, the rest; small ones first."""
    if cell.section == TABLE:
        return (0 if (cell.world, cell.epsilon) in LIMITS else 1), 0.0
    bars = cell.count == LARGE and cell.epsilon == 1.0
    return (2 if bars and cell.dimension in GAINS else 3 if bars else 4), float(cell.count * cell.dimension)


def verdicts(cells: Sequence[CellResult], speed: Sequence[dict[str, Any]]) -> list[Verdict]:
    """Ordinary tables."""
    tables, laws = ([cell for cell in cells if cell["section"] == section] for section in (TABLE, LAW))
    found = [_precise(tables, table, epsilon, limit) for (table, epsilon), limit in LIMITS.items()]
    found += [_ahead(tables, f"breast cancer, ε = {epsilon:g}") for epsilon in (1, 4)] + [_ahead(tables, "")]
    found += [_beside_units(tables, name) for name in (RELATIVE_UNITS, CORE_UNITS)]
    found += [_few_off(tables, "tables"), _few_off(laws, "laws")]
    for dimension, gain in GAINS.items():
        found += _gain([cell for cell in laws if cell["dimension"] == dimension], dimension, gain)
    return found + [_quick(point) for point in speed]


def error_bar_verdicts(cells: Sequence[CellResult], name: str = TOTAL) -> list[Verdict]:
    """Error bars and radii: laws with at least LARGE records."""
    laws = [c for c in cells if c["section"] == LAW and c["count"] >= LARGE and name in c["estimators"]]
    words = f"{name}, laws, n ≥ {LARGE}"
    ratios = [_over_oracle(cell, name).value for cell in laws]
    middle = {f"{len(laws)} cells": Figure.median(ratios)} if laws else {}
    width = {c["name"]: Figure.sure(_infinite(c["estimators"][name]["width_over_rms"]), c["draws"]) for c in laws}
    return [
        _covering(laws, f"{words}: intervals cover ≥ {COVERAGE}", name, "covered"),
        _covering(laws, f"{words}: balls cover ≥ {COVERAGE}", name, "ball"),
        judged(f"{words}: error ≤ {ORACLE:g} × oracle", ORACLE, {c["name"]: _over_oracle(c, name) for c in laws}),
        judged(f"{words}: median over cells ≤ {ORACLE_MEDIAN} × oracle", ORACLE_MEDIAN, middle),
        judged(f"{words}: half width ≤ {WIDTH:g} × error", WIDTH, width),
        *(_standardised(cells, each) for each in (RELATIVE, TOTAL)),
    ]


def _covering(cells: Sequence[CellResult], target: str, name: str, figure: str) -> Verdict:
    """Columns of one draw move together, so that draws alone are counted."""
    shares = {c["name"]: Figure.share(_covered(c, name, figure) * c["draws"], c["draws"]) for c in cells}
    return judged(target, COVERAGE, shares, at_most=False)


def _over_oracle(cell: CellResult, name: str) -> Figure:
    row = cell["estimators"][name]
    answered = [error for error in row["draws"]["error"] if error is not None]
    return Figure.rms(answered, cell["oracle"]) if answered else Figure.sure(math.inf, cell["draws"])


def _standardised(cells: Sequence[CellResult], name: str) -> Verdict:
    """Intervals about the mean of these records, on the standardised tables that are answered."""
    tried = [c for c in cells if c["world"].endswith(STANDARDISED) and name in c["estimators"]]
    answered = [c for c in tried if c["estimators"][name]["covered"] is not None]
    found = _covering(answered, f"{name}, standardised tables: intervals cover ≥ {COVERAGE}", name, "covered")
    refused = len(tried) - len(answered)
    return found if not refused else {**found, "figure": f"{found['figure']}; {refused} refused throughout"}


def _precise(tables: Sequence[CellResult], table: str, epsilon: float, limit: float) -> Verdict:
    """One table, with seeded noise and with exact noise where that was tried."""
    cell = next((c for c in tables if (c["world"], c["epsilon"]) == (table, epsilon)), None)
    names = {RELATIVE: "seeded noise", EXACT: "exact noise"}
    rows = {} if cell is None else {words: cell["estimators"].get(name) for name, words in names.items()}
    found = {words: Figure.median(row["draws"]["z"]) for words, row in rows.items() if row}
    return judged(f"{table}, ε = {epsilon:g}: z-rms ≤ {limit}", limit, found)


def _ahead(tables: Sequence[CellResult], ending: str) -> Verdict:
    """Whether our interval lies below that of every peer, in every table whose name ends so."""
    target = f"{ending or 'every table'}: relative is ahead of every peer that is given bounds"
    tried = [c for c in tables if c["name"].endswith(ending) and {RELATIVE, *PEERS} & set(c["estimators"]) > {RELATIVE}]
    if not tried:
        return {"target": target, "figure": "", "draws": "", "state": UNTRIED}
    states = {c["name"]: _beside_peers(c) for c in tried}
    behind = [name for name, state in states.items() if state != MET]
    words = f"in {len(tried) - len(behind)} of {len(tried)}" + (f"; not in {', '.join(behind)}" if behind else "")
    state = next((each for each in (MISSED, OPEN) if each in states.values()), MET)
    return {"target": target, "figure": words, "draws": str(min(c["draws"] for c in tried)), "state": state}


def _beside_peers(cell: CellResult) -> str:
    rows = cell["estimators"]
    own = Figure.median(rows[RELATIVE]["draws"]["z"])
    peers = [Figure.median(rows[name]["draws"]["z"]) for name in PEERS if name in rows]
    if any(peer.high < own.low for peer in peers):
        return MISSED
    return MET if all(own.high < peer.low for peer in peers) else OPEN


def _beside_units(tables: Sequence[CellResult], name: str) -> Verdict:
    """The median over tables, which are taken for a sample of tables; and of each half."""
    ratios = {c["name"]: ratio for c in tables if (ratio := ratio_of(c, RELATIVE, name, "z")) is not None}
    halves = ", ".join(_half(tables, ratios, half) for half in (SETTLED, HELD_OUT))
    found = {f"{len(ratios)} tables; {halves}": Figure.median(list(ratios.values()))} if ratios else {}
    return judged(f"z-rms ≤ {UNITS_LIMIT} × that of `{name}`, median over tables", UNITS_LIMIT, found)


def _half(tables: Sequence[CellResult], ratios: dict[str, float], half: str) -> str:
    values = [ratios[c["name"]] for c in tables if c["name"] in ratios and c["half"] == half]
    return f"{half} {np.median(values):.2f}" if values else f"{half} none"


def _few_off(cells: Sequence[CellResult], words: str) -> Verdict:
    """The worst cell's share of columns that are off, and how many of all such columns were not marked."""
    target = f"{words}, SNR ≥ {SEEN_FROM:g}: at most {OFF_SHARE:.0%} of columns off by > 1/2 deviation, all marked"
    tried = [c for c in cells if c["snr"] >= SEEN_FROM and RELATIVE in c["estimators"]]
    rows = {c["name"]: c["estimators"][RELATIVE] for c in tried if c["estimators"][RELATIVE]["columns"]}
    shares = {name: Figure.sure(row["off"] / row["columns"], row["columns"]) for name, row in rows.items()}
    found = judged(target, OFF_SHARE, shares)
    silent = sum(row["off"] - (row["off_marked"] or 0) for row in rows.values())
    off = sum(row["off"] for row in rows.values())
    figure = f"{found['figure']}; {silent} of {off} not marked" if rows else ""
    draws = f"{found['draws']} columns" if rows else ""
    return {**found, "figure": figure, "draws": draws, "state": MISSED if silent else found["state"]}


def _gain(cells: Sequence[CellResult], dimension: int, gain: float) -> list[Verdict]:
    """Refusals of these draws, and the geometric mean over cells that the core did not refuse throughout."""
    tried = [c for c in cells if TOTAL in c["estimators"]]
    refused = {c["name"]: Figure.sure(c["estimators"][TOTAL]["refusals"], c["draws"]) for c in tried}
    ratios = [ratio for c in tried if (ratio := ratio_of(c, TOTAL, CORE, "error_rms")) is not None]
    place = f"{len(ratios)} of {len(tried)} cells"
    middle = {place: Figure.sure(geometric_mean(ratios), len(ratios))} if ratios else {}
    target = f"laws, d = {dimension}: total's error ≤ core's / {gain:g}, geometric mean of rms errors"
    return [judged(f"laws, d = {dimension}: total refuses nothing", 0, refused), judged(target, 1 / gain, middle)]


def _quick(point: dict[str, Any]) -> Verdict:
    words = f"{point['first']:.2f} s the first, {point['later']:.2f} s a later one"
    met = point["first"] <= point["limit"] and not point["refused"]
    target = f"{point['name']} in ≤ {point['limit']:g} s"
    return {"target": target, "figure": words, "draws": "1", "state": MET if met else MISSED}


def _covered(cell: CellResult, name: str, figure: str) -> float:
    """Of these records; where a law has outliers, of the records drawn in to the stated reach."""
    row = cell["estimators"][name]
    stated = row[f"{figure}_reach"] if cell["world"] == OUTLIERS else None
    return float(row[figure] if stated is None else stated) if row[figure] is not None else 0.0


def ratio_of(cell: CellResult, name: str, other: str, figure: str) -> float | None:
    """None where either was not tried or refused too often for a figure."""
    rows = [cell["estimators"].get(each, {}).get(figure) for each in (name, other)]
    return rows[0] / rows[1] if all(rows) else None


def geometric_mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values)))) if values else math.nan


def _infinite(value: float | None) -> float:
    return math.inf if value is None else value
