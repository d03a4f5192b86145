"""Read a table by the ending of its file: `read_table`. docs/reference/formats.md lists all formats.

A small table is read at once, a large one block by block on every pass; the release is the same, bit for bit.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from dimfree._validate import check_count
from dimfree.data.columns import warn_of_identifiers
from dimfree.data.endings import NAMED, PARTS, TEXTS, PathLike, locate
from dimfree.data.formats.array_files import NpyStream, ZarrStream, open_h5ad, read_npy, read_npz
from dimfree.data.formats.arrow_files import IpcStream, ParquetStream, PartsStream
from dimfree.data.formats.cells import JsonlStream, XlsxStream
from dimfree.data.formats.delimited import CsvStream
from dimfree.data.formats.file_stream import CHANGED, File, FilePath, InMemoryFile, StoredFile, reword_file_errors
from dimfree.data.records import Records, as_records
from dimfree.data.schema import Schema
from dimfree.data.source import InMemory, Source
from dimfree.data.tables import NO_COLUMNS
from dimfree.errors import InvalidDataError, InvalidFileError, raise_alone

LARGE = 2**28  # bytes as float64; a larger table is read again on every pass

KeyColumn: TypeAlias = Any  # a column of keys: a list of text, or an Arrow column (which ships no types)
Seals: TypeAlias = tuple[tuple[int, ...], ...]  # they differ if a file has changed
Content = TypeVar("Content")

_CHECKED_ROWS = 2**12  # read at a time


class OpenTable(NamedTuple):
    """A table in a file: private, except for its names."""

    records: Records
    keys: list[KeyColumn]  # the columns of keys
    texts: tuple[str, ...] = ()  # coordinates that a file with declared types stores as text


def read_table(
    path: PathLike,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    bounds: Mapping[str, tuple[float, float]] | Mapping[int, tuple[float, float]] | None = None,
    format: str | None = None,  # noqa: A002 - the usual name
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
    workers: int = 0,
) -> "Table":
    """Read the records of a file for `release_mean`, one row per person.

    Rows with missing or infinite entries are kept; `release_mean` handles them by its argument `missing`. No type is
    inferred from cells: in files without declared types every column is float64.

    In `release_mean`, `release_group_means` and `PrivateMean`, the arguments `privacy_unit` and `by` name columns of
    the file, `columns` and `exclude` columns of this table. The file is read again for them and must not change in
    between. A column of text is an error here: leave it out with `exclude`; `privacy_unit` and `by` can still name it.

    Parameters
    ----------
    path : str or Path
        A file ending in .npy, .npz, .csv, .tsv, .jsonl (these three also with .gz), .xlsx, .parquet, .arrow, .feather
        or .h5ad; a folder ending in .zarr; a folder of .parquet files or a pattern for them ("2024-*.parquet"); "-" for
        standard input; an address such as "s3://bucket/table.parquet" (extra "remote").
    columns : str or sequence of str, optional
        Names of the columns to read, in any order; the table keeps its own order. Others are not read.
    exclude : str or sequence of str, optional
        Names of columns to leave out, such as identifiers.
    bounds : mapping of str or int to (float, float), optional
        Lowest and highest value of columns by name, such as {"age": (0, 120)}. Each entry beyond a bound is clipped to
        it; with `privacy_unit`, before the rows of a person are averaged. Missing and infinite entries stay missing.
        Bounds must be public knowledge, never computed from the records; they cost no budget. A release states them
        in `parameters["bounds"]`. Bounds of columns that are not read have no effect; an unknown name is an error.
        Columns without names go by position: {0: (0, 120)}. The bounds of a sparse table must contain 0.
    format : str, optional
        Format such as "csv" or "parquet", instead of the ending. Default for standard input: "csv".
    delimiter : str, optional
        Sign between the cells of a text file. Default: "," for .csv (";" with a decimal comma), a tab for .tsv.
    decimal : {".", ","}
        Decimal sign of a text file.
    encoding : str, default "utf-8"
        Encoding of a text file, such as "latin-1".
    workers : int, default 0
        Number of threads of a Dask cluster. If positive, the workers read the file in parts.

    Returns
    -------
    Table
        A small table in memory; a large one is read block by block on every pass.

    Raises
    ------
    InvalidFileError
        If the file does not exist, has an unknown ending, or is not a table of numbers.
    InvalidParameterError
        If an argument cannot be used.

    Warns
    -----
    IdentifierWarning
        If a column that `columns` does not list looks like an identifier: it has a name such as "patient_id" or
        "zip_code", or a file with declared types stores it as text.

    Examples
    --------
    >>> from dimfree import read_table, release_mean
    >>> records = read_table("study.csv", exclude=["patient_id"])  # doctest: +SKIP
    >>> release_mean(records, epsilon=1, delta=1e-6)  # doctest: +SKIP
    """
    schema = Schema.from_arguments(
        columns, exclude, bounds=bounds, delimiter=delimiter, decimal=decimal, encoding=encoding
    )
    table = Table(_file(path, schema, format, workers))
    warn_of_identifiers(table.columns, schema, table.texts)
    return table


def open_path(path: PathLike, schema: Schema, keys: Sequence[str]) -> "Table":
    """Read the file at a path that was passed to a release, with the columns that its arguments name."""
    table = Table(_file(path, Schema().then(schema, keys)))
    warn_of_identifiers(table.columns, schema, table.texts, stacklevel=6)
    return table


def open_table(path: PathLike, schema: Schema = Schema(), *, form: str | None = None, workers: int = 0) -> OpenTable:
    """Open the coordinates of a file and its columns of keys.

    Keys in text are stripped, and None if missing; others keep their type. `encode_keys` normalizes them.
    """
    file = _file(path, schema, form, workers)
    return guard(file.path, file.ending, lambda: _read(file))[0]


def _file(path: PathLike, schema: Schema, form: str | None = None, workers: int = 0) -> File:
    workers = check_count("workers", workers, least=0)
    place, ending = locate(path, form)
    most = float("inf") if isinstance(place, InMemoryFile) else 0 if workers else LARGE
    return File(place, schema, ending, most, workers)


class Table(Records):
    """Records of a file, from which the arguments of a release select columns by name.

    Other columns and keys are read from the file again; it is an error if the file has changed since.
    """

    __slots__ = ("_file", "_keys", "_seals", "texts")

    def __init__(self, file: File) -> None:
        read, self._seals = guard(file.path, file.ending, lambda: _read(file))
        found, self._keys, self.texts = read
        super().__init__(found._source)
        self.bounds, self._file = found.bounds, file

    def select(self, schema: Schema, keys: Sequence[str] = ()) -> "Table":
        """Select coordinates from this table, and columns of keys from the file. PRIVATE."""
        if not schema.is_all:  # an error by the names of this table
            every = None if self.columns is None else (*self.columns, *(key for key in keys if key not in self.columns))
            schema.places(every, [at for at, name in enumerate(every or ()) if name in keys])
        again = replace(self._file, schema=self._file.schema.then(schema, keys))
        if again.schema == self._file.schema:
            return self
        table = Table(again)
        if table._seals != self._seals:
            raise InvalidFileError(f"{again.path} cannot be used: {CHANGED}")
        return table

    def key(self, name: str) -> KeyColumn:
        return self._keys[self._file.schema.keys.index(name)]


def _read(file: File) -> tuple[OpenTable, Seals]:
    path, schema, ending = file.path, file.schema, file.ending
    _check_options(schema, ending)
    if file.workers and (ending == ".npz" or isinstance(path, InMemoryFile)):
        raise InvalidFileError("it cannot be read in parts: pass .npy, .parquet or .zarr, or leave the scheduler out.")
    small = not file.workers and (isinstance(path, InMemoryFile) or (path.is_file() and path.stat().st_size <= LARGE))
    if ending == ".npz" or (ending == ".npy" and small):
        whole = StoredFile(path)
        array = read_npz(path, "X", (2,)) if ending == ".npz" else read_npy(path)
        whole.require_same()
        return OpenTable(as_records(array, bounds=schema.bounds), []), (whole._seal,)
    stream = _STREAMS[ending](file)
    if stream.names is not None or stream.columns is None:
        schema.bounds.require_columns(stream.names if stream.columns else None)
    if stream.shape[1] == 0:
        raise InvalidDataError(NO_COLUMNS)
    source = _source(stream, file)
    stored = [part for part in getattr(stream, "parts", [stream]) if isinstance(part, StoredFile)]
    columns = [stream.keys(key) for key in schema.keys]
    for part in stored if columns else ():  # keys are another pass over the file
        part.require_same()
    return OpenTable(Records(source).apply_bounds(schema.bounds), columns, stream.texts), tuple(
        part._seal for part in stored
    )


def _check_options(schema: Schema, ending: str) -> None:
    if ending not in (*NAMED, PARTS) and (schema.keys or not schema.is_all):
        raise InvalidFileError(
            "its format has no column names to select by: pass a path that ends in " + " or ".join(NAMED) + ", or pass "
            "a frame or an AnnData to release_mean."
        )
    if ending not in TEXTS and (schema.delimiter is not None or schema.decimal != "."):
        raise InvalidFileError("`delimiter` and `decimal` are for .csv and .tsv files: leave them out.")
    if ending not in TEXTS and not ending.startswith(".jsonl") and schema.encoding != "utf-8":
        raise InvalidFileError("`encoding` is for .csv, .tsv and .jsonl files: leave it out.")


def _source(stream: Source, file: File) -> Source:
    """Return the whole table if it is small, else the stream, or its parts for the workers of a cluster."""
    if file.workers:
        from dimfree.data.partitions import split_file

        return split_file(stream, file.workers)
    entries = int(stream.indptr[-1]) if stream.is_sparse else stream.shape[0] * stream.shape[1]
    if 8 * entries <= file.max_bytes:
        table = stream.read_whole()
        if not stream.is_sparse:
            table.flags.writeable = False
        return InMemory(table, stream.columns)
    for _ in stream.row_blocks(_CHECKED_ROWS) if stream.texts else ():
        pass  # text that is not a number is an error now, before any budget is charged
    return stream


def guard(path: FilePath, ending: str, read: Callable[[], Content]) -> Content:
    if isinstance(path, Path) and not (ending == PARTS and not path.is_dir()):
        is_folder = ending in (".zarr", PARTS)
        is_, pass_ = ("a file", "folder") if is_folder else ("a folder", "file")
        if not path.exists():
            raise InvalidFileError(f"{path} does not exist: pass the path of a {pass_}.")
        if path.is_dir() != is_folder:
            raise InvalidFileError(f"{path} is {is_}: pass the path of a {pass_}.")
    try:
        with reword_file_errors(path, ending if ending.startswith(".") else ""):
            return read()
    except MemoryError:
        raise_alone(InvalidFileError(f"{path} cannot be read: it is damaged or larger than the memory."))


_STREAMS: dict[str, Callable[[File], Any]] = {
    ".npy": NpyStream,
    **dict.fromkeys(TEXTS, CsvStream),
    ".jsonl": JsonlStream,
    ".jsonl.gz": JsonlStream,
    ".xlsx": XlsxStream,
    ".parquet": ParquetStream,
    PARTS: PartsStream,
    ".arrow": IpcStream,
    ".feather": IpcStream,
    ".zarr": ZarrStream,
    ".h5ad": open_h5ad,
}
