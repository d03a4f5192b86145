"""Write a file durably: completely or not at all, and over an existing file only with `force`."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from dimfree._validate import check_flag, check_path
from dimfree.data.endings import TABLES, PathLike, find_ending, require_pyarrow
from dimfree.errors import InvalidFileError

_PROOF_BYTES = 2**20  # written before any budget is charged, to detect a full disk
_OLD_SECONDS = 24 * 3600  # a draft lives for seconds; a killed process leaves an older one


def check_target(path: PathLike, *, force: bool = False, endings: Sequence[str] = TABLES) -> None:
    """Write a draft to raise the errors of a later write; call it before any budget is charged."""
    target = _check_path(path, check_flag("force", force), endings)
    if target.suffix.lower() == ".parquet":
        require_pyarrow()
    for left in target.parent.glob(".dimfree-*.part"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _OLD_SECONDS:
                left.unlink()
    with _write_draft(path, target, bytes(_PROOF_BYTES)):
        pass


def write_file(path: PathLike, content: str | bytes, *, force: bool = False) -> None:
    """Write text as UTF-8, or bytes. The file gets its name only when it is complete and on disk."""
    target = _check_path(path, force, None)
    with _write_draft(path, target, content.encode() if isinstance(content, str) else content) as draft:
        if force or not _link_draft(draft, target):
            draft.replace(target)
        if hasattr(os, "O_DIRECTORY"):
            with suppress(OSError):  # the file system cannot sync a folder; the file itself is on disk
                descriptor = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)


def _check_path(path: PathLike, force: bool, endings: Sequence[str] | None) -> Path:
    """Return the file to write; for a link its target, so that the link stays."""
    check_path("path", path)
    if endings is not None:
        find_ending(path, endings)
    target = Path(path).resolve()
    if target.is_dir():
        raise InvalidFileError(f"{path} is a folder: pass the path of a file.")
    if not target.parent.is_dir():
        raise InvalidFileError(f"{path} cannot be written, because its folder does not exist: create the folder first.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InvalidFileError(f"{path} cannot be written, because its folder is not writable: choose another folder.")
    if target.exists() and not target.is_file():
        raise InvalidFileError(f"{path} is not a regular file: pass another path.")
    if not force and target.exists():
        _refuse_existing(path)
    return target


@contextmanager
def _write_draft(path: PathLike, target: Path, content: bytes) -> Iterator[Path]:
    """Yield a complete file next to the target, with a temporary name that is removed at the end."""
    draft = target.parent / f".dimfree-{os.getpid()}-{time.time_ns()}.part"
    try:
        with draft.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # detects a full disk while the old file still exists
        yield draft
    except FileExistsError:
        _refuse_existing(path)
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        message = f"{path} could not be written and was left unchanged: {reason}. Choose another path."
        raise InvalidFileError(message) from None
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _link_draft(draft: Path, target: Path) -> bool:
    """Give the file its name if the name is free, in one step; return False without hard links."""
    try:
        target.hardlink_to(draft)
    except FileExistsError:
        raise
    except OSError:
        if target.exists():
            raise FileExistsError from None
        return False
    return True


def _refuse_existing(path: PathLike) -> NoReturn:
    raise InvalidFileError(f"{path} already exists: choose another name, or replace it with --force (force=True).")
