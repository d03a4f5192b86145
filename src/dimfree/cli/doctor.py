"""`dimfree doctor`: check this installation."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from rich.table import Table

    from dimfree.audit.doctor import Finding

UNFIT = 1
_STYLES = {"fine": "green", "missing": "yellow", "bad": "bold red"}


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Check this installation: versions, entropy, arithmetic and samplers.

    No data are read. Floating-point flags are checked after everything that
    dimfree uses was loaded, since a library may change them for all.
    Samplers are compared with their exact laws on a few thousand draws: a
    gross fault is found, and a healthy machine is called bad once in a
    million runs at most. dimfree audit takes longer and attacks releases.

    Example: before the first release on a new machine.

      dimfree doctor

    Example: in a nightly job.

      dimfree doctor --json > doctor.json

    Exit code 0: fit for release. 1: something is bad.
    """
    from dimfree import __version__
    from dimfree.audit.doctor import checkup, is_healthy, to_json

    findings = _run(checkup())
    if json:
        typer.echo(to_json(findings, __version__), nl=False)
    else:
        _show(findings)
    if not is_healthy(findings):
        raise typer.Exit(UNFIT)


def _run(checks: "Iterator[Finding]") -> "list[Finding]":
    """Collect all findings; on a terminal, show that checks are running."""
    from rich.console import Console

    with Console(stderr=True).status("checking …"):
        return list(checks)


def _show(findings: "list[Finding]") -> None:
    """Print the table to stdout and the summary to stderr."""
    from rich.console import Console

    from dimfree.audit.doctor import summarize

    console = Console()
    if console.is_terminal:
        console.print(_table(findings))
    else:
        typer.echo("\n".join("\t".join((f.verdict, f.topic, f.check, f.found, f.remedy)).rstrip() for f in findings))
    Console(stderr=True).print(summarize(findings), highlight=False, markup=False)


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
