"""The options of all commands, made from the table of arguments and from those of the command line alone."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import typer
import typer.core

from dimfree.arguments import ARGUMENTS, BUDGET, DATA, OUTPUT, RECORDS, REQUIRED, RULES, TABLE, Argument, read_help


def flag(words: str, panel: str | None = None, name: str = "") -> Argument:
    """Make an option without a value."""
    return Argument(False, words, bool, panel, flags=(name,) if name else ())


def place(words: str, metavar: str, kind: Any = Path) -> Argument:
    """Make an argument without a flag."""
    return Argument(REQUIRED, words, kind, metavar=metavar, positional=True)


FORCE = flag("Overwrite existing files.", OUTPUT)
JSON = flag("Print JSON.", OUTPUT)

_HELP = read_help("""
data  Table with one row per person: .csv, .tsv, .jsonl (also .gz), .xlsx, .parquet, .arrow,
    .feather, .npy, .npz, .zarr, .h5ad; a folder or 'pattern*.parquet' of parts; - for standard input; s3://… and so on.
schema  Public .toml or .json file of columns, bounds, scales (SDs); options override it.
format  Format of DATA if its ending does not state it, such as csv for standard input.
delimiter  Sign between the cells of a text file; a comma by default.
decimal  Decimal sign of a text file: . or , (then cells are between semicolons).
encoding  Encoding of a text file: utf-8 by default; older files are often latin-1.
yes  Do not ask about a weak guarantee or columns that look like identifiers.
covariance_from  Table of public records with the columns of DATA: use their covariance.
by  Release one mean per group, the rows with the same value in this column.
groups  With --by: public names of the groups, one per line, never computed from DATA.
private_groups  With --by: find large groups within the budget, in place of --groups.
dataset  With --ledger: the data set whose budget is charged.
purpose  Purpose of the release, for the report and the ledger.
scheduler  Dask scheduler (tcp://host:8786) whose workers read DATA; the release is the same.
out  .npy, .npz, .csv or .parquet file of the means; - prints CSV.
json  Also write the release file (means, guarantee, charges), a .json file.
report  Also write a report, an .html file.
title  Title of the report.
owner  Person or office responsible for the data, for the report.
verbose  Print all details: charges, estimator, noise, coordinates.
d  Number of columns.
spectrum  SDs of the columns: S1 to S5, power:A, exponential:A or isotropic.
spectrum_file  File with a publicly known SD per column: .npy, .npz, .csv or .parquet.
like  PUBLIC table that the records will resemble: its exact SDs are used.
public  Declare the table of --like public.
knowledge  Prior knowledge of the release: nothing, or covariance.
""")
_OWN = {
    "data": place(_HELP["data"], "DATA", str),
    "schema": Argument(None, _HELP["schema"], Path | None, TABLE, "FILE"),
    "format": Argument(None, _HELP["format"], str | None, TABLE, "NAME"),
    "delimiter": Argument(None, _HELP["delimiter"], str | None, TABLE, "SIGN"),
    "decimal": Argument(None, _HELP["decimal"], str | None, TABLE, "SIGN"),
    "encoding": Argument(None, _HELP["encoding"], str | None, TABLE, "NAME"),
    "yes": flag(_HELP["yes"], TABLE),
    "covariance_from": Argument(None, _HELP["covariance_from"], Path | None, DATA, "PUBLIC"),
    "by": Argument(None, _HELP["by"], str | None, DATA, "COLUMN"),
    "groups": Argument(None, _HELP["groups"], Path | None, DATA, "FILE"),
    "private_groups": flag(_HELP["private_groups"], DATA),
    "dataset": Argument(None, _HELP["dataset"], str | None, DATA, "NAME"),
    "purpose": Argument(None, _HELP["purpose"], str | None, DATA, "TEXT"),
    "scheduler": Argument(None, _HELP["scheduler"], str | None, DATA, "ADDRESS"),
    "out": Argument("-", _HELP["out"], str, OUTPUT, flags=("--out", "-o")),
    "json": Argument(None, _HELP["json"], Path | None, OUTPUT),
    "report": Argument(None, _HELP["report"], Path | None, OUTPUT),
    "title": Argument(None, _HELP["title"], str | None, OUTPUT, "TEXT"),
    "owner": Argument(None, _HELP["owner"], str | None, OUTPUT, "TEXT"),
    "force": FORCE,
    "verbose": flag(_HELP["verbose"], OUTPUT),
    # dimfree plan
    "d": Argument(None, _HELP["d"], int | None, RECORDS, flags=("--d", "-d")),
    "spectrum": Argument(None, _HELP["spectrum"], str | None, RECORDS),
    "spectrum_file": Argument(None, _HELP["spectrum_file"], Path | None, RECORDS),
    "like": Argument(None, _HELP["like"], Path | None, RECORDS),
    "public": flag(_HELP["public"], RECORDS),
    "knowledge": Argument("nothing", _HELP["knowledge"], str, RULES, "NAME"),
}
ROWS = {**ARGUMENTS, **_OWN}
PLANNED = {
    "delta": replace(ARGUMENTS["delta"], help="Total delta of the privacy budget; far below 1 / n.", panel=BUDGET),
    "objective": replace(
        ARGUMENTS["objective"],
        help="relative: error of each column in its own SD; total: Euclidean error; or auto.",
        panel=RULES,
    ),
    "json": JSON,
}


def takes(names: str, /, **own: Argument) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of these names; `own` replaces rows of the table."""
    rows = {name: own.get(name) or ROWS[name] for name in names.split()}
    parameters = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=row.default, annotation=_annotation(name, row))
        for name, row in rows.items()
    ]

    def give(command: Callable[..., None]) -> Callable[..., None]:
        def run(**given: Any) -> None:
            command(SimpleNamespace(**given))

        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        vars(run)["__signature__"] = inspect.Signature(parameters)
        return run

    return give


def _annotation(name: str, row: Argument) -> Any:
    if row.positional:
        return Annotated[row.kind, typer.Argument(metavar=row.metavar, help=row.help)]
    flags = row.flags or ((f"--{name.replace('_', '-')}",) if row.kind is bool else ())
    return Annotated[row.kind, typer.Option(*flags, metavar=row.metavar, help=row.help, rich_help_panel=row.panel)]


class _Plain:
    """Show flags without the placeholder for a value."""

    def get_params(self, ctx: Any) -> Any:
        parameters = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters


class PlainCommand(_Plain, typer.core.TyperCommand):
    """A command with plain flags."""


class PlainGroup(_Plain, typer.core.TyperGroup):
    """A group of commands with plain flags."""
