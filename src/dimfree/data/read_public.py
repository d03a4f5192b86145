"""Read what is public from a file: variances, a basis, and the names of groups."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import check_same_columns
from dimfree.data.endings import TABLES, PathLike, known_ending
from dimfree.data.formats.array_files import read_npy, read_npz
from dimfree.data.read import guarded, open_table
from dimfree.data.records import plain_table
from dimfree.errors import InvalidFile


def read_covariance(path: PathLike, columns: Sequence[str] | None = None) -> NDArray[np.float64]:
    """Variances (d,) or a covariance (d, d); `columns`, the names of the records, in another order are refused."""
    matrix, names = _public_numbers(Path(path), "covariance", (1, 2), "variances (d,) or a covariance (d, d)")
    if names and columns and sorted(names) == sorted(columns) and names != tuple(columns):
        raise InvalidFile(f"{path} names the columns of the records in another order: bring them into the same order.")
    return matrix.ravel() if 1 in matrix.shape else matrix


def read_basis(path: PathLike, columns: Sequence[str] | None = None) -> NDArray[np.float64]:
    """A matrix whose rows are the basis vectors; other `columns` than those of the records are refused."""
    matrix, names = _public_numbers(Path(path), "basis", (2,), "a matrix (d, d) whose rows are the basis vectors,")
    check_same_columns(str(path), names, columns)
    return matrix


def _public_numbers(
    path: Path, key: str, ranks: tuple[int, ...], expected: str
) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    ending, names = known_ending(path, TABLES), None
    if ending in (".npy", ".npz"):
        source = guarded(path, ending, lambda: read_npy(path) if ending == ".npy" else read_npz(path, key, ranks))
    else:
        found = open_table(path).records
        source, names = plain_table(found), found.columns
    matrix = np.asarray(source.toarray() if hasattr(source, "toarray") else source)
    if matrix.ndim not in ranks or matrix.dtype.kind not in "biuf" or matrix.size == 0:
        raise InvalidFile(f"{path} cannot be used: expected {expected} of real numbers.")
    return matrix.astype(np.float64), names


def read_group_keys(path: PathLike) -> tuple[str, ...]:
    """The public names of groups: one per line, without the spaces around it. Blank lines are skipped.

    An error states the line number, not its text: a table may have been passed by mistake.
    """
    names: dict[str, int] = {}

    def read() -> list[str]:
        try:
            return Path(path).read_text(encoding="utf-8-sig").split("\n")
        except UnicodeDecodeError:
            raise InvalidFile("expected text in UTF-8, the public name of a group on each line.") from None

    for number, line in enumerate(map(str.strip, guarded(Path(path), "", read)), start=1):
        if line in names:
            raise InvalidFile(f"{path} cannot be used: line {number} repeats line {names[line]}, expected each once.")
        if line:
            names[line] = number
    if not names:
        raise InvalidFile(f"{path} cannot be used: it is empty, expected the public name of a group on each line.")
    return tuple(names)
