"""Ordinary tables: columns in different units, skewed, with zeros, indicators and counts; and a zoo of laws.

    python -m benchmarks.accuracy.ordinary [--budget MINUTES] [--draws N] [--cells PATTERN] [--jobs J] [--keep FOLDER]

Records: ordinary_worlds.py; what one would use instead: ordinary_peers.py; the targets and the page: ordinary_page.py.
Errors are from the mean of these very records: the sampling error, which no release can avoid, is not in them.
"""

import argparse
import math
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.accuracy.clipping import clipped_mean
from benchmarks.accuracy.ordinary_page import CONFIDENCE, LARGE, LAW, LIMITS, RELATIVE, TABLE, TOTAL, report, verdicts
from benchmarks.accuracy.ordinary_peers import PEERS
from benchmarks.accuracy.ordinary_worlds import COUNTS, DIMENSIONS, EPSILONS, LAWS, TABLES, Generator
from benchmarks.accuracy.resolving import median_interval, middle
from benchmarks.accuracy.running import DELTA, Course, Result
from dimfree import Release, release_mean
from dimfree._types import Floats
from dimfree.accounting.precision import largest_mu
from dimfree.testing import SeededNoise

OFF = 0.5  # standard deviations: a column that is farther off counts as lost
_RECORDS, _NOISE = 1, 2  # streams: records and noise may never come from one seed
_RADII = 120  # that the oracle chooses from
_SHORTEST, _LONGEST = 0.1, 2.0  # the smallest radius over the median length, the largest over the largest

Figures = dict[str, float | None]


@dataclass(frozen=True)
class OrdinaryCell:
    """One table or law at one budget, how many draws of it, and who is tried on them."""

    section: str  # TABLE | LAW
    world: str
    epsilon: float
    draws: int
    contestants: tuple[str, ...]
    count: int = 0  # of a law; a table has as many as it has
    dimension: int = 0

    @property
    def name(self) -> str:
        size = f", n = {self.count}, d = {self.dimension}" if self.count else ""
        return f"{self.section}: {self.world}{size}, ε = {self.epsilon:g}"

    @property
    def half(self) -> str:
        return TABLES[self.world].half if self.section == TABLE else LAWS[self.world].half

    @property
    def population(self) -> float | None:
        """The mean of a law in every column; None for a table."""
        return None if self.section == TABLE else LAWS[self.world].mean

    def records(self, seed: int, draw: int) -> Floats:
        """Draw the same records for every budget and contestant. A real table is the same in every draw."""
        rng = np.random.default_rng([*self._place(seed, _RECORDS), draw])
        if self.section == TABLE:
            return TABLES[self.world].make(rng)
        return LAWS[self.world].draw(rng, (self.count, self.dimension))

    def generator(self, seed: int, draw: int, contestant: str) -> Generator:
        """Return the coins of one budget, draw and contestant."""
        words = zlib.crc32(f"{self.epsilon:g}, {contestant}".encode())
        return np.random.default_rng([*self._place(seed, _NOISE), draw, words])

    def noise(self, seed: int, draw: int, contestant: str) -> SeededNoise:
        return SeededNoise(int(self.generator(seed, draw, contestant).integers(2**63)))

    def _place(self, seed: int, stream: int) -> list[int]:
        words = zlib.crc32(f"{self.section}: {self.world}".encode())
        return [seed, stream, words, self.count, self.dimension]


def cells(options: argparse.Namespace) -> list[OrdinaryCell]:
    """List the cells that decide a target first: tables with a limit, other tables, laws with bars, the rest."""
    draws = options.draws
    tables = [
        OrdinaryCell(TABLE, w, e, draws, (RELATIVE, TOTAL, *PEERS)) for w, t in TABLES.items() for e in t.epsilons
    ]
    if options.quick:
        return [cell for cell in tables if (cell.world, cell.epsilon) in LIMITS]
    found = tables + [
        OrdinaryCell(LAW, name, epsilon, draws, (TOTAL, RELATIVE), count, dimension)
        for dimension in DIMENSIONS
        for name in LAWS
        for count in COUNTS
        for epsilon in EPSILONS
    ]
    return sorted(found, key=_informative)


