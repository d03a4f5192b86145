"""What unknown.py measures: the worlds, and how many draws of each. A new world is one more line."""

from benchmarks.accuracy.cells import Cell, few
from benchmarks.accuracy.spectra import SPECTRA
from benchmarks.accuracy.worlds import DATA

COUNTS = (1000, 2000, 4000)
WATCHED = ("auto", "auto, replace-one")


def accuracy_cells(trials: int, quick: bool, whom: tuple[str, ...]) -> list[Cell]:
    """S1–S5 at d = 1000."""
    return [Cell("accuracy", s, n, 1000, trials, whom) for n in (COUNTS[:1] if quick else COUNTS) for s in SPECTRA]


def large_cells(trials: int, whom: tuple[str, ...]) -> list[Cell]:
    """S1–S5 at d = 10 000, and S1 where the error is asked to be twice that of the sample mean."""
    if trials == 0:
        return []
    whom = tuple(name for name in whom if name != "spherical, believed")
    cells = [Cell("accuracy", s, 4000, 10_000, trials, whom) for s in SPECTRA]
    return [*cells, Cell("accuracy", "S1", 4500, 10_000, 2 * trials, ("auto", "known"))]


def robustness_cells(trials: int, quick: bool) -> list[Cell]:
    """Contaminated, heavy-tailed and skewed records at n = 4000."""
    spectra = ("S3",) if quick else tuple(SPECTRA)
    return [
        Cell("robustness", spectrum, 4000, 1000, few(6, trials), ("auto",), data=data)
        for data in DATA
        if data != "gaussian"
        for spectrum in spectra
    ]


def pass_cells(draws: int) -> list[Cell]:
    """Honest draws up to the bit; both relations where a draw is cheap."""
    worlds: list[tuple[int, int, int, tuple[str, ...]]] = [
        (500, 50, draws, WATCHED),
        (1000, 50, draws, WATCHED),
        (500, 1000, few(6, draws), WATCHED[:1]),
        (1000, 1000, few(6, draws), WATCHED[:1]),
    ]
    return [Cell("passing", s, n, d, trials, whom) for n, d, trials, whom in worlds for s in SPECTRA]
