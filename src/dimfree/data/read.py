"""Read a table from a file: .npy, .npz, .csv, .parquet, .arrow, .feather, .zarr or .h5ad, by its ending.

A small table is read at once, a large one block by block on every pass (formats/); the release is the same, bit for
bit. A file that cannot be used raises an error that names the path and the schema, never a cell or a line of records.
"""

import importlib
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import check_count, check_path, check_same_columns
from dimfree.data.convert import Source, from_arrow
from dimfree.data.formats.arrow_ipc import IpcStream
from dimfree.data.formats.csv import CsvStream, CsvText, key_of, open_csv
from dimfree.data.formats.file_stream import reading, require, require_places
from dimfree.data.formats.h5ad import open_h5ad
from dimfree.data.formats.npy import NpyStream
from dimfree.data.formats.parquet import ParquetStream, opened
from dimfree.data.formats.zarr import ZarrStream
from dimfree.data.records import Records, as_records
from dimfree.data.stream import SparseStream, Stream
from dimfree.errors import InvalidFile, InvalidRecords

__all__ = [
    "TABLES",
    "SOURCES",
    "PathLike",
    "Keyed",
    "read_table",
    "read_keyed_table",
    "read_group_keys",
    "read_covariance",
    "read_basis",
    "known_ending",
    "require_pyarrow",
]

TABLES = (".npy", ".npz", ".csv", ".parquet")  # endings for everything that is read or written
SOURCES = (*TABLES, ".arrow", ".feather", ".zarr", ".h5ad")  # endings for records
FOLDERS = (".zarr",)
LARGE = 2**28  # bytes as float64; a larger table is read again on every pass

PathLike: TypeAlias = str | Path
Table: TypeAlias = tuple[Source, tuple[str, ...] | None]  # values as stored, and the names of the columns
Keyed: TypeAlias = Any  # a column of keys: a list of text, or an Arrow column (which ships no types)
KeyedTable: TypeAlias = tuple[Source, tuple[str, ...] | None, list[Keyed]]  # and the columns taken out of it
Content = TypeVar("Content")

_CSV_GROWTH = 4  # a number takes at least two characters, and becomes eight bytes
_PLACES = ("indices", "indptr", "row", "col", "offsets")  # arrays of positions in a sparse matrix, in any format
_SPARSE = "format"  # the entry that marks a file of scipy.sparse.save_npz


def read_table(path: PathLike, *, workers: int = 0) -> Records:
    """The records of a file, one row per person, to be passed to `release_mean`.

    Rows with missing or infinite entries are kept; `release_mean` decides by its parameter `on_invalid`.

    Parameters
    ----------
    path : str or Path
        A file ending in .npy, .npz, .csv, .parquet, .arrow, .feather or .h5ad, or a folder ending in .zarr.
    workers : int, default 0
        Number of threads of a Dask cluster. Above 0 nothing is read here: the workers read the file in parts.

    Returns
    -------
    Records
        A small table in memory; a large one is read block by block on every pass.

    Raises
    ------
    InvalidFile
        If the file does not exist, has another ending, or does not hold a table of numbers.

    Examples
    --------
    >>> from dimfree import read_table, release_mean
    >>> release_mean(read_table("study.parquet"), epsilon=1, delta=1e-6)  # doctest: +SKIP
    """
    place, workers = check_path("path", path), check_count("workers", workers, least=0)
    ending = known_ending(place, SOURCES)
    return _opened(path, *_guarded(place, lambda: _table_of(place, ending, workers)))


def _table_of(path: Path, ending: str, workers: int) -> Table:
    if workers:
        return _in_parts(path, ending, workers)
    if ending == ".npz" or (ending in (".npy", ".csv") and not _is_large(path, ending)):
        return _READERS[ending](path, "X", (2,))
    return _small_whole(_STREAMS[ending](path))


def _in_parts(path: Path, ending: str, workers: int) -> Table:
    from dimfree.data.cluster.file_parts import in_parts

    if ending not in _STREAMS:
        raise InvalidFile("it cannot be read in parts: use .npy, .parquet or .zarr, or leave the scheduler out.")
    table = in_parts(_STREAMS[ending](path), workers)
    return table, table.columns


def _is_large(path: Path, ending: str) -> bool:
    return path.stat().st_size * (_CSV_GROWTH if ending == ".csv" else 1) > LARGE


def _small_whole(stream: Stream) -> Table:
    entries = stream.nnz if isinstance(stream, SparseStream) else stream.shape[0] * stream.shape[1]
    return (stream if 8 * entries > LARGE else stream.whole()), stream.columns


