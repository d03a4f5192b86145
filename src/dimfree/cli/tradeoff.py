"""`dimfree tradeoff`: the predicted error against epsilon, or against n; no data are read."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimfree.cli import asked
from dimfree.errors import InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from rich.table import Table

    from dimfree.planning.tradeoff import Tradeoff


def tradeoff(
    epsilon: Annotated[
        str,
        typer.Option(help="Total privacy loss; several, as in 0.1,0.5,1, are the axis.", rich_help_panel=asked.PROMISE),
    ],
    delta: asked.Delta,
    n: Annotated[
        str,
        typer.Option("--n", "-n", help="Records; or several of them are the axis.", rich_help_panel=asked.RECORDS),
    ],
    d: asked.Dimension = None,
    spectrum: asked.Spectrum = None,
    spectrum_file: asked.SpectrumFile = None,
    like: asked.Like = None,
    public: asked.Public = False,
    knowledge: asked.Knowledge = "nothing",
    neighbours: asked.NeighboursWord = "add-remove",
    outliers: asked.Outliers = 0.03,
    tails: asked.Tails = "heavy",
    failure_probability: asked.FailureProbability = 0.01,
    chart: Annotated[
        Path | None,
        typer.Option(help="Draw it: .svg, .png, .html or (Vega-Lite) .json.", rich_help_panel=asked.OUTPUT),
    ] = None,
    json: asked.Json = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the numbers: .json or .md.", rich_help_panel=asked.OUTPUT)
    ] = None,
    force: asked.Force = False,
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
    _check(chart, out, force)
    about = asked.spread(spectrum, spectrum_file, like, public)
    if about is None or (isinstance(about, str) and d is None):
        raise InvalidParameter(
            "Expected --spectrum NAME together with --d, or --spectrum-file FILE, or --like FILE with --public."
        )
    options = {
        "epsilon": _several("epsilon", epsilon, float),
        "delta": delta,
        "n": _several("n", n, int),
        "d": d,
        "spectrum": about,
        "knowledge": knowledge,
        "neighbours": neighbours,
        "outliers": outliers,
        "tails": tails,
        "failure_probability": failure_probability,
    }
    found = _run(options)
    _write(found, chart, out, force)
    _show(found, json)


def _several(name: str, text: str, kind: type[int] | type[float]) -> Any:
    """One number, or a list where commas are."""
    try:
        values = [kind(part.strip()) for part in text.split(",")]
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise InvalidParameter(f"Expected --{name} {text!r} to be {what}, or several with commas between.") from None
    return values if len(values) > 1 else values[0]


def _check(chart: Path | None, out: Path | None, force: bool) -> None:
    """Whatever can fail at the end fails here."""
    from dimfree.comparison.chart import ENDINGS, require_altair
    from dimfree.writing import check_target

    if chart is not None:
        require_altair()
        check_target(chart, force=force, endings=ENDINGS)
    if out is not None:
        check_target(out, force=force, endings=(".json", ".md"))
    if chart is not None and out is not None and chart.resolve() == out.resolve():
        raise InvalidParameter(f"Expected --chart={str(chart)!r} to differ from --out.")


def _run(options: dict[str, Any]) -> "Tradeoff":
    if not any(isinstance(options[name], list) for name in ("n", "epsilon")):
        raise InvalidParameter("Expected several values for --n or for --epsilon, as in --epsilon 0.1,0.5,1: the axis.")
    if all(isinstance(options[name], list) for name in ("n", "epsilon")):
        raise InvalidParameter("Expected several values for only one of --n and --epsilon: the axis.")
    from dimfree.planning.tradeoff import tradeoff as curve

    with asked.predicting() as tell:
        return curve(**options, tell=tell)


def _show(found: "Tradeoff", json: bool) -> None:
    """The table, or the JSON, is the product: stdout. Conditions and the knee in words are talk: stderr."""
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

    table = Table(title="What privacy costs: RMS Euclidean error, predicted", title_justify="left")
    for name in found.header():
        table.add_column(name, justify="right")
    for row, cells in zip(found.rows, found.cells(), strict=True):
        table.add_row(*map(Text, cells), style="dim" if row.refused else "")
    return table


def _write(found: "Tradeoff", chart: Path | None, out: Path | None, force: bool) -> None:
    from functools import partial

    from dimfree.planning.tradeoff_chart import chart_bytes
    from dimfree.writing import draft_bytes, draft_text, publish_together

    drafting = []
    if out is not None:
        text = found.to_json() if out.suffix.lower() == ".json" else found.to_markdown()
        drafting.append(partial(draft_text, out, text, force=force))
    if chart is not None:
        drafting.append(partial(draft_bytes, chart, chart_bytes(found, chart.suffix.lower()), force=force))
    publish_together(drafting)
