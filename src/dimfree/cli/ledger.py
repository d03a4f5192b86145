"""`dimfree ledger`: open, show, check and write out the privacy ledgers of data sets. No table is read."""

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
from dimfree.cli.course import current, undivided
from dimfree.cli.options import FORCE, JSON, place, takes
from dimfree.cli.output import check_outputs, draw_table
from dimfree.errors import InvalidFile, InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.

WRONG = 1  # the exit code of a ledger that is damaged or was changed

DATASET = Argument(REQUIRED, "Which data set, as it was named when its ledger was opened.", str)
FILE = place("The SQLite file that holds the ledgers.", "LEDGER")


@takes(
    "ledger dataset epsilon delta neighbours unit",
    ledger=FILE,
    dataset=Argument(REQUIRED, "A name for the data set: one ledger for the same people.", str),
    epsilon=Argument(REQUIRED, "Total privacy loss of all releases together; it never changes.", float),
    delta=Argument(REQUIRED, "Total delta of all releases together.", float),
    neighbours=Argument("add-remove", "add-remove or replace-one, for every release.", str),
    unit=Argument(None, "The column with the privacy unit; without it a row is a person.", metavar="COLUMN"),
)
def create(asked: Any) -> None:
    """Open the ledger of a data set: a total that all its releases share.

    Example: two releases about the same patients, and no more than agreed.

      dimfree ledger create study.db --dataset trial-7 \\
          --epsilon 3 --delta 1e-5

      dimfree mean people.csv --epsilon 1 --delta 1e-6 \\
          --ledger study.db --dataset trial-7 -o mean.csv

      dimfree ledger show study.db

    The charge is on disk before any noise is drawn. Keep the file where only
    the people who release can write. It must have one name: no hard links, and
    in a container mount the folder that holds it, not the file.
    """
    from dimfree.ledger.ledger import datasets_in

    path, dataset, relation = asked.ledger, asked.dataset, dimfree.Neighbours.parse(asked.neighbours)
    if path.exists() and path.stat().st_size and dataset in datasets_in(path):
        raise InvalidParameter(f"There is a ledger of dataset={dataset!r} already, and a total never changes.")
    total = {"epsilon": asked.epsilon, "delta": asked.delta, "neighbours": relation, "unit": asked.unit}
    found = dimfree.Ledger(path, dataset, **total)
    typer.echo(found.statement(), err=True)
    typer.echo(found.head)


@takes(
    "ledger dataset json",
    ledger=FILE,
    dataset=Argument(None, "Which data set; without it all of them, in short."),
    json=JSON,
)
def show(asked: Any) -> None:
    """Show the privacy loss that is spent, and the largest next epsilon.

    Example: every charge of one data set, with the epsilon spent by then.

      dimfree ledger show study.db --dataset trial-7

    The charges are composed; the epsilon spent is that at the delta of the
    total. "interrupted?" marks a charge without a known outcome: the release
    may have crashed, and its charge counts.
    """
    from dimfree.ledger.entries import shown_rows
    from dimfree.ledger.ledger import datasets_in

    names = [asked.dataset] if asked.dataset else datasets_in(asked.ledger)
    opened = [dimfree.Ledger(asked.ledger, name) for name in names]
    if asked.json:
        typer.echo(json.dumps([_summary(found) for found in opened], indent=2))
        return
    for found in opened:
        typer.echo(f"{found.statement()} Head: {found.head}")
        if asked.dataset:
            rows = (("", row) for row in shown_rows(found.entries()))
            header = ("entry", "day", "what", "purpose", "epsilon", "delta", "spent", "outcome")
            Console(highlight=False).print(draw_table(None, rows, header, box=None))


@takes(
    "ledger dataset head",
    ledger=FILE,
    dataset=DATASET,
    head=Argument(None, "A digest that was kept elsewhere: it must still be there."),
)
def verify(asked: Any) -> None:
    """Check every entry of a ledger, its sums and the file; say what is wrong.

    Example: against the digest that was noted after the last release.

      dimfree ledger verify study.db --dataset trial-7 --head 3fa0...

    A debit reads the first and the last entries only, so that it stays quick;
    this command reads all of them. The entries hold each other by digests, so
    a change in one shows. Somebody who can write the file can also write all of
    it anew, or put an old copy in its place: only a head that was kept elsewhere
    tells. Exit code 1: wrong.
    """
    from dimfree.ledger.ledger import verified

    problems = verified(asked.ledger, asked.dataset, asked.head)
    for problem in problems:
        typer.echo(problem, err=True)
    if problems:
        raise typer.Exit(WRONG)
    typer.echo("Every entry is in its place, and the sums are within the total.", err=True)
    typer.echo(dimfree.Ledger(asked.ledger, asked.dataset).head)


@takes(
    "ledger dataset out force",
    ledger=FILE,
    dataset=DATASET,
    out=Argument("-", ".json or .csv file; - prints JSON.", str, flags=("--out", "-o")),
    force=FORCE,
)
def export(asked: Any) -> None:
    """Write every entry of a ledger as JSON or CSV, digests included.

    Example: for the privacy officer's files.

      dimfree ledger export study.db --dataset trial-7 -o trial-7.csv

    Everything in a ledger is public: parameters, promises, prices, days.
    """
    from dimfree.results.tables import no_formula
    from dimfree.results.writing import write_file

    out = None if asked.out == "-" else Path(asked.out)
    check_outputs({"--out": (out, (".json", ".csv"))}, {"LEDGER": asked.ledger}, force=asked.force)
    entries, text = dimfree.Ledger(asked.ledger, asked.dataset).entries(), io.StringIO()
    if out is not None and out.suffix.lower() == ".csv":
        rows = [{**vars(entry), "dataset": no_formula(entry.dataset)} for entry in entries]
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


def open_ledger(path: Path | None, dataset: str | None, purpose: str | None) -> "dimfree.Ledger | None":
    """The ledger that `dimfree mean` charges; None where none was named. Opened before any table is read.

    A data set without its ledger is an error, and no word for the page: whoever forgot --ledger would spend uncharged.
    """
    if path is None and dataset is None:
        return None
    if path is None or dataset is None:
        raise InvalidParameter("Expected --ledger FILE and --dataset NAME together: the file and whose ledger in it.")
    from dimfree.ledger.ledger import Charged, Ledger
    from dimfree.ledger.spending import Charge

    class ReportingLedger(Ledger):
        """A ledger whose debits are reported to the command: no signal comes between a debit and its report."""

        def charge(self, charge: Charge, **said: Any) -> Charged:
            charge.prepare()  # takes long, so it may be stopped
            with undivided():
                charged = super().charge(charge, **said)
                budget, entry = charge.budget, f"entry {charged.number} of {self.dataset!r} in {str(self.path)!r}"
                current().charged = f"epsilon={budget.epsilon!r} and delta={budget.delta!r}, {entry}"
            return charged

    return ReportingLedger(path, dataset, purpose=purpose or "")


def ledger_rows(found: "dimfree.Ledger | None") -> Iterator[tuple[str, str]]:
    """The remaining budget, for a card; the release is done, so trouble with the file is shown, and loses nothing."""
    if found is None:
        return
    try:
        yield "ledger", f"{found.statement()} Head: {found.head}"
    except InvalidFile as error:
        yield "ledger", str(error)
    except Exception as error:  # noqa: BLE001 - whatever it is, the release is not written yet
        yield "ledger", f"It cannot be read ({type(error).__name__})."


def _summary(found: "dimfree.Ledger") -> dict[str, Any]:
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
