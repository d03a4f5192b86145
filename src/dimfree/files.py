"""Tables in: .npy, .npz, .csv and .parquet, told apart by their ending.

A file is read whole or refused with a sentence that names the path and the schema, never a cell or a line.
"""

import csv
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dimfree.errors import InvalidFile, InvalidRecords
from dimfree.records import Records, Source, as_records, from_arrow

TABLES = (".npy", ".npz", ".csv", ".parquet")

PathLike: TypeAlias = str | Path
Table: TypeAlias = tuple[Source, tuple[str, ...] | None]  # values as stored, and the names of the columns
Keyed: TypeAlias = Any  # a column of keys: a list of text, or an Arrow column (which ships no types)
KeyedTable: TypeAlias = tuple[Source, tuple[str, ...] | None, list[Keyed]]  # and the columns taken out of it
Content = TypeVar("Content")

_MISSING = frozenset({"", "na", "n/a", "null", "none"})  # beside nan, which is a number to float()
_SPARSE = "format"  # the entry by which scipy.sparse.save_npz marks its files


def read_table(path: PathLike) -> Records:
    """The records of a file, one row per person; rows with missing or infinite entries are left to `open_records`."""
    source, columns = _load(Path(path), key="X", ranks=(2,))
    return _opened(path, source, columns)


def read_keyed_table(path: PathLike, keys: Sequence[str]) -> tuple[Records, list[Keyed]]:
    """The records of a file without the columns named in `keys`, and those columns, which may hold text.

    Only .csv and .parquet have names. The cells of a .csv are compared as text, without the spaces around them; an
    empty one, and one that reads na, null, none or nan, is a missing key. A column of a .parquet keeps its type, floats
    as well: `open_keys` and `labelled` judge each entry by itself.
    """
    ending = known_ending(Path(path), TABLES)
    if ending not in _KEYED_READERS:
        raise InvalidFile(f"{path} has no column names: expected a path ending in {' or '.join(_KEYED_READERS)}.")
    reader = _KEYED_READERS[ending]
    source, columns, apart = _guarded(Path(path), lambda: reader(Path(path), tuple(keys)))
    return _opened(path, source, columns), apart


def read_group_keys(path: PathLike) -> tuple[str, ...]:
    """The public names of groups: one a line, without the spaces around it; blank lines are none.

    An error tells the line, not its text: a table may have been passed by mistake.
    """
    names: dict[str, int] = {}
    for number, line in enumerate(_guarded(Path(path), lambda: _lines(Path(path))), start=1):
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


def _opened(path: PathLike, source: Source, columns: tuple[str, ...] | None) -> Records:
    try:
        return as_records(source, columns)
    except InvalidRecords as error:
        raise InvalidFile(f"{path} cannot be used: {error}") from None


def read_covariance(path: PathLike, columns: Sequence[str] | None = None) -> NDArray[np.float64]:
    """Variances (d,) or a covariance matrix (d, d); one row or one column of numbers is taken as variances.

    With `columns`, the names of the records: the same names in another order are refused.
    """
    source, names = _load(Path(path), key="covariance", ranks=(1, 2))
    matrix = np.asarray(source.toarray() if hasattr(source, "toarray") else source)
    if matrix.ndim not in (1, 2) or matrix.dtype.kind not in "biuf" or matrix.size == 0:
        raise InvalidFile(f"{path} cannot be used: expected variances (d,) or a covariance (d, d) of real numbers.")
    if names and columns and sorted(names) == sorted(columns) and tuple(names) != tuple(columns):
        raise InvalidFile(f"{path} names the columns of the records in another order: bring them into the same order.")
    return (matrix.ravel() if 1 in matrix.shape else matrix).astype(np.float64)


def _load(path: Path, *, key: str, ranks: tuple[int, ...]) -> Table:
    reader = _READERS[known_ending(path, TABLES)]
    return _guarded(path, lambda: reader(path, key, ranks))


def _guarded(path: Path, read: Callable[[], Content]) -> Content:
    """The content of a file; whatever a parser says about it may quote records, so only the kind of trouble is told."""
    if not path.is_file():
        kind = "is a folder" if path.is_dir() else "does not exist"
        raise InvalidFile(f"{path} {kind}: pass the path of a file.")
    try:
        return read()
    except (InvalidFile, InvalidRecords) as error:
        raise InvalidFile(f"{path} cannot be used: {error}") from None
    except PermissionError:
        raise InvalidFile(f"{path} cannot be read: permission denied.") from None
    except MemoryError:
        raise InvalidFile(f"{path} cannot be read: it is damaged, or larger than the memory.") from None
    except Exception:  # noqa: BLE001 - NumPy, SciPy, zipfile and Arrow raise many kinds on damaged files
        raise InvalidFile(
            f"{path} cannot be read as {path.suffix.lower()}: it is truncated, damaged or of another kind, or holds"
            " Python objects; write it again, as numbers."
        ) from None


def known_ending(path: Path, endings: Sequence[str]) -> str:
    ending = path.suffix.lower()
    if ending not in endings:
        raise InvalidFile(f"{path} has an unknown ending: expected a path ending in {' or '.join(endings)}.")
    return ending


