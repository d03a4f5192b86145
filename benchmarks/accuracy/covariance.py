"""Many records of few correlated columns: covariance-aware estimators in the norm of the covariance (Mahalanobis).

    python -m benchmarks.accuracy.covariance [--budget MINUTES] [--draws N] [--cells PATTERN] [--jobs J] [--keep FOLDER]

Ours, told the covariance or nothing, beside Brown, Hopkins and Smith (covariance_peer.py), which learns it. Noise is
seeded. Everybody promises (1, 1e-6) under replace-one, which is what the peer is proved for.
"""

import argparse
import re
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.accuracy.bases_worlds import rotation
from benchmarks.accuracy.covariance_peer import estimate, least_records
from benchmarks.accuracy.resolving import MET, MISSED, OPEN, VERDICT_HEADER, Figure, Verdict, verdict_rows
from benchmarks.accuracy.running import (
    DELTA,
    Way,
    add_options,
    left_out_lines,
    measured,
    minutes_line,
    publish,
    without_paths,
)
from benchmarks.accuracy.spectra import Floats
from benchmarks.record import provenance, provenance_lines, table
from dimfree import Dense, Isotropic, SeededNoise, release_mean

MODULE = "benchmarks.accuracy.covariance"
EPSILON, DRAWS = 1.0, 12
SAMPLE, WHITENED, DENSE = "sample mean, not private", "dimfree, Σ known, whitened", "dimfree, Σ known (Dense)"
TOTAL, RELATIVE = "dimfree, total, learned basis", "dimfree, relative"
PRINTED, FAVOURABLE = "Brown–Hopkins–Smith, printed", "Brown–Hopkins–Smith, favourable"
CONTESTANTS = (SAMPLE, WHITENED, DENSE, TOTAL, RELATIVE, PRINTED, FAVOURABLE)
TOLD_NOTHING = (TOTAL, RELATIVE, PRINTED, FAVOURABLE)
_DISTANCE = 10.0  # of the mean from the origin, in sqrt(tr Σ)

Generator = np.random.Generator


def _turned(stddevs: Floats, rng: Generator) -> Floats:
    Q = rotation(len(stddevs), rng)
    return np.asarray(Q @ np.diag(stddevs**2) @ Q.T)


def _units(dimension: int, rng: Generator) -> Floats:
    """All correlations 0.8, columns in units from 0.01 to 100."""
    units = 10.0 ** rng.uniform(-2, 2, dimension)
    return np.asarray((0.2 * np.eye(dimension) + 0.8) * np.outer(units, units))


WORLDS: dict[str, Callable[[int, Generator], Floats]] = {
    "σ = 1/i, turned": lambda d, rng: _turned(1.0 / np.arange(1, d + 1), rng),
    "all alike, turned": lambda d, rng: _turned(np.ones(d), rng),
    "correlated 0.8, mixed units": _units,
}


@dataclass(frozen=True)
class CovarianceCell:
    """Gaussian records of one covariance, drawn anew in each draw."""

    world: str
    count: int
    dimension: int
    draws: int
    contestants: tuple[str, ...] = CONTESTANTS

    @property
    def name(self) -> str:
        return f"{self.world}, n = {self.count}, d = {self.dimension}"

    def generator(self, seed: int, draw: int) -> Generator:
        return np.random.default_rng([seed, zlib.crc32(self.name.encode()), draw])


def cells(draws: int) -> list[CovarianceCell]:
    """What was asked; then more records, where the printed constants give an answer."""
    found = [CovarianceCell(world, 20_000, d, draws) for d in (10, 50) for world in WORLDS]
    answered = CovarianceCell("σ = 1/i, turned", 150_000, 10, draws)
    return [*found, answered, *(CovarianceCell(world, 20_000, 20, draws) for world in WORLDS)]


def measure(seed: int, cell: CovarianceCell) -> dict[str, Any]:
    """Every contestant on the same draws: distances from the true and from the sample mean; None where it refused."""
    errors: dict[str, list[float | None]] = {name: [] for name in cell.contestants}
    added: dict[str, list[float | None]] = {name: [] for name in cell.contestants}
    for draw in range(cell.draws):
        rng = cell.generator(seed, draw)
        covariance = WORLDS[cell.world](cell.dimension, rng)
        root = np.linalg.cholesky(covariance)
        direction = rng.normal(size=cell.dimension)
        mean = direction * _DISTANCE * np.sqrt(np.trace(covariance)) / np.linalg.norm(direction)
        X = mean + rng.normal(size=(cell.count, cell.dimension)) @ root.T
        for name in cell.contestants:
            said = _said(name, X, covariance, rng)
            errors[name].append(_distance(said, mean, root))
            added[name].append(_distance(said, X.mean(axis=0), root))
    return {**asdict(cell), "errors": errors, "added": added}


def _distance(said: Floats | None, mean: Floats, root: Floats) -> float | None:
    return None if said is None else float(np.linalg.norm(np.linalg.solve(root, said - mean)))


