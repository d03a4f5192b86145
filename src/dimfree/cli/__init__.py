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
from dimfree.cli.audit import audit
from dimfree.cli.compose import compose
from dimfree.cli.course import Course, begun
from dimfree.cli.doctor import doctor
from dimfree.cli.flags import PlainCommand, PlainGroup
from dimfree.cli.ledger import create, export, show, verify
from dimfree.cli.mean import mean
from dimfree.cli.plan import plan
from dimfree.cli.report import report
from dimfree.cli.rescue import Rescued
from dimfree.cli.tradeoff import tradeoff
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
                command(*args, **kwargs)
        except typer.Exit:
            raise
        except DimfreeError as error:
            _leave(course.failed(str(error)), UNWRITTEN if isinstance(error, Rescued) else BAD_INPUT)
        except KeyboardInterrupt as error:
            _leave(course.interrupted(), getattr(error, "code", INTERRUPTED))
        except Exception as error:  # noqa: BLE001 - a mistake of ours; even then the data stay inside
            _leave_mistake(error, course)

    return run


def _leave(sentence: str, code: int) -> None:
    typer.echo(sentence, err=True)
    raise typer.Exit(code) from None


def _leave_mistake(error: Exception, course: Course) -> None:
    if os.environ.get("DIMFREE_TRACEBACK"):
        raise error
    sentence = (
        f"A mistake in dimfree ({type(error).__name__}); details are hidden because they may quote records: "
        "set DIMFREE_TRACEBACK=1 to see them, and report them without the data."
    )
    _leave(course.failed(sentence), MISTAKE)


app = typer.Typer(
    name="dimfree",
    no_args_is_help=True,
    cls=PlainGroup,
    pretty_exceptions_enable=False,  # they print local variables, and those are records
    rich_markup_mode="rich",
)
app.command(cls=PlainCommand, no_args_is_help=True)(guarded(mean))
app.command(cls=PlainCommand, no_args_is_help=True)(guarded(plan))
app.command(cls=PlainCommand, no_args_is_help=True)(guarded(tradeoff))
app.command(cls=PlainCommand, no_args_is_help=True)(guarded(compose))
app.command(cls=PlainCommand, no_args_is_help=True)(guarded(report))
app.command(cls=PlainCommand)(guarded(audit))
app.command(cls=PlainCommand)(guarded(doctor))

ledger = typer.Typer(cls=PlainGroup, no_args_is_help=True, help="Keep a budget for a data set across releases.")
for book_command in (create, show, verify, export):
    ledger.command(cls=PlainCommand, no_args_is_help=True)(guarded(book_command))
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
