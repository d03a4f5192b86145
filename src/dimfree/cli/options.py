"""Every option of the command line that a release, a plan or a tradeoff takes, said once.

Each is a type for the signature of a command: its flag, its help and the panel of `--help` that shows it.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from dimfree.options import Options

DATA = "Budget and data"
TABLE = "The table: which columns, and how it is written"
PROMISE = "The promise"
RECORDS = "The records, of which none is read"
RULES = "Rules, all chosen before looking at the data"
OUTPUT = "Output"

# expert options: those of dimfree.Options

Scale = Annotated[
    str,
    typer.Option(
        help="known, or learn: the spread is right up to one factor. Groups that share a learned spread learn it.",
        rich_help_panel=RULES,
    ),
]
Tails = Annotated[str, typer.Option(help="heavy or gaussian; heavy is the safe choice.", rich_help_panel=RULES)]
Outliers = Annotated[float, typer.Option(help="Share of rows that may lie far from the rest.", rich_help_panel=RULES)]
Window = Annotated[
    tuple[float, float],
    typer.Option(
        metavar="LOW HIGH",
        help="Without --covariance: the distance between two typical rows lies in here, in DATA's units.",
        rich_help_panel=RULES,
    ),
]
FailureProbability = Annotated[
    float, typer.Option(help="Chance of refusing good data that you accept.", rich_help_panel=RULES)
]


def expert_options(**given: Any) -> "Options":
    """The options of these flags; what cannot be used is an error before any file is opened."""
    from dimfree.options import Options

    return Options(**given)


# dimfree mean: the promise, the table, what is known

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Table with one row per person: .csv, .tsv, .jsonl (also .gz), .xlsx, .parquet, .arrow, .feather, .npy, "
        ".npz, .zarr or .h5ad; a folder or 'pattern*.parquet' of parts; - for standard input; s3://… and others.",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,C",
        help="Release these columns alone, by name; the others are not read.",
        rich_help_panel=TABLE,
    ),
]
Exclude = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="Leave these columns out, as in --exclude patient_id.",
        rich_help_panel=TABLE,
    ),
]
Schema = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A public .toml or .json file that says it once: columns, exclude, format, delimiter, decimal, encoding, "
        "scales (known standard deviations by column, in place of --covariance), and bounds (age = [0, 120]: an entry "
        "beyond counts as the bound; public knowledge, never computed from DATA). A flag goes before it.",
        rich_help_panel=TABLE,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="csv, parquet and so on, where DATA's ending does not say it; csv for standard input.",
        rich_help_panel=TABLE,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="SIGN",
        help="Between the cells of a text file: ';' or '|' or tab; a comma if nothing is said.",
        rich_help_panel=TABLE,
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        metavar="SIGN",
        help="The decimal sign of a text file: . or , as in --decimal , (cells are then between semicolons).",
        rich_help_panel=TABLE,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Of a text file: utf-8 if nothing is said; older ones are often latin-1.",
        rich_help_panel=TABLE,
    ),
]
Yes = Annotated[
    bool,
    typer.Option(
        "--yes",
        help="Do not ask about a weak guarantee or about columns that are named as identifiers.",
        rich_help_panel=TABLE,
    ),
]
Epsilon = Annotated[float, typer.Option(help="Total privacy loss you agree to; 1 is common.", rich_help_panel=DATA)]
MeanDelta = Annotated[
    float,
    typer.Option(help="Slack in that promise; choose it far below 1 / people.", rich_help_panel=DATA),
]
Objective = Annotated[
    str,
    typer.Option(
        help="relative: every column's error is small beside that column's own spread, whatever its units; total: "
        "least Euclidean error; auto: relative for a table with named columns, if it has rows enough, else total.",
        rich_help_panel=DATA,
    ),
]
Covariance = Annotated[
    Path | None,
    typer.Option(
        help="Public knowledge of the spread, never computed from DATA: d variances or a d × d matrix. "
        "Without it the spread is learned inside the budget.",
        rich_help_panel=DATA,
    ),
]
ShapeFrom = Annotated[
    Path | None,
    typer.Option(
        metavar="PUBLIC",
        help="Or a table of public records of the same kind, with the columns of DATA: the spread is theirs, and "
        "the card tells what they promise. With --scale learn, up to one factor.",
        rich_help_panel=DATA,
    ),
]
LearnedShape = Annotated[
    str | None,
    typer.Option(
        help="auto, the default without --covariance: the variances are estimated privately.",
        rich_help_panel=RULES,
    ),
]
BasisName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Coordinates in which the noise is shaped, undone in the release: auto asks the rows, within the "
        "budget; none, dct, or a file with an orthonormal d × d matrix, axes in its rows, never "
        "computed from DATA. Sparse rows become dense in them: 8 bytes a coordinate.",
        rich_help_panel=RULES,
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Whose each row is: all rows with the same entry (7 and 007 are the same) are one person, who counts "
        "once, with their mean.",
        rich_help_panel=DATA,
    ),
]
UnitRows = Annotated[
    int | None,
    typer.Option(
        metavar="K",
        help="With --unit: a person counts with the sum of their first K rows instead.",
        rich_help_panel=DATA,
    ),
]
GroupBy = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="One mean for each group of rows with the same entry; all of them share the budget.",
        rich_help_panel=DATA,
    ),
]
Groups = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="With --group-by: the public names of the groups, one a line, never computed from DATA.",
        rich_help_panel=DATA,
    ),
]
PrivateGroups = Annotated[
    bool,
    typer.Option(
        "--private-groups",
        help="With --group-by, in place of --groups: which groups exist is released, too, within the budget. Small "
        "groups are never named.",
        rich_help_panel=DATA,
    ),
]
LedgerFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Charge this ledger before any noise is drawn; dimfree ledger create opens one.",
        rich_help_panel=DATA,
    ),
]
Dataset = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="With --ledger: whose ledger in it.", rich_help_panel=DATA),
]
Purpose = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="What it is for: told by --report, with --ledger also beside the charge.",
        rich_help_panel=DATA,
    ),
]
Title = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="With --report: what the page is called.", rich_help_panel=OUTPUT),
]
Owner = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="With --report: who answers for the data.", rich_help_panel=OUTPUT),
]
Neighbours = Annotated[
    str,
    typer.Option(
        help="add-remove hides whether someone is in the table; replace-one lets the number of rows be public.",
        rich_help_panel=RULES,
    ),
]
OnMissing = Annotated[
    str,
    typer.Option(
        help="Missing entries, and those that are no finite numbers: raise stops (outside the guarantee), drop gives "
        "their rows no weight, column averages each column over the people who have it.",
        rich_help_panel=RULES,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="A dask scheduler (tcp://host:8786) whose workers do the reading and summing; each must reach DATA "
        "under the same path. The release is the same to the last bit.",
        rich_help_panel=DATA,
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="cuda, or cuda:1 and so on: sums and comparisons run on this GPU; the release is the same to the last "
        "bit. cpu: they do not.",
        rich_help_panel=DATA,
    ),
]

# dimfree mean: where the release goes

MeanOut = Annotated[
    str,
    typer.Option("--out", "-o", help=".npy, .npz, .csv or .parquet file; - prints CSV.", rich_help_panel=OUTPUT),
]
RecordJson = Annotated[
    Path | None,
    typer.Option(help="Also write the release record (promise, ledger) to a .json file.", rich_help_panel=OUTPUT),
]
Report = Annotated[
    Path | None,
    typer.Option(
        help="Also write a page for its readers to an .html file: promise, spending, error bars.",
        rich_help_panel=OUTPUT,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace existing output.", rich_help_panel=OUTPUT)]

# dimfree plan, dimfree tradeoff: records nobody has seen

PlanDelta = Annotated[float, typer.Option(help="Slack in that promise; far below 1 / n.", rich_help_panel=PROMISE)]
Dimension = Annotated[int | None, typer.Option("--d", "-d", help="Columns.", rich_help_panel=RECORDS)]
Spectrum = Annotated[
    str | None,
    typer.Option(
        help="Of the standard deviations: S1 to S5, power:A, exponential:A or isotropic.", rich_help_panel=RECORDS
    ),
]
SpectrumFile = Annotated[
    Path | None,
    typer.Option(
        help="Or a file with a standard deviation for each column, publicly known: .npy, .npz, .csv or .parquet.",
        rich_help_panel=RECORDS,
    ),
]
Like = Annotated[
    Path | None,
    typer.Option(
        help="Or a PUBLIC table that the records will resemble: its exact spread is used.", rich_help_panel=RECORDS
    ),
]
Public = Annotated[
    bool, typer.Option("--public", help="Everybody may see the table behind --like.", rich_help_panel=RECORDS)
]
PlanObjective = Annotated[
    str,
    typer.Option(
        "--objective",
        help="relative: the error of every column in its own standard deviations, without --spectrum; total: Euclidean "
        "error; auto: as dimfree mean does for named columns, relative, unless --spectrum or another spread is given.",
        rich_help_panel=RULES,
    ),
]
Knowledge = Annotated[
    str,
    typer.Option(help="What the release will be told of the spread: nothing or covariance.", rich_help_panel=RULES),
]
PrintJson = Annotated[bool, typer.Option("--json", help="Print JSON instead.", rich_help_panel=OUTPUT)]