def read_keyed_table(path: PathLike, keys: Sequence[str]) -> tuple[Records, list[Keyed]]:
    """The records of a file without the columns named in `keys`, and those columns, which may hold text.

    Only .csv (then read at once), .parquet, .arrow and .feather have column names. Cells of a .csv stay text without
    the spaces around them; an empty one, and one that reads na, null, none or nan, is None. In other formats a column
    keeps its type. `open_keys` and `labelled` judge each entry by itself, in a form that does not depend on the type.
    """
    ending = known_ending(Path(path), SOURCES)
    if ending not in _KEYED_READERS:
        raise InvalidFile(f"{path} has no column names: expected a path ending in {' or '.join(_KEYED_READERS)}.")
    reader = _KEYED_READERS[ending]
    source, columns, apart = _guarded(Path(path), lambda: reader(Path(path), tuple(keys)))
    return _opened(path, source, columns), apart


def read_group_keys(path: PathLike) -> tuple[str, ...]:
    """The public names of groups: one per line, without the spaces around it. Blank lines are skipped.

    An error states the line number, not its text: a table may have been passed by mistake.
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
    if isinstance(source, Stream):
        return Records(source, columns)
    try:
        return as_records(source, columns)
    except InvalidRecords as error:
        raise InvalidFile(f"{path} cannot be used: {error}") from None


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
    source, names = _load(path, key=key, ranks=ranks)
    matrix = np.asarray(source.toarray() if hasattr(source, "toarray") else source)
    if matrix.ndim not in ranks or matrix.dtype.kind not in "biuf" or matrix.size == 0:
        raise InvalidFile(f"{path} cannot be used: expected {expected} of real numbers.")
    return matrix.astype(np.float64), names


def _load(path: Path, *, key: str, ranks: tuple[int, ...]) -> Table:
    reader = _READERS[known_ending(path, TABLES)]
    return _guarded(path, lambda: reader(path, key, ranks))


def _guarded(path: Path, read: Callable[[], Content]) -> Content:
    """The content of a file, or an error of one sentence."""
    expected = path.suffix.lower() in FOLDERS
    if not path.exists():
        raise InvalidFile(f"{path} does not exist: pass the path of a {'folder' if expected else 'file'}.")
    if path.is_dir() != expected:
        is_, pass_ = ("a file", "folder") if expected else ("a folder", "file")
        raise InvalidFile(f"{path} is {is_}: pass the path of a {pass_}.")
    try:
        with reading(path):
            return read()
    except MemoryError:
        raise InvalidFile(f"{path} cannot be read: it is damaged, or larger than the memory.") from None


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

            require_places([archive[name] for name in _PLACES if name in archive.files])
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
    with opened(path) as file:
        return from_arrow(file.read())


def _read_keyed_parquet(path: Path, keys: tuple[str, ...]) -> KeyedTable:
    stream = ParquetStream(path, keys)
    return *_small_whole(stream), [stream.keys(key) for key in keys]


def _read_keyed_ipc(path: Path, keys: tuple[str, ...]) -> KeyedTable:
    stream = IpcStream(path, keys)
    return *_small_whole(stream), [stream.keys(key) for key in keys]


def require_pyarrow() -> None:
    """Import pyarrow before any budget is spent, so that a broken installation shows in time."""
    require("pyarrow", ".parquet", "files")
    try:
        importlib.import_module("pyarrow.parquet")
    except Exception as error:  # noqa: BLE001 - whatever a broken package raises
        kind = type(error).__name__
        raise InvalidFile(f".parquet needs pyarrow, which cannot be loaded ({kind}): install it anew.") from None


def _read_csv(path: Path, key: str, ranks: tuple[int, ...]) -> Table:
    """Comma-separated numbers, below a line of names or without one; an empty cell is a missing entry."""
    return _read_keyed_csv(path, ())[:2]


def _read_keyed_csv(path: Path, keys: tuple[str, ...]) -> KeyedTable:
    with open_csv(path) as file:
        text, values = CsvText(file, keys), array("d")
        columns: list[Keyed] = [[] for _ in keys]
        for cells in text.rows():
            for column, place in zip(columns, text.apart, strict=True):
                column.append(key_of(cells[place]))
            values.extend(text.numbers(cells))
    return _table(values, len(text.rest), columns), text.coordinates, columns


def _table(values: "array[float]", width: int, columns: list[Keyed]) -> NDArray[np.float64]:
    count = len(values) // width if width else len(columns[0])
    return np.array(values, dtype=np.float64).reshape(count, width)


_READERS: dict[str, Callable[[Path, str, tuple[int, ...]], Table]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
}

_STREAMS: dict[str, Callable[[Path], Stream]] = {
    ".npy": NpyStream,
    ".csv": CsvStream,
    ".parquet": ParquetStream,
    ".arrow": IpcStream,
    ".feather": IpcStream,
    ".zarr": ZarrStream,
    ".h5ad": open_h5ad,
}

_KEYED_READERS: dict[str, Callable[[Path, tuple[str, ...]], KeyedTable]] = {
    ".csv": _read_keyed_csv,
    ".parquet": _read_keyed_parquet,
    ".arrow": _read_keyed_ipc,
    ".feather": _read_keyed_ipc,
}
