"""`dimfree plan`: the expected error of a release, or the records or budget that an error needs. No data are read."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from rich.box import SIMPLE_HEAD

import dimfree
from dimfree.arguments import ARGUMENTS, BUDGET, OUTPUT, RECORDS, Argument
from dimfree.cli.options import PLANNED, takes
from dimfree.cli.output import check_outputs, draw_table, show_product
from dimfree.cli.progress import show_progress
from dimfree.errors import InvalidFileError, InvalidParameterError

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.

if TYPE_CHECKING:
    from dimfree.planning.plan import Plan
    from dimfree.planning.tradeoff import Tradeoff

Value = TypeVar("Value")

_UNKNOWNS = ("n", "d", "epsilon", "accuracy")
_FOUND = {"n": "number of records", "d": "number of columns", "epsilon": "epsilon", "accuracy": "error"}
_SHARED = ("delta", "d", "objective", "knowledge", "neighbors", "outliers", "tails", "failure_probability")
_RECORDS = "n d spectrum spectrum_file like public"
_SETTINGS = "objective knowledge neighbors outliers tails failure_probability"


@takes(
    f"delta epsilon {_RECORDS} accuracy confidence {_SETTINGS} time_limit chart json out force",
    **PLANNED,
    epsilon=replace(
        ARGUMENTS["epsilon"],
        help="Total epsilon of the privacy budget; several, as in 0.5,1,2, give a curve.",
        default=None,
        panel=BUDGET,
        kind=str | None,
    ),
    n=Argument(None, "Number of records; several give a curve.", str | None, RECORDS, flags=("--n", "-n")),
    accuracy=Argument(
        None,
        "Error (RMS) to reach: relative to the SDs, or with --objective total Euclidean.",
        float | None,
    ),
    confidence=Argument(0.95, "Level at which a bound on the error is also stated.", float),
    time_limit=Argument(60.0, "Time limit in seconds of a search for n, d or epsilon.", float),
    chart=Argument(None, "Chart of a curve: .svg, .png, .html or (Vega-Lite) .json.", Path | None, OUTPUT),
    out=Argument(
        None, "Also write the plan to a .json file, or a curve to .md.", Path | None, OUTPUT, flags=("--out", "-o")
    ),
)
def plan(asked: Any) -> None:
    """Plan a release: its error, or the records or the budget that it needs.

    Give all but one of --n, --d, --epsilon and --accuracy: the plan finds the
    missing one. Several values of --n or --epsilon give a curve. The plan
    simulates the release; it reads no data and costs no budget.

    Example: the error of 4000 records with 100 columns.

      dimfree plan --n 4000 --d 100 --spectrum S1 \\
          --epsilon 1 --delta 1e-6

    Example: the number of records for an error of 0.1.

      dimfree plan --accuracy 0.1 --d 100 --spectrum S1 \\
          --epsilon 1 --delta 1e-6

    Example: columns in any units, with an error of a tenth of their SD.

      dimfree plan --accuracy 0.1 --d 20 --epsilon 1 --delta 1e-6

    Example: a curve of the error against epsilon.

      dimfree plan --n 4000 --d 20 --delta 1e-6 \\
          --epsilon 0.5,1,2 --chart cost.svg

    Exit code 0: planned, even where a release would be refused. 2: wrong input.
    """
    axes: dict[str, Any] = {"epsilon": _several("epsilon", asked.epsilon, float), "n": _several("n", asked.n, int)}
    if any(isinstance(values, list) for values in axes.values()):
        _plan_curve(asked, axes)
        return
    if asked.chart is not None:
        raise InvalidParameterError("--chart needs a curve. Give several values of --n or --epsilon, as in 0.5,1,2.")
    vars(asked).update(axes)
    check_outputs({"--out": (asked.out, (".json",))}, {}, force=asked.force)
    spectrum = _spectrum(asked)
    if _lacks_spectrum(asked, spectrum):
        raise InvalidParameterError(
            "The SDs of the columns are missing. Give --spectrum NAME, --spectrum-file FILE, or --like FILE --public."
        )
    columns = asked.d if spectrum is None or isinstance(spectrum, str) else len(spectrum)
    _require_one_unknown({**vars(asked), "d": columns})
    given = {name: getattr(asked, name) for name in (*_SHARED, "n", "epsilon", "accuracy", "confidence", "time_limit")}
    with show_progress("predicting") as bar:
        found = dimfree.plan(**given, spectrum=spectrum, tell=bar.steps)
    if asked.out is not None:
        from dimfree.results.writing import write_file

        write_file(asked.out, found.to_json(), force=asked.force)
    _show(found, asked.json, lambda: _draw_plan(found), _lines(found))


def _plan_curve(asked: Any, axes: dict[str, Any]) -> None:
    """Show the predicted error against epsilon or n, next to the sampling error of the plain mean."""
    from dimfree.planning.tradeoff import ENDINGS, chart_bytes, require_altair
    from dimfree.results.writing import write_file

    if asked.chart is not None:
        require_altair()
    places = {"--out": (asked.out, (".json", ".md")), "--chart": (asked.chart, ENDINGS)}
    check_outputs(places, {}, force=asked.force)
    spectrum = _spectrum(asked)
    if _lacks_spectrum(asked, spectrum) or (not hasattr(spectrum, "shape") and asked.d is None):
        raise InvalidParameterError(
            "The SDs of the columns are missing. Give --spectrum NAME with --d, --spectrum-file FILE, or --like FILE "
            "--public."
        )
    if all(isinstance(values, list) for values in axes.values()) or None in axes.values() or asked.accuracy is not None:
        raise InvalidParameterError(
            "A curve needs several values of --epsilon or of --n, one value of the other, and no --accuracy."
        )
    with show_progress("predicting") as bar:
        given = {name: getattr(asked, name) for name in _SHARED}
        found = dimfree.plan(**given, **axes, spectrum=spectrum, tell=bar.steps)
    picture = asked.chart and chart_bytes(found, asked.chart.suffix.lower())  # before either is written
    if asked.out is not None:
        text = found.to_json() if asked.out.suffix.lower() == ".json" else found.to_markdown()
        write_file(asked.out, text, force=asked.force)
    if asked.chart is not None:
        write_file(asked.chart, picture, force=asked.force)
    _show(found, asked.json, lambda: _draw_tradeoff(found), (found.header(), *found.cells()))
    for line in (found.conditions(), found.verdict()):
        typer.echo(line, err=True)


def _spectrum(asked: Any) -> Any:
    """Return the name of a spectrum, the SDs of a file, or None. Opens no table that was not declared public."""
    options = ("spectrum", "spectrum_file", "like")
    several = [f"--{name.replace('_', '-')}" for name in options if getattr(asked, name) is not None]
    if len(several) > 1:
        raise InvalidParameterError(f"Give one option for the SDs of the columns, got {' and '.join(several)}.")
    if asked.public and asked.like is None:
        raise InvalidParameterError("--public needs --like FILE: it declares that table public.")
    if asked.spectrum_file is not None:
        from dimfree.data.read_public import read_covariance

        stddevs = read_covariance(asked.spectrum_file)
        if stddevs.ndim != 1:
            raise InvalidFileError(
                f"{asked.spectrum_file} cannot be used: it must hold one SD per column, in one row or one column."
            )
        return stddevs
    if asked.like is None:
        return str(asked.spectrum) if asked.spectrum is not None else None
    if not asked.public:
        raise InvalidParameterError(
            "A plan uses the exact SDs of the table of --like and reveals them. Add --public if the table is public. "
            "Otherwise give --spectrum, or public SDs in --spectrum-file."
        )
    from dimfree.planning.question import measure_public_stddevs

    return measure_public_stddevs(dimfree.read_table(asked.like))


def _lacks_spectrum(asked: Any, spectrum: object) -> bool:
    """Return whether SDs are needed and missing."""
    from dimfree.planning.question import resolve_objective

    return spectrum is None and resolve_objective(asked.objective, asked.knowledge, spectrum) == "total"


def _require_one_unknown(given: dict[str, Any]) -> None:
    """Check that exactly one of n, d, epsilon and accuracy is left out."""
    every, missing = [f"--{name}" for name in _UNKNOWNS], [f"--{name}" for name in _UNKNOWNS if given[name] is None]
    if not missing:
        raise InvalidParameterError(f"Leave out one of {', '.join(every)}: the plan finds it.")
    if len(missing) > 1:
        more = ("one", "two", "three")[len(missing) - 2]
        raise InvalidParameterError(
            f"Give all but one of {', '.join(every)}. Missing are {' and '.join(missing)}: give {more} of them."
        )


def _several(name: str, text: str | None, kind: Callable[[str], Value]) -> Value | list[Value] | None:
    """Read one value, or a list if there are commas."""
    if text is None:
        return None
    try:
        values = [kind(part.strip()) for part in text.split(",")]
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise InvalidParameterError(f"`--{name}` must be {what}, or several between commas, got {text!r}.") from None
    return values if len(values) > 1 else values[0]


def _show(found: "Plan | Tradeoff", json: bool, drawn: Callable[[], Any], lines: Iterable[Sequence[str]]) -> None:
    """Print the table or the JSON to stdout."""
    if json:
        typer.echo(found.to_json(), nl=False)
    else:
        show_product(drawn, lines)


def _lines(found: "Plan") -> list[tuple[str, str]]:
    """Return the rows of the plan, and its ratio to the lower bounds of the theorems."""
    lines = list(found.rows())
    far = [f"{found.n / limit.records:.3g} × that of {limit.theorem}" for limit in found.limits if limit.records > 1]
    return [*lines, ("distance to the limit", f"n is {', '.join(far)}")] if far else lines


def _draw_plan(found: "Plan") -> Any:
    lines = _lines(found)
    names = [name if at == 0 or name != lines[at - 1][0] else "" for at, (name, _) in enumerate(lines)]
    rows = [("", (name, text)) for name, (_, text) in zip(names, lines, strict=True)]
    card = draw_table(f"Plan: {_FOUND[found.solved_for]}", rows, title_style="bold", box=SIMPLE_HEAD)
    card.columns[0].style = "cyan"
    return card


def _draw_tradeoff(found: "Tradeoff") -> Any:
    relative = "error relative to the SDs of the columns"
    what = relative if found.objective == "relative" else "Euclidean error"
    rows = [("dim" if row.refused else "", cells) for row, cells in zip(found.rows, found.cells(), strict=True)]
    table = draw_table(f"Cost of privacy: predicted RMS {what}", rows, found.header())
    for column in table.columns:
        column.justify = "right"
    return table
