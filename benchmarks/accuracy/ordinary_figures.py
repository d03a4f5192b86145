"""One contestant on one draw of ordinary.py: error, coverage, width.

Errors are those of the mean of these very records: the sampling error, which no release can avoid, is not in them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.ordinary_contestants import Answer, stddevs
from benchmarks.accuracy.spectra import Floats
from dimfree import Release

OFF = 0.5  # deviations: a column that is farther off counts as lost
CONFIDENCE = 0.95

Figures = dict[str, float | None]


@dataclass(frozen=True)
class Truth:
    """Private in life: the records, their mean and deviations."""

    X: Floats
    mean: Floats
    stddevs: Floats
    population: float | None  # the mean of a law; None for a table

    @classmethod
    def of(cls, X: Floats, population: float | None) -> "Truth":
        return cls(X, X.mean(axis=0), stddevs(X), population)

    @property
    def varying(self) -> Any:
        return self.stddevs > 0


def figures(said: Answer, truth: Truth) -> Figures:
    """One contestant on one draw; a refusal has nothing but its seconds."""
    if said.error is None:
        return {"seconds": said.seconds}
    z = said.error[truth.varying] / truth.stddevs[truth.varying]
    found: Figures = {"z": rms(z), "error": float(np.linalg.norm(said.error)), "seconds": said.seconds}
    found |= {"columns": float(z.size), "off": float(np.count_nonzero(np.abs(z) > OFF))}
    if said.release is None or said.units is None:
        return found
    return found | _marks(said.release, truth, z) | _bars(said.release, said.units, truth)


def _marks(release: Release, truth: Truth, z: Floats) -> Figures:
    """How many columns the release calls unresolved, and how many of those that are off; None on other routes."""
    resolved = getattr(release, "resolved", None)
    if resolved is None:
        return {"off_marked": None, "unresolved": None}
    marked = ~np.asarray(resolved)[truth.varying]
    return {"off_marked": float(np.sum(marked & (np.abs(z) > OFF))), "unresolved": float(np.sum(marked))}


def _bars(release: Release, units: Floats, truth: Truth) -> Figures:
    """Whether intervals and ball hold: of these records, of these records drawn in to the stated reach, of the law.

    Columns that look like one value have no interval, and do not count.
    """
    mean = truth.mean / units
    low, high = release.confidence_interval(CONFIDENCE, target="sample")
    printed = np.isfinite(low)
    shown = truth.varying & printed
    half = (high - low)[shown] / 2 * units[shown] / truth.stddevs[shown]
    found: Figures = {"half_width": float(half.mean()) if half.size else None}
    found["covered_first"] = _share(((low <= mean) & (mean <= high))[:1][printed[:1]])  # the column unlike the others
    radius = release.error_radius(CONFIDENCE, target="sample")
    drawn_in = _drawn_in(release, truth.X / units)
    for name, target in (("", mean), ("_reach", drawn_in)):
        if target is None:
            found |= {f"covered{name}": None, f"ball{name}": None}
            continue
        found[f"covered{name}"] = _share(((low <= target) & (target <= high))[printed])
        found[f"ball{name}"] = float(np.linalg.norm(release.mean - target) <= radius)
    return found | {"covered_law": _covered_law(release, truth.population)}


def _drawn_in(release: Release, X: Floats) -> Floats | None:
    """The mean of the records, each farther than the reach drawn in to it; None where no reach is stated."""
    reach = getattr(release, "reach", None)
    if reach is None:
        return None
    offsets = (X - reach.centre) / reach.scale
    if cap := getattr(reach, "cap", None):
        offsets = np.clip(offsets, -cap, cap)
    lengths = np.sqrt(np.einsum("ij,ij->i", offsets, offsets))
    kept = np.minimum(1.0, reach.radius / np.maximum(lengths, 1e-300))
    return np.asarray(reach.centre + kept @ offsets / len(X) * reach.scale)


def _covered_law(release: Release, population: float | None) -> float | None:
    """Share of the intervals for the population that hold the law's mean; None where the release offers none."""
    if population is None:
        return None
    low, high = release.confidence_interval(CONFIDENCE)
    return _share(((low <= population) & (population <= high))[np.isfinite(low)])


def _share(held: NDArray[np.bool_]) -> float | None:
    return float(held.mean()) if held.size else None


def rms(values: Sequence[float] | Floats) -> float | None:
    return float(np.sqrt(np.mean(np.square(values)))) if len(values) else None
