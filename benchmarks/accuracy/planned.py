"""Compare what `dimfree.plan` predicts with what releases give.

    python -m benchmarks.accuracy.planned [--budget MINUTES] [--draws N] [--cells PATTERN] [--jobs J] [--keep FOLDER]

A cell is one question to `plan` and releases on as many draws of records as it predicts. Noise is seeded. The
targets and the page: planned_report.py.
"""

import argparse
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import dimfree
from benchmarks.accuracy.gaussian import DATA, World
from benchmarks.accuracy.planned_report import report, verdicts
from benchmarks.accuracy.running import DELTA, Course
from dimfree import Release, SeededNoise, release_mean
from dimfree._types import Floats
from dimfree.planning.question import SPECTRA

MODULE = "benchmarks.accuracy.planned"
NOTHING, TOLD = "nothing", "covariance"
TOTAL, RELATIVE = "total", "relative"
EVERY = ("S1", "S2", "S3", "S4", "S5")
_SMALL = 5  # times as many draws of a cell that takes hardly any time
_PREDICTED = ("sampling", "noise", "bias", "error", "error_within", "refused")


@dataclass(frozen=True)
class PlannedCell:
    """One question. With an accuracy, exactly one of count and epsilon is 0: the plan has to find it."""

    spectrum: str
    count: int
    dimension: int
    draws: int
    knowledge: str = NOTHING
    objective: str = TOTAL
    epsilon: float = 1.0
    neighbours: str = "add-remove"
    data: str = "gaussian"
    accuracy: float | None = None

    @property
    def name(self) -> str:
        told = "told nothing" if self.knowledge == NOTHING else "told σ"
        count = f"n = {self.count}" if self.count else f"n for an error of {self.accuracy:g}"
        epsilon = f"ε = {self.epsilon:g}" if self.epsilon else f"ε for an error of {self.accuracy:g}"
        words = [f"{self.objective}, {told}: {self.spectrum}", count, f"d = {self.dimension}", epsilon]
        words += [self.neighbours] * (self.neighbours != "add-remove") + [self.data] * (self.data != "gaussian")
        return ", ".join(words)

    @property
    def stddevs(self) -> Floats:
        return SPECTRA[self.spectrum](self.dimension)

    def plan(self) -> "dimfree.Plan":
        asked: dict[str, Any] = {"n": self.count or None, "epsilon": self.epsilon or None, "accuracy": self.accuracy}
        asked |= {"knowledge": self.knowledge, "objective": self.objective, "neighbours": self.neighbours}
        return dimfree.plan(d=self.dimension, spectrum=self.spectrum, delta=DELTA, **asked)

    def generator(self, seed: int, draw: int) -> np.random.Generator:
        return np.random.default_rng([seed, zlib.crc32(self.name.encode()), draw])


def cells(options: argparse.Namespace) -> list[PlannedCell]:
    """List every route first, then other spectra, budgets and relations, what plan finds, and skewed records."""
    draws = options.draws
    small, large = _SMALL * draws, max(min(10, draws), draws // 3)
    mixed = {"knowledge": NOTHING, "objective": RELATIVE}
    if options.quick:
        return [PlannedCell("S2", 2000, 20, draws, **mixed), PlannedCell("S1", 300, 30, draws, TOLD)]
    found = [PlannedCell("S2", 2000, 20, small, **mixed, epsilon=epsilon) for epsilon in (1.0, 4.0)]
    found += [PlannedCell(s, 1000, 1000, draws) for s in EVERY]
    found += [PlannedCell(s, 1000, 1000, draws, TOLD) for s in EVERY]
    found += [PlannedCell(s, 300, 30, small) for s in EVERY]
    found += [PlannedCell("S2", 10_000, 100, draws, **mixed)]
    found += [PlannedCell(s, 10_000, 100, draws) for s in ("S1", "S4")]
    found += [
        PlannedCell(s, 300, 30, small, knowledge, epsilon=4.0) for knowledge in (NOTHING, TOLD) for s in ("S1", "S4")
    ]
    found += [PlannedCell("S1", 1500, 1000, draws, neighbours="replace-one")]
    found += [
        PlannedCell("S2", 0, 100, draws, accuracy=0.1),
        PlannedCell("S4", 2000, 100, draws, epsilon=0.0, accuracy=0.4),
    ]
    found += [PlannedCell("S2", 0, 20, draws, **mixed, accuracy=0.05)]
    found += [PlannedCell("S4", 1000, 1000, draws, data="exponential")]
    found += [PlannedCell("S2", 2000, 20, small, **mixed, data="exponential")]
    found += [PlannedCell(s, 300, 30, small, TOLD) for s in ("S1", "S4")]
    found += [PlannedCell(s, 10_000, 100, draws, TOLD) for s in ("S1", "S4")]
    found += [PlannedCell(s, 4000, 1000, large) for s in EVERY]
    return found + [PlannedCell(s, 1000, 1000, draws, epsilon=4.0) for s in ("S1", "S4")]


def measure(seed: int, cell: PlannedCell) -> dict[str, Any]:
    """The plan, and for every draw how far off its release was; None where it refused."""
    found = cell.plan()
    predicted = {name: getattr(found.prediction, name) for name in _PREDICTED}
    course = {"method": found.course.method, "chance": found.course.pass_probability}
    drawn = [_drawn(cell, found, cell.generator(seed, draw)) for draw in range(cell.draws)]
    lists = {name: [None if draw is None else draw[name] for draw in drawn] for name in ("error", "added", "stated")}
    place = {**asdict(cell), "count": found.n, "epsilon": found.epsilon, "solved_for": found.solved_for}
    return {**place, "predicted": predicted | course, "measured": lists}


def _drawn(cell: PlannedCell, found: "dimfree.Plan", rng: np.random.Generator) -> dict[str, float] | None:
    drawn = DATA[cell.data](cell.stddevs, found.n, rng)
    given: dict[str, Any] = {"covariance": cell.stddevs**2} if cell.knowledge == TOLD else {"objective": cell.objective}
    noise = SeededNoise(int(rng.integers(2**63)))
    budget: dict[str, Any] = {"epsilon": found.epsilon, "delta": DELTA, "neighbours": cell.neighbours}
    release = release_mean(drawn.X, noise=noise, **budget, **given)
    return None if release.refused else _lengths(release, drawn, _units(cell))


def _units(cell: PlannedCell) -> Floats:
    """What an error in each column is divided by, so that its Euclidean length is what plan speaks of."""
    return cell.stddevs * np.sqrt(cell.dimension) if cell.objective == RELATIVE else np.ones(cell.dimension)


def _lengths(release: Release, drawn: World, units: Floats) -> dict[str, float]:
    """From the true mean; from the mean of these records; of the noise that the release states."""
    parts = {
        "error": release.mean - drawn.mean,
        "added": release.mean - drawn.honest_mean,
        "stated": release.noise_stddev,
    }
    return {name: float(np.linalg.norm(part / units)) for name, part in parts.items()}


COURSE = Course("planned", MODULE, cells, measure, verdicts, report, "Plans and releases", draws=40)


def main(arguments: Sequence[str] | None = None) -> None:
    COURSE.run(argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__), arguments)


if __name__ == "__main__":
    main()
