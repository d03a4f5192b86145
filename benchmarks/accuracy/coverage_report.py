"""What was asked of error bars, and whether the figures of coverage.py meet it; the page for people."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.accuracy.resolving import VERDICT_HEADER, Figure, Verdict, judged, verdict_rows
from benchmarks.accuracy.running import DELTA, left_out_lines, minutes_line
from benchmarks.record import provenance_lines, table

CellResult = dict[str, Any]

COVERAGE = 0.93
KINDS = {  # as they are stored: as they are asked for, and which mean they cover
    "records": ("interval()", "each column by itself: the mean of these very records."),
    "drawn in": (
        "interval(), drawn in",
        "the same intervals, and the mean that the library states them for: of these records, each farther than the"
        " reach from the released centre drawn in to it. Where a law has a long tail the two means differ.",
    ),
    "population": (
        "interval(include_sampling=True)",
        "each column by itself: the mean of the law that the records were drawn from.",
    ),
    "at once": ("interval(simultaneous=True)", "all columns at once: the mean of these very records."),
    "ball": ("confidence_ball()", "all columns at once, by Euclidean distance: the mean of the law."),
    "box": ("confidence_box()", "all columns at once, an interval for each: the mean of the law."),
}
JUDGED = tuple(kind for kind in KINDS if kind != "drawn in")


def verdicts(done: Sequence[CellResult]) -> list[Verdict]:
    """Of each kind: in every cell, and over all cells of each way to release together, which more draws resolve."""
    return [each for kind in JUDGED for each in (_in_cells(done, kind), _in_ways(done, kind))]


def _in_cells(done: Sequence[CellResult], kind: str) -> Verdict:
    found = {cell["name"]: covered([cell], kind) for cell in done}
    return _judged(f"{KINDS[kind][0]}: covers ≥ {COVERAGE} in every cell", found)


def _in_ways(done: Sequence[CellResult], kind: str) -> Verdict:
    ways = dict.fromkeys(cell["way"] for cell in done)
    found = {way: covered([cell for cell in done if cell["way"] == way], kind) for way in ways}
    return _judged(f"{KINDS[kind][0]}: covers ≥ {COVERAGE} for every way, all its cells together", found)


def _judged(target: str, found: dict[str, Figure | None]) -> Verdict:
    return judged(target, COVERAGE, {name: each for name, each in found.items() if each}, at_most=False)


def covered(cells: Sequence[CellResult], kind: str) -> Figure | None:
    """Draws are counted, not columns, which move together; None where no draw offers this kind."""
    shares = [bar["covered"] for cell in cells for bar in made(cell, kind)]
    return Figure.share(sum(shares), len(shares)) if shares else None


def made(cell: CellResult, kind: str) -> list[dict[str, float]]:
    return [bar for bar in cell["kinds"][kind] if bar is not None]


def width(cell: CellResult, kind: str) -> float | None:
    """Mean half width, or radius, over the root mean square of the errors."""
    bars = made(cell, kind)
    error = math.sqrt(np.mean([bar["square"] for bar in bars])) if bars else 0.0
    return float(np.mean([bar["half"] for bar in bars])) / error if error else None


def report(result: dict[str, Any]) -> list[str]:
    done = result["cells"]
    lines = ["# Coverage of error bars", "", *provenance_lines(result["run"]), ""]
    lines += [minutes_line(result), *left_out_lines(result), ""]
    lines += [
        f"ε = 1, δ = {DELTA:g}, add/remove, confidence 0.95; seeded noise. Shares of draws that cover, in brackets",
        "exact binomial 95 % intervals. Where each column is asked for by itself, a draw counts with the share of its",
        "columns, and the interval takes draws for coins, which is the widest case. Draws that were refused are left",
        "out. Half width: mean half width, or radius, over the root mean square of the errors from the same mean; a",
        "normal interval of the right width for one column has 1.96.",
        "",
        "Which mean each kind covers:",
        "",
        *(f"- `{name}`: {words}" for name, words in KINDS.values()),
        "",
        "With missing entries the mean of these records is that over the people who have an entry, and entries are",
        "missing whatever their value, so that the mean of the law is the same. Of groups, the mean is that of the",
        "group, and a draw counts with the mean over its groups. Ball and box cover the mean of these records where a",
        "release says nothing of the population; that is counted as they state it.",
        "",
        "told σ: told the covariance of the law. core: told nothing, records that agree are averaged. columns: told",
        "nothing, every column by itself.",
        "",
    ]
    lines += ["## What was asked", "", *table(VERDICT_HEADER, verdict_rows(result["verdicts"])), ""]
    header = ("release", "law", "n", "d", "method", "draws", "answered")
    names = [f"`{name}`" for name, _ in KINDS.values()]
    lines += ["## Coverage", "", *table([*header, *names], [[*_place(c), *_covered(c)] for c in done]), ""]
    return [*lines, "## Half width", "", *table([*header[:4], *names], [[*_place(c)[:4], *_widths(c)] for c in done])]


def _place(cell: CellResult) -> list[str]:
    place = [cell["way"], cell["law"], str(cell["count"]), str(cell["dimension"]), ", ".join(cell["methods"])]
    return [*place, str(cell["draws"]), str(cell["answered"])]


def _covered(cell: CellResult) -> list[str]:
    figures = [covered([cell], kind) for kind in KINDS]
    return [figure.words if figure else "–" for figure in figures]


def _widths(cell: CellResult) -> list[str]:
    found = [width(cell, kind) for kind in KINDS]
    return ["–" if each is None else f"{each:.2f}" for each in found]
