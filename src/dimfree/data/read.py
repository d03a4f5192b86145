"""Read a table of records by the ending of its file: `read_table`. docs/formats.md lists every way.

A small table is read at once, a large one block by block on every pass; the release is the same, bit for bit.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from dimfree._validate import check_count
from dimfree.data.columns import warn_of_identifiers
from dimfree.data.endings import NAMED, PARTS, TEXTS, PathLike, located
from dimfree.data.formats.array_files import NpyStream, ZarrStream, open_h5ad, read_npy, read_npz
from dimfree.data.formats.arrow_files import IpcStream, ParquetStream, PartsStream
from dimfree.data.formats.cells import JsonlStream, XlsxStream
from dimfree.data.formats.delimited import CsvStream
from dimfree.data.formats.file_stream import CHANGED, File, FilePath, Held, StoredFile, reading
from dimfree.data.records import Records, as_records
from dimfree.data.schema import Schema
from dimfree.data.source import InMemory, Source
from dimfree.data.tables import NO_COLUMNS
from dimfree.errors import InvalidFile, InvalidRecords, raise_alone

LARGE = 2**28  # bytes as float64; a larger table is read again on every pass

Keyed: TypeAlias = Any  # a column of keys: a list of text, or an Arrow column (which ships no types)
Seals: TypeAlias = tuple[tuple[int, ...], ...]  # they are different if a file has changed
Content = TypeVar("Content")

_JUDGED_ROWS = 2**12  # read at a time


class Opened(NamedTuple):
    """A table in a file: private, but for its names."""

    records: Records
    keys: list[Keyed]  # the columns of keys
    texts: tuple[str, ...] = ()  # coordinates that a file with declared types stores as text


def read_table(
    path: PathLike,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    bounds: Mapping[str, tuple[float, float]] | Mapping[int, tuple[float, float]] | None = None,
    format: str | None = None,  # noqa: A002 - what everybody calls it
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
    workers: int = 0,
) -> "Table":
    """The records of a file, one row per person, to be passed to `release_mean`.

    Rows with missing or infinite entries are kept; `release_mean` decides by its parameter `on_missing`. No type is
    guessed from what cells hold: in files without declared types every coordinate is a column of float64.

    In `release_mean`, `release_means` and `PrivateMean`, the arguments `unit` and `groups` name columns of the file,
    `columns` and `exclude` columns of this table. The file is read again for them and must not change in between.
    A column of text is an error here: leave it out with `exclude`. `unit` and `groups` can name it later.

    Parameters
    ----------
    path : str or Path
        A file ending in .npy, .npz, .csv, .tsv, .jsonl (these three also with .gz), .xlsx, .parquet, .arrow, .feather
        or .h5ad; a folder ending in .zarr; a folder of .parquet files or a pattern for them ("2024-*.parquet"); "-" for
        standard input; an address such as "s3://bucket/table.parquet" (extra "remote").
    columns : str or sequence of str, optional
        The names of the columns to read, in any order; the table keeps its own. Others are not read.
    exclude : str or sequence of str, optional
        The names of columns to leave out, such as identifiers.
    bounds : mapping of str or int to (float, float), optional
        For columns by name the lowest and the highest number that an entry counts as, such as {"age": (0, 120)}: an
        entry beyond them counts as the bound, and the mean is that of the entries so held. They must be public
        knowledge, never computed from the records; then nothing more is spent. An entry that is missing or not finite
        stays missing. With `unit`, rows are held before those of a person are averaged. Bounds for a column that is not
        read say nothing; for a name that the file does not have they are an error. A release states them
        (`parameters["bounds"]`). Columns without names go by place, as in {0: (0, 120)}. Those of a sparse table must
        contain 0.
    format : str, optional
        "csv", "parquet" and so on, where the ending does not say it. Standard input is "csv" unless it is given.
    delimiter : str, optional
        Between the cells of a text file: "," for .csv (";" with a decimal comma), a tab for .tsv, unless it is given.
    decimal : {".", ","}
        The decimal sign of a text file.
    encoding : str, default "utf-8"
        Of a text file; "latin-1" is common for older ones.
    workers : int, default 0
        Number of threads of a Dask cluster. Above 0 nothing is read here: the workers read the file in parts.

    Returns
    -------
    Table
        A small table in memory; a large one is read block by block on every pass.

    Raises
    ------
    InvalidFile
        If the file does not exist, has another ending, or does not hold a table of numbers.
    InvalidParameter
        If a parameter cannot be used.

    Warns
    -----
    IdentifierWarning
        If a column that was not asked for by name looks like an identifier: it has a name such as "patient_id" or
        "zip_code", or a file with declared types stores it as text.

    Examples
    --------
    >>> from dimfree import read_table, release_mean
    >>> records = read_table("study.csv", exclude=["patient_id"])  # doctest: +SKIP
    >>> release_mean(records, epsilon=1, delta=1e-6)  # doctest: +SKIP
    """
    schema = Schema.checked(columns, exclude, bounds=bounds, delimiter=delimiter, decimal=decimal, encoding=encoding)
    table = Table(_file(path, schema, format, workers))
    warn_of_identifiers(table.columns, schema, table.texts)
    return table


def open_path(path: PathLike, schema: Schema, keys: Sequence[str]) -> "Table":
    """Read the file that a release was given by its path, with the columns that its arguments name."""
    table = Table(_file(path, Schema().then(schema, keys)))
    warn_of_identifiers(table.columns, schema, table.texts, stacklevel=6)
    return table


def open_table(path: PathLike, schema: Schema = Schema(), *, form: str | None = None, workers: int = 0) -> Opened:
    """Open the coordinates of a file, and its columns of keys.

    Keys in text are stripped, None where they hold nothing; elsewhere they keep their type. `coded` judges each one.
    """
    file = _file(path, schema, form, workers)
    return guarded(file.path, file.ending, lambda: _read(file))[0]


def _file(path: PathLike, schema: Schema, form: str | None = None, workers: int = 0) -> File:
    workers = check_count("workers", workers, least=0)
    place, ending = located(path, form)
    most = float("inf") if isinstance(place, Held) else 0 if workers else LARGE
    return File(place, schema, ending, most, workers)


class Table(Records):
    """Records of a file, from which the arguments of a release can choose by name.

    For other columns, and for keys, it reads the file again; a file that has changed since is an error.
    """

    __slots__ = ("_file", "_keys", "_seals", "texts")

    def __init__(self, file: File) -> None:
        read, self._seals = guarded(file.path, file.ending, lambda: _read(file))
        found, self._keys, self.texts = read
        super().__init__(found._source)
        self.bounds, self._file = found.bounds, file

    def select(self, schema: Schema, keys: Sequence[str] = ()) -> "Table":
        """Choose coordinates from those of this table, and columns of keys from the file. PRIVATE."""
        if not schema.is_all:  # an error by the names of this table
            every = None if self.columns is None else (*self.columns, *(key for key in keys if key not in self.columns))
            schema.places(every, [at for at, name in enumerate(every or ()) if name in keys])
        again = replace(self._file, schema=self._file.schema.then(schema, keys))
        if again.schema == self._file.schema:
            return self
        table = Table(again)
        if table._seals != self._seals:
            raise InvalidFile(f"{again.path} cannot be used: {CHANGED}")
        return table

    def key(self, name: str) -> Keyed:
        return self._keys[self._file.schema.keys.index(name)]


def _read(file: File) -> tuple[Opened, Seals]:
    path, schema, ending = file.path, file.schema, file.ending
    _check_options(schema, ending)
    if file.workers and (ending == ".npz" or isinstance(path, Held)):
        raise InvalidFile("it cannot be read in parts: use .npy, .parquet or .zarr, or leave the scheduler out.")
    if ending == ".npz":
        return Opened(as_records(read_npz(path, "X", (2,)), bounds=schema.bounds), []), ()
    if ending == ".npy" and not file.workers and (isinstance(path, Held) or path.stat().st_size <= LARGE):
        return Opened(as_records(read_npy(path), bounds=schema.bounds), []), ()
    stream = _STREAMS[ending](file)
    if stream.names is not None or stream.columns is None:
        schema.bounds.require_columns(stream.names if stream.columns else None)
    if stream.shape[1] == 0:
        raise InvalidRecords(NO_COLUMNS)
    source = _source(stream, file)
    stored = [part for part in getattr(stream, "parts", [stream]) if isinstance(part, StoredFile)]
    columns = [stream.keys(key) for key in schema.keys]
    for part in stored if columns else ():  # keys are another pass: of the same file
        part.require_same()
    return Opened(Records(source).clipped(schema.bounds), columns, stream.texts), tuple(part._seal for part in stored)


def _check_options(schema: Schema, ending: str) -> None:
    if ending not in (*NAMED, PARTS) and (schema.keys or not schema.is_all):
        raise InvalidFile(
            "its format has no column names to choose by, expected a path ending in " + " or ".join(NAMED) + ": pass "
            "release_mean a frame or an AnnData instead."
        )
    if ending not in TEXTS and (schema.delimiter is not None or schema.decimal != "."):
        raise InvalidFile("delimiter and decimal are for .csv and .tsv files: leave them out.")
    if ending not in TEXTS and not ending.startswith(".jsonl") and schema.encoding != "utf-8":
        raise InvalidFile("encoding is for .csv, .tsv and .jsonl files: leave it out.")


def _source(stream: Source, file: File) -> Source:
    """Return the whole table where it is small, else the stream, or its parts for the workers of a cluster."""
    if file.workers:
        from dimfree.data.partitions import in_parts

        return in_parts(stream, file.workers)
    entries = int(stream.indptr[-1]) if stream.is_sparse else stream.shape[0] * stream.shape[1]
    if 8 * entries <= file.most_bytes:
        table = stream.whole()
        if not stream.is_sparse:
            table.flags.writeable = False
        return InMemory(table, stream.columns)
    for _ in stream.row_blocks(_JUDGED_ROWS) if stream.texts else ():
        pass  # what is not a number is an error now, before anything is spent
    return stream


def guarded(path: FilePath, ending: str, read: Callable[[], Content]) -> Content:
    if isinstance(path, Path) and not (ending == PARTS and not path.is_dir()):
        is_folder = ending in (".zarr", PARTS)
        is_, pass_ = ("a file", "folder") if is_folder else ("a folder", "file")
        if not path.exists():
            raise InvalidFile(f"{path} does not exist: pass the path of a {pass_}.")
        if path.is_dir() != is_folder:
            raise InvalidFile(f"{path} is {is_}: pass the path of a {pass_}.")
    try:
        with reading(path, ending if ending.startswith(".") else ""):
            return read()
    except MemoryError:
        raise_alone(InvalidFile(f"{path} cannot be read: it is damaged, or larger than the memory."))


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