def _informative(cell: OrdinaryCell) -> tuple[int, float]:
    if cell.section == TABLE:
        return (0 if (cell.world, cell.epsilon) in LIMITS else 1), 0.0
    bars = cell.count == LARGE and cell.epsilon == 1.0
    return (2 if bars and cell.dimension <= 5 else 3 if bars else 4), float(cell.count * cell.dimension)


# --- Measuring


def measure(seed: int, cell: OrdinaryCell) -> Result:
    """Run all contestants of one cell on the same draws."""
    drawn: dict[str, list[Figures]] = {name: [] for name in cell.contestants}
    oracle = None if cell.population is None else _Oracle(cell.population, cell.epsilon)
    for draw in range(cell.draws):
        truth = _Truth.of(cell.records(seed, draw), cell.population)
        if oracle:
            oracle.add(truth.X)
        for name, found in drawn.items():
            found.append(_figures(name, truth, cell, seed, draw))
    count, dimension = truth.X.shape
    floor = oracle.error() if oracle else None
    place = {**asdict(cell), "half": cell.half, "count": count, "dimension": dimension, "oracle": floor}
    place["snr"] = count * largest_mu(cell.epsilon, DELTA) / math.sqrt(dimension)
    return {**place, "estimators": {name: summary(found, floor) for name, found in drawn.items()}}


@dataclass(frozen=True)
class _Truth:
    """Private in life: the records, their mean and standard deviations (0 for a constant column)."""

    X: Floats
    mean: Floats
    stddevs: Floats
    population: float | None

    @classmethod
    def of(cls, X: Floats, population: float | None) -> "_Truth":
        return cls(X, X.mean(axis=0), np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 0.0), population)


def _figures(name: str, truth: _Truth, cell: OrdinaryCell, seed: int, draw: int) -> Figures:
    """Return the figures of one contestant on one draw; of a refusal only its seconds."""
    start, release, error = time.perf_counter(), None, None
    if name in PEERS:
        error = PEERS[name].error(truth.X, cell.epsilon, DELTA, cell.generator(seed, draw, name))
    else:
        noise = cell.noise(seed, draw, name)
        release = release_mean(truth.X, epsilon=cell.epsilon, delta=DELTA, objective=name, noise=noise)
        error = None if release.refused else release.mean - truth.mean
    found: Figures = {"seconds": time.perf_counter() - start}
    if error is None:
        return found
    varying = truth.stddevs > 0
    z = error[varying] / truth.stddevs[varying]
    found |= {"z": rms(z), "error": float(np.linalg.norm(error))}
    found |= {"columns": float(z.size), "off": float(np.count_nonzero(np.abs(z) > OFF))}
    return found | _marks(release, varying, z) | _bars(release, truth) if release else found


def _marks(release: Release, varying: Any, z: Floats) -> Figures:
    """Count the columns that the release calls unresolved, and those of them that are off; None on other routes."""
    if release.resolved is None:
        return {"off_marked": None, "unresolved": None}
    marked = ~np.asarray(release.resolved)[varying]
    return {"off_marked": float(np.sum(marked & (np.abs(z) > OFF))), "unresolved": float(np.sum(marked))}


def _bars(release: Release, truth: _Truth) -> Figures:
    """Return whether intervals and ball cover: the mean of these records, of these records clipped, of the law.

    Columns that look like one value have no interval, and do not count.
    """
    low, high = release.confidence_interval(CONFIDENCE, target="sample")
    printed, radius = np.isfinite(low), release.error_radius(CONFIDENCE, target="sample")
    shown = (truth.stddevs > 0) & printed
    half = (high - low)[shown] / 2 / truth.stddevs[shown]
    covered = ((low <= truth.mean) & (truth.mean <= high))[printed]
    found: Figures = {"half_width": float(half.mean()) if half.size else None, "covered": _share(covered)}
    found["covered_first"] = _share(covered[:1] if printed[0] else covered[:0])  # the column unlike the others
    found["ball"] = float(np.linalg.norm(release.mean - truth.mean) <= radius)
    clipped = clipped_mean(truth.X, release)
    found["covered_clipped"] = _share(((low <= clipped) & (clipped <= high))[printed])
    found["ball_clipped"] = float(np.linalg.norm(release.mean - clipped) <= radius)
    if truth.population is not None:
        low, high = release.confidence_interval(CONFIDENCE)
        found["covered_law"] = _share(((low <= truth.population) & (truth.population <= high))[np.isfinite(low)])
    return found


