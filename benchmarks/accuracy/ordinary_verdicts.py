"""What was asked of ordinary tables and of error bars, and whether the figures of ordinary.py meet it.

A verdict is a target, a figure in words, and whether it is met; None: not tried. Where a figure is a share of draws,
what chance leaves open is said with it.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.accuracy.bars import clopper_pearson
from benchmarks.accuracy.ordinary_cells import LAW, TABLE
from benchmarks.accuracy.ordinary_contestants import CORE, CORE_UNITS, EXACT, RELATIVE, RELATIVE_UNITS, TOTAL
from benchmarks.accuracy.ordinary_laws import OUTLIERS
from benchmarks.accuracy.ordinary_tables import HELD_OUT, SETTLED, STANDARDISED

CellResult = dict[str, Any]
Verdict = dict[str, Any]

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


def verdicts(cells: Sequence[CellResult], speed: Sequence[dict[str, Any]]) -> list[Verdict]:
    """Ordinary tables."""
    tables, laws = ([cell for cell in cells if cell["section"] == section] for section in (TABLE, LAW))
    found = [_precise(tables, table, epsilon, limit) for (table, epsilon), limit in LIMITS.items()]
    found += [_beside_units(tables, name) for name in (RELATIVE_UNITS, CORE_UNITS)]
    found += [_few_off(tables, "tables"), _few_off(laws, "laws")]
    for dimension, gain in GAINS.items():
        found += _gain([cell for cell in laws if cell["dimension"] == dimension], dimension, gain)
    return found + [_quick(point) for point in speed]


def error_bar_verdicts(cells: Sequence[CellResult], name: str = TOTAL) -> list[Verdict]:
    """Error bars and radii: laws with at least LARGE records."""
    laws = [c for c in cells if c["section"] == LAW and c["count"] >= LARGE and name in c["estimators"]]
    oracle = [_infinite(cell["estimators"][name]["over_oracle"]) for cell in laws]
    middle = float(np.median(oracle)) if oracle else math.nan
    words = f"{name}, laws, n ≥ {LARGE}"
    return [
        _every(laws, f"{words}: intervals cover ≥ {COVERAGE}", lambda c: -_covered(c, name, "covered"), -COVERAGE),
        _every(laws, f"{words}: balls cover ≥ {COVERAGE}", lambda c: -_covered(c, name, "ball"), -COVERAGE),
        _every(laws, f"{words}: error ≤ {ORACLE:g} × oracle", lambda c: _figure(c, name, "over_oracle"), ORACLE),
        _verdict(f"{words}: median over cells ≤ {ORACLE_MEDIAN} × oracle", middle, ORACLE_MEDIAN),
        _every(laws, f"{words}: half width ≤ {WIDTH:g} × error", lambda c: _figure(c, name, "width_over_rms"), WIDTH),
        *(_standardised(cells, each) for each in (RELATIVE, TOTAL)),
    ]


def _standardised(cells: Sequence[CellResult], name: str) -> Verdict:
    """Intervals about the mean of these records, on the standardised tables that are answered."""
    tried = [c for c in cells if c["world"].endswith(STANDARDISED) and name in c["estimators"]]
    answered = [c for c in tried if c["estimators"][name]["covered"] is not None]
    words = f"{name}, standardised tables: intervals cover ≥ {COVERAGE}"
    found = _every(answered, words, lambda c: -_covered(c, name, "covered"), -COVERAGE)
    refused = len(tried) - len(answered)
    return found if not refused else {**found, "figure": f"{found['figure']}; {refused} refused throughout"}


def _precise(tables: Sequence[CellResult], table: str, epsilon: float, limit: float) -> Verdict:
    """The median of one table, with its interval, and with exact noise where that was tried."""
    target = f"{table}, ε = {epsilon:g}: z-rms ≤ {limit}"
    cell = next((c for c in tables if (c["world"], c["epsilon"]) == (table, epsilon)), None)
    if cell is None or RELATIVE not in cell["estimators"]:
        return _verdict(target, math.nan, limit)
    row, exact = cell["estimators"][RELATIVE], cell["estimators"].get(EXACT)
    low, high = (_shown(end) for end in row["z_interval"])
    words = f"{_shown(row['z'])} [{low}, {high}]" + (f", exact noise {_shown(exact['z'])}" if exact else "")
    worst = max(_infinite(each["z"]) for each in (row, exact) if each)
    return {"target": target, "figure": words, "met": bool(worst <= limit)}


def _beside_units(tables: Sequence[CellResult], name: str) -> Verdict:
    """The median over tables, and of each half."""
    target = f"z-rms ≤ {UNITS_LIMIT} × that of `{name}`, median over tables"
    ratios = {c["name"]: ratio for c in tables if (ratio := ratio_of(c, RELATIVE, name, "z")) is not None}
    if not ratios:
        return _verdict(target, math.nan, UNITS_LIMIT)
    middle = float(np.median(list(ratios.values())))
    halves = [_half(tables, ratios, half) for half in (SETTLED, HELD_OUT)]
    words = f"{middle:.2f} ({', '.join(halves)}; {len(ratios)} tables)"
    return {"target": target, "figure": words, "met": middle <= UNITS_LIMIT}


def _half(tables: Sequence[CellResult], ratios: dict[str, float], half: str) -> str:
    values = [ratios[c["name"]] for c in tables if c["name"] in ratios and c["half"] == half]
    return f"{half} {np.median(values):.2f}" if values else f"{half} none"


def _few_off(cells: Sequence[CellResult], words: str) -> Verdict:
    """The worst cell's share of columns that are off, and how many of all such columns were not marked."""
    target = f"{words}, SNR ≥ {SEEN_FROM:g}: at most {OFF_SHARE:.0%} of columns off by > 1/2 deviation, all marked"
    tried = [c for c in cells if c["snr"] >= SEEN_FROM and RELATIVE in c["estimators"]]
    rows = {c["name"]: c["estimators"][RELATIVE] for c in tried if c["estimators"][RELATIVE]["columns"]}
    if not rows:
        return _verdict(target, math.nan, OFF_SHARE)
    worst = max(rows, key=lambda name: rows[name]["off"] / rows[name]["columns"])
    share = rows[worst]["off"] / rows[worst]["columns"]
    silent = sum(row["off"] - (row["off_marked"] or 0) for row in rows.values())
    figure = f"{share:.2%} ({worst}); {silent} of {sum(row['off'] for row in rows.values())} not marked"
    return {"target": target, "figure": figure, "met": share <= OFF_SHARE and silent == 0}


