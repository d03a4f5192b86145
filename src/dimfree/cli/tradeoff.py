"""`dimfree tradeoff`: the predicted error against epsilon, or against n; no data are read."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimfree.cli import along, asked, options
from dimfree.errors import InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from rich.table import Table

    from dimfree.planning.tradeoff import Tradeoff


def tradeoff(
    epsilon: Annotated[
        str,
        typer.Option(
            help="Total privacy loss; several, as in 0.1,0.5,1, are the axis.", rich_help_panel=options.PROMISE
        ),
    ],
    delta: options.PlanDelta,
    n: Annotated[
        str,
        typer.Option("--n", "-n", help="Records; or several of them are the axis.", rich_help_panel=options.RECORDS),
    ],
    d: options.Dimension = None,
    spectrum: options.Spectrum = None,
    spectrum_file: options.SpectrumFile = None,
    like: options.Like = None,
    public: options.Public = False,
    objective: options.PlanObjective = "auto",
    knowledge: options.Knowledge = "nothing",
    neighbours: options.Neighbours = "add-remove",
    outliers: options.Outliers = 0.03,
    tails: options.Tails = "heavy",
    failure_probability: options.FailureProbability = 0.01,
    chart: Annotated[
        Path | None,
        typer.Option(help="Draw it: .svg, .png, .html or (Vega-Lite) .json.", rich_help_panel=options.OUTPUT),
    ] = None,
    json: options.PrintJson = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the numbers: .json or .md.", rich_help_panel=options.OUTPUT),
    ] = None,
    force: options.Force = False,
) -> None:
    """Show what privacy costs: predicted error against epsilon, or against n.

    No data are read. Exactly one of --epsilon and --n has several values:
    the axis. Beside the error of the private mean stands the sampling error,
    which the plain mean has as well; from the knee on the two are within
    10 %, and privacy is free.

    Example: how small can epsilon be, with 4000 records of 100 columns?

      dimfree tradeoff --n 4000 --d 100 --spectrum S1 \\
          --epsilon 0.5,1,2 --delta 1e-6 --chart cost.svg

    Exit code 0: shown. 2: bad input.
    """
    along.check_places(chart, out, force)
    about = asked.spread(spectrum, spectrum_file, like, public)
    if asked.needs_spread(about, objective, knowledge) or (not hasattr(about, "shape") and d is None):
        raise InvalidParameter(
            "Expected --spectrum NAME together with --d, or --spectrum-file FILE, or --like FILE with --public."
        )
    given: dict[str, Any] = {
        "epsilon": along.several("epsilon", epsilon, float),
        "delta": delta,
        "n": along.several("n", n, int),
        "d": d,
        "spectrum": about,
        "objective": objective,
        "knowledge": knowledge,
        "neighbours": neighbours,
        "outliers": outliers,
        "tails": tails,
        "failure_probability": failure_probability,
    }
    found = _run(given)
    along.write_places(found, partial(_picture, found), chart, out, force)
    _show(found, json)


def _run(given: dict[str, Any]) -> "Tradeoff":
    if not any(isinstance(given[name], list) for name in ("n", "epsilon")):
        raise InvalidParameter("Expected several values for --n or for --epsilon, as in --epsilon 0.1,0.5,1: the axis.")
    if all(isinstance(given[name], list) for name in ("n", "epsilon")):
        raise InvalidParameter("Expected several values for only one of --n and --epsilon: the axis.")
    from dimfree.planning.tradeoff import tradeoff as curve

    with asked.predicting() as tell:
        return curve(**given, tell=tell)


def _show(found: "Tradeoff", json: bool) -> None:
    """Print the table, or the JSON, to stdout; conditions and the knee in words to stderr."""
    from rich.console import Console

    console = Console()
    if json:
        typer.echo(found.to_json(), nl=False)
    elif console.is_terminal:
        console.print(_drawn(found))
    else:
        typer.echo("\n".join("\t".join(cells) for cells in (found.header(), *found.cells())))
    talk = Console(stderr=True)
    for line in (found.conditions(), found.verdict()):
        talk.print(line, highlight=False, markup=False)


def _drawn(found: "Tradeoff") -> "Table":
    from rich.table import Table
    from rich.text import Text

    what = (
        "error over the columns, in their own standard deviations"
        if found.objective == "relative"
        else "Euclidean error"
    )
    table = Table(title=f"What privacy costs: RMS {what}, predicted", title_justify="left")
    for name in found.header():
        table.add_column(name, justify="right")
    for row, cells in zip(found.rows, found.cells(), strict=True):
        table.add_row(*map(Text, cells), style="dim" if row.refused else "")
    return table


def _picture(found: "Tradeoff", ending: str) -> bytes:
    from dimfree.planning.tradeoff_chart import chart_bytes

    return chart_bytes(found, ending)
