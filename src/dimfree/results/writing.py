"""Write a mean as .npy, .npz, .csv or .parquet, by the ending of the path.

A file is written completely or not at all, and never over another one unless forced.
"""

import io
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dimfree._validate import check_flag, check_path
from dimfree.data.endings import TABLES, PathLike, known_ending, require_pyarrow
from dimfree.errors import InvalidFile
from dimfree.results.drafts import Draft, prove_writable, publish_together, refuse_existing
from dimfree.results.frames import means_columns, release_columns
from dimfree.results.grouped import Means
from dimfree.results.release import Release

STDOUT = "-"
_RUN_BY_SPREADSHEETS = re.compile(r"[\s'=+\-@＝＋－＠]")  # first characters; the last four are full-width
LONG_TABLES = (".csv", ".parquet")  # endings of a table of groups: it holds text


def check_target(path: PathLike, *, force: bool = False, endings: Sequence[str] = TABLES) -> None:
    """Raise every error that could stop a later write, by writing a draft; call it before any budget is spent."""
    _check_place(path, check_flag("force", force), endings)
    if Path(path).suffix.lower() == ".parquet":
        require_pyarrow()
    prove_writable(Path(path))


def _check_place(path: PathLike, force: bool, endings: Sequence[str]) -> None:
    known_ending(check_path("path", path), endings)
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
        refuse_existing(Path(path))


def write_mean(path: PathLike, release: Release | Means, *, force: bool = False) -> None:
    """Write a released mean whole or not at all; `-` prints it as CSV. A refused release raises RefusedRelease.

    Means of groups become one long table, without the groups that were refused.
    """
    if str(path) == STDOUT:
        _print(mean_csv(release))
    else:
        publish_together([draft_mean(path, release, force=force)])


def write_text(path: PathLike, text: str, *, force: bool = False) -> None:
    """Write text whole or not at all, in UTF-8."""
    publish_together([draft_text(path, text, force=force)])


def draft_mean(path: PathLike, release: Release | Means, *, force: bool = False) -> Draft:
    """The mean as a file that is not yet on disk: several drafts are published together."""
    _check_place(path, force, TABLES if isinstance(release, Release) else LONG_TABLES)
    return Draft(Path(path), _encoded(release, Path(path).suffix.lower()), force)


def draft_text(path: PathLike, text: str, *, force: bool = False) -> Draft:
    return draft_bytes(path, text.encode("utf-8"), force=force)


def draft_bytes(path: PathLike, content: bytes, *, force: bool = False) -> Draft:
    """A file of any kind, such as a picture."""
    _check_place(path, force, (Path(path).suffix.lower(),))
    return Draft(Path(path), content, force)


def mean_csv(release: Release | Means) -> str:
    """The table of `to_frame` as text: name, mean, noise_stddev, ci_low, ci_high, ci_covers, noise_over_spread.

    One line per column of the data, after its `group` if there are several; ci_low and ci_high are 95% confidence
    intervals of the population mean. The numbers read back bit for bit; where the spread was not learned, that cell is
    empty, and so are ci_low and ci_high where there is no interval. With on_missing="column" the last column is
    `present`.
    """
    columns = _columns(release)
    rows = [columns, *zip(*columns.values(), strict=True)]
    return "".join(",".join(map(_cell, row)) + "\n" for row in rows)


def _columns(release: Release | Means) -> dict[str, list[Any]]:
    return release_columns(release) if isinstance(release, Release) else means_columns(release.releases)


def no_formula(name: str) -> str:
    """A spreadsheet would run a name such as `=1+1`: an apostrophe goes in front, as before one that has one already.

    Hence taking one apostrophe off a name that begins with one gives the name back.
    """
    return f"'{name}" if _RUN_BY_SPREADSHEETS.match(name) else name


def _cell(value: object) -> str:
    """One cell of CSV; NaN is an empty one."""
    if not isinstance(value, str):
        return "" if value != value else repr(value)
    text = no_formula(value)
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text


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
        sys.stdout.flush()  # a closed pipe or a full disk raises here
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        raise InvalidFile(
            f"The mean could not be printed to standard output: {reason}; part of it may have been seen, so count the"
            " budget as spent, and write to a file next time."
        ) from None
