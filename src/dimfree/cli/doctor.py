"""`dimfree doctor`: check this installation. `dimfree audit`: attack the public calls. No data are read."""

from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from dimfree import __version__
from dimfree.arguments import Argument
from dimfree.cli.options import FORCE, JSON, flag, takes
from dimfree.cli.output import check_outputs, draw_table, show_product
from dimfree.cli.progress import show_progress
from dimfree.errors import InvalidParameterError

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.

FOUND = 1  # the exit code: a check failed, or a claim is violated
_STYLES = {"fine": "green", "missing": "yellow", "bad": "bold red", "violated": "bold red", "no time": "dim"}


@takes("json", json=JSON)
def doctor(asked: Any) -> None:
    """Check this installation: versions, entropy, arithmetic and samplers.

    The command reads no data. It checks the floating-point flags after it has
    loaded all libraries, since a library may change them. It compares samplers
    with their exact distributions on a few thousand draws: it finds gross
    faults, and its probability of a false alarm is at most one in a million.
    dimfree audit takes longer and attacks releases.

    Example: before the first release on a new machine.

      dimfree doctor

    Example: in a nightly job.

      dimfree doctor --json > doctor.json

    Exit code 0: fit for release. 1: a check failed.
    """
    from dimfree.audit.doctor import checkup, is_healthy, summarize, to_json

    with show_progress("checking …"):
        findings = list(checkup())
    if asked.json:
        typer.echo(to_json(findings, __version__), nl=False)
    else:
        rows = [(f.verdict, f.topic, f.check, f.found, f.remedy) for f in findings]
        _show("Checkup", ("", "topic", "what", "found", "remedy"), rows, 0, rows, summarize(findings))
    if not is_healthy(findings):
        raise typer.Exit(FOUND)


@takes(
    "call epsilon budget jobs report names force",
    call=Argument("", "Attack only calls whose name contains this text (see --list).", str),
    epsilon=Argument(1.0, "Epsilon that the attacked calls claim, from 0.1 to 10.", float),
    budget=Argument(600, "Time limit of the attacks.", float, metavar="SECONDS"),
    jobs=Argument(1, "Number of processes.", int),
    report=Argument(None, "Also write the table to an .html, .json or .md file.", Path | None),
    names=flag("Print the names of all calls and exit.", name="--list"),
    force=FORCE,
)
def audit(asked: Any) -> None:
    """Attack the releases of this installation, and compare claims and findings.

    The command reads no data: it makes worst-case tables. The public calls
    release on neighboring tables with the real noise; samples bound epsilon
    from below. More time finds more; "no time" marks an attack that was too
    short to find anything.

    Example: half an hour for all calls, with a report.

      dimfree audit --jobs 2 --budget 1600 --report audit.html

    Example: the calls whose name contains a text.

      dimfree audit --call "known covariance" --budget 60

    Exit code 0: nothing found. 1: a claim is violated. 2: wrong input.
    """
    from dimfree._validate import check_between, check_count, check_positive
    from dimfree.audit import attack
    from dimfree.audit.calls import calls
    from dimfree.results.writing import write_file

    known = list(map(str, calls(check_between("epsilon", asked.epsilon, 0.1, 10))))
    if asked.names:
        typer.echo("\n".join(known))
        return
    check_positive("budget", asked.budget)
    check_count("jobs", asked.jobs)
    check_outputs({"--report": (asked.report, tuple(attack.WRITERS))}, {}, force=asked.force)
    if not any(asked.call in name for name in known):
        raise InvalidParameterError(f"`--call` must be part of a name, got {asked.call!r}. See dimfree audit --list.")
    with show_progress("auditing") as bar:
        rows = list(attack.audit(asked.budget, asked.epsilon, part=asked.call, jobs=asked.jobs, report=bar.stage))
    cells, header = [row.cells() for row in rows], attack.COLUMNS
    _show("Audit", header, cells, header.index("verdict"), [header, *cells], attack.summarize(rows))
    if asked.report is not None:
        write_file(asked.report, attack.WRITERS[asked.report.suffix.lower()](rows, __version__), force=asked.force)
    if any(row.verdict == "violated" for row in rows):
        raise typer.Exit(FOUND)


def _show(title: str, header: Any, rows: Any, verdict: int, lines: Any, summary: str) -> None:
    """Print the table to stdout, each row in the style of its verdict, and the summary to stderr."""
    show_product(lambda: draw_table(title, ((_STYLES.get(row[verdict], ""), row) for row in rows), header), lines)
    Console(stderr=True).print(summary, highlight=False, markup=False)
