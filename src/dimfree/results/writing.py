"""Write a file durably: whole or not at all, and never over another one unless forced."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from dimfree._validate import check_flag, check_path
from dimfree.data.endings import TABLES, PathLike, known_ending, require_pyarrow
from dimfree.errors import InvalidFile

_PROOF_BYTES = 2**20  # written before any budget is spent, to detect a full disk
_OLD_SECONDS = 24 * 3600  # a draft lives for seconds; an older one was left by a process that was killed


def check_target(path: PathLike, *, force: bool = False, endings: Sequence[str] = TABLES) -> None:
    """Raise every error that could stop a later write, by writing a draft; call it before any budget is spent."""
    target = _checked(path, check_flag("force", force), endings)
    if target.suffix.lower() == ".parquet":
        require_pyarrow()
    for left in target.parent.glob(".dimfree-*.part"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _OLD_SECONDS:
                left.unlink()
    with _draft(path, target, bytes(_PROOF_BYTES)):
        pass


def write_file(path: PathLike, content: str | bytes, *, force: bool = False) -> None:
    """Write text in UTF-8, or bytes. The file has its name, and is on disk, only when it is complete."""
    target = _checked(path, force, None)
    with _draft(path, target, content.encode() if isinstance(content, str) else content) as draft:
        if force or not _link(draft, target):
            draft.replace(target)
        if hasattr(os, "O_DIRECTORY"):
            with suppress(OSError):  # a file system that cannot; the file itself is on disk
                descriptor = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)


def _checked(path: PathLike, force: bool, endings: Sequence[str] | None) -> Path:
    """Return the file that is written; the target of a link, so that a link stays a link."""
    check_path("path", path)
    if endings is not None:
        known_ending(path, endings)
    target = Path(path).resolve()
    if target.is_dir():
        raise InvalidFile(f"{path} is a folder: pass the path of a file.")
    if not target.parent.is_dir():
        raise InvalidFile(f"{path} cannot be written: its folder does not exist, create it first.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InvalidFile(f"{path} cannot be written: its folder is not writable.")
    if target.exists() and not target.is_file():
        raise InvalidFile(f"{path} is not a regular file: pass another path.")
    if not force and target.exists():
        _refuse_existing(path)
    return target


@contextmanager
def _draft(path: PathLike, target: Path, content: bytes) -> Iterator[Path]:
    """A complete file on disk beside the target, under a temporary name that goes when the block ends."""
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
        message = f"{path} could not be written and was left unchanged: {reason}; choose another place."
        raise InvalidFile(message) from None
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _link(draft: Path, target: Path) -> bool:
    """Name the file only if the name is free, in one step; False where the file system has no hard links."""
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
    raise InvalidFile(f"{path} already exists: choose another name, or pass --force (force=True) to replace it.")
