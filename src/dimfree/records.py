"""The front door: an array, a DataFrame, an AnnData or a sparse matrix becomes Records, read-only, one row per person.

What the table holds stays behind the door: no error, repr or pickle shows a value or how many rows there are.
"""

import math
from collections.abc import Iterator
from numbers import Real
from typing import Any, NoReturn, TypeAlias

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from dimfree._validate import check_choice
from dimfree.errors import InvalidRecords
from dimfree.rows import SparseRows

ON_INVALID = ("raise", "neutral")

_BLOCK_ENTRIES = 2**22  # 32 MiB of float64: large enough for fast arithmetic, small beside any table worth blocking
_SPARSE_BLOCK_ENTRIES = 2**20  # stored entries; what is computed from them takes some such arrays
_KINDS = {"O": "object", "c": "complex", "S": "bytes", "U": "text", "T": "text", "M": "datetime", "m": "timedelta"}
_ONE_ROW_EACH = "Pass a table with one row per person and one numeric column per coordinate."

Source: TypeAlias = Any  # NDArray of real numbers, or scipy's csr_array of float64 (SciPy ships no types)


class Records:
    """A read-only table of real numbers, one row per person; shows its dimension and names, nothing else.

    A row with an entry that is not finite is invalid: `blocks` masks it and hands it out as zeros.
    """

    __slots__ = ("_columns", "_source")

    def __init__(self, source: Source, columns: tuple[str, ...] | None) -> None:
        self._source = source
        self._columns = columns

    @property
    def columns(self) -> tuple[str, ...] | None:
        return self._columns

    @property
    def dimension(self) -> int:
        return int(self._source.shape[1])

    @property
    def count(self) -> int:
        """How many rows. PRIVATE under add/remove: never store, print or raise it."""
        return int(self._source.shape[0])

    def blocks(self, rows: int | None = None) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        """Consecutive blocks of at most `rows` rows: read-only dense float64, and the mask of the valid rows."""
        step = max(1, _BLOCK_ENTRIES // self.dimension) if rows is None else rows
        for start in range(0, self.count, step):
            yield _masked(_dense(self._source[start : start + step]))

    @property
    def is_sparse(self) -> bool:
        return sparse.issparse(self._source)

    @property
    def stored(self) -> int:
        """How many entries a sparse table stores. PRIVATE: never store, print or raise it."""
        return int(self._source.nnz)

    def sparse_blocks(self) -> Iterator[tuple[SparseRows, NDArray[np.bool_]]]:
        """Of a sparse table: consecutive blocks of rows as they are stored, and the mask of the valid rows."""
        starts, first = self._source.indptr, 0
        entries = max(_SPARSE_BLOCK_ENTRIES, 4 * self.dimension)  # a row at least; a block costs a row of zeros, too
        while first < self.count:
            full = int(np.searchsorted(starts, int(starts[first]) + entries, side="right")) - 1
            last = min(full, first + entries, self.count)
            yield _masked_entries(_rows_of(self._source, first, last))
            first = last

    def chosen(self, rows: NDArray[np.bool_]) -> "Records":
        """Some of the rows, as a table of its own. Which ones is for the caller to keep private."""
        return self if rows.all() else Records(self._source[np.flatnonzero(rows)], self._columns)

    def __repr__(self) -> str:
        return f"<Records: dimension={self.dimension}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Records are not copied or pickled: they are private. Open the table again where it is needed.")


def open_records(X: object, *, on_invalid: str = "raise") -> Records:
    """Records of an array, DataFrame or sparse matrix, under a rule for invalid rows chosen before looking.

    `on_invalid="raise"` is for the curator's eyes: an error that depends on the data is outside the guarantee.
    `on_invalid="neutral"` is inside it: such a record is a friend of itself only and adds 0 to every sum.
    """
    check_choice("on_invalid", on_invalid, ON_INVALID)
    records = as_records(X)
    require_valid(records, on_invalid)
    return records


def require_valid(records: Records, on_invalid: str) -> None:
    """Under the rule "raise", an error if any row is invalid; it names the rule, never a row or a value."""
    if on_invalid == "raise" and _any_invalid(records):
        raise InvalidRecords(
            "The table has an entry that is not a finite number (NaN, infinity or missing), and on_invalid='raise' "
            "forbids it: clean the table, or pass on_invalid='neutral' (--on-invalid neutral) to give such rows no "
            "weight."
        )


