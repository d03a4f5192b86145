"""`dimfree mean`: a table in a file becomes a released mean in another."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dimfree.errors import InvalidFile, InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from rich.table import Table

    from dimfree.result import Release

REFUSED = 3
_PATIENCE = 1.0  # seconds before the progress bar shows

_DATA = "Budget and data"
_RULES = "Rules, all chosen before looking at the data"
_OUTPUT = "Output"


def mean(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Table with one row per person: .npy, .npz, .csv or .parquet.")
    ],
    epsilon: Annotated[
        float, typer.Option(help="Total privacy loss you agree to; 1 is common.", rich_help_panel=_DATA)
    ],
    delta: Annotated[
        float,
        typer.Option(help="Slack in that promise; choose it far below 1 / people.", rich_help_panel=_DATA),
    ],
    covariance: Annotated[
        Path | None,
        typer.Option(
            help="Public knowledge of the spread, never computed from DATA: d variances or a d × d matrix. "
            "Without it the spread is learned inside the budget.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    shape: Annotated[
        str | None,
        typer.Option(
            help="Without --covariance: auto (the default) learns the spread, paper is the paper's Algorithm 2.",
            rich_help_panel=_RULES,
        ),
    ] = None,
    window: Annotated[
        tuple[float, float],
        typer.Option(
            metavar="LOW HIGH",
            help="Without --covariance: the distance between two typical rows lies in here, in DATA's units.",
            rich_help_panel=_RULES,
        ),
    ] = (1e-6, 1e6),
    denoise: Annotated[
        bool,
        typer.Option(
            "--denoise",
            help="Shrink the mean towards its bulk: free, often nearer, no longer unbiased.",
            rich_help_panel=_RULES,
        ),
    ] = False,
    neighbours: Annotated[
        str,
        typer.Option(
            help="add-remove hides whether someone is in the table; replace-one lets the number of rows be public.",
            rich_help_panel=_RULES,
        ),
    ] = "add-remove",
    core: Annotated[
        str, typer.Option(help="auto, stable, soft or basic; auto takes the least noise.", rich_help_panel=_RULES)
    ] = "auto",
    failure_probability: Annotated[
        float, typer.Option(help="Chance of refusing good data that you accept.", rich_help_panel=_RULES)
    ] = 0.01,
    outliers: Annotated[
        float, typer.Option(help="Share of rows that may lie far from the rest.", rich_help_panel=_RULES)
    ] = 0.03,
    tails: Annotated[
        str, typer.Option(help="heavy or gaussian; heavy is the safe choice.", rich_help_panel=_RULES)
    ] = "heavy",
    scale: Annotated[
        str,
        typer.Option(help="known, or learn: the covariance is right up to one factor.", rich_help_panel=_RULES),
    ] = "known",
    stages: Annotated[
        str, typer.Option(help="Recentring stages at most; auto, or 0 for the core alone.", rich_help_panel=_RULES)
    ] = "auto",
    on_invalid: Annotated[
        str,
        typer.Option(
            help="Rows with NaN or infinity: raise stops (outside the guarantee), neutral lets them count for nothing.",
            rich_help_panel=_RULES,
        ),
    ] = "raise",
    out: Annotated[
        str,
        typer.Option("--out", "-o", help=".npy, .npz, .csv or .parquet file; - prints CSV.", rich_help_panel=_OUTPUT),
    ] = "-",
    json: Annotated[
        Path | None,
        typer.Option(help="Also write the release record (promise, ledger) to a .json file.", rich_help_panel=_OUTPUT),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing output.", rich_help_panel=_OUTPUT)] = False,
) -> None:
    """Release the mean of a table under differential privacy.

    The budget is the total for this release; releases about the same people
    add up. A CSV file may start with a line of names: a first line of numbers
    is a record.

    Example: nothing is known but the table.

      dimfree mean people.csv --epsilon 1 --delta 1e-6 \\
          -o mean.csv --json release.json

    Knowing the spread of each column beforehand gives less noise, and asks
    for fewer rows: for ages and incomes,

      echo 'age,income' > spread.csv
      echo '150,9e8'   >> spread.csv

      dimfree mean people.csv --epsilon 1 --delta 1e-6 \\
          --covariance spread.csv -o better.csv

    Exit code 0: released. 2: bad input, nothing was released. 3: refused,
    because the rows are too few or too far apart; the budget is
    spent, no mean is written, --json still records it.
    """
    _check_before_spending(data, covariance, epsilon, delta, out, json, force)
    with _working("Reading"):
        from dimfree.files import read_covariance, read_table

        records = read_table(data)
        matrix = None if covariance is None else read_covariance(covariance, records.columns)
    with _working("Releasing"):
        from dimfree.release import release_mean

        release = release_mean(
            records,
            epsilon=epsilon,
            delta=delta,
            covariance=matrix,
            shape=shape,
            window=window,
            denoise=denoise,
            neighbours=neighbours,
            core=core,
            failure_probability=failure_probability,
            on_invalid=on_invalid,
            outliers=outliers,
            tails=tails,
            scale=scale,
            stages=int(stages) if stages.isdigit() else stages,
        )
    _write(release, out, json, force)
    _summarise(release, out, json)
    if release.refused:
        raise typer.Exit(REFUSED)


def _check_before_spending(
    data: Path, covariance: Path | None, epsilon: float, delta: float, out: str, json: Path | None, force: bool
) -> None:
    """Whatever can fail without the data fails here: no noise has been drawn."""
    from dimfree.budget import Budget
    from dimfree.files import STDOUT, check_target

    Budget(epsilon, delta)
    taken = {path.resolve(): name for path, name in ((data, "DATA"), (covariance, "--covariance")) if path}
    for name, path in (("--out", None if out == STDOUT else Path(out)), ("--json", json)):
        if path is None:
            continue
        check_target(path, force=force, **({"endings": (".json",)} if name == "--json" else {}))
        if path.resolve() in taken:
            raise InvalidParameter(f"Expected {name}={str(path)!r} to differ from {taken[path.resolve()]}.")
        taken[path.resolve()] = name


def _write(release: "Release", out: str, json: Path | None, force: bool) -> None:
    """All files or none: each is complete on disk before the first gets its name."""
    from dimfree.files import STDOUT, draft_mean, draft_text, write_mean

    drafts = []
    try:
        if not release.refused and out != STDOUT:
            drafts.append(draft_mean(out, release, force=force))
        if json is not None:
            drafts.append(draft_text(json, release.to_json(), force=force))
        for draft in drafts:
            draft.publish()
    finally:
        for draft in drafts:
            draft.discard()
    if not release.refused and out == STDOUT:
        try:
            write_mean(STDOUT, release)
        except InvalidFile:
            _abandon_stdout()
            raise


def _abandon_stdout() -> None:
    """Point stdout nowhere, or the interpreter complains once more when it flushes on the way out."""
    with suppress(OSError):  # there is no descriptor where stdout is captured
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _working(what: str) -> Iterator[None]:
    """A progress bar on a terminal, once the work has taken more than a second."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    progress.add_task(what, total=None)
    timer = threading.Timer(_PATIENCE, progress.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # a bar that is just starting must have started before it can be stopped
        progress.stop()


def _summarise(release: "Release", out: str, json: Path | None) -> None:
    from rich.console import Console

    console = Console(stderr=True)
    console.print(_summary(release, out, json))
    if not release.guarantee.private:
        console.print("Not private: the noise was seeded.", style="bold red")


def _summary(release: "Release", out: str, json: Path | None) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Refused" if release.refused else "Released", show_header=False, title_justify="left")
    for name, text in _rows(release, out, json):
        table.add_row(name, Text(text))  # Text: a path or a name is never taken for markup
    return table


def _rows(release: "Release", out: str, json: Path | None) -> Iterator[tuple[str, str]]:
    yield "promise", release.guarantee.statement()
    yield "spent", f"delta {release.ledger.delta():.3g} at epsilon {release.guarantee.epsilon:g}, in all"
    yield "charged", "\n".join(f"{what}: {how}, {cost}" for what, how, cost in release.ledger.summary_rows())
    if release.refusal is not None:
        yield "reason", release.refusal
    else:
        yield "method", release.method
        yield "noise", _noise_range(release)
    yield from _places(release, out, json)


def _noise_range(release: "Release") -> str:
    low, high = release.noise_stddev.min(), release.noise_stddev.max()
    return f"standard deviation {low:.4g} to {high:.4g} per coordinate, {release.dimension} coordinate(s)"


def _places(release: "Release", out: str, json: Path | None) -> Iterator[tuple[str, str]]:
    if release.refused:
        yield "mean", "not written"
    else:
        yield "mean", "standard output" if out == "-" else out
    if json is not None:
        yield "record", str(json)
