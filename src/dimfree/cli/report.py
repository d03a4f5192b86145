"""`dimfree report`: a report, table or plot from a release file; `dimfree compose`: compose several release files."""

import json
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import typer

import dimfree
from dimfree.arguments import REQUIRED, Argument
from dimfree.cli.ledger import describe_ledger
from dimfree.cli.options import FORCE, JSON, place, takes
from dimfree.cli.output import check_outputs
from dimfree.cli.progress import show_progress
from dimfree.errors import InvalidParameterError

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.

_REGISTRY = "Also write a .json entry for a registry of deployments; nothing is sent."
PAGE, PICTURES = ".html", (".svg", ".png")


@takes(
    "record page title dataset purpose owner ledger registry level force",
    record=place("Release file (dimfree mean --json).", "RELEASE"),
    page=place("Report (.html), table (.csv, .parquet, .npy, .npz) or plot (.svg, .png).", "OUTPUT"),
    title=Argument(None, "Title; by default the number of columns."),
    dataset=Argument(None, "Name of the data set, as in its ledger.", metavar="NAME"),
    purpose=Argument(None, "Purpose of the release; by default that in the ledger.", metavar="TEXT"),
    owner=Argument(None, "Person or office responsible for the data.", metavar="TEXT"),
    ledger=Argument(None, "Privacy ledger whose remaining budget is shown.", Path | None, None, "FILE"),
    registry=Argument(None, _REGISTRY, Path | None, None, "FILE"),
    level=Argument(0.95, "Level of the confidence intervals.", float),
    force=FORCE,
)
def report(asked: Any) -> None:
    """Write a report, a table or a plot of a release.

    The report is one .html file that loads nothing from the network: the
    guarantee, the means with confidence intervals, the charges, and how to
    reproduce and cite the release. The report of a refusal states its reason
    and what to do next. No budget is spent.

    Example: a release, its report, its table.

      dimfree mean people.csv --epsilon 1 --delta 1e-6 --json release.json
      dimfree report release.json release.html \\
          --title "Annual means" --purpose "annual report"
      dimfree report release.json mean.csv

    Exit code 0: written. 2: wrong input.
    """
    from dimfree.data.endings import TABLES
    from dimfree.report.rendering import require_report
    from dimfree.results.writing import write_file

    release, endings = dimfree.load(asked.record), (PAGE, *TABLES, *PICTURES)
    outputs = {"OUTPUT": (asked.page, endings), "--registry": (asked.registry, (".json",))}
    check_outputs(outputs, {"RELEASE": asked.record}, force=asked.force)
    if asked.page.suffix.lower() == PAGE:
        require_report()
    about: dict[str, Any] = {name: getattr(asked, name) for name in ("title", "dataset", "purpose", "owner")}
    spending: list[tuple[str, str]] = []
    if asked.ledger is not None:
        spending, about["purpose"] = _from_ledger(asked, release)
    with show_progress("Writing the report"):
        content = _content(asked.page, release, asked.level, {**about, "spending": spending})
        write_file(asked.page, content, force=asked.force)
        typer.echo(f"Written: {asked.page}", err=True)
        if asked.registry is not None:
            from dimfree.report.page import render_registry

            entry = render_registry(release, **about, written=datetime.now(UTC).date())
            write_file(asked.registry, entry, force=asked.force)
            typer.echo(f"Written: {asked.registry}", err=True)


@takes(
    "records delta json",
    records=place("Release files (dimfree mean --json).", "RELEASE...", list[Path]),
    delta=Argument(REQUIRED, "Delta of all releases together.", float),
    json=JSON,
)
def compose(asked: Any) -> None:
    """Compose several releases about the same people into one guarantee.

    The epsilon is smaller than the sum of their epsilons. Refused releases
    count, since their budget is spent. Group means count as one release.

    Example: two releases about the same patients.

      dimfree compose first.json second.json --delta 2e-6

    Choose all budgets before the first release; else use a privacy ledger.
    """
    together = dimfree.compose([dimfree.load(path) for path in asked.records])
    typer.echo(json.dumps(together.to_dict(asked.delta), indent=2) if asked.json else together.statement(asked.delta))


def _content(
    page: Path, release: "dimfree.Release | dimfree.GroupMeans", level: float, about: dict[str, Any]
) -> str | bytes:
    """Make the content that the ending of the path names."""
    ending = page.suffix.lower()
    if ending == PAGE:
        from dimfree.report.page import render_report

        return render_report(release, **about, level=level)
    if ending in PICTURES:
        from dimfree.results.tables import encode_picture

        return encode_picture(release.plot(level=level), ending)
    from dimfree.results.tables import encode_table

    return encode_table(page, release, level)


def _from_ledger(asked: Any, release: Any) -> tuple[list[tuple[str, str]], str | None]:
    """Return the state of the ledger, and the purpose: as given, or that of the one charge with this guarantee."""
    if asked.dataset is None:
        raise InvalidParameterError("--ledger FILE needs --dataset NAME.")
    found, guarantee = dimfree.PrivacyLedger(asked.ledger, asked.dataset), release.guarantee
    debits = [entry.content for entry in found.entries() if entry.event == "debit"]
    budget = (guarantee.epsilon, guarantee.delta)
    alike = [debit["purpose"] for debit in debits if (debit["epsilon"], debit["delta"]) == budget]
    return list(describe_ledger(found)), asked.purpose or (alike[0] if len(alike) == 1 else None)


def format_command(context: typer.Context) -> str:
    """Return the running command without folders, which may name people; one option per line.

    A name with bytes that are not text has a question mark.
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
    return text.encode(errors="replace").decode()


def _omit_folders(name: str, value: object) -> str:
    text = str(value)
    if isinstance(value, Path) or (name in ("data", "out") and value != "-"):
        return Path(urlsplit(text).path if "://" in text else text).name
    return text
