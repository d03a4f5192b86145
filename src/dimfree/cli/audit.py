"""`dimfree audit`: attack the public calls, compare what is found with what is claimed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from rich.table import Table

    from dimfree.audit.attack import Row

FOUND = 1
_STYLES = {"violated": "bold red", "held": ""}
_ENDINGS = (".json", ".html", ".md")


def audit(
    call: Annotated[str, typer.Option(help="Only checks with this in the name; --list shows the names.")] = "",
    epsilon: Annotated[float, typer.Option(help="The epsilon that the attacked calls claim, from 0.1 to 10.")] = 1.0,
    budget: Annotated[float, typer.Option(metavar="SECONDS", help="Time for attacks; invariants take a minute.")] = 600,
    jobs: Annotated[int, typer.Option(min=1, help="Processes that share the checks.")] = 1,
    report: Annotated[Path | None, typer.Option(help="Also write the table to a .html, .json or .md file.")] = None,
    names: Annotated[bool, typer.Option("--list", help="Print the names of all checks and exit.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing report.")] = False,
) -> None:
    """Attack the releases of this installation; compare claims and findings.

    No data are read: the tables are worst cases made up by the audit. The
    public calls release on neighboring tables with the real noise; samples
    and canaries bound epsilon from below. Invariants are charges that cover
    the noise, releases that depend on neither order nor storage, and texts
    that show no record. More time finds more; "no time" means that a check
    had too little to find anything.

    Example: half an hour, everything, with a report to keep.

      dimfree audit --jobs 2 --budget 1600 --report audit.html

    Example: the calls whose name contains these words.

      dimfree audit --call "known covariance" --budget 60

    Exit code 0: nothing found. 1: a claim is violated. 2: bad input.
    """
    from dimfree._validate import check_positive
    from dimfree.audit.run import checks
    from dimfree.errors import InvalidParameter
    from dimfree.results.writing import check_target

    if not 0.1 <= epsilon <= 10:
        raise InvalidParameter(f"Expected epsilon={epsilon!r} to be from 0.1 to 10.")
    known = dict.fromkeys(check.name for check in checks(epsilon))
    if names:
        typer.echo("\n".join(known))
        return
    check_positive("budget", budget)
    if report is not None:
        check_target(report, force=force, endings=_ENDINGS)
    if not any(call in name for name in known):
        raise InvalidParameter(f"Expected call={call!r} to be part of a name: see dimfree audit --list.")
    rows = _run(budget, epsilon, call, jobs)
    _show(rows)
    if report is not None:
        _write(rows, report, force)
    if any(row.verdict == "violated" for row in rows):
        raise typer.Exit(FOUND)


def _run(budget: float, epsilon: float, call: str, jobs: int) -> "list[Row]":
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from dimfree.audit.run import audit as rows_of

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("starting", total=None)
        return list(
            rows_of(budget, epsilon, part=call, jobs=jobs, report=lambda name: progress.update(task, description=name))
        )


def _show(rows: "list[Row]") -> None:
    """Print the table to stdout and the summary to stderr."""
    from rich.console import Console

    from dimfree.audit.run import COLUMNS, cells, summarize

    console = Console()
    if console.is_terminal:
        console.print(_table(rows))
    else:
        typer.echo("\n".join("\t".join(line) for line in (COLUMNS, *map(cells, rows))))
    Console(stderr=True).print(summarize(rows), highlight=False, markup=False)


def _table(rows: "list[Row]") -> "Table":
    from rich.table import Table
    from rich.text import Text

    from dimfree.audit.run import COLUMNS, cells

    table = Table(*COLUMNS, title="Audit", title_justify="left")
    for row in rows:
        table.add_row(*(Text(cell) for cell in cells(row)), style=_STYLES.get(row.verdict, "dim"))
    return table


def _write(rows: "list[Row]", report: Path, force: bool) -> None:
    from dimfree import __version__
    from dimfree.audit.run import WRITERS
    from dimfree.results.writing import write_file

    write_file(report, WRITERS[report.suffix.lower()](rows, __version__), force=force)
