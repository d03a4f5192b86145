"""`dimfree mean`: a table in a file becomes a released mean in another, or one for each group."""

import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer

import dimfree
from dimfree.arguments import ARGUMENTS, MEANS
from dimfree.cli.course import current
from dimfree.cli.ledger import ledger_rows, open_ledger
from dimfree.cli.options import takes
from dimfree.cli.output import Places, show_card
from dimfree.cli.progress import working
from dimfree.cli.reading import Data, basis_file, basis_rows, check_knowledge, confirmed
from dimfree.cli.report import command_text
from dimfree.errors import InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.

REFUSED = 3  # the exit code

_SHAPES = {
    "all groups": "privately estimated once from all groups, within the budget",
    "each group": "the SD of every column is privately estimated in each group",
    "given": "given",
}
_UNCHANGED = ("epsilon", "delta", "objective", "norm", "unit_rows", "on_missing")


@takes(
    "data epsilon delta columns exclude bounds norm schema format delimiter decimal encoding yes objective covariance "
    "shape_from shape basis window unit unit_rows group_by groups private_groups ledger dataset purpose neighbours "
    "failure_probability outliers tails scale on_missing scheduler device out json report title owner force"
)
def mean(asked: Any) -> None:
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
    from dimfree.data.people.keys import open_keys

    current().spends = True
    warned, data = _check_budget(asked), Data.of(asked)
    check_knowledge(asked, data)
    named = [field.name for field in fields(dimfree.Options) if hasattr(asked, field.name)]
    options = dimfree.Options(**{name: getattr(asked, name) for name in named})
    ledger = open_ledger(asked.ledger, asked.dataset, asked.purpose)
    places, about = Places(asked.out, asked.json, asked.report, asked.force), _page_words(asked, ledger)
    given: dict[str, Any] = {name: getattr(asked, name) for name in _UNCHANGED}
    given |= {"options": options, "ledger": ledger}
    grouped = asked.group_by is not None or asked.groups is not None or asked.private_groups
    keys = _group_names(asked) if grouped else None
    _check_places(asked, places, grouped)
    with _showing_warnings(warned), working("Reading") as bar, _workers(asked.scheduler) as workers:
        columns = tuple(name for name in (asked.group_by, asked.unit) if name is not None)
        table = data.read(columns, workers)
        known = data.knowledge(asked, table.records)
        given["unit"] = None if asked.unit is None else open_keys(table.keys[-1], asked.unit, asked.on_missing)
        bar.end()
        data.confirm(table)
        bar.begin()
        bar.stage("Releasing")
        if grouped:
            given |= {"covariance": known["covariance"], "groups": table.keys[0], "keys": keys, "tell": bar.steps}
            found: dimfree.Release | dimfree.Means = dimfree.release_means(table.records, **given)
            rows, title, released = _group_card(found)
        else:
            given |= {**known, "neighbours": asked.neighbours, "device": asked.device}
            found = dimfree.release_mean(table.records, **given)
            released, rows = not found.refused, [*_card(found)]
            rows += basis_rows(known["basis"], table.records, found)
            title = "Released" if released else "Refused"
        if asked.shape_from is not None:
            plain, rotated = f"{known['shape'].gain():.3g}", f"{known['shape'].rotated_gain():.3g}"
            gains = f"{plain} times less noise than spherical, {rotated} times less than from the variances alone"
            rows.append(("public shape", f"{asked.shape_from}: {gains}, by public rows left out"))
        spending = list(ledger_rows(ledger))
        bar.stage("Writing")

        def page() -> str:
            from dimfree.report.page import report_html

            return report_html(found, **about, rules=vars(options), spending=spending)

        places.write(found, released, page)
    show_card(title, [*rows, *places.rows(released), *spending, *data.rows(table)], found.guarantee.private)
    if not released:
        raise typer.Exit(REFUSED)


def _check_budget(asked: Any) -> list[str]:
    """Whatever can fail without the data fails before it is read; warn of a weak guarantee, and return the warnings.

    On a terminal the user is asked about it, unless --yes is given.
    """
    from dimfree.accounting.budget import weak_guarantee
    from dimfree.data.gpu.device import place_of
    from dimfree.request import check_unit_rows

    dimfree.Budget(asked.epsilon, asked.delta)
    check_unit_rows(asked.unit, asked.unit_rows)
    if asked.unit == "":
        raise InvalidParameter(f"Expected --unit to name a column of {asked.data!r}, got an empty name.")
    found = weak_guarantee(asked.epsilon, asked.delta)
    for sentence in found:
        typer.echo(f"Warning: {sentence}", err=True)
    if found and not asked.yes and not confirmed("Release with this guarantee anyway?"):
        raise InvalidParameter("No budget was charged: choose a smaller --epsilon or --delta.")
    place_of(asked.device)  # a GPU that is not there is missed before the table is read
    return found


def _page_words(asked: Any, ledger: "dimfree.Ledger | None") -> dict[str, Any]:
    """What the top of the page says; an error if there is no page to write it on."""
    purpose = asked.purpose if ledger is None else None
    words = {"title": asked.title, "owner": asked.owner, "purpose": purpose}
    given = {name: text for name, text in words.items() if text is not None}
    if given and asked.report is None:
        more = ", or --ledger FILE and --dataset NAME to write it in the entry" if "purpose" in given else ""
        raise InvalidParameter(f"Expected --report PAGE with --{' and --'.join(given)}: it is shown there{more}.")
    charged = {} if ledger is None else {"dataset": ledger.dataset, "purpose": ledger.purpose or None}
    return {**given, **charged, "command": command_text(asked.context)}


