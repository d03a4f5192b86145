"""Nothing known, on real tables: how far the released mean is from the sample mean, noise and bias apart.

    python -m benchmarks.accuracy.real --data FOLDER [--budget MINUTES] [--epsilons 2 1 4] [--trials N] [--only NAME]

FOLDER holds the files that real_data.py names; none of them, nor any record, enters the results.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse

from benchmarks.accuracy.noise_doubles import SilentNoise
from benchmarks.accuracy.real_data import TABLES, Missing, Rows
from benchmarks.accuracy.real_tables import report, verdicts
from benchmarks.accuracy.resolving import quartiles
from benchmarks.accuracy.running import DELTA, Way, add_options, measured, publish
from benchmarks.accuracy.spectra import Floats
from benchmarks.accuracy.yardsticks import SampleOracle, error
from benchmarks.record import provenance
from dimfree import Options, Release, SeededNoise, release_mean
from dimfree.noise import Noise

MODULE = "benchmarks.accuracy.real"


@dataclass(frozen=True)
class RealCell:
    """One table at one budget, how often it is released, and whether the literal Algorithm 2 is tried too."""

    table: str
    epsilon: float
    trials: int
    literal: bool
    seeded: bool
    seed: int

    @property
    def name(self) -> str:
        return f"{self.table}, ε = {self.epsilon:g}"

    def noise(self, trial: int) -> Noise | None:
        return SeededNoise(self.seed + trial) if self.seeded else None


@dataclass(frozen=True)
class Yardsticks:
    """What is known of a table to whoever sees it: the sample mean, its error, and the two oracles."""

    mean: Floats
    count: int
    sampling: float
    spherical: SampleOracle
    diagonal: SampleOracle

    @classmethod
    def of(cls, rows: Rows) -> "Yardsticks":
        offsets = rows.toarray() if sparse.issparse(rows) else np.array(rows, dtype=np.float64)
        mean = offsets.mean(axis=0)
        offsets -= mean
        stddevs = offsets.std(axis=0)
        sampling = float(np.linalg.norm(stddevs) / np.sqrt(len(offsets)))
        spherical = SampleOracle.of(offsets, np.ones_like(stddevs))
        return cls(mean, len(offsets), sampling, spherical, SampleOracle.of(offsets, np.sqrt(stddevs)))

    def figures(self, epsilon: float) -> dict[str, float]:
        oracles = {"spherical": self.spherical, "diagonal": self.diagonal}
        parts = {
            f"{name}_{part}": getattr(oracle, part)(epsilon, DELTA)
            for name, oracle in oracles.items()
            for part in ("error", "noise")
        }
        return {"np": self.sampling, **parts, **{f"{name}_bias": oracle.bias for name, oracle in oracles.items()}}


def measure(folder: Path, cell: RealCell) -> dict[str, Any]:
    """Every estimator on one table at one budget."""
    rows = TABLES[cell.table](folder)
    known = Yardsticks.of(rows)
    auto = [_timed(rows, cell, cell.noise(trial), options=Options(denoise=True)) for trial in range(cell.trials)]
    silent, _ = _timed(rows, cell, SilentNoise(cell.seed), options=Options(denoise=True))
    estimators = {
        "auto": _row(known, auto, denoised=False) | {"bias": _bias(known, silent)},
        "denoised": _row(known, auto, denoised=True),
    }
    if cell.literal:
        literal = [_timed(rows, cell, cell.noise(trial), shape="paper") for trial in range(cell.trials)]
        quiet, _ = _timed(rows, cell, SilentNoise(cell.seed), shape="paper")
        estimators["literal"] = _row(known, literal, denoised=False) | {"bias": _bias(known, quiet)}
    place = {"table": cell.table, "epsilon": cell.epsilon, "trials": cell.trials}
    size = {"count": known.count, "dimension": len(known.mean)}
    return {**place, **size, **known.figures(cell.epsilon), "estimators": estimators}


def _timed(rows: Rows, cell: RealCell, noise: Noise | None, **options: Any) -> tuple[Release, float]:
    start = time.perf_counter()
    release = release_mean(rows, epsilon=cell.epsilon, delta=DELTA, noise=noise, **options)
    return release, time.perf_counter() - start


def _row(known: Yardsticks, runs: Sequence[tuple[Release, float]], *, denoised: bool) -> dict[str, Any]:
    """Quartiles over the releases: distance from the sample mean, length of the stated noise, seconds."""
    made = [release for release, _ in runs if not release.refused]
    values = [release.mean if denoised else release.unbiased_mean for release in made]
    errors = [error(value, known.mean) for value in values]
    return {
        "error": quartiles(errors),
        "draws": {"error": errors},
        "noise": quartiles([float(np.linalg.norm(release.noise_stddev)) for release in made]),
        "seconds": quartiles([seconds for _, seconds in runs]),
        "refusals": len(runs) - len(made),
    }


def _bias(known: Yardsticks, silent: Release) -> float | None:
    return None if silent.refused else error(silent.unbiased_mean, known.mean)


def _one(folder: Path, cell: RealCell) -> dict[str, Any]:
    try:
        return measure(folder, cell)
    except Missing as missing:
        return {"table": cell.table, "epsilon": cell.epsilon, "missing": str(missing)}


def run(options: argparse.Namespace) -> dict[str, Any]:
    """The budget with bars comes first, then the others."""
    tables = [name for name in TABLES if not options.only or any(part in name for part in options.only)]
    cells = [
        RealCell(table, epsilon, options.trials, options.literal, not options.exact, options.seed)
        for epsilon in options.epsilons
        for table in tables
    ]
    done = measured(partial(_one, options.data), cells, Way.of("real", MODULE, options))
    found = [cell for cell in done.cells if "missing" not in cell]
    absent = {cell["table"]: cell["missing"] for cell in done.cells if "missing" in cell}
    more = {"delta": DELTA, "seeded": not options.exact, "absent": absent, "verdicts": verdicts(found)}
    return {**done.as_dict(), "cells": found, **more}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the tables; see real_data.py")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[2.0, 1.0, 4.0])
    parser.add_argument("--trials", type=int, default=6, help="releases of each table at each budget")
    parser.add_argument("--only", nargs="+", help="tables whose name has one of these words; written only with --out")
    parser.add_argument("--no-literal", dest="literal", action="store_false", help="leave Algorithm 2 out")
    parser.add_argument("--exact", action="store_true", help="the system's exact noise: slower")
    add_options(parser, "real")
    options = parser.parse_args(arguments)
    result = {"run": provenance(MODULE, _without_paths(options), options.seed), **run(options)}
    publish("real", result, report(result), options.out, whole=not options.only)


def _without_paths(options: argparse.Namespace) -> list[str]:
    """The command as a reader would give it: folders are theirs to choose."""
    words = ["--data FOLDER", f"--epsilons {' '.join(f'{epsilon:g}' for epsilon in options.epsilons)}"]
    words += [f"--trials {options.trials}", *([f"--only {' '.join(options.only)}"] if options.only else [])]
    words += [f"--budget {options.budget:g}"] if options.budget is not None else []
    return words + ["--no-literal"] * (not options.literal) + ["--exact"] * options.exact


if __name__ == "__main__":
    main()
