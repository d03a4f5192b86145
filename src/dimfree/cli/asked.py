"""What `plan` and `tradeoff` have in common: the spread of records that nobody has seen yet, and the progress bar."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dimfree.errors import InvalidFile, InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Tell = Callable[[str, int, int], None]


def spread(
    spectrum: str | None, spectrum_file: Path | None, like: Path | None, public: bool
) -> "str | NDArray[np.float64] | None":
    """A spectrum by its name, the standard deviations of a file, or None. Opens no table not declared public."""
    given = {"--spectrum": spectrum, "--spectrum-file": spectrum_file, "--like": like}
    several = [name for name, value in given.items() if value is not None]
    if len(several) > 1:
        raise InvalidParameter(f"Expected one word on the spread of the records, got {' and '.join(several)}.")
    if public and like is None:
        raise InvalidParameter("Expected --like FILE with --public, which is a word about it.")
    if spectrum_file is not None:
        return _stddevs_in(spectrum_file)
    if like is not None:
        return _stddevs_like(like, public)
    return spectrum


def needs_spread(about: object, objective: str, knowledge: str) -> bool:
    """Whether the spread has to be given and is not."""
    from dimfree.planning.question import planned_objective

    return about is None and planned_objective(objective, knowledge, about) == "total"


def _stddevs_in(path: Path) -> "NDArray[np.float64]":
    from dimfree.data.read_public import read_covariance

    stddevs = read_covariance(path)
    if stddevs.ndim != 1:
        raise InvalidFile(
            f"{path} cannot be used: expected one standard deviation for each column, in one row or one column."
        )
    return stddevs


def _stddevs_like(path: Path, public: bool) -> "NDArray[np.float64]":
    if not public:
        raise InvalidParameter(
            "A plan uses the exact spread of the table behind --like and shows figures that follow from it, which "
            "protects nobody in it. Say --public if everybody may see that table; otherwise describe the spread by "
            "--spectrum, or by numbers that are public anyway in --spectrum-file."
        )
    from dimfree.data.read import read_table
    from dimfree.planning.spectra import stddevs_of_public

    return stddevs_of_public(read_table(path))


@contextmanager
def predicting() -> Iterator[Tell]:
    """A bar on a terminal, moved by what is told; nothing elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("predicting", total=None)
        yield lambda what, done, total: progress.update(task, description=what, completed=done, total=total)
