"""How many records the core looks at, and what the release is worth: the error against `core_sample`.

    python -m benchmarks.accuracy.core_sample [--draws N] [--wide N] [--out FOLDER]

The core's time grows with the square of its sample. The error is the distance from the mean of the records, which shows
what privacy adds; its median over draws. Nothing is told, and objective="total". The default is the last column. Where
columns are read one by one there is no core, and the error is nearly the same for every sample.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.accuracy.running import DELTA, RESULTS, SEED, without_paths
from benchmarks.record import provenance, provenance_lines, table, write_results
from dimfree import Options, SeededNoise, release_mean
from dimfree.planning.spectra import spectrum

EPSILON, DRAWS, WIDE_DRAWS, WIDE = 1.0, 10, 3, 20_000
SIZES = ((8000, 100), (8000, 1000), (5000, WIDE))  # records, columns
SPECTRA = ("S1", "S2", "S3")
SAMPLES: tuple[int | Literal["auto"], ...] = (1000, 2000, 3000, "auto")


def measure(count: int, dimension: int, name: str, draws: int) -> dict[str, Any]:
    """The median error of every sample, all of them on the same records, and how often each was refused."""
    stddevs, errors = spectrum(name, dimension), np.full((draws, len(SAMPLES)), np.nan)
    for draw in range(draws):
        X = np.random.default_rng([SEED, draw]).normal(size=(count, dimension)) * stddevs
        for place, sample in enumerate(SAMPLES):
            options = Options(core_sample=sample)
            release = release_mean(X, epsilon=EPSILON, delta=DELTA, options=options, noise=SeededNoise(SEED + draw))
            if not release.refused:
                errors[draw, place] = np.linalg.norm(release.mean - X.mean(axis=0))
    answered = ~np.isnan(errors)
    found = [
        float(np.median(each[seen])) if seen.any() else None for each, seen in zip(errors.T, answered.T, strict=True)
    ]
    refused = (~answered).sum(axis=0).tolist()
    return {"n": count, "d": dimension, "spectrum": name, "draws": draws, "errors": found, "refused": refused}


def report(result: dict[str, Any]) -> list[str]:
    """The table for people."""
    named = [f"{sample}" if sample == "auto" else f"{sample} records" for sample in SAMPLES]
    return [
        "# Error against the core's sample",
        "",
        f"ε = {EPSILON:g}, δ = {DELTA:g}, add/remove, Gaussian records, nothing told, objective='total'. Euclidean "
        "distance from the mean of the records; median over draws. auto: 4096 records, or more where the stability "
        "test asks for more.",
        "",
        *provenance_lines(result["run"]),
        "",
        *table(("n", "d", "spectrum", "draws", *named), [_row(cell) for cell in result["cells"]]),
    ]


def _row(cell: dict[str, Any]) -> list[str]:
    shown = ["refused" if error is None else f"{error:.3g}" for error in cell["errors"]]
    asides = [
        f" ({each} refused)" if each and error is not None else ""
        for each, error in zip(cell["refused"], cell["errors"], strict=True)
    ]
    return [str(cell[key]) for key in ("n", "d", "spectrum", "draws")] + [
        a + b for a, b in zip(shown, asides, strict=True)
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--wide", type=int, default=WIDE_DRAWS, help=f"draws of {WIDE} columns; 0: none")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(given)
    result: dict[str, Any] = {"run": provenance("benchmarks.accuracy.core_sample", without_paths(given), SEED)}
    result["cells"] = [
        measure(count, dimension, name, draws)
        for count, dimension in SIZES
        for name in SPECTRA
        if (draws := options.wide if dimension == WIDE else options.draws)
    ]
    lines = report(result)
    print("\n".join(lines))
    write_results(options.out, "core_sample", result, lines)


if __name__ == "__main__":
    main()