def summary(drawn: Sequence[Mapping[str, float | None]], oracle: float | None) -> Result:
    """Summarize the draws. In medians a refused draw is infinitely far off; None stands for infinity."""
    made = [draw for draw in drawn if "z" in draw]
    z, errors = ([math.inf if (v := draw.get(key)) is None else v for draw in drawn] for key in ("z", "error"))
    z_rms, error_rms = rms(_values(made, "z")), rms(_values(made, "error"))
    means = ("covered", "covered_first", "covered_clipped", "ball", "ball_clipped", "covered_law", "half_width")
    found: Result = {name: float(np.mean(v)) if (v := _values(made, name)) else None for name in means}
    for name in ("columns", "off", "off_marked", "unresolved"):
        found[name] = int(sum(v)) if (v := _values(made, name)) else None
    width = found.pop("half_width")
    return found | {
        "refusals": len(drawn) - len(made),
        "z": _finite(middle(z)),
        "z_interval": [_finite(end) for end in median_interval(z)],
        "z_rms": z_rms,
        "error": _finite(middle(errors)),
        "error_rms": error_rms,
        "over_oracle": error_rms / oracle if oracle and error_rms is not None else None,
        "width_over_rms": width / z_rms if width is not None and z_rms else None,
        "seconds": float(np.median(_values(drawn, "seconds"))),
        "draws": {"z": [_finite(value) for value in z], "error": [_finite(value) for value in errors]},
    }


def _values(drawn: Sequence[Mapping[str, float | None]], key: str) -> list[float]:
    return [value for draw in drawn if (value := draw.get(key)) is not None]


def _share(held: Any) -> float | None:
    return float(held.mean()) if held.size else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def rms(values: Sequence[float] | Floats) -> float | None:
    return float(np.sqrt(np.mean(np.square(values)))) if len(values) else None


class _Oracle:
    """Knows mean and n: clips about the mean at one radius, the best in hindsight over all draws of a cell.

    The whole precision goes to one Gaussian, R / (n mu). One radius for all draws: for each draw alone it would also
    find radii at which biases happen to cancel.
    """

    def __init__(self, mean: float, epsilon: float) -> None:
        self.mean, self.mu = mean, largest_mu(epsilon, DELTA)
        self.radii, self.squares = np.zeros(0), list[Floats]()  # of one draw: the squared error at every radius

    def add(self, X: Floats) -> None:
        """Add one draw; the first one states which radii are tried."""
        offsets = X - self.mean
        lengths = np.maximum(np.sqrt(np.einsum("ij,ij->i", offsets, offsets)), 1e-300)
        if not self.squares:
            self.radii = np.geomspace(_SHORTEST * np.median(lengths), _LONGEST * lengths.max(), _RADII)
        lost = np.maximum(0.0, 1 - self.radii[:, None] / lengths)  # of each record, at each radius
        bias = lost @ offsets / len(X)
        noise = self.radii / len(X) / self.mu * math.sqrt(X.shape[1])
        self.squares.append(np.einsum("ij,ij->i", bias, bias) + noise**2)

    def error(self) -> float:
        """Return the root mean squared distance from the mean of the records, at the best radius."""
        return float(np.sqrt(np.mean(self.squares, axis=0).min()))


COURSE = Course("ordinary", __doc__, cells, measure, verdicts, report, "Ordinary tables", draws=30)

if __name__ == "__main__":
    COURSE.main()