def _read_npy(path: Path, key: str, ranks: tuple[int, ...]) -> Table:
    values = np.load(path, allow_pickle=False)
    if not isinstance(values, np.ndarray):
        raise InvalidFile("it is an .npz file, rename it.")
    return values, None


def _read_npz(path: Path, key: str, ranks: tuple[int, ...]) -> Table:
    with np.load(path, allow_pickle=False) as archive:
        if _SPARSE in archive.files and "shape" in archive.files:
            from scipy.sparse import load_npz

            return load_npz(path), None
        if key in archive.files:
            return archive[key], None
        fitting = [values for values in map(archive.__getitem__, archive.files) if values.ndim in ranks]
        if len(fitting) != 1:
            rank = " or ".join(map(str, ranks))
            raise InvalidFile(f"expected an array named {key!r}, or exactly one array with {rank} dimensions.")
        return fitting[0], None


def _read_parquet(path: Path, key: str, ranks: tuple[int, ...]) -> Table:
    require_pyarrow()
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        return from_arrow(file.read())


def _read_keyed_parquet(path: Path, keys: tuple[str, ...]) -> KeyedTable:
    require_pyarrow()
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        table = file.read()
    apart = _places(table.schema.names, keys)
    rest = [place for place in range(table.num_columns) if place not in apart]
    source, names = from_arrow(table.select(rest))
    return source, names, [table.column(place) for place in apart]


def require_pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise InvalidFile(".parquet needs pyarrow: install it with pip install 'dimfree[files]'.") from None


def _read_csv(path: Path, key: str, ranks: tuple[int, ...]) -> Table:
    """Comma-separated numbers, below a line of names or without one; an empty cell is a missing entry."""
    return _read_keyed_csv(path, ())[:2]


def _read_keyed_csv(path: Path, keys: tuple[str, ...]) -> KeyedTable:
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file)
        first = next((cells for cells in lines if cells), None)
        if first is None:
            raise InvalidFile("it is empty, expected a line of names or lines of numbers.")
        names = _header(first)
        apart = _places(names, keys)
        rest = [place for place in range(len(first)) if place not in apart]
        columns: list[Keyed] = [[] for _ in apart]
        coordinates = names and tuple(names[place] for place in rest)
        values = array("d", [] if names else _numbers(first, names))
        for blank_or_cells in lines:
            # In one column a blank line is a record with a missing entry: dropping it would change the number of rows.
            cells = blank_or_cells or ([""] if len(first) == 1 else [])
            if not cells:
                continue
            if len(cells) != len(first):
                raise InvalidFile("its lines differ in their number of cells, expected one cell per column everywhere.")
            if apart:
                for column, place in zip(columns, apart, strict=True):
                    column.append(_key(cells[place]))
                cells = [cells[place] for place in rest]
            values.extend(_numbers(cells, coordinates))
    return _table(values, len(rest), columns), coordinates, columns


def _table(values: "array[float]", width: int, columns: list[Keyed]) -> NDArray[np.float64]:
    count = len(values) // width if width else len(columns[0])
    return np.array(values, dtype=np.float64).reshape(count, width)


def _places(names: Sequence[str] | None, keys: tuple[str, ...]) -> list[int]:
    """Where the columns that hold keys stand."""
    if keys and names is None:
        raise InvalidFile(f"it has no line of names, expected one with {', '.join(map(repr, keys))}.")
    for key in keys:
        if list(names or ()).count(key) != 1:
            wrong = "more than one column" if key in (names or ()) else "no column"
            raise InvalidFile(f"it has {wrong} named {key!r}, expected exactly one.")
    return [list(names or ()).index(key) for key in keys]


def _key(cell: str) -> str | None:
    return None if is_missing_cell(cell) else cell.strip()


def is_missing_cell(cell: str) -> bool:
    """Whether a cell of a .csv that holds this text holds no key."""
    return cell.strip().lower() in _MISSING | {"nan"}


def _header(cells: list[str]) -> tuple[str, ...] | None:
    """The names in the first line, or None when it is a record.

    A mixture is refused: taken as names, the numbers of a record would be published with the mean.
    """
    numeric = [_number(cell) is not None for cell in cells]
    if all(numeric):
        return None
    if any(numeric):
        raise InvalidFile(
            "its first line mixes names with numbers or empty cells, expected a name for every column and no index."
        )
    return tuple(cell.strip() for cell in cells)


def _numbers(cells: list[str], names: tuple[str, ...] | None) -> list[float]:
    try:
        return list(map(float, cells))  # the common case, fast
    except ValueError:
        numbers = [_number(cell) for cell in cells]
    if None in numbers:
        column = numbers.index(None)
        title = repr(names[column]) if names else str(column + 1)
        raise InvalidFile(f"column {title} holds something that is not a number, expected numbers between commas.")
    return [number for number in numbers if number is not None]


def _number(cell: str) -> float | None:
    try:
        return float("nan") if cell.strip().lower() in _MISSING else float(cell)
    except ValueError:
        return None


_READERS: dict[str, Callable[[Path, str, tuple[int, ...]], Table]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
}

_KEYED_READERS: dict[str, Callable[[Path, tuple[str, ...]], KeyedTable]] = {
    ".csv": _read_keyed_csv,
    ".parquet": _read_keyed_parquet,
}
