"""(f) Privacy for free: private over non-private error against n / (‖σ‖₁²/‖σ‖₂²), Σ known."""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.accuracy.running import DELTA
from benchmarks.figures.drawing import GUIDE, MEASURED, Figure, row
from benchmarks.figures.searching import Results
from benchmarks.figures.spots import Spot, Task, sampling_error
from dimfree.accounting.precision import largest_mu
from dimfree.planning.spectra import spectrum

OURS = "dimfree known"
FREE = 1.1  # a ratio that counts as free
_FINE = 25  # points of a curve


@dataclass(frozen=True)
class Plan:
    worlds: tuple[tuple[str, int], ...]
    epsilons: tuple[float, ...]
    counts: tuple[int, ...]


_WORLDS = (("S1", 1000), ("S2", 1000), ("S3", 1000), ("S4", 1000), ("S4", 100), ("S5", 1000))
PLANS = {
    "full": Plan(_WORLDS, (0.5, 1.0, 4.0), (500, 1000, 2000, 4000, 8000, 16_000)),
    "quick": Plan((("S1", 100), ("S3", 300), ("S4", 100)), (1.0, 4.0), (1000, 4000)),
    "tiny": Plan((("S5", 5),), (2.0, 4.0), (600,)),
}


def _spots(size: str) -> list[Spot]:
    plan = PLANS[size]
    grid = itertools.product(plan.epsilons, plan.worlds, plan.counts)
    return [Spot(name, d, count, epsilon, (OURS,), 1) for epsilon, (name, d), count in grid]


def tasks(size: str) -> list[Task]:
    return [*_spots(size)]


def effective_dimension(name: str, dimension: int) -> float:
    """‖σ‖₁²/‖σ‖₂²: d where all are equal, about the number of the large ones where few are."""
    stddevs = spectrum(name, dimension)
    return float(stddevs.sum() ** 2 / np.sum(stddevs**2))


def figure(size: str, results: Results) -> Figure:
    spots = _spots(size)
    ratios = {s: _ratio(s, results[s]["errors"][OURS]) for s in spots}
    places = {s: s.count / effective_dimension(s.spectrum, s.dimension) for s in spots}
    return Figure(
        letter="f",
        name="f_free",
        title="Σ known: error over that of the sample mean; δ = 1e-6",
        claim="Privacy is free, up to logarithms, from n of the order of ‖σ‖₁²/‖σ‖₂² on, whatever the spectrum.",
        found=_sentence(ratios, places),
        x="n / (‖σ‖₁²/‖σ‖₂²)",
        y="private error / non-private error",
        rows=[row(_label(s), MEASURED, places[s], r) for s, r in ratios.items() if r is not None] + _guides(places),
        header=["ε", "spectrum", "d", "‖σ‖₁²/‖σ‖₂²", "n", "n over it", "ratio"],
        table=[
            [
                f"{s.epsilon:g}",
                s.spectrum,
                str(s.dimension),
                f"{effective_dimension(s.spectrum, s.dimension):.3g}",
                str(s.count),
                f"{places[s]:.3g}",
                "refused" if r is None else f"{r:.3f}",
            ]
            for s, r in ratios.items()
        ],
    )


def _ratio(spot: Spot, error: float | None) -> float | None:
    return None if error is None else error / sampling_error(spot.spectrum, spot.dimension, spot.count)


def _guides(places: dict[Spot, float]) -> list[dict[str, Any]]:
    """sqrt(1 + 1/(x·mu²)): noise of one Gaussian release about a known centre, clipped at sqrt(tr A)."""
    low, high = min(places.values()), max(places.values())
    return [
        row(f"ε = {epsilon:g}, centre known", GUIDE, x, math.sqrt(1 + 1 / (x * largest_mu(epsilon, DELTA) ** 2)))
        for epsilon in dict.fromkeys(spot.epsilon for spot in places)
        for x in np.geomspace(low, high, _FINE).tolist()
    ]


def _label(spot: Spot) -> str:
    return f"ε = {spot.epsilon:g}, {spot.spectrum}, d = {spot.dimension}"


def _sentence(ratios: dict[Spot, float | None], places: dict[Spot, float]) -> str:
    parts = []
    for epsilon in dict.fromkeys(s.epsilon for s in ratios):
        of = [s for s in ratios if s.epsilon == epsilon]
        dear = [places[s] for s in of if (r := ratios[s]) is None or r > FREE]
        free = [s for s in of if places[s] > max(dear, default=0.0)]
        last = max(of, key=places.__getitem__)
        reached = f"from x = {min(places[s] for s in free):.3g} on" if free else "NOT reached for all spectra"
        costs = [(r**2 - 1) * places[s] for s in of if (r := ratios[s]) is not None]
        spread = f"{min(costs):.3g} to {max(costs):.3g}" if costs else "all refused"
        parts.append(
            f"ε = {epsilon:g}: {spread}; a ratio of at most {FREE} {reached}, "
            f"{_last(ratios[last])} at x = {places[last]:.3g}"
        )
    return (
        "With x = n/(‖σ‖₁²/‖σ‖₂²), (ratio² - 1)·x, which is one number where all spectra collapse: "
        + "; ".join(parts)
        + "."
    )


def _last(ratio: float | None) -> str:
    return "refused" if ratio is None else f"{ratio:.3f}"
