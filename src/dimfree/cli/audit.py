"""`dimfree audit`: attack the mechanisms, compare what is found with what is claimed."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dimfree.errors import InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from dimfree.audit.row import Check, Row

FOUND = 1
_STYLES = {"violated": "bold red", "held": "", "reported": ""}
_ENDINGS = (".json", ".html", ".md")


def audit(
    mechanism: Annotated[
        str | None, typer.Option(help="Only what has this in its name; --list shows the names.")
    ] = None,
    budget: Annotated[
        float, typer.Option(metavar="SECONDS", help="Time for canaries, searches and samples; the rest takes a minute.")
    ] = 600.0,
    jobs: Annotated[int, typer.Option(min=1, help="Processes that share the checks.")] = 1,
    report: Annotated[Path | None, typer.Option(help="Also write the table to a .html, .json or .md file.")] = None,
    names: Annotated[bool, typer.Option("--list", help="Print the names of all checks and leave.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing report.")] = False,
) -> None:
    """Audit this installation: does it give away more than it claims?

    No data are read; the tables are worst cases made up by the audit. Exact
    checks enumerate every outcome on small tables, searches climb towards
    the worst pair of tables, canaries and samples bound epsilon from below
    with the real noise, numerical checks test bits, order, texts and time. More time
    finds more; a check that has too little to find anything says "no time".

    Example: half an hour, everything, with a report to keep.

      dimfree audit --jobs 2 --budget 1600 --report audit.html

    Example: one mechanism.

      dimfree audit --mechanism "clipped mean" --budget 60

    Exit code 0: nothing found. 1: a claim is violated. 2: bad input.
    """
    if names:
        from dimfree.audit.run import names as all_names

        typer.echo("\n".join(all_names()))
        return
    _check(budget, report, force)
    rows = _run(_chosen(mechanism), budget, mechanism, jobs)
    _show(rows)
    if report is not None:
        _write(rows, report, force)
    if any(row.verdict == "violated" for row in rows):
        raise typer.Exit(FOUND)


def _check(budget: float, report: Path | None, force: bool) -> None:
    """Whatever can fail at the end fails here."""
    from dimfree._validate import check_positive
    from dimfree.results.writing import check_target

    check_positive("budget", budget)
    if report is not None:
        check_target(report, force=force, endings=_ENDINGS)


def _chosen(mechanism: str | None) -> "list[Check]":
    from dimfree.audit.run import checks

    found = [check for check in checks() if mechanism is None or mechanism in check.mechanism]
    if not found:
        raise InvalidParameter(f"Expected mechanism={mechanism!r} to be part of a name: see dimfree audit --list.")
    return found


def _run(chosen: "list[Check]", budget: float, mechanism: str | None, jobs: int) -> "list[Row]":
    from functools import partial

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from dimfree.audit.run import audit as rows_of
    from dimfree.audit.run import weighted
    from dimfree.audit.workers import alone, together

    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("starting", total=len(chosen))
        rows = []
        workers = alone if jobs == 1 else together(jobs, partial(weighted, mechanism))
        for row in rows_of(budget, chosen, lambda name: progress.update(task, description=name), workers):
            rows.append(row)
            progress.advance(task)
    return rows


def _show(rows: "list[Row]") -> None:
    """The table is the product: stdout. The summary is talk: stderr."""
    from rich.console import Console

    from dimfree.audit.report import summary

    console = Console()
    if console.is_terminal:
        console.print(_table(rows))
    else:
        typer.echo("\n".join(_lines(rows)))
    _talk(Console(stderr=True), summary(rows))


def _talk(console: "Console", text: str) -> None:
    console.print(text, highlight=False, markup=False)


def _table(rows: "list[Row]") -> "Table":
    from rich.table import Table
    from rich.text import Text

    from dimfree.audit.report import COLUMNS, cells

    table = Table(*COLUMNS, title="Audit", title_justify="left")
    for row in rows:
        style = _STYLES.get(row.verdict, "dim")
        table.add_row(*(Text(cell) for cell in cells(row)), style=style)
    return table


def _lines(rows: "list[Row]") -> Iterator[str]:
    """Tab-separated, for a pipe."""
    from dimfree.audit.report import COLUMNS, cells

    yield "\t".join(COLUMNS)
    yield from ("\t".join(cells(row)) for row in rows)


def _write(rows: "list[Row]", report: Path, force: bool) -> None:
    from dimfree import __version__
    from dimfree.audit.report import WRITERS
    from dimfree.results.writing import write_text

    write_text(report, WRITERS[report.suffix.lower()](rows, __version__), force=force)
