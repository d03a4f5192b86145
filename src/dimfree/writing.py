"""Releases out: .npy, .npz, .csv and .parquet, told apart by their ending.

A file is written whole or not at all, and never over another one unless forced.
"""

import csv
import io
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from dimfree._validate import check_flag, check_path
from dimfree.errors import InvalidFile, RefusedRelease
from dimfree.files import TABLES, PathLike, known_ending, require_pyarrow
from dimfree.means import Means
from dimfree.result import Release

STDOUT = "-"
LONG_TABLES = (".csv", ".parquet")  # endings of a table of groups: it has words in it


@dataclass(frozen=True)
class Draft:
    """A file that is complete on disk under a temporary name beside its target."""

    target: Path
    temporary: Path
    force: bool

    def publish(self) -> None:
        """Give the file its name in one step; without force, never to the loss of another file."""
        try:
            if self.force or not _link(self.temporary, self.target):
                self.temporary.replace(self.target)
        except FileExistsError:
            _refuse_existing(self.target)
        except OSError as error:
            _unwritable(self.target, error)
        finally:
            self.discard()

    def discard(self) -> None:
        with suppress(OSError):
            self.temporary.unlink(missing_ok=True)


def check_target(path: PathLike, *, force: bool = False, endings: Sequence[str] = TABLES) -> None:
    """Everything that can be known to stop a later write; call it before any budget is spent."""
    force = check_flag("force", force)
    ending = known_ending(check_path("path", path), endings)
    target = Path(path).resolve()  # a link is followed, so that it stays a link
    if target.is_dir():
        raise InvalidFile(f"{path} is a folder: pass the path of a file.")
    if not target.parent.is_dir():
        raise InvalidFile(f"{path} cannot be written: its folder does not exist, create it first.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InvalidFile(f"{path} cannot be written: its folder is not writable.")
    if not force and target.exists():
        _refuse_existing(Path(path))
    if ending == ".parquet":
        require_pyarrow()


def write_mean(path: PathLike, release: Release | Means, *, force: bool = False) -> None:
    """Write a released mean whole or not at all; `-` prints it as CSV. A refused release raises RefusedRelease.

    Means of groups become one long table, without the groups that were refused.
    """
    if str(path) == STDOUT:
        _print(mean_csv(release))
    else:
        draft_mean(path, release, force=force).publish()


def write_text(path: PathLike, text: str, *, force: bool = False) -> None:
    """Write text whole or not at all, in UTF-8."""
    draft_text(path, text, force=force).publish()


def draft_mean(path: PathLike, release: Release | Means, *, force: bool = False) -> Draft:
    """The mean on disk, but not yet under its name: several drafts can be published together."""
    check_target(path, force=force, endings=TABLES if isinstance(release, Release) else LONG_TABLES)
    return _draft(Path(path), _encoded(release, Path(path).suffix.lower()), force)


def draft_text(path: PathLike, text: str, *, force: bool = False) -> Draft:
    return draft_bytes(path, text.encode("utf-8"), force=force)


def draft_bytes(path: PathLike, content: bytes, *, force: bool = False) -> Draft:
    """A file of any kind, such as a picture."""
    check_target(path, force=force, endings=(Path(path).suffix.lower(),))
    return _draft(Path(path), content, force)


def publish_together(drafting: Sequence[Callable[[], Draft]]) -> None:
    """All files or none: each is complete on disk before the first gets its name."""
    drafts: list[Draft] = []
    try:
        for draft_one in drafting:
            drafts.append(draft_one())
        for draft in drafts:
            draft.publish()
    finally:
        for draft in drafts:
            draft.discard()


def mean_csv(release: Release | Means) -> str:
    """`name,mean,noise_stddev`, one line per coordinate, behind its `group` if there are several; the numbers read back
    bit for bit."""
    columns, text = _columns(release), io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _columns(release: Release | Means) -> dict[str, list[Any]]:
    """What is written, column by column."""
    if isinstance(release, Release):
        numbers = {"mean": release.mean.tolist(), "noise_stddev": release.noise_stddev.tolist()}
        return {"name": list(release.columns or map(str, range(release.dimension))), **numbers}
    parts = [{"group": [key] * each.dimension, **_columns(each)} for key, each in release.items() if not each.refused]
    if not parts:
        raise RefusedRelease("All groups were refused, so there is no mean to write; each group's release says why.")
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}


def _encoded(release: Release | Means, ending: str) -> bytes:
    if ending == ".csv":
        return mean_csv(release).encode("utf-8")
    buffer, columns = io.BytesIO(), _columns(release)
    if ending == ".npy":
        np.save(buffer, np.array(columns["mean"]), allow_pickle=False)
    elif ending == ".npz":
        np.savez(buffer, **{name: np.array(values) for name, values in columns.items()})  # type: ignore[arg-type]
    else:
        import pyarrow
        from pyarrow.parquet import write_table

        write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()


def _print(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()  # a closed pipe or a full device must speak now
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        raise InvalidFile(
            f"The mean could not be printed to standard output: {reason}; part of it may have been seen, so count the"
            " budget as spent, and write to a file next time."
        ) from None


def _draft(path: Path, content: bytes, force: bool) -> Draft:
    target = path.resolve()
    draft = Draft(target, target.parent / f".dimfree-{os.getpid()}-{time.monotonic_ns()}.part", force)
    try:
        with draft.temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # a full disk must speak now, while the old file is still there
    except OSError as error:
        draft.discard()
        _unwritable(path, error)
    except BaseException:  # an interrupt leaves nothing behind either
        draft.discard()
        raise
    return draft


def _link(temporary: Path, target: Path) -> bool:
    """Name the file only if the name is free, in one step; False where the file system has no hard links."""
    try:
        target.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:
        if target.exists():
            raise FileExistsError from None
        return False
    return True


def _refuse_existing(path: Path) -> NoReturn:
    raise InvalidFile(f"{path} already exists: choose another name, or pass --force (force=True) to replace it.")


def _unwritable(path: Path, error: OSError) -> NoReturn:
    reason = (error.strerror or "unknown error").lower()
    raise InvalidFile(f"{path} could not be written and was left as it was: {reason}; choose another place.") from None
