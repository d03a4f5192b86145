"""What is measured: the estimators, the worlds they are tried in, and how many draws of each.

A new estimator is one more line of ESTIMATORS; a new world is one more line of a list of cells.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.accuracy.spectra import SPECTRA, Floats
from benchmarks.accuracy.worlds import DATA, World, world
from dimfree import Isotropic, Options

GAUSSIAN = Options(outliers=0.0, tails="gaussian")
ALONE = Options()  # no recentring
GAUSSIAN_ALONE = GAUSSIAN
REPLACE = {"neighbours": "replace-one"}
NOTHING = {"covariance": None}  # known
ESTIMATORS: dict[str, dict[str, Any]] = {  # keywords of release_mean
    "basic": {"options": GAUSSIAN},
    "soft": {"options": GAUSSIAN},
    "stable": {"options": GAUSSIAN_ALONE},
    "stable, robust defaults": {"options": ALONE},
    "stable, replace-one": {**REPLACE, "options": GAUSSIAN_ALONE},
    "stable, unknown scale": {"options": replace(GAUSSIAN_ALONE, scale="learn")},
    "recentred": {"options": GAUSSIAN},
    "recentred, robust defaults": {},
    "recentred, unknown scale": {"options": replace(GAUSSIAN, scale="learn")},
    "recentred, replace-one": {**REPLACE, "options": GAUSSIAN},
    "auto": NOTHING,
    "auto, replace-one": {**NOTHING, **REPLACE},
    "literal": {**NOTHING, "shape": "paper"},
    "spherical": NOTHING,  # released by release_spherical
    "spherical, believed": {**NOTHING, "shape": Isotropic(1.0), "options": Options(scale="learn")},
    "known": {},
}
WRONG_SCALE = 1e-2  # of the standard deviations handed to the estimators that learn the scale

CORES = ("basic", "soft", "stable")
RECENTRED = ("recentred", "recentred, robust defaults")
WATCHED = ("stable", "stable, robust defaults", "stable, replace-one", "stable, unknown scale")
EVERY = (*CORES, *WATCHED[1:3], *RECENTRED, "recentred, unknown scale", "recentred, replace-one")
BARRED = ("stable", *RECENTRED, "recentred, unknown scale")  # those that bars speak of
RIVALS = ("auto", "literal", "spherical", "spherical, believed", "known")  # where nothing is known, but for the last
NEAREST = ("auto", "spherical", "known")


@dataclass(frozen=True)
class Cell:
    """One world, how many draws of it, and who is tried on them."""

    section: str  # "accuracy" | "budget" | "dimension" | "robustness" | "passing"
    spectrum: str
    count: int
    dimension: int
    trials: int
    estimators: tuple[str, ...]
    epsilon: float = 1.0
    data: str = "gaussian"

    @property
    def name(self) -> str:
        size = f"n = {self.count}, d = {self.dimension}"
        return f"{self.section}: {self.spectrum}, {size}, ε = {self.epsilon:g}, {self.data}"

    @property
    def stddevs(self) -> Floats:
        return SPECTRA[self.spectrum](self.dimension)

    def generator(self, seed: int, trial: int) -> np.random.Generator:
        """Depends on the world and the trial alone: adding a cell changes no other cell's draws."""
        return np.random.default_rng([seed, int(self.spectrum[1:]), self.count, self.dimension, trial])

    def draw(self, generator: np.random.Generator) -> World:
        return world(self.data, self.stddevs, self.count, generator)

    def options(self, estimator: str) -> dict[str, Any]:
        """Of release_mean; where the scale is to be learned, the covariance handed over is far off."""
        given = ESTIMATORS[estimator]
        learns = given.get("options", Options()).scale == "learn"
        stddevs = self.stddevs * (WRONG_SCALE if learns else 1.0)
        return {"epsilon": self.epsilon, "covariance": stddevs**2, **given}


FULL = 20  # draws of a small cell in a full run


def few(full: int, trials: int) -> int:
    """Draws of a cell that has `full` of them in a full run, where a small cell has `trials`.

    Not below six if trials are not: an interval of the median takes as many.
    """
    return max(min(6, trials), round(full * trials / FULL))


def accuracy_cells(trials: int, quick: bool, whom: tuple[str, ...]) -> list[Cell]:
    """S1–S5 at d = 1000; fewer draws and estimators where a draw is dear."""
    cells = [Cell("accuracy", s, n, 1000, trials, whom) for n in (500, 1000) for s in SPECTRA]
    if quick:
        return cells
    cells += [Cell("accuracy", s, 4000, 1000, few(8, trials), whom) for s in SPECTRA]
    return cells + [Cell("accuracy", s, 16_000, 1000, few(6, trials), RECENTRED) for s in SPECTRA]


def large_cells(trials: int, whom: tuple[str, ...]) -> list[Cell]:
    """S1 and S4 at d = 10 000; a full run has 6 draws, and without any there are no cells."""
    if trials == 0:
        return []
    cells = [Cell("accuracy", "S1", 1250, 10_000, 2 * trials, ("recentred",))]
    cells += [Cell("accuracy", s, n, 10_000, 2 * trials, whom) for s, n in (("S1", 1000), ("S4", 1000))]
    cells += [Cell("accuracy", s, 4000, 10_000, trials, RECENTRED) for s in ("S1", "S4")]
    return cells + [Cell("accuracy", s, 16_000, 10_000, trials, ("recentred",)) for s in ("S1", "S4")]


def budget_cells(trials: int) -> list[Cell]:
    """A small and a large epsilon."""
    worlds = ((0.2, 4000), (0.2, 16_000), (4.0, 500), (4.0, 1000))
    return [
        Cell("budget", spectrum, count, 1000, few(6, trials), ("recentred",), epsilon)
        for epsilon, count in worlds
        for spectrum in ("S1", "S4")
    ]


def dimension_cells(trials: int) -> list[Cell]:
    """The same ten large directions in a small and a huge space."""
    small = Cell("dimension", "S1", 4000, 100, trials, ("recentred",))
    return [small, Cell("dimension", "S1", 4000, 100_000, few(8, trials), ("recentred",))]


def robustness_cells(trials: int) -> list[Cell]:
    return [
        Cell("robustness", spectrum, 4000, 1000, few(6, trials), ("recentred, robust defaults",), data=data)
        for data in DATA
        if data != "gaussian"
        for spectrum in SPECTRA
    ]


def pass_cells(draws: int) -> list[Cell]:
    """Whether the bit passes is decided before the stages, so the cores are tried alone."""
    worlds = [
        (500, draws, WATCHED[:3]),
        (1000, draws, WATCHED[:3]),
        (4000, max(1, 3 * draws // 10), WATCHED[:3]),
        (500, max(1, 3 * draws // 10), WATCHED[3:]),  # a learned scale takes much longer
        (1000, max(1, 3 * draws // 10), WATCHED[3:]),
    ]
    return [
        Cell("passing", spectrum, count, 50, trials, whom) for count, trials, whom in worlds for spectrum in SPECTRA
    ]
