"""A release that is made and paid for, but cannot be written where it should go: it goes elsewhere, whole."""

import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from dimfree.cli.course import current
from dimfree.errors import DimfreeError

if TYPE_CHECKING:
    from dimfree.results.grouped import Means
    from dimfree.results.release import Release


class Rescued(DimfreeError):
    """An output could not be written; the release is made, and the message says where its record is."""


def rescue(release: "Release | Means", error: Exception, *, to_stdout: bool) -> NoReturn:
    """Put the record somewhere, then say where, why, and what is spent."""
    text = release.to_json()
    where = (to_stdout and _printed(text)) or _filed(text) or _told(text)
    if os.environ.get("DIMFREE_TRACEBACK") and not isinstance(error, DimfreeError):
        raise error
    released = released_all_the_same(release)
    raise Rescued(f"{reason_of(error)} {released} Its record (JSON) is {where}: keep it.") from None


def reason_of(error: Exception) -> str:
    """The words of an error where they are ours, else its kind."""
    return str(error) if isinstance(error, DimfreeError) else f"The outputs failed ({type(error).__name__})."


def released_all_the_same(release: "Release | Means") -> str:
    promise = release.guarantee
    return f"The release is made all the same, with epsilon={promise.epsilon!r} and delta={promise.delta!r}."


def abandon_stdout() -> None:
    """Point stdout nowhere, or the interpreter complains once more when it flushes on the way out."""
    with suppress(OSError, ValueError, AttributeError):  # no descriptor where stdout is captured, closed or none
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _printed(text: str) -> str:
    current().printing = True
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):  # full, closed, or none at all
        abandon_stdout()
        return ""
    return "on standard output"


def _filed(text: str) -> str:
    """In a new file of the current folder, or of the folder for temporary files."""
    for folder in (Path.cwd, lambda: Path(tempfile.gettempdir())):
        with suppress(OSError):
            path = folder() / f"dimfree-rescue-{os.getpid()}-{time.time_ns()}.json"
            if _kept(path, text):
                return f"in {str(path)!r}"
    return ""


def _kept(path: Path, text: str) -> bool:
    from dimfree.errors import InvalidFile
    from dimfree.results.writing import write_text

    try:
        write_text(path, text)
    except InvalidFile:
        return False
    return True


def _told(text: str) -> str:
    """The last place that is left."""
    sys.stderr.write(text)
    return "above, on standard error"