def as_records(X: object, columns: tuple[str, ...] | None = None) -> Records:
    """Records after the checks of rank, type and width alone; no value is looked at. `columns` names the unnamed."""
    if isinstance(X, Records):
        return X
    with np.errstate(all="ignore"):  # a warning or error would speak of records
        source, names = _source_of(X)
    if source.shape[1] == 0:
        raise InvalidRecords(f"The table has no columns. {_ONE_ROW_EACH}")
    return Records(source, names or columns)


def plain_table(X: object) -> Source:
    """The numbers of a table as they are, what is not finite included: a dense array, or CSR. For transformers, whose
    output goes back to whoever holds the records; an error still speaks of the schema only."""
    return as_records(X)._source


def _source_of(X: Any) -> tuple[Source, tuple[str, ...] | None]:
    # By name, so that no DataFrame library is imported for its own sake; the ancestors, so that subclasses count.
    ancestors = {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(X).__mro__}
    for kind, convert in _FRAMES.items():
        if kind in ancestors:
            return convert(X)
    package = type(X).__module__.partition(".")[0]
    if package in ("pandas", "polars", "pyarrow", "anndata"):
        raise InvalidRecords(f"A {package} {type(X).__name__} is not a table. {_ONE_ROW_EACH}")
    return (_from_sparse(X) if sparse.issparse(X) else _from_array(X)), None


def _from_array(X: Any) -> NDArray[Any]:
    try:
        # A masked entry is a missing one; filling needs a dtype that can say so.
        array = X.astype(np.float64).filled(np.nan) if _is_masked_numeric(X) else np.asarray(X)
    except (TypeError, ValueError):
        raise InvalidRecords(f"The records do not form a table of numbers. {_ONE_ROW_EACH}") from None
    _check_rank(array.ndim)
    if array.dtype.kind == "O" and not isinstance(X, np.ndarray):
        array = _from_objects(array)
    _check_dtype(array.dtype)
    view = array.view()
    view.flags.writeable = False
    return view


def _from_objects(array: NDArray[Any]) -> NDArray[Any]:
    """Lists of numbers, some missing or too large for NumPy: one such entry must not turn the table into an error."""
    if not all(entry is None or isinstance(entry, Real) for entry in array.flat):
        return array  # not a table of numbers at all
    return np.array([[_as_float(entry) for entry in row] for row in array], dtype=np.float64).reshape(array.shape)


def _as_float(entry: Real | None) -> float:
    try:
        return math.nan if entry is None else float(entry)
    except OverflowError:
        return math.inf


def _is_masked_numeric(X: object) -> bool:
    return isinstance(X, np.ma.MaskedArray) and X.dtype.kind in "biuf"


def _from_sparse(X: Any) -> sparse.csr_array:
    """A private CSR copy: duplicate entries are added up in float64, never in the caller's arrays."""
    _check_rank(X.ndim)
    _check_dtype(X.dtype)
    try:
        matrix = sparse.csr_array(X.astype(np.float64))  # astype copies, also from float64
        matrix.check_format(full_check=True)  # an index out of bounds would read someone else's memory
    except (ValueError, IndexError):
        raise InvalidRecords("The sparse matrix is damaged: its indices do not fit its shape.") from None
    matrix.sum_duplicates()
    return matrix


def _from_pandas(X: Any) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    from pandas.api.types import is_complex_dtype, is_numeric_dtype

    names = tuple(str(name) for name in X.columns)
    for name, dtype in zip(names, X.dtypes, strict=True):
        _check_column(name, is_numeric_dtype(dtype) and not is_complex_dtype(dtype))
    return X.to_numpy(dtype=np.float64, na_value=np.nan, copy=True), names


def _from_polars(X: Any) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    import polars

    names = tuple(X.columns)
    for name, dtype in zip(names, X.dtypes, strict=True):
        _check_column(name, dtype.is_numeric() or dtype == polars.Boolean)
    return _stacked(X.shape, (X[name].cast(polars.Float64).to_numpy() for name in names)), names


def _from_anndata(X: Any) -> tuple[Source, tuple[str, ...]]:
    """X alone: observations are the rows, variables the columns. `obs` enters by the names of its columns only."""
    matrix = (X.to_memory() if X.isbacked else X).X
    if matrix is None:
        raise InvalidRecords(f"The AnnData has no X. {_ONE_ROW_EACH}")
    return _from_sparse(matrix) if sparse.issparse(matrix) else _from_array(matrix), tuple(map(str, X.var_names))


def from_arrow(table: Any) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    """Values and names of an Arrow table: numeric columns, or one column of fixed-size lists (which has no names)."""
    import pyarrow.types

    types = table.schema.types
    if len(types) == 1 and pyarrow.types.is_fixed_size_list(types[0]):
        return _from_lists(table.column(0), types[0]), None
    for name, type_ in zip(table.schema.names, types, strict=True):
        _check_column(name, _is_arrow_number(type_))
    return _stacked(table.shape, (_arrow_floats(column) for column in table.columns)), tuple(table.schema.names)


