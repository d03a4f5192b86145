"""The results of real.py for people, and its promises. A new promise is one more line of REAL_BARS."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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


def verdicts(cells: Sequence[CellResult]) -> list[dict[str, Any]]:
    """Every bar, what was measured, and whether that meets it; None: not tried."""
    found = []
    for bar in REAL_BARS:
        tried = [_verdict(bar, cell) for cell in cells if bar.applies(cell)]
        found += [{"bar": str(bar), **verdict} for verdict in tried or [{"measured": "not tried", "met": None}]]
    return found


def _verdict(bar: RealBar, cell: CellResult) -> dict[str, Any]:
    row = cell["estimators"]["auto"]
    refused = f", {row['refusals']} of {cell['trials']} refused" if row["refusals"] else ""
    if row["error"] is None or row["bias"] is None:
        return {"measured": f"no figures{refused}", "met": False}
    ratio, noise, bias = row["error"][1] / cell["spherical_error"], row["noise"][1], row["bias"]
    met = ratio <= bar.limit and bias < noise and not row["refusals"]
    return {"measured": f"{ratio:.3f} ×, bias {bias:.3g}, noise {noise:.3g}{refused}", "met": met}


def report(result: dict[str, Any]) -> list[str]:
    cells = result["cells"]
    noise = "SeededNoise (not private)" if result["seeded"] else "SystemNoise (exact, private)"
    lines = ["# Real data, nothing known", "", *provenance_lines(result["run"]), ""]
    lines += [f"Measuring took {result['minutes']:.0f} minutes, added up over the processes. Noise: {noise}.", ""]
    lines += [*_LEGEND, "", *_errors(cells), ""]
    lines += ["## Noise and bias apart", "", *_PARTS, "", *_parts(cells), ""]
    lines += [line for name, reason in result["absent"].items() for line in (f"Left out: {name}: {reason}.", "")]
    rows = [[verdict["bar"], verdict["measured"], _WORDS[verdict["met"]]] for verdict in result["bars"]]
    return [*lines, "## Bars", "", *table(["bar", "measured", "met"], rows)]


_WORDS = {True: "yes", False: "NO", None: "not tried"}
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
