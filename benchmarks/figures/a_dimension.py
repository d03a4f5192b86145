"""(a) Error against d at fixed n, S1: ours with Σ known, and the others."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.figures.drawing import GUIDE, MEASURED, Figure, row
from benchmarks.figures.spots import Spot, Task, sampling_error

SPECTRUM, EPSILON = "S1", 1.0
OURS = "dimfree known"
PEERS = ("Karwa-Vadhan", "ball", "FriendlyCore", "PLAN", "CoinPress", "Huang-Liang-Yi", "clipped mean")
ALLOWED = 1.5  # growth of our error from the smallest to the largest d


@dataclass(frozen=True)
class Plan:
    count: int
    dimensions: tuple[int, ...]
    draws: int
    draws_of_large: int
    large: int = 10_000


PLANS = {
    "full": Plan(4000, (100, 1000, 10_000, 100_000), 5, 1, 100_000),
    "quick": Plan(4000, (100, 300, 1000), 1, 1),
    "tiny": Plan(300, (12, 15), 1, 1),
}


def tasks(size: str) -> list[Task]:
    plan = PLANS[size]
    return [_spot(plan, dimension) for dimension in plan.dimensions]


def _spot(plan: Plan, dimension: int) -> Spot:
    draws = plan.draws_of_large if dimension >= plan.large else plan.draws
    return Spot(SPECTRUM, dimension, plan.count, EPSILON, (OURS, *PEERS), draws)


def figure(size: str, results: Mapping[Task, dict[str, Any]]) -> Figure:
    plan = PLANS[size]
    errors = {d: results[_spot(plan, d)]["errors"] for d in plan.dimensions}
    found = {name: [errors[d][name] for d in plan.dimensions] for name in (OURS, *PEERS)}
    rows = [
        row(name, MEASURED, d, error)
        for name, line in found.items()
        for d, error in zip(plan.dimensions, line, strict=True)
        if error is not None
    ]
    rows += [row("sample mean (not private)", GUIDE, d, sampling_error(SPECTRUM, d, plan.count)) for d in errors]
    return Figure(
        letter="a",
        name="a_dimension",
        title=f"Error against d: S1, n = {plan.count}, ε = {EPSILON:g}, δ = 1e-6",
        claim="With Σ known the error depends on the spectrum, not on d; that of the others grows with d.",
        found=_sentence(plan, found),
        x="columns d",
        y="Euclidean error (root mean square)",
        rows=rows,
        header=["estimator", *(f"d = {d}" for d in plan.dimensions)],
        table=[[name, *("refused" if e is None else f"{e:.3g}" for e in line)] for name, line in found.items()],
        numbers={"growth": {name: growth(line) for name, line in found.items()}},
    )


def growth(line: list[float | None]) -> float | None:
    """The last error over the first; None where either was refused."""
    return line[-1] / line[0] if line[-1] is not None and line[0] is not None else None


def _sentence(plan: Plan, found: dict[str, list[float | None]]) -> str:
    ours, first, last = growth(found[OURS]), plan.dimensions[0], plan.dimensions[-1]
    if ours is None:
        return f"Not met: {OURS} refused at d = {first} or {last}."
    kept = "met" if ours <= ALLOWED else "NOT met"
    lead = [
        f"d = {d}: {min(_known(found, at)) / found[OURS][at]:.2g}"  # type: ignore[operator]
        for at, d in enumerate(plan.dimensions)
        if _known(found, at)
    ]
    others = {name: growth(found[name]) for name in PEERS}
    grown = ", ".join(f"{name} {'refused' if g is None else f'{g:.3g}'}" for name, g in others.items())
    return (
        f"From d = {first} to {last} our error grows by {ours:.2f} (the bar of {ALLOWED} is {kept}); the others': "
        f"{grown}. Best of the others over ours: {'; '.join(lead)}."
    )


def _known(found: dict[str, list[float | None]], at: int) -> list[float]:
    return [error for name in PEERS if (error := found[name][at]) is not None]
