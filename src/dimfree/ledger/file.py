"""The file at a path: whether it can be opened, and which process created it."""

import os
import time
from pathlib import Path

from dimfree.errors import InvalidFile

_PATIENCE = 5.0  # seconds to wait for another process that has created the file and not yet filled it
CANNOT_OPEN = "cannot be opened: check that its folder exists and may be written."
_EMPTY = (
    "{path!r} is an empty file: if it held a ledger it is damaged, restore it from a copy and count every release "
    "since then as spent; if it never held one, delete it."
)


def check_file(path: Path, *, missing: bool = False) -> None:
    """Raise InvalidFile where there is no file to open; with `missing` it may not exist yet."""
    try:
        path.stat()
    except FileNotFoundError:
        if not missing:
            raise InvalidFile(
                f"There is no ledger {str(path)!r}: create it with 'dimfree ledger create', or in Python with epsilon "
                "and delta."
            ) from None
    except OSError as error:
        raise InvalidFile(f"{str(path)!r} {CANNOT_OPEN} ({error.strerror}.)") from None
    if path.is_dir():
        raise InvalidFile(f"{str(path)!r} is a folder: pass the path of a file, such as study.db in it.")


def made_here(path: Path, timeout: float) -> bool:
    """Create an empty file if there is none; False if there was one, which is then not empty.

    Only the process that created the file fills it with tables. So a ledger that was truncated does not start again at
    0.
    """
    check_file(path, missing=True)
    try:
        os.close(os.open(path.resolve(), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
    except FileExistsError:
        _wait_until_filled(path, min(timeout, _PATIENCE))
        return False
    except OSError as error:
        raise InvalidFile(f"{str(path)!r} {CANNOT_OPEN} ({error.strerror}.)") from None
    return True


def _wait_until_filled(path: Path, patience: float) -> None:
    until = time.monotonic() + patience
    while path.stat().st_size == 0:
        if time.monotonic() > until:
            raise InvalidFile(_EMPTY.format(path=str(path)))
        time.sleep(0.01)
