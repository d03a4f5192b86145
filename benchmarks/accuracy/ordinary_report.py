"""The results of ordinary.py for people: the verdicts, the tables of mixed units, the laws, the seconds."""

from collections.abc import Sequence
from typing import Any

from benchmarks.accuracy.ordinary_cells import LAW, TABLE
from benchmarks.accuracy.ordinary_contestants import CORE, OURS, RELATIVE, TOTAL
from benchmarks.accuracy.ordinary_peers import PEERS
from benchmarks.accuracy.ordinary_verdicts import ratio_of
from benchmarks.accuracy.resolving import VERDICT_HEADER, Figure, verdict_rows
from benchmarks.accuracy.running import left_out_lines, minutes_line
from benchmarks.record import provenance_lines, table

CellResult = dict[str, Any]

_DETAILS = ("off", "of them marked", "unresolved", "refused", "covered", "covered, drawn in", "ball", "half width", "s")


def report(result: dict[str, Any]) -> list[str]:
    tables, laws = ([c for c in result["cells"] if c["section"] == section] for section in (TABLE, LAW))
    lines = ["# Ordinary tables", "", *provenance_lines(result["run"]), ""]
    lines += [
        minutes_line(result),
        *left_out_lines(result),
        "",
        *_costs(result["cells"]),
        "",
    ]
    lines += [*_legend(result), ""]
    lines += ["## What was asked", "", *table(VERDICT_HEADER, verdict_rows(result["verdicts"])), ""]
    if tables:
        lines += ["## Tables: error in deviations of a column", "", *_comparison(tables), ""]
        lines += [line for name in (RELATIVE, TOTAL) for line in _section(tables, name)]
        lines += ["## Tables: Euclidean error", "", *_euclidean(tables), ""]
    for dimension in sorted({cell["dimension"] for cell in laws}):
        found = [cell for cell in laws if cell["dimension"] == dimension]
        lines += [f"## Laws, d = {dimension}", "", *_laws(found), ""]
    return [*lines, "## Seconds", "", *_speed(result["speed"])]


def _costs(cells: Sequence[CellResult]) -> list[str]:
    """Minutes of each group: the tables, and the laws of each size."""
    minutes: dict[str, float] = {}
    for cell in cells:
        law = f"laws, d = {cell['dimension']}, n = {cell['count']}"
        group = law if cell["section"] == LAW else "tables"
        minutes[group] = minutes.get(group, 0.0) + cell["seconds"] / 60
    return table(["group", "minutes"], [[group, f"{spent:.1f}"] for group, spent in minutes.items()])


def _legend(result: dict[str, Any]) -> list[str]:
    return [
        f"δ = {result['delta']:g}, add/remove; the same records for everybody. Errors: of the mean of these records.",
        "z-rms: root mean square over columns of error / the column's own standard deviation, constant columns left",
        "out; median over draws, exact 95 % interval of it in brackets, refused draws infinitely far off. Noise:",
        "SeededNoise (not private), but for `exact noise`. core: the core route on all columns. true units: the table",
        "divided by its true deviations first. Laplace, Gaussian: noise in every column between the true bounds of",
        "these records, widened; the number of records is public for them and costs nothing; Laplace by the better of",
        "basic and exact composition; a record moves a sum by the width, centred: by half of it. off: share of columns",
        "off by more than half a deviation, and how many of them the release marks unresolved. covered: of 95 %",
        "intervals, by these records' mean; drawn in: by the mean of the records drawn in to `release.reach`. ball: of",
        "95 % balls. half width: of the intervals, over the rms error. oracle: clips about the true mean at the radius",
        "that is best in hindsight over the draws of a law, all precision in one Gaussian; errors over the oracle's:",
        "root mean squares. law: coverage of the law's mean by intervals for the population. first column:",
        "of these records; of mixed laws it is the one unlike the others. SNR = n·mu/sqrt(d).",
        "Halves: constants may be looked at on settled tables and laws, not on those held out.",
    ]


