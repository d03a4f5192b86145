"""`dimfree plan` and `dimfree tradeoff`: errors to expect, records and privacy budget to choose; no data are read."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import typer
from rich.box import SIMPLE_HEAD

import dimfree
from dimfree.arguments import ARGUMENTS, BUDGET, OUTPUT, RECORDS, REQUIRED, Argument
from dimfree.cli.options import PLANNED, takes
from dimfree.cli.output import check_outputs, draw_table, show_product
from dimfree.cli.progress import working
from dimfree.errors import InvalidFile, InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.

Value = TypeVar("Value")

_UNKNOWNS = ("n", "d", "epsilon", "accuracy")
_FOUND = {"n": "records to collect", "d": "columns to ask for", "epsilon": "epsilon to agree on", "accuracy": "error"}
_SHARED = ("delta", "d", "objective", "knowledge", "neighbours", "outliers", "tails", "failure_probability")
_RECORDS = "n d spectrum spectrum_file like public"
_SETTINGS = "objective knowledge neighbours outliers tails failure_probability"


@takes(
    f"delta epsilon {_RECORDS} accuracy confidence {_SETTINGS} time_limit json out force",
    **PLANNED,
    epsilon=replace(ARGUMENTS["epsilon"], default=None, kind=float | None, panel=BUDGET),
    n=Argument(None, "Records.", int | None, RECORDS, flags=("--n", "-n")),
    accuracy=Argument(
        None,
        "Error (RMS) to reach: over the columns, each in its own SD; with --objective total, Euclidean, in the "
        "records' units.",
        float | None,
    ),
    confidence=Argument(0.95, "Probability with which the error is also stated.", float),
    time_limit=Argument(60.0, "Seconds after which a search for n, d or epsilon stops.", float),
    out=Argument(None, "Also write JSON to a .json file.", Path | None, OUTPUT, flags=("--out", "-o")),
)
def plan(asked: Any) -> None:
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
    check_outputs({"--out": (asked.out, (".json",))}, {}, force=asked.force)
    spectrum = _spectrum(asked)
    if _lacks_spectrum(asked, spectrum):
        raise InvalidParameter("Expected --spectrum NAME as well, or --spectrum-file FILE, or --like FILE --public.")
    columns = asked.d if spectrum is None or isinstance(spectrum, str) else len(spectrum)
    _require_one_unknown({**vars(asked), "d": columns})
    given = {name: getattr(asked, name) for name in (*_SHARED, "n", "epsilon", "accuracy", "confidence", "time_limit")}
    with working("predicting") as bar:
        found = dimfree.plan(**given, spectrum=spectrum, tell=bar.steps)
    if asked.out is not None:
        from dimfree.results.writing import write_file

        write_file(asked.out, found.to_json(), force=asked.force)
    _show(found, asked.json, lambda: _draw_plan(found), _lines(found))


@takes(
    f"epsilon delta {_RECORDS} {_SETTINGS} chart json out force",
    **PLANNED,
    epsilon=Argument(REQUIRED, "Total privacy loss; several, as in 0.1,0.5,1, are the axis.", str, BUDGET),
    n=Argument(REQUIRED, "Records; or several of them are the axis.", str, RECORDS, flags=("--n", "-n")),
    chart=Argument(None, "Draw it: .svg, .png, .html or (Vega-Lite) .json.", Path | None, OUTPUT),
    out=Argument(None, "Write the numbers: .json or .md.", Path | None, OUTPUT, flags=("--out", "-o")),
)
def tradeoff(asked: Any) -> None:
    """Show what privacy costs: predicted error against epsilon, or against n.

    No data are read. Exactly one of --epsilon and --n has several values:
    the axis. Next to the error of the private mean is the sampling error,
    which the plain mean has as well; from the knee on the two are within
    10 %, and privacy is free.

    Example: how small can epsilon be, with 4000 records of 100 columns?

      dimfree tradeoff --n 4000 --d 100 --spectrum S1 \\
          --epsilon 0.5,1,2 --delta 1e-6 --chart cost.svg

    Exit code 0: shown. 2: bad input.
    """
    from dimfree.planning.tradeoff import ENDINGS, chart_bytes, require_altair
    from dimfree.results.writing import write_file

    if asked.chart is not None:
        require_altair()
    places = {"--out": (asked.out, (".json", ".md")), "--chart": (asked.chart, ENDINGS)}
    check_outputs(places, {}, force=asked.force)
    spectrum = _spectrum(asked)
    if _lacks_spectrum(asked, spectrum) or (not hasattr(spectrum, "shape") and asked.d is None):
        raise InvalidParameter(
            "Expected --spectrum NAME together with --d, or --spectrum-file FILE, or --like FILE with --public."
        )
    axes: dict[str, Any] = {"epsilon": _several("epsilon", asked.epsilon, float), "n": _several("n", asked.n, int)}
    axis = sum(isinstance(values, list) for values in axes.values())
    if axis == 0:
        raise InvalidParameter("Expected several values for --n or for --epsilon, as in --epsilon 0.1,0.5,1: the axis.")
    if axis == 2:
        raise InvalidParameter("Expected several values for only one of --n and --epsilon: the axis.")
    with working("predicting") as bar:
        given = {name: getattr(asked, name) for name in _SHARED}
        found = dimfree.tradeoff(**given, **axes, spectrum=spectrum, tell=bar.steps)
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
    """A spectrum by its name, the standard deviations of a file, or None. Opens no table not declared public."""
    options = ("spectrum", "spectrum_file", "like")
    several = [f"--{name.replace('_', '-')}" for name in options if getattr(asked, name) is not None]
    if len(several) > 1:
        raise InvalidParameter(f"Expected one option for the SDs of the records, got {' and '.join(several)}.")
    if asked.public and asked.like is None:
        raise InvalidParameter("Expected --like FILE with --public, which declares that table public.")
    if asked.spectrum_file is not None:
        from dimfree.data.read_public import read_covariance

        stddevs = read_covariance(asked.spectrum_file)
        if stddevs.ndim != 1:
            raise InvalidFile(
                f"{asked.spectrum_file} cannot be used: expected one standard deviation for each column, in one row or "
                "one column."
            )
        return stddevs
    if asked.like is None:
        return str(asked.spectrum) if asked.spectrum is not None else None
    if not asked.public:
        raise InvalidParameter(
            "A plan uses the exact SDs of the table behind --like and shows figures that follow from it, which "
            "protects nobody in it. Say --public if everybody may see that table; otherwise describe the SDs by "
            "--spectrum, or by numbers that are public anyway in --spectrum-file."
        )
    from dimfree.planning.question import stddevs_of_public

    return stddevs_of_public(dimfree.read_table(asked.like))


def _lacks_spectrum(asked: Any, spectrum: object) -> bool:
    """Whether the standard deviations have to be given and are not."""
    from dimfree.planning.question import planned_objective

    return spectrum is None and planned_objective(asked.objective, asked.knowledge, spectrum) == "total"


def _require_one_unknown(given: dict[str, Any]) -> None:
    """One figure is left out, no more and no less; in the words of the command line."""
    every, missing = [f"--{name}" for name in _UNKNOWNS], [f"--{name}" for name in _UNKNOWNS if given[name] is None]
    if not missing:
        raise InvalidParameter(f"Expected one of {', '.join(every)} to be left out: it is what a plan finds.")
    if len(missing) > 1:
        more = ("one", "two", "three")[len(missing) - 2]
        raise InvalidParameter(
            f"Expected all but one of {', '.join(every)}, got nothing for {' and '.join(missing)}: give {more} of them."
        )


def _several(name: str, text: str, kind: Callable[[str], Value]) -> Value | list[Value]:
    """One value, or a list where commas are."""
    try:
        values = [kind(part.strip()) for part in text.split(",")]
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise InvalidParameter(f"Expected --{name} {text!r} to be {what}, or several with commas between.") from None
    return values if len(values) > 1 else values[0]


def _show(
    found: "dimfree.Plan | dimfree.Tradeoff", json: bool, drawn: Callable[[], Any], lines: Iterable[Sequence[str]]
) -> None:
    """The table, or the JSON, is the product: stdout."""
    if json:
        typer.echo(found.to_json(), nl=False)
    else:
        show_product(drawn, lines)


def _lines(found: "dimfree.Plan") -> list[tuple[str, str]]:
    """Return the rows of the plan, and its distance from the limits."""
    lines = list(found.rows())
    far = [f"{found.n / limit.records:.3g} × that of {limit.theorem}" for limit in found.limits if limit.records > 1]
    return [*lines, ("distance to the limit", f"n is {', '.join(far)}")] if far else lines


def _draw_plan(found: "dimfree.Plan") -> Any:
    lines = _lines(found)
    names = [name if at == 0 or name != lines[at - 1][0] else "" for at, (name, _) in enumerate(lines)]
    rows = [("", (name, text)) for name, (_, text) in zip(names, lines, strict=True)]
    card = draw_table(f"Plan: {_FOUND[found.solved_for]}", rows, title_style="bold", box=SIMPLE_HEAD)
    card.columns[0].style = "cyan"
    return card


def _draw_tradeoff(found: "dimfree.Tradeoff") -> Any:
    relative = "error over the columns, each in its own SD"
    what = relative if found.objective == "relative" else "Euclidean error"
    rows = [("dim" if row.refused else "", cells) for row, cells in zip(found.rows, found.cells(), strict=True)]
    table = draw_table(f"What privacy costs: RMS {what}, predicted", rows, found.header())
    for column in table.columns:
        column.justify = "right"
    return table
