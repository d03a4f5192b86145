"""The results of bases.py for people: the bars, the errors, what the menu chose, pairs, noise and bias apart."""

from collections.abc import Sequence
from typing import Any

from benchmarks.accuracy.bases_measuring import CONTESTANTS, PLAIN
from benchmarks.accuracy.bases_worlds import OWN, REAL, ROTATED, SMOOTH
from benchmarks.accuracy.resolving import VERDICT_HEADER, Figure, verdict_rows
from benchmarks.accuracy.running import left_out_lines, minutes_line
from benchmarks.record import provenance_lines, table

CellResult = dict[str, Any]

_TITLES = {
    ROTATED: "Turned at random",
    SMOOTH: "Smooth along the columns",
    REAL: "Real tables",
    OWN: "On their own axes",
}
_LEGEND = [
    "δ = 1e-6, add/remove, location and scale unknown. Figures are distances of the released mean from the sample",
    "mean, over the spherical oracle's on the same draw: medians, quartiles in brackets, ≤ the largest. np: error of",
    "the sample mean itself, sqrt(tr Σ̂ / n), over the same. Oracles: true centre, clip at the 95 % quantile of the",
    "distances, one Gaussian at the full budget, spherical, or shaped by the true standard deviations on the records'",
    "own axes or in the basis of cosines; root of the expected squared distance. Contestants: diagonal: `basis=None`,",
    'variances learned on the own axes; dct, hadamard, haar: in that basis; auto: `basis="auto"`, the menu; spherical:',
    "as diagonal, less the learning of variances. Refused releases are left out and counted. Every contestant sees the",
    "same draws; their noise is independent.",
]
_WORLDS = [
    "Turned: S1, S2 in a uniformly random orthonormal basis, another one for each draw. AR(1): stationary, variance 1",
    "in every column. Shuffled: the same records, the columns in random order.",
]
_PAIRS = [
    "Medians over the draws of the ratio of two errors on the same draw, with an exact 95 % interval of that median by",
    "order statistics (none below six draws). noise: the same for the lengths of the stated `noise_stddev`, which",
    "leave the last draw of noise out and so are known much more closely; they do not see clipping bias.",
]
_PARTS = [
    "All over the spherical oracle's error. noise: length of the stated `noise_stddev`. bias: distance from the sample",
    "mean with the noise off (every Gaussian draw zero), on the first draw: what clipping misses. Seconds: of one",
    "release; the machine may have been busy.",
]


def report(result: dict[str, Any]) -> list[str]:
    cells = result["cells"]
    noise = "SeededNoise (not private)" if result["seeded"] else "SystemNoise (exact, private)"
    lines = ["# Which coordinates", "", *provenance_lines(result["run"]), ""]
    lines += [f"{minutes_line(result)} Noise: {noise}.", *left_out_lines(result), ""]
    lines += [*_LEGEND, "", *_WORLDS, "", "## Bars", "", *table(VERDICT_HEADER, verdict_rows(result["verdicts"])), ""]
    for section, title in _TITLES.items():
        lines += [f"## {title}", "", *_errors([cell for cell in cells if cell["section"] == section]), ""]
    lines += [line for name, reason in result["absent"].items() for line in (f"Left out: {name}: {reason}.", "")]
    lines += ["## What was chosen", "", *_choices(cells), ""]
    lines += [f"## Over {PLAIN}, draw by draw", "", *_PAIRS, "", *_pairs(cells), ""]
    return [*lines, "## Noise and bias apart", "", *_PARTS, "", *_parts(cells)]


def _errors(cells: Sequence[CellResult]) -> list[str]:
    names = _names(cells)
    header = ["world", "n", "d", "ε", "draws", "spherical oracle", "np", "diagonal oracle", "dct oracle", *names]
    rows = []
    for cell in cells:
        oracle = cell["spherical_error"]
        over = [f"{cell[key] / oracle:.2f}" for key in ("np", "diagonal_error", "dct_error")]
        tried = [_quartiles(cell["estimators"].get(name)) for name in names]
        rows.append([*_place(cell), str(cell["trials"]), f"{oracle:.3g}", *over, *tried])
    return table(header, rows) if cells else ["Not tried."]


def _names(cells: Sequence[CellResult]) -> list[str]:
    return [name for name in CONTESTANTS if any(name in cell["estimators"] for cell in cells)]


def _place(cell: CellResult) -> list[str]:
    return [cell["world"], str(cell["count"]), str(cell["dimension"]), f"{cell['epsilon']:g}"]


def _quartiles(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    if row["times"] is None:
        return "always refused"
    low, median, high = row["times"]
    refused = f", {row['refusals']} refused" if row["refusals"] else ""
    return f"{median:.2f} [{low:.2f}, {high:.2f}] ≤ {row['times_most']:.2f}{refused}"


def _choices(cells: Sequence[CellResult]) -> list[str]:
    """What `auto` took, and how often."""
    rows = []
    for cell in cells:
        chosen = cell["estimators"].get("auto", {}).get("choices", {})
        words = ", ".join(f"{word} {times}" for word, times in chosen.items())
        rows.append([cell["section"], *_place(cell), words])
    return table(["", "world", "n", "d", "ε", "auto: basis, and in how many draws"], rows)


def _pairs(cells: Sequence[CellResult]) -> list[str]:
    names = [name for name in _names(cells) if name != PLAIN]
    header = ["", "world", "n", "d", "ε", "draws"] + [word for name in names for word in (name, f"{name}: noise")]
    rows = []
    for cell in cells:
        found = [cell["pairs"].get(name, {}) for name in names]
        tried = [_ratio(pair.get(figure)) for pair in found for figure in ("error", "noise")]
        rows.append([cell["section"], *_place(cell), str(cell["trials"]), *tried])
    return table(header, rows)


def _ratio(ratios: Sequence[float] | None) -> str:
    return Figure.median(ratios).words if ratios else "–"


def _parts(cells: Sequence[CellResult]) -> list[str]:
    names = _names(cells)
    oracles = ("spherical", "diagonal")
    header = ["", "world", "n", "d", "ε", *[f"{name} oracle: noise, bias" for name in oracles]]
    rows = []
    for cell in cells:
        own = [_both(cell, cell[f"{name}_noise"], cell[f"{name}_bias"]) for name in oracles]
        rows.append([cell["section"], *_place(cell), *own, *(_part(cell, name) for name in names)])
    return table([*header, *[f"{name}: noise, bias, seconds" for name in names]], rows)


def _part(cell: CellResult, name: str) -> str:
    row = cell["estimators"].get(name)
    if row is None:
        return ""
    noise = row["noise"][1] if row["noise"] else None
    return f"{_both(cell, noise, row['bias'])}, {row['seconds'][1]:.2g} s"


def _both(cell: CellResult, *parts: float | None) -> str:
    return ", ".join("–" if part is None else f"{part / cell['spherical_error']:.2f}" for part in parts)