def _gain(cells: Sequence[CellResult], dimension: int, gain: float) -> list[Verdict]:
    """Refusals, and the geometric mean over cells that the core did not refuse throughout of rms errors' ratios."""
    tried = [c for c in cells if TOTAL in c["estimators"]]
    refusals = sum(c["estimators"][TOTAL]["refusals"] for c in tried) if tried else math.nan
    ratios = [ratio for c in tried if (ratio := ratio_of(c, TOTAL, CORE, "error_rms")) is not None]
    medians = [ratio for c in tried if (ratio := ratio_of(c, TOTAL, CORE, "error")) is not None]
    target = f"laws, d = {dimension}: total's error ≤ core's / {gain:g}, geometric mean of rms errors"
    found = _verdict(target, geometric_mean(ratios), 1 / gain)
    if ratios:
        found["figure"] += f" ({len(ratios)} of {len(tried)} cells; of medians {geometric_mean(medians):.3g})"
    return [_verdict(f"laws, d = {dimension}: total refuses nothing", refusals, 0), found]


def _quick(point: dict[str, Any]) -> Verdict:
    words = f"{point['first']:.2f} s the first, {point['later']:.2f} s a later one"
    met = point["first"] <= point["limit"] and not point["refused"]
    return {"target": f"{point['name']} in ≤ {point['limit']:g} s", "figure": words, "met": met}


def _covered(cell: CellResult, name: str, figure: str) -> float:
    """Of these records; where a law has outliers, of the records drawn in to the stated reach."""
    row = cell["estimators"][name]
    stated = row[f"{figure}_reach"] if cell["world"] == OUTLIERS else None
    return float(row[figure] if stated is None else stated) if row[figure] is not None else 0.0


def _every(cells: Sequence[CellResult], target: str, figure: Callable[[CellResult], float], limit: float) -> Verdict:
    """Whether no cell is beyond the limit, with the worst; shares (limits below 0) with what chance leaves open."""
    beyond = [cell for cell in cells if figure(cell) > limit]
    worst = max(cells, key=figure, default=None)
    if worst is None:
        return _verdict(target, math.nan, limit)
    words = f"{abs(figure(worst)):.3g} ({worst['name']}); {len(beyond)} of {len(cells)} cells beyond"
    if limit < 0:
        words += f", {sum(_by_chance(-figure(c), c['draws'], -limit) for c in beyond)} of them within sampling error"
    return {"target": target, "figure": words, "met": not beyond}


def _by_chance(share: float, draws: int, limit: float) -> bool:
    """Columns of one draw move together, so that draws alone are counted."""
    return clopper_pearson(round(share * draws), draws)[1] >= limit


def ratio_of(cell: CellResult, name: str, other: str, figure: str) -> float | None:
    """None where either was not tried or refused too often for a figure."""
    rows = [cell["estimators"].get(each, {}).get(figure) for each in (name, other)]
    return rows[0] / rows[1] if all(rows) else None


def geometric_mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values)))) if values else math.nan


def _verdict(target: str, figure: float, limit: float) -> Verdict:
    if math.isnan(figure):
        return {"target": target, "figure": "not tried", "met": None}
    return {"target": target, "figure": f"{figure:.3g}", "met": bool(figure <= limit)}


def _figure(cell: CellResult, name: str, figure: str) -> float:
    return _infinite(cell["estimators"][name][figure])


def _infinite(value: float | None) -> float:
    return math.inf if value is None else value


def _shown(value: float | None) -> str:
    return "refused" if value is None else f"{value:.3g}"
