"""The options of all commands: the arguments of a release and those of the command line alone, as typer reads them."""

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
    """An option without a value."""
    return Argument(False, words, bool, panel, flags=(name,) if name else ())


def place(words: str, metavar: str, kind: Any = Path) -> Argument:
    """An argument without a flag."""
    return Argument(REQUIRED, words, kind, metavar=metavar, positional=True)


FORCE = flag("Replace existing output.", OUTPUT)
JSON = flag("Print JSON instead.", OUTPUT)

_HELP = read_help("""
data  Table with one row per person: .csv, .tsv, .jsonl (also .gz), .xlsx, .parquet, .arrow, .feather, .npy, .npz,
    .zarr or .h5ad; a folder or 'pattern*.parquet' of parts; - for standard input; s3://… and others.
schema  A public .toml or .json file with columns, exclude, format, delimiter, decimal, encoding, scales (SDs by
    column, in place of --covariance) and bounds (age = [0, 120]). A flag overrides it.
format  csv, parquet and so on, if DATA's ending is another; csv for standard input.
delimiter  Between the cells of a text file: ';' or '|' or tab; a comma by default.
decimal  The decimal sign of a text file: . or , as in --decimal , (cells are then between semicolons).
encoding  Of a text file: utf-8 by default; older ones are often latin-1.
yes  Do not ask about a weak guarantee or columns named as identifiers.
shape_from  A table of public records with the columns of DATA: their covariance is used. With --scale learn, up to
    one factor.
group_by  One mean for each group of rows with the same entry; all of them share the budget.
groups  With --group-by: the public names of the groups, one a line, never computed from DATA.
private_groups  With --group-by, in place of --groups: large groups are found within the budget; small ones are never
    named.
dataset  With --ledger: the data set whose ledger is charged.
purpose  What the release is for: shown by --report, with --ledger also in its entry.
scheduler  A dask scheduler (tcp://host:8786) whose workers read and sum; each must reach DATA under the same path.
    The release is the same to the last bit.
out  .npy, .npz, .csv or .parquet file; - prints CSV.
json  Also write the release record (guarantee, charges) to a .json file.
report  Also write a report to an .html file.
title  With --report: the title of the page.
owner  With --report: who is responsible for the data.
d  Columns.
spectrum  Of the standard deviations: S1 to S5, power:A, exponential:A or isotropic.
spectrum_file  Or a file with a publicly known SD for each column: .npy, .npz, .csv or .parquet.
like  Or a PUBLIC table that the records will resemble: its exact SDs are used.
public  Everybody may see the table given with --like.
knowledge  What the release will know beforehand: nothing or covariance.
""")
_OWN = {
    "data": place(_HELP["data"], "DATA", str),
    "schema": Argument(None, _HELP["schema"], Path | None, TABLE, "FILE"),
    "format": Argument(None, _HELP["format"], str | None, TABLE, "NAME"),
    "delimiter": Argument(None, _HELP["delimiter"], str | None, TABLE, "SIGN"),
    "decimal": Argument(None, _HELP["decimal"], str | None, TABLE, "SIGN"),
    "encoding": Argument(None, _HELP["encoding"], str | None, TABLE, "NAME"),
    "yes": flag(_HELP["yes"], TABLE),
    "shape_from": Argument(None, _HELP["shape_from"], Path | None, DATA, "PUBLIC"),
    "group_by": Argument(None, _HELP["group_by"], str | None, DATA, "COLUMN"),
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
    # dimfree plan, dimfree tradeoff
    "d": Argument(None, _HELP["d"], int | None, RECORDS, flags=("--d", "-d")),
    "spectrum": Argument(None, _HELP["spectrum"], str | None, RECORDS),
    "spectrum_file": Argument(None, _HELP["spectrum_file"], Path | None, RECORDS),
    "like": Argument(None, _HELP["like"], Path | None, RECORDS),
    "public": flag(_HELP["public"], RECORDS),
    "knowledge": Argument("nothing", _HELP["knowledge"], str, RULES),
}
ROWS = {**ARGUMENTS, **_OWN}
PLANNED = {
    "delta": replace(ARGUMENTS["delta"], help="Total delta; far below 1 / n.", panel=BUDGET),
    "objective": replace(
        ARGUMENTS["objective"],
        help="relative: error of each column in its own SDs, without --spectrum; total: Euclidean error; auto: "
        "relative, unless --spectrum or other SDs are given.",
        panel=RULES,
    ),
    "json": JSON,
}


def takes(names: str, /, **own: Argument) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command that takes one object the options of these names; `own` replaces rows of the table."""
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
    """Flags without the placeholder for a value that typer shows."""

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
