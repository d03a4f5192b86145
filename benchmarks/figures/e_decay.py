"""(e) Exponential decay: with nothing known the error is that of a known Σ, from enough records on."""

from dataclasses import dataclass
from typing import Any

from benchmarks.figures.drawing import MEASURED, Figure, row
from benchmarks.figures.searching import Results
from benchmarks.figures.spots import Spot, Task

SPECTRUM, EPSILON = "S5", 1.0
KNOWN, UNKNOWN = "dimfree known", "dimfree"
ALLOWED = 1.25  # the ratio that counts as a match


@dataclass(frozen=True)
class Plan:
    places: tuple[tuple[int, tuple[int, ...]], ...]  # d and the numbers of records
    draws: int


_COUNTS = (500, 1000, 2000, 4000, 8000, 16_000)
PLANS = {
    "full": Plan(((100, _COUNTS), (1000, _COUNTS), (10_000, _COUNTS[:4])), 3),
    "quick": Plan(((100, _COUNTS[1:5]), (300, _COUNTS[1:4])), 1),
    "tiny": Plan(((5, (600,)),), 1),
}


def _spots(size: str) -> list[Spot]:
    plan = PLANS[size]
    return [
        Spot(SPECTRUM, d, count, EPSILON, (KNOWN, UNKNOWN), plan.draws if d * count < 2e7 else 1)
        for d, counts in plan.places
        for count in counts
    ]


def tasks(size: str) -> list[Task]:
    return [*_spots(size)]


def figure(size: str, results: Results) -> Figure:
    spots = _spots(size)
    ratios = {spot: ratio(results[spot]) for spot in spots}
    return Figure(
        letter="e",
        name="e_decay",
        title=f"σ_i = e^-(i-1): error with nothing known over error with Σ known; ε = {EPSILON:g}, δ = 1e-6",
        claim="Under exponential decay an unknown Σ costs no more than logarithms over a known one.",
        found=_sentence(size, ratios),
        x="records n",
        y="error with nothing known / with Σ known",
        rows=[row(f"d = {s.dimension}", MEASURED, s.count, r) for s, r in ratios.items() if r is not None],
        header=["d", "n", "Σ known", "nothing known", "ratio"],
        table=[
            [str(s.dimension), str(s.count), *(_words(results[s]["errors"][n]) for n in (KNOWN, UNKNOWN)), _words(r)]
            for s, r in ratios.items()
        ],
    )


def ratio(result: dict[str, Any]) -> float | None:
    known, unknown = (result["errors"][name] for name in (KNOWN, UNKNOWN))
    return None if known is None or unknown is None else unknown / known


def _words(value: float | None) -> str:
    return "refused" if value is None else f"{value:.3g}"


def _sentence(size: str, ratios: dict[Spot, float | None]) -> str:
    parts = []
    for d, counts in PLANS[size].places:
        of = {spot.count: r for spot, r in ratios.items() if spot.dimension == d}
        far = [n for n in counts if (found := of[n]) is None or found > ALLOWED]
        near = [n for n in counts if n > max(far, default=0)]
        reached = f"within {ALLOWED} from n = {near[0]} on" if near else f"NOT within {ALLOWED} at any n tried"
        parts.append(
            f"d = {d}: {_words(of[counts[0]])} at n = {counts[0]}, {_words(of[counts[-1]])} at {counts[-1]}, {reached}"
        )
    return "Ratio of the errors: " + "; ".join(parts) + "."
