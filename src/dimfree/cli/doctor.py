"""`dimfree doctor`: is this installation fit to make promises?"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from rich.table import Table

    from dimfree.audit.doctor.finding import Finding

UNFIT = 1
_STYLES = {"fine": "green", "missing": "yellow", "bad": "bold red"}


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Check this installation: versions, entropy, arithmetic and samplers.

    No data are read. Floating-point flags are looked at after everything
    that dimfree uses was loaded, since a library may change them for all.
    Samplers are compared with their exact laws on a few thousand draws: a
    gross fault is found, and a healthy machine is called bad once in a
    million runs at most. dimfree audit looks deeper and takes longer.

    Example: before the first release on a new machine.

      dimfree doctor

    Example: in a nightly job.

      dimfree doctor --json > doctor.json

    Exit code 0: fit for release. 1: something is bad.
    """
    from dimfree import __version__
    from dimfree.audit.doctor.run import checkup, healthy, to_json

    findings = _watched(checkup())
    if json:
        typer.echo(to_json(findings, __version__), nl=False)
    else:
        _show(findings)
    if not healthy(findings):
        raise typer.Exit(UNFIT)


def _watched(checks: "Iterator[Finding]") -> "list[Finding]":
    """All findings; on a terminal with a word on what is being looked at."""
    from rich.console import Console

    with Console(stderr=True).status("looking …"):
        return list(checks)


def _show(findings: "list[Finding]") -> None:
    """The table is the product: stdout. The summary is talk: stderr."""
    from rich.console import Console

    from dimfree.audit.doctor.run import summary

    console = Console()
    if console.is_terminal:
        console.print(_table(findings))
    else:
        typer.echo("\n".join("\t".join((f.verdict, f.topic, f.check, f.found, f.remedy)).rstrip() for f in findings))
    Console(stderr=True).print(summary(findings), highlight=False, markup=False)


def _table(findings: "list[Finding]") -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table("", "what", "found", "remedy", title="Checkup", title_justify="left", title_style="bold")
    topic = None
    for finding in findings:
        if finding.topic != topic:
            table.add_section()
            topic = finding.topic
        mark = Text(finding.verdict, style=_STYLES[finding.verdict])
        table.add_row(mark, Text(finding.check), Text(finding.found), Text(finding.remedy))
    return table