def _group_names(asked: Any) -> Any:
    """The public names of the groups, or "private"; arguments that groups do not have are refused."""
    from dimfree.data.people.labels import check_group_keys
    from dimfree.data.read_public import read_group_keys

    if not asked.group_by or asked.private_groups == (asked.groups is not None):
        raise InvalidParameter(
            "Expected --group-by COLUMN and --groups FILE together: the column and its public names; or --group-by "
            "COLUMN --private-groups, to find large groups within the budget."
        )
    if asked.group_by == asked.unit:
        raise InvalidParameter(f"Expected --group-by and --unit to name two columns, got {asked.unit!r} for both.")
    for name in ("neighbours", "device", "shape"):
        row, value = ARGUMENTS[name], getattr(asked, name)
        if value not in (row.default, "auto") and (MEANS not in row.doors or name == "shape"):
            raise InvalidParameter(f"--{name} {value} cannot be used with --group-by: leave it out.")
    if asked.groups is None:
        return "private"
    names = read_group_keys(asked.groups)
    check_group_keys(names)
    return names


def _check_places(asked: Any, places: Places, grouped: bool) -> None:
    """Outputs that could not be written are an error before anything is read."""
    from dimfree.results.tables import LONG_TABLES

    if grouped and Path(asked.out).suffix.lower() in (".npy", ".npz"):
        raise InvalidParameter(
            f"Expected --out {asked.out!r} to end in {' or '.join(LONG_TABLES)} with --group-by: the table names "
            "groups and columns beside the numbers."
        )
    inputs = {"DATA": Path(asked.data), "--basis": basis_file(asked.basis)}
    for name in ("covariance", "groups", "shape_from", "ledger"):
        inputs[f"--{name.replace('_', '-')}"] = getattr(asked, name)
    places.check(inputs, LONG_TABLES if grouped else None)


@contextmanager
def _showing_warnings(before: Collection[str]) -> Iterator[None]:
    """Print warnings about a weak guarantee that come before the charge, but for those that were printed."""
    from dimfree.accounting.budget import WeakGuaranteeWarning

    showing = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if not issubclass(category, WeakGuaranteeWarning):
            showing(message, category, *where, **more)
        elif str(message) not in before:
            typer.echo(f"Warning: {message}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", WeakGuaranteeWarning)
        warnings.showwarning = show
        yield


def _workers(scheduler: str | None) -> Any:
    """How many threads of a cluster do the work in here; 0: it is done in this process."""
    if scheduler is None:
        return nullcontext(0)
    from dimfree.data.scheduler import connected

    return connected(scheduler)


def _card(release: "dimfree.Release") -> Iterator[tuple[str, str]]:
    from dimfree.report.summary import column_rows, gathered, summary_rows
    from dimfree.results.confidence_sets import interval_note
    from dimfree.results.mean_table import delta_warning, noise_line

    yield from column_rows(release)
    yield "promise", release.guarantee.statement()
    if warning := delta_warning(release):
        yield "warning", warning
    yield "estimates", release.guarantee.estimates
    yield "spent", f"delta {release.ledger.delta():.3g} at epsilon {release.guarantee.epsilon:g}, in all"
    by_columns = release.reach is not None
    charges = gathered(release.ledger) if by_columns else summary_rows(release.ledger)
    yield "charged", "\n".join(f"{what}: {how}, {cost}" for what, how, cost in charges)
    if release.refusal is not None:
        yield "reason", release.refusal
        return
    yield "method", release.method
    if not by_columns:  # else units differ, and no range says anything
        yield "noise", f"{_noise_range([release])} per coordinate, {release.dimension} coordinate(s)"
    yield "against spread", noise_line([release])
    if not by_columns:  # else among the rows of the columns
        yield "intervals", interval_note(release.error_model)


def _group_card(means: Any) -> tuple[list[tuple[str, str]], str, bool]:
    """The rows of the card, its title, and whether any group was released."""
    from dimfree.results.confidence_sets import interval_note
    from dimfree.results.grouped import NO_GROUP, shape_source
    from dimfree.results.mean_table import delta_warning, noise_line, shown_name

    done, reasons = [release for release in means.values() if not release.refused], dict[str, list[str]]()
    for key in means.refused:  # keys are public, but may be any text that the table holds
        reasons.setdefault(str(means[key].refusal), []).append(shown_name(key))
    rows = [("promise", means.statement())]
    rows += [("warning", warning)] if (warning := delta_warning(means)) else []
    rows += [("estimates", f"{means.guarantee.estimates}, in each group"), ("shape", _SHAPES[shape_source(means)])]
    rows.append(("groups", f"{len(done)} released, {len(means.refused)} refused" if means else NO_GROUP))
    rows += [("refused", f"{', '.join(keys)}: {reason}") for reason, keys in reasons.items()]
    if means.overall is not None and means.overall.refusal is not None:
        rows.append(("reason", means.overall.refusal))
    if done:
        if not any(release.parameters.get("objective") == "relative" for release in done):  # else units differ
            rows.append(("noise", f"{_noise_range(done)}, {done[0].dimension} coordinate(s) in each group"))
        rows.append(("against spread", f"over all groups, {noise_line(done)}"))
        rows.append(("intervals", " ".join(dict.fromkeys(interval_note(release.error_model) for release in done))))
    title = "Released in part" if done and means.refused else "Released" if done else "Refused"
    return rows, title, bool(done)


def _noise_range(done: "list[dimfree.Release]") -> str:
    deviations = [number for release in done for number in release.noise_stddev]
    return f"standard deviation {min(deviations):.4g} to {max(deviations):.4g}"