def _from_lists(column: Any, type_: Any) -> NDArray[np.float64]:
    _check_column("", _is_arrow_number(type_.value_type))
    values = np.full((len(column), type_.list_size), np.nan)
    present = ~np.asarray(column.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    values[present] = _arrow_floats(_one_chunk(column).flatten()).reshape(-1, type_.list_size)  # flatten skips nulls
    return values


def _is_arrow_number(type_: Any) -> bool:
    from pyarrow.types import is_boolean, is_decimal, is_floating, is_integer

    return any(is_kind(type_) for is_kind in (is_integer, is_floating, is_boolean, is_decimal))


def _one_chunk(column: Any) -> Any:
    """One Arrow array: combining the chunks of a column without chunks needs its type, which `concat_arrays` lacks."""
    import pyarrow

    chunks = getattr(column, "chunks", [column])
    return pyarrow.concat_arrays(chunks) if chunks else pyarrow.array([], type=column.type)


def _arrow_floats(column: Any) -> NDArray[np.float64]:
    """Null becomes NaN; integers beyond 2**53 are rounded, as NumPy rounds them."""
    import pyarrow

    return np.asarray(column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


_FRAMES = {
    ("anndata", "AnnData"): _from_anndata,
    ("pandas", "DataFrame"): _from_pandas,
    ("polars", "DataFrame"): _from_polars,
    ("pyarrow", "Table"): from_arrow,
    ("pyarrow", "RecordBatch"): from_arrow,
}


def _stacked(shape: tuple[int, int], columns: Iterator[NDArray[np.float64]]) -> NDArray[np.float64]:
    values = np.empty(shape, order="F")  # filled column by column
    for index, column in enumerate(columns):
        values[:, index] = column
    return values


def _check_column(name: str, numeric: bool) -> None:
    if name.startswith("__index_level_"):
        raise InvalidRecords(f"Column {name!r} is a pandas index, not a coordinate: write the table with index=False.")
    if not numeric:
        column = f"Column {name!r}" if name else "The list column"
        raise InvalidRecords(f"{column} does not hold real numbers: drop it or turn it into numbers first.")


def _check_rank(rank: int) -> None:
    if rank != 2:
        hint = {0: " Load a file first.", 1: " For a single coordinate, pass X.reshape(-1, 1)."}.get(rank, "")
        raise InvalidRecords(f"Expected a table with 2 dimensions, got {rank}. {_ONE_ROW_EACH}{hint}")


def _check_dtype(dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "biuf":
        # The word alone: a full text dtype would tell the length of the longest entry.
        kind = _KINDS.get(dtype.kind, "structured")
        hint = " If the entries are numbers, pass X.astype(float)." if kind in ("object", "text") else ""
        raise InvalidRecords(f"Expected real numbers, got {kind} entries. {_ONE_ROW_EACH}{hint}")


def _dense(rows: Source) -> NDArray[np.float64]:
    """Fresh memory, or a view that cannot be written through."""
    plain = rows.toarray() if sparse.issparse(rows) else rows
    with np.errstate(all="ignore"):  # a long double beyond float64 becomes infinite, hence invalid
        block = np.ascontiguousarray(plain, dtype=np.float64)
    block.flags.writeable = False
    return block


def _masked(block: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    valid = np.asarray(np.isfinite(block).all(axis=1))
    if not valid.all():
        block = np.where(valid[:, None], block, 0.0)
        block.flags.writeable = False
    return block, valid


def _rows_of(matrix: sparse.csr_array, first: int, last: int) -> SparseRows:
    """Consecutive rows that share the memory of the table's entries."""
    begin, end = matrix.indptr[first], matrix.indptr[last]
    parts = (matrix.data[begin:end], matrix.indices[begin:end], matrix.indptr[first : last + 1] - begin)
    return SparseRows(sparse.csr_array(parts, shape=(last - first, matrix.shape[1]), copy=False))


def _masked_entries(rows: SparseRows) -> tuple[SparseRows, NDArray[np.bool_]]:
    finite = np.isfinite(rows.values)
    valid = rows.sums((~finite).astype(np.int64)) == 0
    return rows if finite.all() else rows.with_values(np.where(rows.spread(valid), rows.values, 0.0)), valid


def _any_invalid(records: Records) -> bool:
    if records.is_sparse:
        return not np.isfinite(records._source.data).all()  # an absent entry is a zero
    return not all(valid.all() for _, valid in records.blocks())
