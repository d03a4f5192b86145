"""What was asked of plans, and whether the figures of planned.py meet it; the page for people."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benchmarks.accuracy.resolving import VERDICT_HEADER, Figure, Verdict, judged, judged_within, verdict_rows
from benchmarks.accuracy.running import DELTA
from benchmarks.record import table

CellResult = dict[str, Any]

HONEST = 1.15  # measured over predicted, and its inverse
LEAST = 10  # draws that the normal approximation takes; with fewer there is no interval
SELDOM = 0.01  # by which the share of answers may fall below what plan states
ERROR, ADDED = "error", "added"
WORDS = {ERROR: "error", ADDED: "what privacy adds"}
ROUTES = ("told nothing, total", "told σ, total", "told nothing, relative", "n or ε found")


def verdicts(done: Sequence[CellResult]) -> list[Verdict]:
    """For each route; skewed records, of which plan does not speak, are left out."""
    judged_cells = [cell for cell in done if cell["data"] == "gaussian"]
    found = [_within(judged_cells, route, figure) for route in ROUTES for figure in (ERROR, ADDED)]
    return [*found, _answers(judged_cells)]


def _within(done: Sequence[CellResult], route: str, figure: str) -> Verdict:
    target = f"{route}: {WORDS[figure]} within 15 % of the planned one"
    ratios = {cell["name"]: ratio(cell, figure) for cell in done if route_of(cell) == route}
    return judged_within(target, HONEST, {name: each for name, each in ratios.items() if each})


def _answers(done: Sequence[CellResult]) -> Verdict:
    """All draws together: one cell has too few to tell 0.99 from less."""
    draws = sum(cell["draws"] for cell in done)
    target = f"share of answers at least the planned one less {SELDOM:g}"
    if not draws:
        return judged(target, 0.0, {})
    stated = sum(cell["predicted"]["chance"] * cell["draws"] for cell in done) / draws
    share = Figure.share(sum(answered(cell) for cell in done), draws)
    return judged(target, stated - SELDOM, {f"all cells, {stated:.4f} planned": share}, at_most=False)


def route_of(cell: CellResult) -> str:
    if cell["solved_for"] != "accuracy":
        return ROUTES[3]
    return ROUTES[2] if cell["objective"] == "relative" else ROUTES[cell["knowledge"] != "nothing"]


def answered(cell: CellResult) -> int:
    return sum(error is not None for error in cell["measured"][ERROR])


def ratio(cell: CellResult, figure: str) -> Figure | None:
    """Root mean square over the draws that were answered, over the predicted one; None where there is either none."""
    values = [value for value in cell["measured"][figure] if value is not None]
    expected = planned(cell, figure)
    if not values or not math.isfinite(expected):
        return None
    found = Figure.rms(values, over=expected)
    return found if len(values) >= LEAST else replace(found, low=-math.inf, high=math.inf)


def planned(cell: CellResult, figure: str) -> float:
    parts = cell["predicted"]
    return float(parts["error"] if figure == ERROR else math.hypot(parts["noise"], parts["bias"]))


def leaning(figure: Figure | None) -> str:
    """Whether the plan surely promised too much or too little."""
    if figure is None:
        return ""
    return "optimistic" if figure.low > 1 else "cautious" if 0 <= figure.high < 1 else ""


def report(result: dict[str, Any]) -> list[str]:
    done = result["cells"]
    lines = [
        f"δ = {DELTA:g}; mean at distance 10·sqrt(tr Σ); seeded noise; add/remove unless said. Each row is a question",
        "to `dimfree.plan` and releases on as many draws of Gaussian records as it speaks of. Lengths are root mean",
        "squares, as plan states them: Euclidean with the objective total, and with relative over the columns, each in",
        "its own standard deviations. error: distance of the released mean from the true mean. Added: its distance",
        "from the mean of these records, which plan calls noise and bias. Ratios: measured over planned, root mean",
        "square over the draws that were answered, in brackets a 95 % interval by the normal approximation to the mean",
        f"of the squares (none below {LEAST} draws). Optimistic: the whole interval is above 1, so that",
        "plan promised too much; cautious: below 1. The last column goes by what privacy adds, else by the error.",
        "stated / planned: length of the noise that releases state over the noise that plan predicts, median with its",
        "exact interval by order statistics (none below six draws). within: share of the draws whose error is within",
        "the distance that plan gives a confidence of 0.95, a draw that was refused left out. chance: plan's lower",
        "bound for the probability of an answer. Shares have exact binomial intervals.",
        "",
    ]
    lines += ["## What was asked", "", *table(VERDICT_HEADER, verdict_rows(result["verdicts"])), ""]
    for title, data in (("Gaussian records", True), ("Skewed records, of which plan does not speak", False)):
        chosen = [cell for cell in done if (cell["data"] == "gaussian") is data]
        lines += [f"## {title}", "", *table(_ERRORS, [_error_row(cell) for cell in chosen]), ""]
    return [*lines, "## Answers and distances", "", *table(_SHARES, [_share_row(cell) for cell in done])]


_ERRORS = ("request", "n", "ε", "method", "draws", "planned error", "error / planned", "planned addition",
           "added / planned", "stated / planned noise", "plan is")  # fmt: skip
_SHARES = ("request", "draws", "answered", "chance", "planned distance", "within")


def _error_row(cell: CellResult) -> list[str]:
    both = [ratio(cell, figure) for figure in (ERROR, ADDED)]
    shown = [text for figure, each in zip((ERROR, ADDED), both, strict=True) for text in _beside(cell, figure, each)]
    place = [cell["name"], str(cell["count"]), f"{cell['epsilon']:.3g}", cell["predicted"]["method"]]
    return [*place, str(cell["draws"]), *shown, _stated(cell), leaning(both[1]) or leaning(both[0])]


def _beside(cell: CellResult, figure: str, found: Figure | None) -> list[str]:
    expected = planned(cell, figure)
    words = f"{expected:.3g}" if math.isfinite(expected) else "refused"
    return [words, found.words if found else "refused"]


def _stated(cell: CellResult) -> str:
    lengths = [value for value in cell["measured"]["stated"] if value is not None]
    noise = cell["predicted"]["noise"]
    return Figure.median(lengths, over=noise).words if lengths and 0 < noise < math.inf else ""


def _share_row(cell: CellResult) -> list[str]:
    count, limit = answered(cell), cell["predicted"]["error_within"]
    near = sum(error <= limit for error in cell["measured"][ERROR] if error is not None)
    words = Figure.share(near, count).words if count else ""
    shares = [Figure.share(count, cell["draws"]).words, f"{cell['predicted']['chance']:.4f}", f"{limit:.3g}", words]
    return [cell["name"], str(cell["draws"]), *shares]
