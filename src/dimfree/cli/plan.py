"""`dimfree plan`: find the number of records, the privacy budget or the error; no data are read."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimfree.cli import asked, options
from dimfree.errors import InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from rich.table import Table

    from dimfree.planning.plan import Plan

_UNKNOWNS = ("n", "d", "epsilon", "accuracy")
_FOUND = {"n": "records to collect", "d": "columns to ask for", "epsilon": "epsilon to agree on", "accuracy": "error"}


def plan(
    delta: options.PlanDelta,
    epsilon: Annotated[
        float | None, typer.Option(help="Total privacy loss you agree to.", rich_help_panel=options.PROMISE)
    ] = None,
    n: Annotated[int | None, typer.Option("--n", "-n", help="Records.", rich_help_panel=options.RECORDS)] = None,
    d: options.Dimension = None,
    spectrum: options.Spectrum = None,
    spectrum_file: options.SpectrumFile = None,
    like: options.Like = None,
    public: options.Public = False,
    accuracy: Annotated[
        float | None,
        typer.Option(
            help="Error (RMS) to reach: over the columns, in each one's standard deviation; with --objective total, "
            "Euclidean, in the records' units."
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(help="With which the error is also stated.")] = 0.95,
    objective: options.PlanObjective = "auto",
    knowledge: options.Knowledge = "nothing",
    neighbours: options.Neighbours = "add-remove",
    outliers: options.Outliers = 0.03,
    tails: options.Tails = "heavy",
    failure_probability: options.FailureProbability = 0.01,
    time_limit: Annotated[float, typer.Option(help="Seconds after which a search for n, d or epsilon stops.")] = 60.0,
    json: options.PrintJson = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Also write JSON to a .json file.", rich_help_panel=options.OUTPUT),
    ] = None,
    force: options.Force = False,
) -> None:
    """Plan a release before there are data: records, privacy and error.

    Give all but one of --n, --d, --epsilon and --accuracy; the missing one is
    found. The card shows the expected error and its parts, the estimator of
    dimfree mean, whether privacy is free, and the limits of the theorems.

    Example: what error do 4000 records of 100 columns give?

      dimfree plan --n 4000 --d 100 --spectrum S1 \\
          --epsilon 1 --delta 1e-6

    Example: how many records does an error of 0.1 take?

      dimfree plan --accuracy 0.1 --d 100 --spectrum S1 \\
          --epsilon 1 --delta 1e-6

    Example: columns in any units, each to a tenth of its own SD.

      dimfree plan --accuracy 0.1 --d 20 --epsilon 1 --delta 1e-6

    Exit code 0: planned, even where a release would be refused. 2: bad input.
    """
    if out is not None:
        from dimfree.results.writing import check_target

        check_target(out, force=force, endings=(".json",))
    about = asked.spread(spectrum, spectrum_file, like, public)
    columns = d if about is None or isinstance(about, str) else len(about)
    if asked.needs_spread(about, objective, knowledge):
        raise InvalidParameter("Expected --spectrum NAME as well, or --spectrum-file FILE, or --like FILE --public.")
    _check_enough({"n": n, "d": columns, "epsilon": epsilon, "accuracy": accuracy})
    found = _run(
        {
            "n": n,
            "d": d,
            "spectrum": about,
            "epsilon": epsilon,
            "delta": delta,
            "accuracy": accuracy,
            "objective": objective,
            "knowledge": knowledge,
            "neighbours": neighbours,
            "outliers": outliers,
            "tails": tails,
            "failure_probability": failure_probability,
            "confidence": confidence,
            "time_limit": time_limit,
        }
    )
    if out is not None:
        from dimfree.results.writing import write_file

        write_file(out, found.to_json(), force=force)
    _show(found, json)


def _check_enough(given: dict[str, Any]) -> None:
    """One figure is left out, no more and no less; in the words of the command line."""
    every, missing = [f"--{name}" for name in _UNKNOWNS], [f"--{name}" for name in _UNKNOWNS if given[name] is None]
    if not missing:
        raise InvalidParameter(f"Expected one of {', '.join(every)} to be left out: it is what a plan finds.")
    if len(missing) > 1:
        more = ("one", "two", "three")[len(missing) - 2]
        raise InvalidParameter(
            f"Expected all but one of {', '.join(every)}, got nothing for {' and '.join(missing)}: give {more} of them."
        )


def _run(given: dict[str, Any]) -> "Plan":
    from dimfree.planning.plan import plan as planned

    with asked.predicting() as tell:
        return planned(**given, tell=tell)


def _show(found: "Plan", json: bool) -> None:
    """The card, or the JSON, is the product: stdout."""
    from rich.console import Console

    console = Console()
    if json:
        typer.echo(found.to_json(), nl=False)
    elif console.is_terminal:
        console.print(_card(found))
    else:
        typer.echo("\n".join("\t".join(cells) for cells in _lines(found)))


def _lines(found: "Plan") -> "list[tuple[str, str]]":
    """Return the rows of the plan, and its distance from the limits."""
    lines = list(found.rows())
    far = [f"{found.n / limit.records:.3g} × that of {limit.theorem}" for limit in found.limits if limit.records > 1]
    return [*lines, ("distance to the limit", f"n is {', '.join(far)}")] if far else lines


def _card(found: "Plan") -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    title = f"Plan: {_FOUND[found.solved_for]}"
    card = Table(title=title, title_justify="left", title_style="bold", show_header=False, box=SIMPLE_HEAD)
    last = None
    for name, text in _lines(found):
        card.add_row(Text("" if name == last else name, style="cyan"), Text(text))
        last = name
    return card
