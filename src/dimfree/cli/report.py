"""`dimfree report`: a page, the table or a picture of a release from its record, as `dimfree mean` writes them."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from dimfree.cli.compose import read_record
from dimfree.cli.ledger import ledger_rows
from dimfree.cli.progress import working
from dimfree.errors import InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from dimfree.results.grouped import Means
    from dimfree.results.release import Release

PICTURES = (".svg", ".png")


def report(
    record: Annotated[
        Path, typer.Argument(metavar="RECORD", help="A release record, as dimfree mean --json writes it.")
    ],
    page: Annotated[
        Path,
        typer.Argument(
            metavar="PAGE", help="An .html page; or the mean: .csv, .parquet, .npy, .npz; a plot: .svg, .png."
        ),
    ],
    title: Annotated[str | None, typer.Option(help="What to call it, instead of how many columns it has.")] = None,
    dataset: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which data set it is about; with --ledger, whose ledger in it.")
    ] = None,
    purpose: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What it is for; by itself what the ledger says of it.")
    ] = None,
    owner: Annotated[str | None, typer.Option(metavar="TEXT", help="Who answers for the data.")] = None,
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Show what is left in this ledger, too; nothing is charged.")
    ] = None,
    registry: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also write an entry for a registry of deployments to a .json file. Nothing is sent."
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Of the confidence intervals.")] = 0.95,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Write a page about a release, for a privacy officer and an analyst.

    One file that needs no network: what was promised in plain words and in
    symbols, what was spent, the mean with error bars, which columns stand
    out from the noise, the plan beside it, how to reproduce and cite it,
    and lines to sign on.
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
    release = read_record(record)
    _check_page(page, record, force)
    about: dict[str, Any] = {"title": title, "dataset": dataset, "purpose": purpose, "owner": owner}
    spending: list[tuple[str, str]] = []
    if ledger is not None:
        spending, about["purpose"] = _from_ledger(ledger, dataset, purpose, release)
    if registry is not None:
        _check_registry(registry, record, page, force)
    with working("Writing the report"):
        from dimfree.results.writing import write_file

        write_file(page, _content(page, release, level, {**about, "spending": spending}), force=force)
        typer.echo(f"Written: {page}", err=True)
        if registry is not None:
            write_file(registry, _registry_text(release, about), force=force)
            typer.echo(f"Written: {registry}", err=True)


def _content(page: Path, release: "Release | Means", level: float, about: dict[str, Any]) -> str | bytes:
    """What the ending of the path asks for."""
    ending = page.suffix.lower()
    if ending == ".html":
        from dimfree.report.page import report_html

        return report_html(release, **about, level=level)
    if ending in PICTURES:
        from dimfree.results.plot import picture_bytes

        return picture_bytes(release.plot(level=level), ending)
    from dimfree.results.tables import mean_bytes

    return mean_bytes(page, release, level)


def _from_ledger(
    path: Path, dataset: str | None, purpose: str | None, release: "Release | Means"
) -> tuple[list[tuple[str, str]], str | None]:
    """The state of the ledger, and the purpose of the one debit with this promise; as given where none or several."""
    if dataset is None:
        raise InvalidParameter("Expected --dataset NAME with --ledger: whose ledger in the file.")
    from dimfree.ledger.chain import DEBIT
    from dimfree.ledger.ledger import Ledger

    found, promise = Ledger(path, dataset), (release.guarantee.epsilon, release.guarantee.delta)
    said = [entry.content for entry in found.entries() if entry.event == DEBIT]
    alike = [debit["purpose"] for debit in said if (debit["epsilon"], debit["delta"]) == promise]
    known = alike[0] if len(alike) == 1 else None
    return list(ledger_rows(found)), purpose or known


def _check_registry(registry: Path, record: Path, page: Path, force: bool) -> None:
    from dimfree.results.writing import check_target

    check_target(registry, force=force, endings=(".json",))
    if registry.resolve() in (record.resolve(), page.resolve()):
        raise InvalidParameter(f"Expected --registry={str(registry)!r} to differ from RECORD and PAGE.")


def _registry_text(release: "Release | Means", about: dict[str, Any]) -> str:
    from datetime import UTC, datetime

    from dimfree.report.registry import registry_json

    return registry_json(release, **about, written=datetime.now(UTC).date())


def _check_page(page: Path, record: Path, force: bool) -> None:
    """Whatever can stop a report stops it here."""
    from dimfree.data.endings import TABLES
    from dimfree.report.page import check_report_place
    from dimfree.results.writing import check_target

    if page.suffix.lower() in (*TABLES, *PICTURES):
        check_target(page, force=force, endings=(*TABLES, *PICTURES))
    else:
        check_report_place(page, force=force)
    if record.resolve() == page.resolve():
        raise InvalidParameter(f"Expected the report {str(page)!r} to differ from RECORD.")


def page_text(release: "Release | Means", **known: Any) -> str:
    """The page of a release, with the command, the rules and the spending as `report_html` takes them."""
    from dimfree.report.page import report_html

    with working("Writing the report"):
        return report_html(release, **known)


def page_words(page: Path | None, **words: str | None) -> dict[str, str]:
    """What was said for the top of a page; an error where there is no page to say it on."""
    said = {name: text for name, text in words.items() if text is not None}
    if said and page is None:
        ledger = ", or --ledger FILE and --dataset NAME to write it beside a charge" if "purpose" in said else ""
        raise InvalidParameter(f"Expected --report PAGE with --{' and --'.join(said)}: the page that says it{ledger}.")
    return said


def page_place(page: Path | None) -> Iterator[tuple[str, str]]:
    """Where the page is, for a card."""
    if page is not None:
        yield "report", str(page)


def command_text(context: typer.Context) -> str:
    """The command that runs, as it was typed but for folders: they say nothing to a reader, and may name people.

    One flag a line, so that no page breaks a flag in two.
    """
    lines = [["dimfree", context.info_name or ""]]
    for parameter in context.command.params:
        name = parameter.name or ""
        source, value = context.get_parameter_source(name), context.params.get(name)
        if source is None or source.name != "COMMANDLINE":
            continue
        values = value if isinstance(value, tuple) else [] if value is True else [value]
        words = [_word(name, each) for each in values]
        if parameter.param_type_name == "argument":
            lines[0] += words
        else:
            lines.append([parameter.opts[0], *words])
    return " \\\n    ".join(map(shlex.join, lines))


def _word(name: str, value: object) -> str:
    if isinstance(value, Path) or (name in ("data", "out") and value != "-"):
        text = str(value)
        return Path(urlsplit(text).path if "://" in text else text).name
    return str(value)
