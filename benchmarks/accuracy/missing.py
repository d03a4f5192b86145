"""Tables with missing entries: on_missing="column" beside the complete table, and what "drop" makes of it.

    python -m benchmarks.accuracy.missing [--draws N] [--tables PATTERN] [--out FOLDER]

In every draw each entry is missing with the same probability, by itself. The error of a release is its distance from
the mean over those who have the column, each column in its own standard deviations, root mean square over columns and
draws (z-rms). Two tables were looked at while constants were settled; wine and breast cancer are held out.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.ordinary_tables import HELD_OUT, SETTLED, TABLES
from benchmarks.accuracy.running import DELTA, RESULTS, SEED, without_paths
from benchmarks.accuracy.spectra import Floats
from benchmarks.record import provenance, provenance_lines, table, write_results
from dimfree import SeededNoise, release_mean

DRAWS, GAPS, EPSILONS, ALLOWED = 100, 0.02, (1.0, 4.0), 1.2
HALVES = {"diabetes": SETTLED, "clinical 2000": SETTLED, "wine": HELD_OUT, "breast cancer": HELD_OUT}
WAYS = ("complete", "column", "drop")


def measure(name: str, epsilon: float, draws: int, seed: int) -> dict[str, Any]:
    """z-rms and refusals of every way, at one budget."""
    rng = np.random.default_rng(seed)
    whole = TABLES[name].make(rng)
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    for draw in range(draws):
        gaps = np.where(rng.random(whole.shape) < GAPS, np.nan, whole)
        for way in WAYS:
            squares = _squares(whole if way == "complete" else gaps, way, epsilon, whole.std(axis=0), seed + draw)
            found[way] += [] if squares is None else [squares]
    ways = {way: {**_roots(squares), "refused": draws - len(squares)} for way, squares in found.items()}
    return {"table": name, "half": HALVES[name], "shape": whole.shape, "epsilon": epsilon, "draws": draws, "ways": ways}


def _squares(X: Floats, way: str, epsilon: float, spread: Floats, seed: int) -> float | None:
    """The mean squared error of one release; None: refused."""
    rule: Any = {"complete": "raise"}.get(way, way)
    release = release_mean(
        X, epsilon=epsilon, delta=DELTA, objective="relative", on_missing=rule, noise=SeededNoise(seed)
    )
    if release.refused:
        return None
    return float(np.mean(((release.mean - np.nanmean(X, axis=0)) / np.where(spread > 0, spread, 1.0)) ** 2))


def _roots(squares: list[float]) -> dict[str, float | None]:
    """z-rms of the median draw, and over all draws: one column that is lost in one draw decides the latter."""
    both = (np.median(squares), np.mean(squares)) if squares else (None, None)
    return {
        name: None if value is None else float(np.sqrt(value)) for name, value in zip(("z", "all"), both, strict=True)
    }


def report(result: dict[str, Any]) -> list[str]:
    """The table for people."""
    cells = result["cells"]
    asked = [cell for cell in cells if (ratio := _ratio(cell)) is not None and ratio > ALLOWED]
    verdict = "all within it" if not asked else "not: " + ", ".join(f"{c['table']} at {c['epsilon']:g}" for c in asked)
    return [
        "# Missing entries",
        "",
        f"Each entry is missing with probability {GAPS:g}; δ = {DELTA:g}, objective='relative', "
        f"{cells[0]['draws']} draws. z-rms: root mean square of the error in standard deviations of each column, from "
        "the mean over those who have it; median over draws. over all: ratio of root mean squares over all draws, "
        "which one column that is lost in one draw may decide.",
        "",
        *provenance_lines(result["run"]),
        "",
        *table(
            ("table", "half", "n × d", "ε", "complete", "column", "ratio", "over all", "drop"),
            [_row(cell) for cell in cells],
        ),
        "",
        f"Asked: with missing entries at most {ALLOWED:g} times the error of the complete table; {verdict}.",
    ]


def _ratio(cell: dict[str, Any], of: str = "z") -> float | None:
    complete, column = (cell["ways"][way][of] for way in ("complete", "column"))
    return None if complete is None or column is None else column / complete


def _row(cell: dict[str, Any]) -> list[str]:
    rows, columns = cell["shape"]
    ratios = ["" if (ratio := _ratio(cell, of)) is None else f"{ratio:.2f}" for of in ("z", "all")]
    shown = {way: _shown(cell["ways"][way], cell["draws"]) for way in WAYS}
    middle = [shown["complete"], shown["column"], *ratios, shown["drop"]]
    return [cell["table"], cell["half"], f"{rows} × {columns}", f"{cell['epsilon']:g}", *middle]


def _shown(way: dict[str, Any], draws: int) -> str:
    if way["z"] is None:
        return "refused"
    return f"{way['z']:.3g}" + (f" ({way['refused']} of {draws} refused)" if way["refused"] else "")


def main(arguments: Sequence[str] | None = None) -> None:
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--tables", default="", help="a pattern for names of tables; nothing is written then")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args(given)
    names = [name for name in HALVES if re.search(options.tables, name)]
    result = {"run": provenance("benchmarks.accuracy.missing", without_paths(given), SEED)}
    result["cells"] = [measure(name, epsilon, options.draws, SEED) for name in names for epsilon in EPSILONS]
    lines = report(result)
    print("\n".join(lines))
    if folder := options.out or (None if options.tables else RESULTS):
        write_results(folder, "missing", result, lines)


if __name__ == "__main__":
    main()
