"""`dimfree report`: a page about a release from its record; `dimfree mean --report` writes the same page at once."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from dimfree.cli.compose import read_record
from dimfree.cli.progress import working
from dimfree.errors import InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from dimfree.results.grouped import Means
    from dimfree.results.release import Release


def report(
    record: Annotated[
        Path, typer.Argument(metavar="RECORD", help="A release record, as dimfree mean --json writes it.")
    ],
    page: Annotated[Path, typer.Argument(metavar="PAGE", help="Where the page goes: an .html file.")],
    title: Annotated[str | None, typer.Option(help="What to call it, instead of how many columns it has.")] = None,
    confidence: Annotated[float, typer.Option(help="Of the error bars.")] = 0.95,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing page.")] = False,
) -> None:
    """Write a page about a release, for a privacy officer and an analyst.

    One file that needs no network: what was promised in plain words and in
    symbols, what was spent, the mean with error bars, which columns stand
    out from the noise, the plan beside it, how to reproduce and cite it.
    A refusal gets a page, too, with what to do next. Nothing is spent.

    Example: a release, its record, its page.

      dimfree mean people.csv --epsilon 1 --delta 1e-6 --json release.json
      dimfree report release.json release.html

    Exit code 0: written. 2: bad input.
    """
    _check_page(page, record, force)
    with working("Writing the report"):
        from dimfree.report.page import write_report

        write_report(read_record(record), page, force=force, title=title, confidence=confidence)
    typer.echo(f"Written: {page}", err=True)


def _check_page(page: Path, record: Path, force: bool) -> None:
    """Whatever can stop a report stops it here."""
    from dimfree.report.page import check_report_place

    check_report_place(page, force=force)
    if record.resolve() == page.resolve():
        raise InvalidParameter(f"Expected the report {str(page)!r} to differ from RECORD.")


def page_text(release: "Release | Means", **known: Any) -> str:
    """The page of a release, with the command, the rules and the spending as `report_html` takes them."""
    from dimfree.report.page import report_html

    with working("Writing the report"):
        return report_html(release, **known)


def page_place(page: Path | None) -> Iterator[tuple[str, str]]:
    """Where the page is, for a card."""
    if page is not None:
        yield "report", str(page)


def command_text(context: typer.Context) -> str:
    """The command that runs, as it was typed but for folders: they say nothing to a reader, and may name people."""
    words = ["dimfree", context.info_name or ""]
    for parameter in context.command.params:
        name = parameter.name or ""
        source, value = context.get_parameter_source(name), context.params.get(name)
        if source is None or source.name != "COMMANDLINE":
            continue
        values = value if isinstance(value, tuple) else [] if value is True else [value]
        flag = [] if parameter.param_type_name == "argument" else [parameter.opts[0]]
        words += [*flag, *(_word(name, each) for each in values)]
    return shlex.join(words)


def _word(name: str, value: object) -> str:
    if isinstance(value, Path) or (name in ("data", "out") and value != "-"):
        text = str(value)
        return Path(urlsplit(text).path if "://" in text else text).name
    return str(value)
