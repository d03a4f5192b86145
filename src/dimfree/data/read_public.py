"""Read public inputs from a file: variances, a basis, and the names of groups."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import check_same_columns
from dimfree.data.endings import TABLES, PathLike, find_ending
from dimfree.data.formats.array_files import read_npy, read_npz
from dimfree.data.read import guard, open_table
from dimfree.data.records import to_plain_table
from dimfree.errors import InvalidFileError


def read_covariance(path: PathLike, columns: Sequence[str] | None = None) -> NDArray[np.float64]:
    """Read variances (d,) or a covariance (d, d); refuse names in another order than `columns` of the records."""
    matrix, names = _read_public_numbers(Path(path), "covariance", (1, 2), "variances (d,) or a covariance (d, d)")
    if names and columns and sorted(names) == sorted(columns) and names != tuple(columns):
        raise InvalidFileError(
            f"{path} names the columns of the records in another order: write them in the same order."
        )
    return matrix.ravel() if 1 in matrix.shape else matrix


def read_basis(path: PathLike, columns: Sequence[str] | None = None) -> NDArray[np.float64]:
    """Read a matrix whose rows are the basis vectors; refuse other names than `columns` of the records."""
    matrix, names = _read_public_numbers(Path(path), "basis", (2,), "a matrix (d, d) whose rows are the basis vectors,")
    check_same_columns(str(path), names, columns)
    return matrix


def _read_public_numbers(
    path: Path, key: str, ranks: tuple[int, ...], expected: str
) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    ending, names = find_ending(path, TABLES), None
    if ending in (".npy", ".npz"):
        source = guard(path, ending, lambda: read_npy(path) if ending == ".npy" else read_npz(path, key, ranks))
    else:
        found = open_table(path).records
        source, names = to_plain_table(found), found.columns
    matrix = np.asarray(source.toarray() if hasattr(source, "toarray") else source)
    if matrix.ndim not in ranks or matrix.dtype.kind not in "biuf" or matrix.size == 0:
        raise InvalidFileError(f"{path} cannot be used: it must contain {expected} of real numbers.")
    return matrix.astype(np.float64), names


def read_group_keys(path: PathLike) -> tuple[str, ...]:
    """Read the public names of groups: one per line, stripped. Blank lines are skipped.

    An error states the line number, not its text: the file may be a table, passed by mistake.
    """
    names: dict[str, int] = {}

    def read() -> list[str]:
        try:
            return Path(path).read_text(encoding="utf-8-sig").split("\n")
        except UnicodeDecodeError:
            raise InvalidFileError("it must be text in UTF-8 with the public name of a group on each line.") from None

    for number, line in enumerate(map(str.strip, guard(Path(path), "", read)), start=1):
        if line in names:
            raise InvalidFileError(
                f"{path} cannot be used: line {number} repeats line {names[line]}. List each group once."
            )
        if line:
            names[line] = number
    if not names:
        raise InvalidFileError(f"{path} cannot be used: it is empty. Write the public name of a group on each line.")
    return tuple(names)
