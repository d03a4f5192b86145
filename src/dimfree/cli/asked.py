"""What `plan` and `tradeoff` ask alike: the promise, the shape of records that nobody has seen yet, and the bar."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dimfree.errors import InvalidFile, InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PROMISE = "The promise"
RECORDS = "The records, of which none is read"
RULES = "Rules that the release will be given"
OUTPUT = "Output"

Tell = Callable[[str, int, int], None]

Delta = Annotated[float, typer.Option(help="Slack in that promise; far below 1 / n.", rich_help_panel=PROMISE)]
NeighboursWord = Annotated[str, typer.Option(help="add-remove or replace-one.", rich_help_panel=PROMISE)]
Dimension = Annotated[int | None, typer.Option("--d", "-d", help="Columns.", rich_help_panel=RECORDS)]
Spectrum = Annotated[
    str | None,
    typer.Option(
        help="Of the standard deviations: S1 to S5, power:A, exponential:A or isotropic.", rich_help_panel=RECORDS
    ),
]
SpectrumFile = Annotated[
    Path | None,
    typer.Option(
        help="Or a file with a standard deviation for each column, publicly known: .npy, .npz, .csv or .parquet.",
        rich_help_panel=RECORDS,
    ),
]
Like = Annotated[
    Path | None,
    typer.Option(
        help="Or a PUBLIC table that the records will resemble: its exact spread is used.", rich_help_panel=RECORDS
    ),
]
Public = Annotated[
    bool, typer.Option("--public", help="Everybody may see the table behind --like.", rich_help_panel=RECORDS)
]
Knowledge = Annotated[
    str,
    typer.Option(help="What the release will be told of the spread: nothing or covariance.", rich_help_panel=RULES),
]
Outliers = Annotated[float, typer.Option(help="Share of rows that may lie far from the rest.", rich_help_panel=RULES)]
Tails = Annotated[str, typer.Option(help="heavy or gaussian; heavy is the safe choice.", rich_help_panel=RULES)]
FailureProbability = Annotated[
    float, typer.Option(help="Chance of refusing good data that you accept.", rich_help_panel=RULES)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead.", rich_help_panel=OUTPUT)]
Force = Annotated[bool, typer.Option("--force", help="Replace existing output.", rich_help_panel=OUTPUT)]


def spread(
    spectrum: str | None, spectrum_file: Path | None, like: Path | None, public: bool
) -> "str | NDArray[np.float64] | None":
    """The spectrum by its name, or the standard deviations of a file. A table not declared public is not opened."""
    given = {"--spectrum": spectrum, "--spectrum-file": spectrum_file, "--like": like}
    several = [name for name, value in given.items() if value is not None]
    if len(several) > 1:
        raise InvalidParameter(f"Expected one word on the spread of the records, got {' and '.join(several)}.")
    if public and like is None:
        raise InvalidParameter("Expected --like FILE with --public, which is a word about it.")
    if spectrum_file is not None:
        return _stddevs_in(spectrum_file)
    return spectrum if like is None else _stddevs_like(like, public)


def _stddevs_in(path: Path) -> "NDArray[np.float64]":
    from dimfree.data.read import read_covariance

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
    from dimfree.planning.spread import stddevs_of_public

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
