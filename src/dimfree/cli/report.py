"""`dimfree report`: a page, the table or a plot of a release from its record; `dimfree compose`: several records."""

import json
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import typer

import dimfree
from dimfree.arguments import REQUIRED, Argument
from dimfree.cli.ledger import ledger_rows
from dimfree.cli.options import FORCE, JSON, place, takes
from dimfree.cli.output import check_outputs
from dimfree.cli.progress import working
from dimfree.errors import InvalidFile, InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.

_REGISTRY = "Also write an entry for a registry of deployments to a .json file. Nothing is sent."
PAGE, PICTURES = ".html", (".svg", ".png")


@takes(
    "record page title dataset purpose owner ledger registry level force",
    record=place("A release record, as dimfree mean --json writes it.", "RECORD"),
    page=place("An .html page; or the mean: .csv, .parquet, .npy, .npz; a plot: .svg, .png.", "PAGE"),
    title=Argument(None, "Its title; by default the number of columns."),
    dataset=Argument(None, "The data set; with --ledger, the one whose ledger it is.", metavar="NAME"),
    purpose=Argument(None, "What the release is for; by default the purpose in the ledger.", metavar="TEXT"),
    owner=Argument(None, "Who is responsible for the data.", metavar="TEXT"),
    ledger=Argument(None, "Show its remaining budget, too; nothing is charged.", Path | None, None, "FILE"),
    registry=Argument(None, _REGISTRY, Path | None, None, "FILE"),
    level=Argument(0.95, "Of the confidence intervals.", float),
    force=FORCE,
)
def report(asked: Any) -> None:
    """Write a page about a release, for a privacy officer and an analyst.

    One file that needs no network: the guarantee in plain words and in
    symbols, what was spent, the mean with error bars, which columns stand
    out from the noise, the plan, how to reproduce and cite it, and lines
    to sign on.
    A refusal gets a page, too, with what to do next. Nothing is spent.

    By its ending, PAGE may also be the table of the mean or a plot of it:
    whatever dimfree mean writes can be made again from the record.

    Example: a release, its record, its page.

      dimfree mean people.csv --epsilon 1 --delta 1e-6 --json release.json
      dimfree report release.json release.html \\
          --title "Annual means" --purpose "annual report"
      dimfree report release.json mean.csv

    Exit code 0: written. 2: bad input.
    """
    from dimfree.data.endings import TABLES
    from dimfree.report.rendering import require_report
    from dimfree.results.writing import write_file

    release, endings = read_record(asked.record), (PAGE, *TABLES, *PICTURES)
    outputs = {"PAGE": (asked.page, endings), "--registry": (asked.registry, (".json",))}
    check_outputs(outputs, {"RECORD": asked.record}, force=asked.force)
    if asked.page.suffix.lower() == PAGE:
        require_report()
    about: dict[str, Any] = {name: getattr(asked, name) for name in ("title", "dataset", "purpose", "owner")}
    spending: list[tuple[str, str]] = []
    if asked.ledger is not None:
        spending, about["purpose"] = _from_ledger(asked, release)
    with working("Writing the report"):
        content = _content(asked.page, release, asked.level, {**about, "spending": spending})
        write_file(asked.page, content, force=asked.force)
        typer.echo(f"Written: {asked.page}", err=True)
        if asked.registry is not None:
            from dimfree.report.page import registry_json

            entry = registry_json(release, **about, written=datetime.now(UTC).date())
            write_file(asked.registry, entry, force=asked.force)
            typer.echo(f"Written: {asked.registry}", err=True)


@takes(
    "records delta json",
    records=place("Release records, as dimfree mean --json writes them.", "RECORD...", list[Path]),
    delta=Argument(REQUIRED, "The delta that you accept for all of them together.", float),
    json=JSON,
)
def compose(asked: Any) -> None:
    """State the guarantee of several releases about the same people.

    That is less than their epsilons added up. Refused releases count, too:
    their budget is spent. Means of groups count as one. No table is read.

    Example: two looks at the same patients.

      dimfree compose first.json second.json --delta 2e-6

    Budgets must have been chosen without looking at earlier outputs.
    """
    together = dimfree.compose([read_record(path) for path in asked.records])
    typer.echo(json.dumps(together.to_dict(asked.delta), indent=2) if asked.json else together.statement(asked.delta))


def read_record(path: Path) -> "dimfree.Release | dimfree.Means":
    """Read a release record; an error names the file."""
    try:
        text = path.read_text(encoding="utf-8")
        return dimfree.Means.from_json(text) if '"means"' in text[:40] else dimfree.Release.from_json(text)
    except (OSError, UnicodeDecodeError):
        raise InvalidFile(f"{str(path)!r} cannot be read: pass a record that dimfree mean --json wrote.") from None
    except InvalidFile as error:
        raise InvalidFile(f"{str(path)!r}: {error}") from None


def _content(
    page: Path, release: "dimfree.Release | dimfree.Means", level: float, about: dict[str, Any]
) -> str | bytes:
    """What the ending of the path asks for."""
    ending = page.suffix.lower()
    if ending == PAGE:
        from dimfree.report.page import report_html

        return report_html(release, **about, level=level)
    if ending in PICTURES:
        from dimfree.results.tables import picture_bytes

        return picture_bytes(release.plot(level=level), ending)
    from dimfree.results.tables import mean_bytes

    return mean_bytes(page, release, level)


def _from_ledger(asked: Any, release: Any) -> tuple[list[tuple[str, str]], str | None]:
    """The state of the ledger, and the purpose: as given, or of the one debit with this guarantee."""
    if asked.dataset is None:
        raise InvalidParameter("Expected --dataset NAME with --ledger: whose ledger in the file.")
    found, guarantee = dimfree.Ledger(asked.ledger, asked.dataset), release.guarantee
    debits = [entry.content for entry in found.entries() if entry.event == "debit"]
    budget = (guarantee.epsilon, guarantee.delta)
    alike = [debit["purpose"] for debit in debits if (debit["epsilon"], debit["delta"]) == budget]
    return list(ledger_rows(found)), asked.purpose or (alike[0] if len(alike) == 1 else None)


def command_text(context: typer.Context) -> str:
    """The command that runs, as it was typed but for folders: they tell a reader nothing, and may name people.

    One flag a line, so that no page breaks a flag in two.
    """
    lines = [["dimfree", context.info_name or ""]]
    for parameter in context.command.params:
        name = parameter.name or ""
        source, value = context.get_parameter_source(name), context.params.get(name)
        if source is None or source.name != "COMMANDLINE":
            continue
        values = value if isinstance(value, tuple) else [] if value is True else [value]
        words = [_omit_folders(name, each) for each in values]
        if parameter.param_type_name == "argument":
            lines[0] += words
        else:
            lines.append([parameter.opts[0], *words])
    text = " \\\n    ".join(map(shlex.join, lines))
    return text.encode(errors="replace").decode()  # of a name with bytes that are no text the page has a question mark


def _omit_folders(name: str, value: object) -> str:
    text = str(value)
    if isinstance(value, Path) or (name in ("data", "out") and value != "-"):
        return Path(urlsplit(text).path if "://" in text else text).name
    return text
