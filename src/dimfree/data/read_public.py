"""Read what is public from a file: variances, a basis, and the names of groups."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import check_same_columns
from dimfree.data.endings import TABLES, PathLike, known_ending, require_pyarrow
from dimfree.data.formats.array_files import read_npy, read_npz
from dimfree.data.formats.arrow_files import open_parquet
from dimfree.data.formats.delimited import CsvStream
from dimfree.data.formats.file_stream import File
from dimfree.data.frames import ARROW, from_frame
from dimfree.data.read import guarded
from dimfree.errors import InvalidFile


def read_covariance(path: PathLike, columns: Sequence[str] | None = None) -> NDArray[np.float64]:
    """Variances (d,) or a covariance matrix (d, d); one row or one column of numbers is taken as variances.

    With `columns`, the names of the records: the same names in another order are refused.
    """
    matrix, names = _public_numbers(Path(path), "covariance", (1, 2), "variances (d,) or a covariance (d, d)")
    if names and columns and sorted(names) == sorted(columns) and names != tuple(columns):
        raise InvalidFile(f"{path} names the columns of the records in another order: bring them into the same order.")
    return matrix.ravel() if 1 in matrix.shape else matrix


def read_basis(path: PathLike, columns: Sequence[str] | None = None) -> NDArray[np.float64]:
    """A matrix whose rows are the basis vectors, a column for each column of the records.

    With `columns`, the names of the records: a file with other names, or with these in another order, is refused.
    """
    matrix, names = _public_numbers(Path(path), "basis", (2,), "a matrix (d, d) whose rows are the basis vectors,")
    check_same_columns(str(path), names, columns)
    return matrix


def _public_numbers(
    path: Path, key: str, ranks: tuple[int, ...], expected: str
) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    """The numbers, and the names of their columns where the file has any."""
    source, names = guarded(path, known_ending(path, TABLES), lambda: _load(path, key, ranks))
    matrix = np.asarray(source.toarray() if hasattr(source, "toarray") else source)
    if matrix.ndim not in ranks or matrix.dtype.kind not in "biuf" or matrix.size == 0:
        raise InvalidFile(f"{path} cannot be used: expected {expected} of real numbers.")
    return matrix.astype(np.float64), names


def _load(path: Path, name: str, ranks: tuple[int, ...]) -> tuple[Any, tuple[str, ...] | None]:
    ending = known_ending(path, TABLES)
    if ending == ".npy":
        return read_npy(path), None
    if ending == ".npz":
        return read_npz(path, name, ranks), None
    if ending == ".csv":
        stream = CsvStream(File(path, ending=ending, most_bytes=float("inf")))
        return stream.whole(), stream.columns
    require_pyarrow()
    with open_parquet(path) as file:
        return from_frame(file.read(), ARROW, False)


def read_group_keys(path: PathLike) -> tuple[str, ...]:
    """The public names of groups: one per line, without the spaces around it. Blank lines are skipped.

    An error states the line number, not its text: a table may have been passed by mistake.
    """
    names: dict[str, int] = {}
    for number, line in enumerate(guarded(Path(path), "", lambda: _lines(Path(path))), start=1):
        if line in names:
            raise InvalidFile(f"{path} cannot be used: line {number} repeats line {names[line]}, expected each once.")
        if line:
            names[line] = number
    if not names:
        raise InvalidFile(f"{path} cannot be used: it is empty, expected the public name of a group on each line.")
    return tuple(names)


def _lines(path: Path) -> list[str]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            return [line.strip() for line in file]
    except UnicodeDecodeError:
        raise InvalidFile("expected text in UTF-8, the public name of a group on each line.") from None
