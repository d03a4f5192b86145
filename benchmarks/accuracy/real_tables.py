"""The results of real.py for people, and its promises. A new promise is one more line of REAL_BARS."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.accuracy.resolving import MISSED, VERDICT_HEADER, Figure, Verdict, judged, verdict_rows
from benchmarks.accuracy.running import left_out_lines, minutes_line
from benchmarks.record import provenance_lines, table

CellResult = dict[str, Any]


@dataclass(frozen=True)
class RealBar:
    """A promise: auto's median error is at most so many times the spherical oracle's, and its bias below its noise."""

    table: str
    limit: float
    epsilon: float = 2.0

    def applies(self, cell: CellResult) -> bool:
        return bool(cell["table"] == self.table and cell["epsilon"] == self.epsilon)

    def __str__(self) -> str:
        return f"{self.table}, ε = {self.epsilon:g}: auto ≤ {self.limit} × the spherical oracle, bias below noise"


REAL_BARS = (
    RealBar("kg_chr22_region", 0.85),
    RealBar("pbmc3k, per 10 000", 0.65),
    RealBar("mice_snps", 1.4),
    RealBar("MNIST", 1.1),
)


def verdicts(cells: Sequence[CellResult]) -> list[Verdict]:
    """Every bar and what was measured of it."""
    return [_verdict(bar, [cell for cell in cells if bar.applies(cell)]) for bar in REAL_BARS]


def _verdict(bar: RealBar, tried: Sequence[CellResult]) -> Verdict:
    """The median over the oracle's error; a refusal, or a bias above the noise, misses the bar outright."""
    found = judged(str(bar), bar.limit, {cell["table"]: _ratio(cell) for cell in tried})
    for cell in tried:
        row = cell["estimators"]["auto"]
        if row["noise"] is None or row["bias"] is None:
            return {**found, "state": MISSED}
        found["figure"] += f"; bias {row['bias']:.3g}, noise {row['noise'][1]:.3g}, {row['refusals']} refused"
        if row["refusals"] or row["bias"] >= row["noise"][1]:
            found["state"] = MISSED
    return found


def _ratio(cell: CellResult) -> Figure:
    row = cell["estimators"]["auto"]
    return Figure.median([*row["draws"]["error"], *[None] * row["refusals"]], cell["spherical_error"])


def report(result: dict[str, Any]) -> list[str]:
    cells = result["cells"]
    noise = "SeededNoise (not private)" if result["seeded"] else "SystemNoise (exact, private)"
    lines = ["# Real data, nothing known", "", *provenance_lines(result["run"]), ""]
    lines += [f"{minutes_line(result)} Noise: {noise}.", *left_out_lines(result), ""]
    lines += [*_LEGEND, "", *_errors(cells), ""]
    lines += ["## Noise and bias apart", "", *_PARTS, "", *_parts(cells), ""]
    lines += [line for name, reason in result["absent"].items() for line in (f"Left out: {name}: {reason}.", "")]
    return [*lines, "## Bars", "", *table(VERDICT_HEADER, verdict_rows(result["verdicts"]))]


_LEGEND = [
    "δ = 1e-6, add/remove. Distance of the released mean from the sample mean: medians, quartiles in brackets; × is",
    "the median over the spherical oracle's error. np: error of the sample mean itself, sqrt(tr Σ̂ / n). Oracles: true",
    "centre, clip at the 95 % quantile of the distances, one Gaussian at the full budget, spherical or shaped by the",
    "true standard deviations; root of the expected squared distance. denoised: the same releases, shrunk",
    '(denoise=True). literal: the paper\'s Algorithm 2 (shape="paper").',
]
_PARTS = [
    "noise: length of the stated `noise_stddev`. bias: distance from the sample mean with the noise off (every",
    "Gaussian draw zero): what clipping misses. Seconds are those of one release; the machine may have been busy.",
]


def _errors(cells: Sequence[CellResult]) -> list[str]:
    header = [
        "table",
        "n",
        "d",
        "ε",
        "releases",
        "np",
        "spherical oracle",
        "diagonal oracle",
        "auto",
        "denoised",
        "literal",
    ]
    rows = []
    for cell in cells:
        oracles = [f"{cell[key]:.3g}" for key in ("np", "spherical_error", "diagonal_error")]
        tried = [_error(cell, name) for name in ("auto", "denoised", "literal")]
        rows.append([*_place(cell), str(cell["trials"]), *oracles, *tried])
    return table(header, rows)


def _place(cell: CellResult) -> list[str]:
    return [cell["table"], str(cell["count"]), str(cell["dimension"]), f"{cell['epsilon']:g}"]


def _error(cell: CellResult, name: str) -> str:
    row = cell["estimators"].get(name)
    if row is None:
        return ""
    if row["error"] is None:
        return "always refused"
    low, median, high = row["error"]
    refused = f", {row['refusals']} refused" if row["refusals"] else ""
    return f"{median:.3g} [{low:.3g}, {high:.3g}], {median / cell['spherical_error']:.2f} ×{refused}"


def _parts(cells: Sequence[CellResult]) -> list[str]:
    header = ["table", "n", "d", "ε", "auto: error", "noise", "bias", "spherical oracle: noise", "bias"]
    header += ["diagonal oracle: noise", "bias", "literal: noise", "bias", "auto: seconds"]
    rows = []
    for cell in cells:
        tried = cell["estimators"]
        auto, literal = tried["auto"], tried.get("literal", {})
        oracles = [f"{cell[f'{name}_{part}']:.3g}" for name in ("spherical", "diagonal") for part in ("noise", "bias")]
        own = [_middle(auto, "error"), _middle(auto, "noise"), _number(auto["bias"])]
        other = [_middle(literal, "noise"), _number(literal.get("bias"))]
        rows.append([*_place(cell), *own, *oracles, *other, _middle(auto, "seconds")])
    return table(header, rows)


def _middle(row: dict[str, Any], figure: str) -> str:
    return _number(row[figure][1] if row.get(figure) else None)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
