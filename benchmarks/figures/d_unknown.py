"""(d) Nothing known: records needed against d, where the theorem's d^(1/4) term is the largest of its terms."""

from dataclasses import asdict, dataclass

import numpy as np

from benchmarks.accuracy.resolving import Figure as Slope
from benchmarks.accuracy.resolving import Verdict, judged
from benchmarks.figures.drawing import GUIDE, Figure, row
from benchmarks.figures.searching import Line, Results, Search, needed_row, needed_words, slope_along_d
from benchmarks.figures.spots import Task
from dimfree.planning.question import spectrum

EPSILON, BOUND = 1.0, 0.25


@dataclass(frozen=True)
class Plan:
    """Series (spectrum, accuracy, estimator) along the dimensions."""

    series: tuple[tuple[str, float, str], ...]
    dimensions: tuple[int, ...]
    most_entries: int
    most_records: int
    draws: int


_SERIES = (("S1", 1.0, "dimfree"), ("power:1.5", 0.15, "dimfree"))
PLANS = {
    "full": Plan(_SERIES, (300, 1000, 3000, 10_000), 60_000_000, 64_000, 3),
    "quick": Plan(_SERIES, (300, 700, 1500), 3_000_000, 16_000, 1),
    "tiny": Plan((("S1", 3.0, "ball"),), (12, 15, 20), 20_000, 800, 1),
}


def in_regime(search: Search) -> bool:
    """d >= (‖σ‖₁/α)²: there d^{1/4}·sqrt(‖σ‖₁/α)/ε is at least ‖σ‖₁/(αε)."""
    return search.dimension >= (search.clipping * search.epsilon) ** 2


def searches(size: str, name: str, accuracy: float, estimator: str) -> list[Search]:
    plan = PLANS[size]
    return [
        Search(
            name, d, EPSILON, estimator, accuracy, plan.most_entries, plan.most_records, plan.draws if d < 3000 else 1
        )
        for d in plan.dimensions
    ]


def tasks(size: str) -> list[Task]:
    return [search for series in PLANS[size].series for search in searches(size, *series)]


def figure(size: str, results: Results) -> Figure:
    each = {_label(*series): searches(size, *series) for series in PLANS[size].series}
    regime = {label: [s for s in of if in_regime(s)] for label, of in each.items()}
    lines = {label: slope_along_d(of, results) for label, of in regime.items()}
    rows = [needed_row(label, s.dimension, results[s]) for label, of in each.items() for s in of]
    return Figure(
        letter="d",
        name="d_unknown",
        title=f"Nothing known: records needed against d; ε = {EPSILON:g}, δ = 1e-6",
        claim=(
            "With a diagonal Σ that is unknown, n grows with d no faster than d^(1/4), up to logarithms, where ‖σ‖₁ "
            "stays bounded. Regime: d ≥ (‖σ‖₁/α)², where the term d^(1/4)·sqrt(‖σ‖₁/α)/ε outweighs ‖σ‖₁/(αε)."
        ),
        found=_sentence(regime, lines, results),
        x="columns d",
        y="records needed",
        rows=rows + _guide(rows),
        header=[
            "spectrum, accuracy, estimator",
            *(f"d = {d}" for d in PLANS[size].dimensions),
            "in the regime",
            "slope",
        ],
        table=[
            [
                label,
                *(needed_words(results[s]) for s in of),
                f"{len(regime[label])} of {len(of)}",
                "–" if (line := lines[label]) is None else line.words,
            ]
            for label, of in each.items()
        ],
        numbers={"slopes": {label: None if line is None else asdict(line) for label, line in lines.items()}},
        verdicts=[verdict(regime, lines)],
    )


def verdict(regime: dict[str, list[Search]], lines: dict[str, Line | None]) -> Verdict:
    """Of ours: slopes with two standard errors to either side; points of a line are not draws."""
    found = {
        label: Slope(line.slope, line.slope - 2 * line.error, line.slope + 2 * line.error, len(regime[label]))
        for label, line in lines.items()
        if label.startswith("dimfree") and line is not None and line.error is not None
    }
    return judged(f"figure (d): slope in d ≤ {BOUND}", BOUND, found)


def _label(name: str, accuracy: float, estimator: str) -> str:
    return f"{estimator}, {name}, α = {accuracy:g}"


def _guide(rows: list[dict[str, float]]) -> list[dict[str, float]]:
    """A line of the largest slope that the theorem allows, through the first point."""
    first, last = rows[0], max(one["x"] for one in rows)
    ends = [(x, first["y"] * (x / first["x"]) ** BOUND) for x in (first["x"], last)]
    return [row("slope 1/4", GUIDE, x, y) for x, y in ends]


def _sentence(regime: dict[str, list[Search]], lines: dict[str, Line | None], results: Results) -> str:
    parts = []
    for label, of in regime.items():
        line = lines[label]
        ends = [s for s in of if results[s]["records"] is None]
        if line is None:
            parts.append(f"{label}: no slope ({len(ends)} of {len(of)} searches came to their end)")
            continue
        sums = [float(np.sum(spectrum(s.spectrum, s.dimension))) for s in of]
        parts.append(
            f"{label}: slope {line.words} over d = {of[0].dimension} … {of[-1].dimension} (‖σ‖₁ {min(sums):.3g} … "
            f"{max(sums):.3g}), at most 1/4: {line.verdict(BOUND)}"
        )
    return "; ".join(parts) + "."
