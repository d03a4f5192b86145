"""`dimfree mean`: its options, and what can fail before a file is opened; then `mean_one` or `mean_groups`."""

import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer

from dimfree.cli import options
from dimfree.cli.basis import check_basis_option
from dimfree.cli.course import current
from dimfree.cli.ledger import open_ledger
from dimfree.cli.mean_groups import GroupTask, check_group_options, release_groups
from dimfree.cli.mean_one import MeanTask, release_one
from dimfree.cli.output import Places
from dimfree.cli.public import check_public
from dimfree.cli.reading import DataOptions, confirmed
from dimfree.cli.report import command_text, page_words
from dimfree.errors import InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.


def mean(
    context: typer.Context,
    data: options.Data,
    epsilon: options.Epsilon,
    delta: options.MeanDelta,
    columns: options.Columns = None,
    exclude: options.Exclude = None,
    schema: options.Schema = None,
    format: options.Format = None,  # noqa: A002 - the name of the flag
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    yes: options.Yes = False,
    objective: options.Objective = "auto",
    covariance: options.Covariance = None,
    shape_from: options.ShapeFrom = None,
    shape: options.LearnedShape = None,
    basis: options.BasisName = None,
    window: options.Window = (1e-6, 1e6),
    unit: options.Unit = None,
    unit_rows: options.UnitRows = None,
    group_by: options.GroupBy = None,
    groups: options.Groups = None,
    private_groups: options.PrivateGroups = False,
    ledger: options.LedgerFile = None,
    dataset: options.Dataset = None,
    purpose: options.Purpose = None,
    neighbours: options.Neighbours = "add-remove",
    failure_probability: options.FailureProbability = 0.01,
    outliers: options.Outliers = 0.03,
    tails: options.Tails = "heavy",
    scale: options.Scale = "auto",
    on_missing: options.OnMissing = "raise",
    scheduler: options.Scheduler = None,
    device: options.Device = None,
    out: options.MeanOut = "-",
    json: options.RecordJson = None,
    report: options.Report = None,
    title: options.Title = None,
    owner: options.Owner = None,
    force: options.Force = False,
) -> None:
    """Release the mean of a table under differential privacy.

    The budget is the total for this release; releases about the same people
    add up. A CSV file may start with a line of names: a first line of numbers
    is a record. docs/formats.md lists every format.

    Example: nothing is known but the table.

      dimfree mean people.csv --epsilon 1 --delta 1e-6 \\
          -o mean.csv --json release.json --report release.html

    Some of the columns, from a file with semicolons and decimal commas:

      dimfree mean survey.csv --epsilon 1 --delta 1e-6 \\
          --columns age,income --delimiter ';' --decimal ,

    Columns in different units, each to be right by its own measure; a column
    name in the first line is enough for that, --objective says it aloud:

      dimfree mean people.csv --epsilon 1 --delta 1e-6 \\
          --objective relative -o columns.csv

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

    The same where nobody may say which groups there are: large ones are found.

      dimfree mean staff.csv --epsilon 1 --delta 1e-6 -o found.csv \\
          --group-by region --private-groups

    Releases about the same people, kept within one total (see dimfree ledger):

      dimfree ledger create study.db --dataset trial-7 \\
          --epsilon 3 --delta 1e-5

      dimfree mean people.csv --epsilon 1 --delta 1e-6 \\
          --ledger study.db --dataset trial-7 -o again.csv

    Exit code 0: released; of groups, at least one. 2: bad input, nothing was
    released. 3: refused, because the rows are too few or too far apart; the
    budget is spent, no mean is written, --json and --report still tell of it.
    4: an output could not be written; the budget is spent, and the release
    record is in a file that is named; dimfree report makes the others from it.
    """
    current().spends = True
    _check_promise(data, epsilon, delta, unit, unit_rows)
    told = _confirm_guarantee(epsilon, delta, yes)
    _check_device(device)
    table = DataOptions.of(
        data,
        schema,
        yes,
        columns=columns,
        exclude=exclude,
        format=format,
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
    )
    scales = "scales in --schema" if table.scales else None
    others = {"--covariance": covariance, "--group-by": group_by, "--schema with scales": scales}
    check_public(shape_from, table.path, {**others, "--shape": shape})
    basis_path = check_basis_option(basis, table.path, {**others, "--shape-from": shape_from})
    if scales and covariance is not None:
        raise InvalidParameter("Expected --covariance or scales in --schema, not both. Drop one of them.")
    _check_scheduler(scheduler, {"--unit": unit, "--group-by": group_by})
    expert = options.expert_options(
        scale=scale,
        tails=tails,
        outliers=outliers,
        window=window,
        failure_probability=failure_probability,
    )
    charged = open_ledger(ledger, dataset, purpose)
    places, command = Places(out, json, report, force), command_text(context)
    about = page_words(report, title=title, owner=owner, purpose=purpose if ledger is None else None)
    given: dict[str, Any] = {
        **({} if charged is None else {"ledger": charged}),
        "epsilon": epsilon,
        "delta": delta,
        "objective": objective,
        "unit_rows": unit_rows,
        "on_missing": on_missing,
        "options": expert,
    }
    if group_by is not None or groups is not None or private_groups:
        elsewhere = {"--neighbours": neighbours, "--shape": shape}
        elsewhere |= {"--device": device}
        group_by, groups = check_group_options(group_by, groups, unit, elsewhere, private=private_groups)
        with _showing_warnings(told):
            release_groups(GroupTask(table, group_by, groups, unit, covariance, places, command, ledger, about), given)
        return
    task = MeanTask(
        table=table,
        unit=unit,
        scheduler=scheduler,
        covariance=covariance,
        shape_from=shape_from,
        shape=shape,
        basis=basis,
        basis_path=basis_path,
        ledger=ledger,
        places=places,
        command=command,
        about=about,
    )
    with _showing_warnings(told):
        release_one(task, {**given, "neighbours": neighbours, "device": device})


def _check_promise(data: str, epsilon: float, delta: float, unit: str | None, unit_rows: int | None) -> None:
    """Whatever can fail without the data fails before it is read."""
    from dimfree.accounting.budget import Budget
    from dimfree.request import check_unit_rows

    Budget(epsilon, delta)
    check_unit_rows(unit, unit_rows)
    if unit == "":
        raise InvalidParameter(f"Expected --unit to name a column of {data!r}, got an empty name.")


def _confirm_guarantee(epsilon: float, delta: float, yes: bool) -> list[str]:
    """Print the warnings about a weak guarantee, before anything is read; ask on a terminal, unless --yes is given."""
    from dimfree.accounting.budget import weak_guarantee

    found = weak_guarantee(epsilon, delta)
    for sentence in found:
        typer.echo(f"Warning: {sentence}", err=True)
    if found and not yes and not confirmed("Release with this guarantee anyway?"):
        raise InvalidParameter("No budget was charged: choose a smaller --epsilon or --delta.")
    return found


@contextmanager
def _showing_warnings(told: Collection[str]) -> Iterator[None]:
    """Print the warnings about a weak guarantee that come before the charge, but for those that were printed."""
    from dimfree.accounting.budget import WeakGuaranteeWarning

    before = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if not issubclass(category, WeakGuaranteeWarning):
            before(message, category, *where, **more)
        elif str(message) not in told:
            typer.echo(f"Warning: {message}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", WeakGuaranteeWarning)
        warnings.showwarning = show
        yield


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