def _said(name: str, X: Floats, covariance: Floats, rng: Generator) -> Floats | None:
    if name == SAMPLE:
        return np.asarray(X.mean(axis=0))
    if name in (PRINTED, FAVOURABLE):
        return estimate(X, EPSILON, DELTA, rng, favourable=name == FAVOURABLE)
    noise = SeededNoise(int(rng.integers(2**63)))
    ours = partial(release_mean, epsilon=EPSILON, delta=DELTA, neighbours="replace-one", noise=noise)
    if name == WHITENED:
        root = np.linalg.cholesky(covariance)
        release = ours(np.linalg.solve(root, X.T).T, shape=Isotropic(1.0))
        return None if release.refused else np.asarray(root @ release.mean)
    given: dict[str, Any] = {DENSE: {"shape": Dense(covariance)}, TOTAL: {"objective": "total"}}.get(
        name, {"objective": "relative"}
    )
    release = ours(X, **given)
    return None if release.refused else np.asarray(release.mean)


def verdicts(done: Sequence[dict[str, Any]]) -> list[Verdict]:
    """In each cell: the nearest of those that were told nothing of the covariance, and whether the draws resolve it."""
    return [_nearest(cell) for cell in done]


def _nearest(cell: dict[str, Any]) -> Verdict:
    found = {name: Figure.median(cell["added"][name]) for name in TOLD_NOTHING}
    first, second = sorted(found, key=lambda name: found[name].value)[:2]
    sure = found[first].high < found[second].low
    words = f"{first} {found[first].words}, then {second} {found[second].words}"
    state = OPEN if not sure else MET if first in (TOTAL, RELATIVE) else MISSED
    target = f"{cell['name']}: told nothing, one of ours is the nearest"
    return {"target": target, "figure": words, "draws": str(cell["draws"]), "state": state}


def report(result: dict[str, Any]) -> list[str]:
    lines = ["# Covariance-aware estimators", "", *provenance_lines(result["run"]), ""]
    lines += [minutes_line(result), *left_out_lines(result), ""]
    lines += [
        f"ε = {EPSILON:g}, δ = {DELTA:g}, replace-one (n is public) for everybody; Gaussian records, another",
        "covariance in each draw, mean at distance 10·sqrt(tr Σ). All distances in the norm of Σ; medians, exact 95 %",
        "intervals by order statistics in brackets (none below six draws), a refusal being infinitely far off. Seeded",
        "noise. Error: from the true mean; that of the sample mean is about sqrt(d/n), and everybody has it. What",
        "privacy adds: from the sample mean of the same records; the nearest is judged by it. Whitened: told Σ,",
        "records turned by Σ^(-1/2), then spherical noise, the best shape for this norm. Dense: told Σ, noise in the",
        "shape that is best for Euclidean distances. Total and relative are told nothing, and aim at Euclidean error",
        "and at each column's own spread, not at this norm. Brown–Hopkins–Smith is told that records are Gaussian, for",
        "its threshold; printed: the constants of the authors' code; favourable: not an algorithm but a bound, no",
        "calibration of that proof can do better at this threshold (test and covariance for free, one record moves the",
        "mean by the diameter over n, the whole budget in the noise).",
        "",
        "## Who is the nearest",
        "",
        *table(VERDICT_HEADER, verdict_rows(result["verdicts"])),
        "",
        "## What privacy adds",
        "",
        *table(_HEADER[:4] + _HEADER[5:], [_row(cell, "added", CONTESTANTS[1:]) for cell in result["cells"]]),
        "",
        "## Errors",
        "",
        *table(_HEADER, [_row(cell, "errors", CONTESTANTS) for cell in result["cells"]]),
        "",
        "## From how many records on the printed constants answer",
        "",
        *table(["d", "records"], [[d, str(count)] for d, count in result["least_records"].items()]),
    ]
    return lines


_HEADER = ["world", "n", "d", "draws", *CONTESTANTS]


def _row(cell: dict[str, Any], figure: str, names: Sequence[str]) -> list[str]:
    figures = [Figure.median(cell[figure][name]).words if name in cell[figure] else "" for name in names]
    return [cell["world"], str(cell["count"]), str(cell["dimension"]), str(cell["draws"]), *figures]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS, help=f"of every cell ({DRAWS})")
    parser.add_argument("--cells", default="", help="a regular expression; written only with --out")
    add_options(parser, "covariance")
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    chosen = [cell for cell in cells(options.draws) if re.search(options.cells, cell.name)]
    done = measured(partial(measure, options.seed), chosen, Way.of("covariance", MODULE, options), options.seed)
    result: dict[str, Any] = {"run": provenance(MODULE, without_paths(given), options.seed), **done.as_dict()}
    result["verdicts"] = verdicts(done.cells)
    result["least_records"] = {str(d): least_records(d, EPSILON, DELTA) for d in (10, 20, 50)}
    publish("covariance", result, report(result), options.out, whole=not options.cells)


if __name__ == "__main__":
    main()
