"""`dimfree ledger`: create, show, verify and export the privacy ledgers of data sets. No table is read."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

import dimfree
from dimfree.arguments import REQUIRED, Argument
from dimfree.cli.course import current, defer_signals
from dimfree.cli.options import FORCE, JSON, place, takes
from dimfree.cli.output import check_outputs, draw_table
from dimfree.errors import InvalidFileError, InvalidParameterError

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.

WRONG = 1  # the exit code of a ledger that is damaged or was changed

DATASET = Argument(REQUIRED, "Name of the data set, as in ledger create.", str)
FILE = place("SQLite file of the ledgers.", "LEDGER")


@takes(
    "ledger dataset epsilon delta neighbors privacy_unit",
    ledger=FILE,
    dataset=Argument(REQUIRED, "Name of the data set: one ledger for the same people.", str),
    epsilon=Argument(REQUIRED, "Total epsilon of all releases together; it never changes.", float),
    delta=Argument(REQUIRED, "Total delta of all releases together.", float),
    neighbors=Argument("add-remove", "add-remove or replace-one, for every release.", str, metavar="NAME"),
    privacy_unit=Argument(None, "Column of privacy IDs; without it a row is a person.", metavar="COLUMN"),
)
def create(asked: Any) -> None:
    """Create the ledger of a data set: the total budget of all its releases.

    Example: a total budget, a release that is charged, and what remains.

      dimfree ledger create study.db --dataset trial-7 \\
          --epsilon 3 --delta 1e-5

      dimfree mean people.csv --epsilon 1 --delta 1e-6 \\
          --ledger study.db --dataset trial-7 -o mean.csv

      dimfree ledger show study.db

    The charge is on disk before any noise is drawn. Give write access only to
    people who release. The file must have one name: make no hard links, and in
    a container mount the folder that holds the file, not the file.
    """
    from dimfree.ledger.ledger import datasets_in

    path, dataset, relation = asked.ledger, asked.dataset, dimfree.accounting.budget.Neighbors.parse(asked.neighbors)
    if path.exists() and path.stat().st_size and dataset in datasets_in(path):
        raise InvalidParameterError(f"A ledger of dataset={dataset!r} exists already, and its total never changes.")
    total = {"epsilon": asked.epsilon, "delta": asked.delta, "neighbors": relation, "privacy_unit": asked.privacy_unit}
    found = dimfree.PrivacyLedger(path, dataset, **total)
    typer.echo(found.statement(), err=True)
    typer.echo(found.head)


@takes(
    "ledger dataset json",
    ledger=FILE,
    dataset=Argument(None, "Name of the data set; without it all data sets, one line each."),
    json=JSON,
)
def show(asked: Any) -> None:
    """Show the spent privacy loss, and the largest epsilon of the next release.

    Example: every charge of one data set.

      dimfree ledger show study.db --dataset trial-7

    The charges are composed; the spent epsilon is stated at the delta of the
    total. "interrupted?" marks a charge without a known outcome: the release
    may have crashed. Its charge counts.
    """
    from dimfree.ledger.entries import show_rows
    from dimfree.ledger.ledger import datasets_in

    names = [asked.dataset] if asked.dataset else datasets_in(asked.ledger)
    opened = [dimfree.PrivacyLedger(asked.ledger, name) for name in names]
    if asked.json:
        typer.echo(json.dumps([_summary(found) for found in opened], indent=2))
        return
    for found in opened:
        typer.echo(f"{found.statement()} Head: {found.head}")
        if asked.dataset:
            rows = (("", row) for row in show_rows(found.entries()))
            header = ("entry", "day", "what", "purpose", "epsilon", "delta", "spent", "outcome")
            Console(highlight=False).print(draw_table(None, rows, header, box=None))


@takes(
    "ledger dataset head",
    ledger=FILE,
    dataset=DATASET,
    head=Argument(None, "Digest that you kept elsewhere; the ledger must still contain it."),
)
def verify(asked: Any) -> None:
    """Check every entry of a ledger, its sums and the file.

    Example: compare with the digest that was kept after the last release.

      dimfree ledger verify study.db --dataset trial-7 --head 3fa0...

    A charge reads only the first and the last entries; this command reads all
    of them. Every entry has a digest of the entry before it, so it shows
    whether an entry was changed. A file that was replaced by an older copy, or
    written anew as a whole, shows only with --head. Exit code 1: damaged.
    """
    from dimfree.ledger.ledger import verify_entries

    problems = verify_entries(asked.ledger, asked.dataset, asked.head)
    for problem in problems:
        typer.echo(problem, err=True)
    if problems:
        raise typer.Exit(WRONG)
    typer.echo("All entries are unchanged, and their sums are within the total.", err=True)
    typer.echo(dimfree.PrivacyLedger(asked.ledger, asked.dataset).head)


@takes(
    "ledger dataset out force",
    ledger=FILE,
    dataset=DATASET,
    out=Argument("-", "A .json or .csv file; - prints JSON.", str, flags=("--out", "-o")),
    force=FORCE,
)
def export(asked: Any) -> None:
    """Export every entry of a ledger as JSON or CSV, digests included.

    Example: a table for the privacy officer.

      dimfree ledger export study.db --dataset trial-7 -o trial-7.csv

    Everything in a ledger is public: parameters, guarantees, charges, dates.
    """
    from dimfree.results.tables import escape_formula
    from dimfree.results.writing import write_file

    out = None if asked.out == "-" else Path(asked.out)
    check_outputs({"--out": (out, (".json", ".csv"))}, {"LEDGER": asked.ledger}, force=asked.force)
    entries, text = dimfree.PrivacyLedger(asked.ledger, asked.dataset).entries(), io.StringIO()
    if out is not None and out.suffix.lower() == ".csv":
        rows = [{**vars(entry), "dataset": escape_formula(entry.dataset)} for entry in entries]
        writer = csv.DictWriter(text, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    else:
        parsed = [{**vars(entry), "body": entry.content, "sums": json.loads(entry.sums)} for entry in entries]
        text.write(json.dumps(parsed, indent=1) + "\n")
    if out is None:
        sys.stdout.write(text.getvalue())
    else:
        write_file(out, text.getvalue(), force=asked.force)


def open_ledger(path: Path | None, dataset: str | None, purpose: str | None) -> "dimfree.PrivacyLedger | None":
    """Open the ledger that `dimfree mean` charges, before any table is read; None if none was named.

    --dataset without --ledger is an error: the release would not be charged.
    """
    if path is None and dataset is None:
        return None
    if path is None or dataset is None:
        raise InvalidParameterError("--ledger FILE and --dataset NAME must be given together. No budget was charged.")
    from dimfree.ledger.ledger import Charged, PrivacyLedger
    from dimfree.ledger.spending import Charge

    class ReportingLedger(PrivacyLedger):
        """A ledger that reports its charges to the command; no signal separates a charge from its report."""

        def charge(self, charge: Charge, **said: Any) -> Charged:
            charge.prepare()  # takes long, so it may be stopped
            with defer_signals():
                charged = super().charge(charge, **said)
                budget, entry = charge.budget, f"entry {charged.number} of {self.dataset!r} in {str(self.path)!r}"
                current().charged = f"epsilon={budget.epsilon!r} and delta={budget.delta!r}, {entry}"
            return charged

    return ReportingLedger(path, dataset, purpose=purpose or "")


def describe_ledger(found: "dimfree.PrivacyLedger | None") -> Iterator[tuple[str, str]]:
    """Return the remaining budget for the card; an error of the file is shown, since the release is done."""
    if found is None:
        return
    try:
        yield "ledger", f"{found.statement()} Head: {found.head}"
    except InvalidFileError as error:
        yield "ledger", str(error)
    except Exception as error:  # noqa: BLE001 - the release is not written yet
        yield "ledger", f"The ledger cannot be read ({type(error).__name__})."


def _summary(found: "dimfree.PrivacyLedger") -> dict[str, Any]:
    status = found.status()
    following = status.next_budget
    return {
        "dataset": found.dataset,
        **found.terms.to_dict(),
        "charges": status.charges,
        "spent_epsilon": status.spent_epsilon,
        "next_epsilon": following and following.epsilon,
        "next_delta": following and following.delta,
        "next_gaussian_epsilon": status.next_gaussian and status.next_gaussian.epsilon,
        "statement": found.statement(),
        "head": found.head,
    }
