"""`dimfree mean`: a table in a file becomes a released mean in another."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimfree.cli.basis import basis_rows, check_basis_option, read_basis_option
from dimfree.cli.course import current
from dimfree.cli.ledger import ledger_rows, open_ledger
from dimfree.cli.mean_groups import GroupTask, check_group_options, release_groups
from dimfree.cli.output import REFUSED, Places, show_card
from dimfree.cli.progress import passing
from dimfree.cli.public import check_public, gain_row, read_public_shape
from dimfree.cli.report import command_text, page_place, page_text
from dimfree.errors import InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from dimfree.data.people.keys import Keys
    from dimfree.data.records import Records
    from dimfree.results.release import Release

_DATA = "Budget and data"
_RULES = "Rules, all chosen before looking at the data"
_OUTPUT = "Output"


def mean(
    context: typer.Context,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Table with one row per person: .npy, .npz, .csv, .parquet, .arrow, .feather, .zarr or .h5ad.",
        ),
    ],
    epsilon: Annotated[
        float, typer.Option(help="Total privacy loss you agree to; 1 is common.", rich_help_panel=_DATA)
    ],
    delta: Annotated[
        float,
        typer.Option(help="Slack in that promise; choose it far below 1 / people.", rich_help_panel=_DATA),
    ],
    covariance: Annotated[
        Path | None,
        typer.Option(
            help="Public knowledge of the spread, never computed from DATA: d variances or a d × d matrix. "
            "Without it the spread is learned inside the budget.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    shape_from: Annotated[
        Path | None,
        typer.Option(
            metavar="PUBLIC",
            help="Or a table of public records of the same kind, with the columns of DATA: the spread is theirs, and "
            "the card tells what they promise. With --scale learn, up to one factor.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    shape: Annotated[
        str | None,
        typer.Option(
            help="Without --covariance: auto (the default) learns the spread, paper is the paper's Algorithm 2.",
            rich_help_panel=_RULES,
        ),
    ] = None,
    basis: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Coordinates in which the noise is shaped, undone in the release: auto asks the rows, within the "
            "budget; none, dct, haar, hadamard, or a file with an orthonormal d × d matrix, axes in its rows, never "
            "computed from DATA. Sparse rows become dense in them: 8 bytes a coordinate.",
            rich_help_panel=_RULES,
        ),
    ] = None,
    window: Annotated[
        tuple[float, float],
        typer.Option(
            metavar="LOW HIGH",
            help="Without --covariance: the distance between two typical rows lies in here, in DATA's units.",
            rich_help_panel=_RULES,
        ),
    ] = (1e-6, 1e6),
    denoise: Annotated[
        bool,
        typer.Option(
            "--denoise",
            help="Shrink the mean towards its bulk: free, often nearer, no longer unbiased.",
            rich_help_panel=_RULES,
        ),
    ] = False,
    unit: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Whose each row is: all rows with the same entry (7 and 007 are the same) are one person, who counts "
            "once, with their mean.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    unit_rows: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            help="With --unit: a person counts with the sum of their first K rows instead.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    group_by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="One mean for each group of rows with the same entry; all of them share the budget.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --group-by: the public names of the groups, one a line, never computed from DATA.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Charge this ledger before any noise is drawn; dimfree ledger create opens one.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --ledger: whose book in it.", rich_help_panel=_DATA),
    ] = None,
    purpose: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="With --ledger: written beside the charge.", rich_help_panel=_DATA),
    ] = None,
    neighbours: Annotated[
        str,
        typer.Option(
            help="add-remove hides whether someone is in the table; replace-one lets the number of rows be public.",
            rich_help_panel=_RULES,
        ),
    ] = "add-remove",
    core: Annotated[
        str, typer.Option(help="auto, stable, soft or basic; auto takes the least noise.", rich_help_panel=_RULES)
    ] = "auto",
    failure_probability: Annotated[
        float, typer.Option(help="Chance of refusing good data that you accept.", rich_help_panel=_RULES)
    ] = 0.01,
    outliers: Annotated[
        float, typer.Option(help="Share of rows that may lie far from the rest.", rich_help_panel=_RULES)
    ] = 0.03,
    tails: Annotated[
        str, typer.Option(help="heavy or gaussian; heavy is the safe choice.", rich_help_panel=_RULES)
    ] = "heavy",
    scale: Annotated[
        str,
        typer.Option(
            help="known, or learn: the spread is right up to one factor. Groups that share a learned spread learn it.",
            rich_help_panel=_RULES,
        ),
    ] = "auto",
    stages: Annotated[
        str, typer.Option(help="Recentring stages at most; auto, or 0 for the core alone.", rich_help_panel=_RULES)
    ] = "auto",
    on_invalid: Annotated[
        str,
        typer.Option(
            help="Rows with NaN or infinity: raise stops (outside the guarantee), neutral lets them count for nothing.",
            rich_help_panel=_RULES,
        ),
    ] = "raise",
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="A dask scheduler (tcp://host:8786) whose workers do the reading and summing; each must reach DATA "
            "under the same path. The release is the same to the last bit.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="cuda, or cuda:1 and so on: sums and comparisons run on this GPU; the release is the same to the last "
            "bit. cpu: they do not.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    out: Annotated[
        str,
        typer.Option("--out", "-o", help=".npy, .npz, .csv or .parquet file; - prints CSV.", rich_help_panel=_OUTPUT),
    ] = "-",
    json: Annotated[
        Path | None,
        typer.Option(help="Also write the release record (promise, ledger) to a .json file.", rich_help_panel=_OUTPUT),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Also write a page for its readers to an .html file: promise, spending, error bars.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing output.", rich_help_panel=_OUTPUT)] = False,
) -> None:
    """Release the mean of a table under differential privacy.

    The budget is the total for this release; releases about the same people
    add up. A CSV file may start with a line of names: a first line of numbers
    is a record.

    Example: nothing is known but the table.

      dimfree mean people.csv --epsilon 1 --delta 1e-6 \\
          -o mean.csv --json release.json --report release.html

    Knowing the spread of each column beforehand gives less noise, and asks
    for fewer rows: for ages and incomes,

      echo 'age,income' > spread.csv
      echo '150,9e8'   >> spread.csv

      dimfree mean people.csv --epsilon 1 --delta 1e-6 \\
          --covariance spread.csv -o better.csv

    Several rows for each person: name the column that tells people apart.

      dimfree mean visits.csv --unit patient_id --epsilon 1 --delta 1e-6

    A mean for each group, in one table: one person is in one group, so all
    groups together cost no more than one of them.

      echo north > regions.txt
      echo south >> regions.txt

      dimfree mean staff.csv --epsilon 1 --delta 1e-6 -o means.csv \\
          --group-by region --groups regions.txt --covariance spread.csv

    Releases about the same people, kept within one total (see dimfree ledger):

      dimfree ledger create study.db --dataset trial-7 \\
          --epsilon 3 --delta 1e-5

      dimfree mean people.csv --epsilon 1 --delta 1e-6 \\
          --ledger study.db --dataset trial-7 -o again.csv

    Exit code 0: released; of groups, at least one. 2: bad input, nothing was
    released. 3: refused, because the rows are too few or too far apart; the
    budget is spent, no mean is written, --json and --report still tell of it.
    4: an output could not be written; the budget is spent, and the release
    record is on standard output or in a file that is named.
    """
    current().spends = True
    _check_promise(data, epsilon, delta, unit, unit_rows)
    _check_device(device)
    check_public(shape_from, data, {"--covariance": covariance, "--shape": shape, "--group-by": group_by})
    basis_path = check_basis_option(
        basis, data, {"--covariance": covariance, "--shape-from": shape_from, "--group-by": group_by}
    )
    _check_scheduler(scheduler, {"--unit": unit, "--group-by": group_by})
    book = open_ledger(ledger, dataset, purpose)
    places, command = Places(out, json, report, force), command_text(context)
    from dimfree.options import Options

    rules: dict[str, Any] = {"core": core, "scale": scale, "tails": tails}
    rules["stages"] = int(stages) if stages.isdigit() else stages
    expert = Options(
        **rules, outliers=outliers, window=window, failure_probability=failure_probability, denoise=denoise
    )
    options: dict[str, Any] = {
        **({} if book is None else {"ledger": book}),
        "epsilon": epsilon,
        "delta": delta,
        "unit_rows": unit_rows,
        "on_invalid": on_invalid,
        "options": expert,
    }
    if group_by is not None or groups is not None:
        elsewhere = {"--neighbours": neighbours, "--shape": shape, "--core": core, "--stages": stages}
        elsewhere |= {"--device": device}
        group_by, groups = check_group_options(group_by, groups, unit, elsewhere)
        task = GroupTask(data, group_by, groups, unit, covariance, places, command, ledger)
        release_groups(task, options)
        return
    inputs = {"DATA": data, "--covariance": covariance, "--shape-from": shape_from, "--basis": basis_path}
    inputs |= {"--ledger": ledger}
    places.check(inputs)
    with _workers(scheduler) as workers:
        with passing("Reading"):
            from dimfree.data.read import read_covariance

            records, whose = _read(data, unit, workers)
            matrix = None if covariance is None else read_covariance(covariance, records.columns)
            axes = read_basis_option(basis, basis_path, records)
            public = read_public_shape(shape_from, records.columns)
        with passing("Releasing"):
            from dimfree.release import release_mean

            release = release_mean(
                records,
                **options,
                covariance=matrix,
                shape=public or shape,  # type: ignore[arg-type]
                **axes,
                unit=whose,
                neighbours=neighbours,  # type: ignore[arg-type]
                device=device,
            )
    spending = list(ledger_rows(book))
    page = partial(page_text, release, command=command, rules=vars(expert), spending=spending)
    places.write(release, not release.refused, page)
    rows = [*_rows(release, places), *basis_rows(axes, records, release), *gain_row(shape_from, public)]
    rows += [*page_place(report), *spending]
    show_card("Refused" if release.refused else "Released", rows, release.guarantee.private)
    if release.refused:
        raise typer.Exit(REFUSED)


def _workers(scheduler: str | None) -> AbstractContextManager[int]:
    """How many threads of a cluster do the work in here; 0: it is done in this process."""
    if scheduler is None:
        return nullcontext(0)
    from dimfree.data.cluster.scheduler import connected

    return connected(scheduler)


def _read(data: Path, unit: str | None, workers: int) -> tuple["Records", "Keys | None"]:
    """The coordinates of all rows, and whose they are; None where one row is one person."""
    from dimfree.data.people.keys import open_keys
    from dimfree.data.read import read_keyed_table, read_table

    if unit is None:
        return read_table(data, workers=workers), None
    records, [column] = read_keyed_table(data, (unit,))
    return records, open_keys(column, unit)


def _check_promise(data: Path, epsilon: float, delta: float, unit: str | None, unit_rows: int | None) -> None:
    """Whatever can fail without the data fails before it is read."""
    from dimfree._validate import check_unit_rows
    from dimfree.accounting.budget import Budget

    Budget(epsilon, delta)
    check_unit_rows(unit, unit_rows)
    if unit == "":
        raise InvalidParameter(f"Expected --unit to name a column of {str(data)!r}, got an empty name.")


def _check_device(device: str | None) -> None:
    """A GPU that is not there is missed before the table is read."""
    if device is not None:
        from dimfree.data.gpu.device import place_of

        place_of(device)


def _check_scheduler(scheduler: str | None, others: Mapping[str, str | None]) -> None:
    for name, column in others.items():
        if scheduler is not None and column is not None:
            raise InvalidParameter(
                f"--scheduler cannot be used with {name}: rows are put together by their column on one machine."
            )


def _rows(release: "Release", places: Places) -> Iterator[tuple[str, str]]:
    from dimfree.results.verdicts import noise_line

    yield "promise", release.guarantee.statement()
    yield "estimates", release.guarantee.estimates
    yield "spent", f"delta {release.ledger.delta():.3g} at epsilon {release.guarantee.epsilon:g}, in all"
    yield "charged", "\n".join(f"{what}: {how}, {cost}" for what, how, cost in release.ledger.summary_rows())
    if release.refusal is not None:
        yield "reason", release.refusal
    else:
        yield "method", release.method
        yield "noise", _noise_range(release)
        yield "against spread", noise_line([release])
    yield from places.rows(not release.refused)


def _noise_range(release: "Release") -> str:
    low, high = release.noise_stddev.min(), release.noise_stddev.max()
    return f"standard deviation {low:.4g} to {high:.4g} per coordinate, {release.dimension} coordinate(s)"
