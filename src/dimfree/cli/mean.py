"""`dimfree mean`: release the means of a table in a file, of all its rows or of groups of rows."""

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
from dimfree.cli.ledger import describe_ledger, open_ledger
from dimfree.cli.options import takes
from dimfree.cli.output import Places, show_card
from dimfree.cli.progress import show_progress
from dimfree.cli.reading import Data, ask_user, check_knowledge, describe_basis, find_basis_file
from dimfree.cli.report import format_command
from dimfree.errors import InvalidParameterError

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.

REFUSED = 3  # the exit code

_VARIANCES = {
    "all groups": "privately estimated once from all groups, within the budget",
    "each group": "the SD of every column is privately estimated in each group",
    "given": "publicly known",
}
_BRIEF = ("warning", "check", "bounds", "ledger", "written")  # without --verbose
_UNCHANGED = ("epsilon", "delta", "objective", "norm", "max_contributions", "missing")


@takes(
    "data epsilon delta columns exclude bounds norm schema format delimiter decimal encoding yes objective covariance "
    "covariance_from basis window privacy_unit max_contributions by groups private_groups ledger dataset purpose "
    "neighbors failure_probability outliers tails scale missing scheduler device out json report title owner force "
    "verbose"
)
def mean(asked: Any) -> None:
    """Release the mean of every column of a table with differential privacy.

    Each row is one person, unless --privacy-unit names a column of privacy
    IDs. A CSV file may start with a line of column names. All formats:
    docs/reference/formats.md.

    Example: the table and a budget are all that is needed.

      dimfree mean people.csv --epsilon 1 --delta 1e-6 \\
          -o mean.csv --json release.json --report release.html

    Example: some columns of a file with semicolons and decimal commas.

      dimfree mean survey.csv --epsilon 1 --delta 1e-6 \\
          --columns age,income --delimiter ';' --decimal ,

    Example: columns in different units; a small error of each in its own SD.

      dimfree mean people.csv --epsilon 1 --delta 1e-6 \\
          --objective relative -o columns.csv

    Example: publicly known variances of the columns give less noise.

      echo 'age,income' > variances.csv
      echo '150,9e8'   >> variances.csv

      dimfree mean people.csv --epsilon 1 --delta 1e-6 \\
          --covariance variances.csv -o better.csv

    Example: several rows per person, with a column of privacy IDs.

      dimfree mean visits.csv --privacy-unit patient_id --epsilon 1 --delta 1e-6

    Example: the means of groups. All groups together cost as much as one.

      echo north > regions.txt
      echo south >> regions.txt

      dimfree mean staff.csv --epsilon 1 --delta 1e-6 -o means.csv \\
          --by region --groups regions.txt --covariance variances.csv

    Example: the names of the groups are private; large groups are found.

      dimfree mean staff.csv --epsilon 1 --delta 1e-6 -o found.csv \\
          --by region --private-groups

    Example: a total budget for several releases about the same people.

      dimfree ledger create study.db --dataset trial-7 \\
          --epsilon 3 --delta 1e-5

      dimfree mean people.csv --epsilon 1 --delta 1e-6 \\
          --ledger study.db --dataset trial-7 -o again.csv

    Exit code 0: released; of groups, at least one. 2: wrong input; no budget
    was charged unless the message states it. 3: refused, and the budget is
    spent. 4: released, but an output could not be written; the message names
    the release file, from which dimfree report makes the others.
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
    grouped = asked.by is not None or asked.groups is not None or asked.private_groups
    keys = _group_names(asked) if grouped else None
    _check_places(asked, places, grouped)
    with _show_warnings(warned), show_progress("Reading") as bar, _connect_workers(asked.scheduler) as workers:
        columns = tuple(name for name in (asked.by, asked.privacy_unit) if name is not None)
        table = data.read(columns, workers)
        known = data.knowledge(asked, table.records)
        given["privacy_unit"] = (
            None if asked.privacy_unit is None else open_keys(table.keys[-1], asked.privacy_unit, asked.missing)
        )
        bar.end()
        data.confirm(table)
        bar.begin()
        bar.stage("Releasing")
        if grouped:
            given |= {"covariance": known["covariance"], "by": table.keys[0], "groups": keys, "tell": bar.steps}
            found: dimfree.Release | dimfree.GroupMeans = dimfree.release_group_means(table.records, **given)
            rows, title, released = _describe_groups(found)
        else:
            given |= {**known, "neighbors": asked.neighbors, "device": asked.device}
            found = dimfree.release_mean(table.records, **given)
            released, rows = not found.refused, [*_describe_release(found)]
            rows += describe_basis(known["basis"], table.records, found)
            title = "Released" if released else "Refused"
        if asked.covariance_from is not None:
            plain, rotated = f"{known['covariance'].gain():.3g}", f"{known['covariance'].rotated_gain():.3g}"
            gains = f"{plain} times less noise than isotropic noise, {rotated} times less than by the variances alone"
            rows.append(("public covariance", f"{asked.covariance_from}: {gains}, measured on held-out public rows"))
        spending = list(describe_ledger(ledger))
        bar.stage("Writing")

        def page() -> str:
            from dimfree.report.page import render_report

            return render_report(found, **about, rules=vars(options), spending=spending)

        places.write(found, released, page)
    rows = [*_describe_budget(found), *rows, *spending, *data.rows(table), ("written", places.describe(released))]
    if not asked.verbose:
        rows = [rows[0], *_describe_clipping(found), *(row for row in rows if row[0] in _BRIEF)]
    show_card(title, str(found), rows, found.guarantee.private)
    if not released:
        raise typer.Exit(REFUSED)


def _check_budget(asked: Any) -> list[str]:
    """Check what needs no data; print warnings of a weak guarantee, and return them.

    On a terminal the user confirms them, unless --yes is given.
    """
    from dimfree.accounting.budget import explain_weak_guarantee
    from dimfree.data.gpu.device import select_device
    from dimfree.request import check_max_contributions

    dimfree.accounting.budget.Budget(asked.epsilon, asked.delta)
    check_max_contributions(asked.privacy_unit, asked.max_contributions)
    if asked.privacy_unit == "":
        raise InvalidParameterError(f"`--privacy-unit` must be the name of a column of {asked.data!r}, got ''.")
    found = explain_weak_guarantee(asked.epsilon, asked.delta)
    for sentence in found:
        typer.echo(f"Warning: {sentence}", err=True)
    if found and not asked.yes and not ask_user("Release with this guarantee anyway?"):
        raise InvalidParameterError("No budget was charged. Choose a smaller --epsilon or --delta.")
    select_device(asked.device)  # a missing GPU is an error before the table is read
    return found


def _page_words(asked: Any, ledger: "dimfree.PrivacyLedger | None") -> dict[str, Any]:
    """Return the title, owner, purpose, data set and command for the report; check that there is a report."""
    purpose = asked.purpose if ledger is None else None
    words = {"title": asked.title, "owner": asked.owner, "purpose": purpose}
    given = {name: text for name, text in words.items() if text is not None}
    if given and asked.report is None:
        more = ", or --ledger FILE and --dataset NAME: the ledger records the purpose" if "purpose" in given else ""
        raise InvalidParameterError(
            f"Give --report PAGE with --{' and --'.join(given)}: the report shows it{more}. No budget was charged."
        )
    charged = {} if ledger is None else {"dataset": ledger.dataset, "purpose": ledger.purpose or None}
    return {**given, **charged, "command": format_command(asked.context)}


def _group_names(asked: Any) -> Any:
    """Return the public names of the groups, or "private"; reject arguments that groups do not have."""
    from dimfree.data.people.labels import check_group_keys
    from dimfree.data.read_public import read_group_keys

    if not asked.by or asked.private_groups == (asked.groups is not None):
        raise InvalidParameterError(
            "Group means need --by COLUMN and either --groups FILE (a public list of groups) or --private-groups "
            "(finds large groups within the budget). No budget was charged."
        )
    if asked.by == asked.privacy_unit:
        raise InvalidParameterError(
            f"`--by` and `--privacy-unit` must be two different columns, got {asked.privacy_unit!r} for both."
        )
    for name in ("neighbors", "device"):
        row, value = ARGUMENTS[name], getattr(asked, name)
        if value not in (row.default, "auto") and MEANS not in row.doors:
            raise InvalidParameterError(
                f"--{name} {value} cannot be used with --by. Leave it out. No budget was charged."
            )
    if asked.groups is None:
        return "private"
    names = read_group_keys(asked.groups)
    check_group_keys(names)
    return names


def _check_places(asked: Any, places: Places, grouped: bool) -> None:
    """Check before the table is read that all outputs can be written."""
    from dimfree.results.tables import LONG_TABLES

    if grouped and Path(asked.out).suffix.lower() in (".npy", ".npz"):
        raise InvalidParameterError(
            f"With --by, `--out` must end in {' or '.join(LONG_TABLES)}, got {asked.out!r}: the table contains text."
        )
    inputs = {"DATA": Path(asked.data), "--basis": find_basis_file(asked.basis)}
    for name in ("covariance", "groups", "covariance_from", "ledger"):
        inputs[f"--{name.replace('_', '-')}"] = getattr(asked, name)
    places.check(inputs, LONG_TABLES if grouped else None)


@contextmanager
def _show_warnings(printed: Collection[str]) -> Iterator[None]:
    """Print each warning of a weak guarantee once, before the charge."""
    from dimfree.errors import WeakGuaranteeWarning

    showing = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if not issubclass(category, WeakGuaranteeWarning):
            showing(message, category, *where, **more)
        elif str(message) not in printed:
            typer.echo(f"Warning: {message}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", WeakGuaranteeWarning)
        warnings.showwarning = show
        yield


def _connect_workers(scheduler: str | None) -> Any:
    """Connect to a cluster for the block, and return its number of threads; 0 if this process does the work."""
    if scheduler is None:
        return nullcontext(0)
    from dimfree.data.scheduler import connect_scheduler

    return connect_scheduler(scheduler)


def _describe_clipping(found: "dimfree.Release | dimfree.GroupMeans") -> Iterator[tuple[str, str]]:
    if isinstance(found, dimfree.Release) and (clipping := found.clipping) is not None:
        many = "" if clipping.max_clipped is None else f", up to about {clipping.max_clipped:.2g}"
        yield "clipping", f"records farther than {clipping.radius:.3g} (standardized distance) from the center{many}"


def _describe_budget(found: "dimfree.Release | dimfree.GroupMeans") -> Iterator[tuple[str, str]]:
    epsilon, delta = found.guarantee.epsilon, found.guarantee.delta
    if isinstance(found, dimfree.GroupMeans):
        yield "budget", f"epsilon {epsilon:g} and delta {delta:.3g} spent by all groups together"
    else:
        yield "budget", f"delta {found.charges.delta():.3g} at epsilon {epsilon:g} spent, of {delta:.3g} allowed"


def _describe_release(release: "dimfree.Release") -> Iterator[tuple[str, str]]:
    """Return all rows of the card but those about files and the ledger."""
    from dimfree.report.summary import describe_charges, describe_columns, gather_charges
    from dimfree.results.confidence_sets import describe_intervals
    from dimfree.results.mean_table import count_noisy_columns, describe_large_delta

    yield from describe_columns(release)
    yield "guarantee", release.guarantee.statement()
    if warning := describe_large_delta(release):
        yield "warning", warning
    yield "estimates", release.guarantee.estimates
    by_columns = release.clipping is not None
    charges = gather_charges(release.charges) if by_columns else describe_charges(release.charges)
    yield "charges", "\n".join(f"{what}: {how}, {cost}" for what, how, cost in charges)
    if release.refusal is not None:
        yield "reason", release.refusal
        return
    yield "method", release.method
    if not by_columns:  # else units differ, and a range has no meaning
        yield "noise", f"{_noise_range([release])} per column, {release.dimension} column(s)"
    if not by_columns:  # else among the rows of the columns
        yield "noise / SD", count_noisy_columns([release])
        yield "intervals", describe_intervals(release.error_model)


def _describe_groups(means: Any) -> tuple[list[tuple[str, str]], str, bool]:
    """Return the rows of the card, its title, and whether any group was released."""
    from dimfree.results.confidence_sets import describe_intervals
    from dimfree.results.grouped import NO_GROUP, find_variance_source
    from dimfree.results.mean_table import count_noisy_columns, describe_large_delta, shorten_name

    done, reasons = [release for release in means.values() if not release.refused], dict[str, list[str]]()
    for key in means.refused:  # keys are public, but may be any text
        reasons.setdefault(str(means[key].refusal), []).append(shorten_name(key))
    rows = [("guarantee", means.statement())]
    rows += [("warning", warning)] if (warning := describe_large_delta(means)) else []
    rows += [
        ("estimates", f"{means.guarantee.estimates}, in each group"),
        ("variances", _VARIANCES[find_variance_source(means)]),
    ]
    rows.append(("groups", f"{len(done)} released, {len(means.refused)} refused" if means else NO_GROUP))
    rows += [("refused", f"{', '.join(keys)}: {reason}") for reason, keys in reasons.items()]
    if means.overall is not None and means.overall.refusal is not None:
        rows.append(("reason", means.overall.refusal))
    if done:
        if not any(release.parameters.get("objective") == "relative" for release in done):  # else units differ
            rows.append(("noise", f"{_noise_range(done)}, {done[0].dimension} column(s) in each group"))
        rows.append(("noise / SD", f"{count_noisy_columns(done)}, over all groups"))
        rows.append(("intervals", " ".join(dict.fromkeys(describe_intervals(release.error_model) for release in done))))
    title = "Released in part" if done and means.refused else "Released" if done else "Refused"
    return rows, title, bool(done)


def _noise_range(done: "list[dimfree.Release]") -> str:
    deviations = [number for release in done for number in release.noise_stddev]
    return f"SD {min(deviations):.4g} to {max(deviations):.4g}"
