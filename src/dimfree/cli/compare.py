"""`dimfree compare`: every estimator on the same public draws, at the same budget."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimfree.cli import along, options
from dimfree.errors import InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from rich.table import Table

    from dimfree.comparison.outcome import Comparison

_RULES = "The promise that everybody makes"
_WORLD = "Where: synthetic records, or a public table"
_OUTPUT = "Output"


def compare(
    epsilon: Annotated[
        str, typer.Option(help="Total privacy loss; several, as in 0.5,1,4, make an axis.", rich_help_panel=_RULES)
    ],
    delta: Annotated[float, typer.Option(help="Slack in that promise.", rich_help_panel=_RULES)],
    neighbours: Annotated[str, typer.Option(help="add-remove or replace-one.", rich_help_panel=_RULES)] = "add-remove",
    spectrum: Annotated[
        str | None,
        typer.Option(
            help="Of the standard deviations: S1 (if nothing is said) to S5, power:A, exponential:A; several make an "
            "axis.",
            rich_help_panel=_WORLD,
        ),
    ] = None,
    n: Annotated[
        str | None,
        typer.Option(
            "-n",
            help="Records, 1000 if nothing is said, or half of DATA where that is fewer; several make an axis.",
            rich_help_panel=_WORLD,
        ),
    ] = None,
    d: Annotated[
        str | None,
        typer.Option("-d", help="Columns, 1000 if nothing is said; several make an axis.", rich_help_panel=_WORLD),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="A PUBLIC table to draw n of its rows from instead: .npy, .npz, .csv or .parquet.",
            rich_help_panel=_WORLD,
        ),
    ] = None,
    public: Annotated[
        bool,
        typer.Option(
            "--public", help="Everybody may see DATA: exact errors on it will be shown.", rich_help_panel=_WORLD
        ),
    ] = False,
    estimators: Annotated[
        str | None, typer.Option(help="Only these, as in dimfree,PLAN; --list shows the names.")
    ] = None,
    trials: Annotated[int, typer.Option(help="Draws at each point.")] = 5,
    seed: Annotated[int, typer.Option(help="Of records and noise: the same seed, the same table.")] = 0,
    names: Annotated[
        bool,
        typer.Option(
            "--list",
            help="Print the estimators and what each is told, and leave.",
            is_eager=True,
            callback=lambda wanted: _list(wanted),
        ),
    ] = False,
    chart: Annotated[
        Path | None,
        typer.Option(help="Draw it: .svg, .png, .html or (Vega-Lite) .json.", rich_help_panel=_OUTPUT),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the numbers: .json or .md.", rich_help_panel=_OUTPUT)
    ] = None,
    force: options.Force = False,
) -> None:
    """Compare estimators at equal privacy, on synthetic records or a public table.

    Every estimator sees the same records and makes the same promise. One that
    asks for prior knowledge is told the truth, but for a radius R that is ten
    times too large, and the table says what each was told (--list explains).
    Noise is seeded: a simulation, not a release.

    Example: who needs how many records, in a thousand columns?

      dimfree compare --epsilon 1 --delta 1e-6 -n 1000,4000 --chart n.svg

    Example: a table that anybody may see.

      dimfree compare --epsilon 2 --delta 1e-6 --data digits.npy --public

    Exit code 0: compared. 2: bad input.
    """
    _check(data, public, chart, out, force)
    found = _run(
        data,
        {
            "epsilon": along.several("epsilon", epsilon, float),
            "delta": delta,
            "neighbours": neighbours,
            "spectrum": along.several("spectrum", spectrum, str),
            "n": along.several("n", n, int),
            "d": along.several("d", d, int),
            "public": public,
            "estimators": None if estimators is None else [name.strip() for name in estimators.split(",")],
            "trials": trials,
            "seed": seed,
        },
    )
    _show(found)
    along.write_places(found, partial(_picture, found), chart, out, force)


def _list(wanted: bool) -> None:
    if wanted:
        from dimfree.comparison.contestants import CONTESTANTS, FACTS

        for contestant in CONTESTANTS:
            private = "" if contestant.private else " (not private)"
            typer.echo(f"{contestant.name}\t{contestant.told}{private}")
        for name, meaning in FACTS.items():
            typer.echo(f"{name}: {meaning}", err=True)
        raise typer.Exit


def _check(data: Path | None, public: bool, chart: Path | None, out: Path | None, force: bool) -> None:
    """Whatever can fail at the end fails here. A table not declared public is not even opened."""
    if data is not None and not public:
        raise InvalidParameter(
            "A comparison shows exact errors on DATA, which protects nobody in it. Say --public if everybody may see "
            "DATA; for a table of real people use dimfree mean."
        )
    if public and data is None:
        raise InvalidParameter(
            "Expected --data FILE with --public, which is a word about it; without --data records are synthetic."
        )
    along.check_places(chart, out, force)


def _run(data: Path | None, options: dict[str, Any]) -> "Comparison":
    """A bar on a terminal; nothing elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from dimfree.comparison.trials import compare as comparison

    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("starting", total=None)
        return comparison(
            **options,
            table=None if data is None else _table(data),
            tell=lambda what, done, total: progress.update(task, description=what, completed=done, total=total),
        )


def _table(data: Path) -> object:
    from dimfree.comparison.worlds import PublicTable
    from dimfree.data.read import read_table

    return PublicTable.of(read_table(data), data.name)


def _show(found: "Comparison") -> None:
    """The table is the product: stdout. What everybody had in common is talk: stderr."""
    from rich.console import Console

    from dimfree.comparison.outcome import WARNING

    console = Console()
    if console.is_terminal:
        console.print(_drawn(found))
    else:
        typer.echo("\n".join("\t".join(cells) for cells in (found.header(), *found.rows())))
    talk = Console(stderr=True)
    for line in (*found.conditions(), WARNING):
        talk.print(line, highlight=False, markup=False)


def _drawn(found: "Comparison") -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(*found.header(), title="Error at equal privacy", title_justify="left")
    for row in found.rows():
        table.add_row(*(Text(cell) for cell in row))
    return table


def _picture(found: "Comparison", ending: str) -> bytes:
    from dimfree.comparison.chart import chart_bytes

    return chart_bytes(found, ending)