def _place(cell: CellResult) -> list[str]:
    size = f"{cell['count']} × {cell['dimension']}"
    return [cell["world"], cell["half"], size, f"{cell['epsilon']:g}", f"{cell['snr']:.0f}", str(cell["draws"])]


_PLACE = ["world", "half", "n × d", "ε", "SNR", "draws"]


def _comparison(cells: Sequence[CellResult]) -> list[str]:
    names = [name for name in (*OURS, *PEERS) if any(name in cell["estimators"] for cell in cells)]
    rows = [[*_place(cell), *(_z(cell["estimators"].get(name)) for name in names)] for cell in cells]
    return table([*_PLACE, *names], rows)


def _z(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    if row["z"] is None:
        return f"{row['refusals']} refused"
    refused = f", {row['refusals']} refused" if row["refusals"] else ""
    return Figure.median(row["draws"]["z"]).words + refused


def _section(cells: Sequence[CellResult], name: str) -> list[str]:
    tried = [cell for cell in cells if name in cell["estimators"]]
    rows = [[*_place(cell), *_details(cell["estimators"][name])] for cell in tried]
    return [f"## Tables: {name}, in detail", "", *table([*_PLACE, *_DETAILS], rows), ""] if rows else []


def _details(row: dict[str, Any]) -> list[str]:
    """The columns of _DETAILS."""
    off = "" if not row["columns"] else f"{row['off'] / row['columns']:.2%}"
    marks = ["not said" if row[key] is None else str(row[key]) for key in ("off_marked", "unresolved")]
    shares = [_number(row[key]) for key in ("covered", "covered_reach", "ball", "width_over_rms", "seconds")]
    return [off, *marks, str(row["refusals"]), *shares]


def _euclidean(cells: Sequence[CellResult]) -> list[str]:
    """Median errors, and over the core's."""
    rows = []
    for cell in cells:
        found = [cell["estimators"].get(name, {}).get("error") for name in (TOTAL, RELATIVE, CORE)]
        ratio = _number(ratio_of(cell, TOTAL, CORE, "error"))
        rows.append([*_place(cell), *map(_number, found), ratio])
    return table([*_PLACE, TOTAL, RELATIVE, CORE, "total / core"], rows)


def _laws(cells: Sequence[CellResult]) -> list[str]:
    """Error over the oracle's for everybody; refusals and error bars of `total`; some error bars of `relative`."""
    names = [name for name in OURS if any(name in cell["estimators"] for cell in cells)]
    header = [*_PLACE, *(f"{name} / oracle" for name in names), "total / core", "refused (total, core)", "covered"]
    header += ["drawn in", "ball", "ball, drawn in", "half width", "law", "core covered"]
    header += ["first column", "relative covered", "relative, first column", "relative ball"]
    return table(header, [_law_row(cell, names) for cell in cells])


def _law_row(cell: CellResult, names: Sequence[str]) -> list[str]:
    tried = cell["estimators"]
    over = [_number(tried.get(name, {}).get("over_oracle")) for name in names]
    refused = ", ".join(str(tried[name]["refusals"]) for name in (TOTAL, CORE) if name in tried)
    keys = ("covered", "covered_reach", "ball", "ball_reach", "width_over_rms", "covered_law")
    bars = [_number(tried.get(TOTAL, {}).get(key)) for key in keys]
    others = [(CORE, "covered"), (TOTAL, "covered_first")]
    others += [(RELATIVE, key) for key in ("covered", "covered_first", "ball")]
    last = [_number(tried.get(name, {}).get(key)) for name, key in others]
    return [*_place(cell), *over, _number(ratio_of(cell, TOTAL, CORE, "error_rms")), refused, *bars, *last]


def _speed(points: Sequence[dict[str, Any]]) -> list[str]:
    rows = [[p["name"], f"{p['first']:.2f}", f"{p['later']:.2f}", f"{p['limit']:g}"] for p in points]
    words = "relative, ε = 1, exact noise, a fresh process; the first release also fills caches."
    return [words, "", *table(["n × d", "first", "later", "asked for"], rows)] if rows else ["Not tried."]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
