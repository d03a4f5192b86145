"""The command line: one file per command; parse here, compute there. Product to stdout, talk to stderr.

Exit codes: 0 released, 1 a mistake in dimfree itself (or found by the audit), 2 bad input, 3 refused,
4 released but not written where it should be; 130, 143 and 129 interrupted by Ctrl-C, SIGTERM and SIGHUP.
"""

import functools
import os
import sys
from collections.abc import Callable
from typing import Annotated, ParamSpec

import typer

from dimfree import __version__
from dimfree.cli.course import Course, begun
from dimfree.cli.doctor import audit, doctor
from dimfree.cli.ledger import create, export, show, verify
from dimfree.cli.mean import mean
from dimfree.cli.options import PlainCommand, PlainGroup
from dimfree.cli.output import Rescued
from dimfree.cli.plan import plan, tradeoff
from dimfree.cli.report import compose, report
from dimfree.errors import DimfreeError

MISTAKE, BAD_INPUT, UNWRITTEN, INTERRUPTED = 1, 2, 4, 130

P = ParamSpec("P")


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """Turn every failure into one sentence on stderr and an exit code; a traceback might quote records."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        course = Course()
        try:
            with begun(course):
                return command(*args, **kwargs)
        except typer.Exit:
            raise
        except DimfreeError as error:
            sentence, code = course.failed(str(error)), UNWRITTEN if isinstance(error, Rescued) else BAD_INPUT
        except KeyboardInterrupt as error:
            sentence, code = course.interrupted(), getattr(error, "code", INTERRUPTED)
        except Exception as error:
            if os.environ.get("DIMFREE_TRACEBACK"):
                raise
            hidden = (
                f"A mistake in dimfree ({type(error).__name__}); details are hidden because they may quote records: "
                "set DIMFREE_TRACEBACK=1 to see them, and report them without the data."
            )
            sentence, code = course.failed(hidden), MISTAKE
        typer.echo(sentence, err=True)
        raise typer.Exit(code)

    return run


app = typer.Typer(
    name="dimfree",
    no_args_is_help=True,
    cls=PlainGroup,
    pretty_exceptions_enable=False,  # they print local variables, and those are records
    rich_markup_mode="rich",
)
ledger = typer.Typer(cls=PlainGroup, no_args_is_help=True, help="Keep a budget for a data set across releases.")
for group, commands in ((app, (mean, plan, tradeoff, compose, report)), (ledger, (create, show, verify, export))):
    for command in commands:
        group.command(cls=PlainCommand, no_args_is_help=True)(guarded(command))
for command in (audit, doctor):
    app.command(cls=PlainCommand)(guarded(command))
app.add_typer(ledger, name="ledger")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dimfree {__version__}")
        raise typer.Exit


@app.callback()
def dimfree(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Differentially private means whose error does not grow with the dimension."""


def main() -> None:
    """The `dimfree` command."""
    try:
        app(prog_name="dimfree")
    except KeyboardInterrupt:  # outside a command: while starting or leaving
        sys.exit(INTERRUPTED)
