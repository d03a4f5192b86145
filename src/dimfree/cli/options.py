"""The options of all commands: the arguments of a release and those of the command line alone, as typer reads them."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import typer
import typer.core

from dimfree.arguments import ARGUMENTS, BUDGET, DATA, OUTPUT, RECORDS, REQUIRED, RULES, TABLE, Argument


def flag(words: str, panel: str | None = None, name: str = "") -> Argument:
    """An option without a value."""
    return Argument(False, words, bool, panel, flags=(name,) if name else ())


RECORD = "release record, as dimfree mean --json writes it."
FORCE = flag("Replace existing output.", OUTPUT)
JSON = flag("Print JSON instead.", OUTPUT)

_OWN = {
    "data": Argument(
        REQUIRED,
        "Table with one row per person: .csv, .tsv, .jsonl (also .gz), .xlsx, .parquet, .arrow, .feather, .npy, .npz, "
        ".zarr or .h5ad; a folder or 'pattern*.parquet' of parts; - for standard input; s3://… and others.",
        str,
        metavar="DATA",
        positional=True,
    ),
    "schema": Argument(
        None,
        "A public .toml or .json file with columns, exclude, format, delimiter, decimal, encoding, scales (SDs by "
        "column, in place of --covariance) and bounds (age = [0, 120]). A flag overrides it.",
        Path | None,
        TABLE,
        "FILE",
    ),
    "format": Argument(
        None, "csv, parquet and so on, if DATA's ending is another; csv for standard input.", str | None, TABLE, "NAME"
    ),
    "delimiter": Argument(
        None, "Between the cells of a text file: ';' or '|' or tab; a comma by default.", str | None, TABLE, "SIGN"
    ),
    "decimal": Argument(
        None,
        "The decimal sign of a text file: . or , as in --decimal , (cells are then between semicolons).",
        str | None,
        TABLE,
        "SIGN",
    ),
    "encoding": Argument(
        None, "Of a text file: utf-8 by default; older ones are often latin-1.", str | None, TABLE, "NAME"
    ),
    "yes": flag("Do not ask about a weak guarantee or columns named as identifiers.", TABLE),
    "shape_from": Argument(
        None,
        "A table of public records with the columns of DATA: their covariance is used. With --scale learn, up to one "
        "factor.",
        Path | None,
        DATA,
        "PUBLIC",
    ),
    "group_by": Argument(
        None,
        "One mean for each group of rows with the same entry; all of them share the budget.",
        str | None,
        DATA,
        "COLUMN",
    ),
    "groups": Argument(
        None,
        "With --group-by: the public names of the groups, one a line, never computed from DATA.",
        Path | None,
        DATA,
        "FILE",
    ),
    "private_groups": flag(
        "With --group-by, in place of --groups: large groups are found within the budget; small ones are never named.",
        DATA,
    ),
    "dataset": Argument(None, "With --ledger: the data set whose ledger is charged.", str | None, DATA, "NAME"),
    "purpose": Argument(
        None, "What the release is for: shown by --report, with --ledger also in its entry.", str | None, DATA, "TEXT"
    ),
    "scheduler": Argument(
        None,
        "A dask scheduler (tcp://host:8786) whose workers read and sum; each must reach DATA under the same path. The "
        "release is the same to the last bit.",
        str | None,
        DATA,
        "ADDRESS",
    ),
    "out": Argument("-", ".npy, .npz, .csv or .parquet file; - prints CSV.", str, OUTPUT, flags=("--out", "-o")),
    "json": Argument(None, "Also write the release record (guarantee, charges) to a .json file.", Path | None, OUTPUT),
    "report": Argument(None, "Also write a report to an .html file.", Path | None, OUTPUT),
    "title": Argument(None, "With --report: the title of the page.", str | None, OUTPUT, "TEXT"),
    "owner": Argument(None, "With --report: who is responsible for the data.", str | None, OUTPUT, "TEXT"),
    "force": FORCE,
    # dimfree plan, dimfree tradeoff
    "d": Argument(None, "Columns.", int | None, RECORDS, flags=("--d", "-d")),
    "spectrum": Argument(
        None, "Of the standard deviations: S1 to S5, power:A, exponential:A or isotropic.", str | None, RECORDS
    ),
    "spectrum_file": Argument(
        None,
        "Or a file with a publicly known SD for each column: .npy, .npz, .csv or .parquet.",
        Path | None,
        RECORDS,
    ),
    "like": Argument(
        None, "Or a PUBLIC table that the records will resemble: its exact SDs are used.", Path | None, RECORDS
    ),
    "public": flag("Everybody may see the table given with --like.", RECORDS),
    "knowledge": Argument("nothing", "What the release will know beforehand: nothing or covariance.", str, RULES),
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
