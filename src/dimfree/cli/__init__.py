"""The command line: one file per command. Results go to stdout, messages to stderr.

Exit codes: 0 released; 1 a defect of dimfree, or a claim that the audit violates; 2 wrong input; 3 refused; 4 released,
but an output could not be written; 130, 143 and 129 interrupted by Ctrl-C, SIGTERM and SIGHUP.
"""

import functools
import os
import sys
from collections.abc import Callable
from typing import Annotated, ParamSpec

import typer

from dimfree import __version__
from dimfree.cli.course import Course, follow
from dimfree.cli.doctor import audit, doctor
from dimfree.cli.ledger import create, export, show, verify
from dimfree.cli.mean import mean
from dimfree.cli.options import PlainCommand, PlainGroup
from dimfree.cli.output import OutputError
from dimfree.cli.plan import plan
from dimfree.cli.report import compose, report
from dimfree.errors import DimfreeError

DEFECT, WRONG_INPUT, NOT_WRITTEN, INTERRUPTED = 1, 2, 4, 130

P = ParamSpec("P")


def guard(command: Callable[P, None]) -> Callable[P, None]:
    """Turn every failure into one sentence on stderr and an exit code; a traceback might contain data."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        course = Course()
        try:
            with follow(course):
                return command(*args, **kwargs)
        except typer.Exit:
            raise
        except DimfreeError as error:
            sentence, code = (
                course.describe_failure(str(error)),
                NOT_WRITTEN if isinstance(error, OutputError) else WRONG_INPUT,
            )
        except KeyboardInterrupt as error:
            sentence, code = course.describe_interrupt(), getattr(error, "code", INTERRUPTED)
        except Exception as error:
            if os.environ.get("DIMFREE_TRACEBACK"):
                raise
            hidden = (
                f"A defect of dimfree ({type(error).__name__}). The details are hidden, since they may contain data. "
                "Set DIMFREE_TRACEBACK=1 to see them, and report them without the data."
            )
            sentence, code = course.describe_failure(hidden), DEFECT
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
ledger = typer.Typer(cls=PlainGroup, no_args_is_help=True, help="Track the privacy budget of a data set over releases.")
for group, commands in ((app, (mean, plan, compose, report)), (ledger, (create, show, verify, export))):
    for command in commands:
        group.command(cls=PlainCommand, no_args_is_help=True)(guard(command))
for command in (audit, doctor):
    app.command(cls=PlainCommand)(guard(command))
app.add_typer(ledger, name="ledger")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dimfree {__version__}")
        raise typer.Exit


@app.callback()
def dimfree(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Release means of tables with differential privacy and confidence intervals."""


def main() -> None:
    """Run the `dimfree` command."""
    try:
        app(prog_name="dimfree")
    except KeyboardInterrupt:  # outside a command: while starting or leaving
        sys.exit(INTERRUPTED)
