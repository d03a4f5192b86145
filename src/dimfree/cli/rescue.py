"""A release that is made and paid for, but cannot be written where it should go: the error says where its record is."""

import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from dimfree.errors import DimfreeError

if TYPE_CHECKING:
    from dimfree.results.grouped import Means
    from dimfree.results.release import Release


class Rescued(DimfreeError):
    """An output could not be written; the release is made, and the message says where its record is."""


def rescue(release: "Release | Means", error: Exception, record: Path | None) -> NoReturn:
    """Put the record somewhere unless it is written, then say where, why, and what is spent."""
    _abandon_stdout()
    where = f"in {str(record)!r}" if record else _filed(release.to_json()) or _shown(release.to_json())
    if os.environ.get("DIMFREE_TRACEBACK") and not isinstance(error, DimfreeError):
        raise error
    reason = str(error) if isinstance(error, DimfreeError) else f"The outputs failed ({type(error).__name__})."
    budget = f"epsilon={release.guarantee.epsilon!r} and delta={release.guarantee.delta!r}"
    raise Rescued(
        f"{reason} The release is made all the same, with {budget}. Its record (JSON) is {where}: keep it; `dimfree "
        "report` makes the mean and the report from it."
    ) from None


def _filed(text: str) -> str:
    """In a new file of the current folder, or of the folder for temporary files."""
    from dimfree.results.writing import write_file

    for folder in (Path.cwd, lambda: Path(tempfile.gettempdir())):
        with suppress(OSError, DimfreeError):
            path = folder() / f"dimfree-rescue-{os.getpid()}-{time.time_ns()}.json"
            write_file(path, text)
            return f"in {str(path)!r}"
    return ""


def _shown(text: str) -> str:
    """The last place that is left."""
    sys.stderr.write(text)
    return "above, on standard error"


def _abandon_stdout() -> None:
    """If stdout takes nothing more, point it nowhere: the interpreter would complain when it flushes on the way out."""
    with suppress(OSError, ValueError, AttributeError):  # no descriptor where stdout is captured, closed or none
        try:
            sys.stdout.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
