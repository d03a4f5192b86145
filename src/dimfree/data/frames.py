"""Convert frames of pandas, polars and Arrow to arrays of numbers, by column, after a check of names and types.

One table describes each library. Errors state columns and types, never a value.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._validate.column_names import check_names, check_untyped_names
from dimfree.data.columns import refuse_types
from dimfree.data.entries import list_entries, parse_floats
from dimfree.data.extras import arrow, arrow_types, pandas_types, polars
from dimfree.errors import InvalidDataError

_LEFT_OUT = 2  # integer labels that may be missing in 0, 1, 2, …: the columns of privacy IDs and of groups


@dataclass(frozen=True)
class Library:
    """The operations of a library on its frames; the library is imported by its own frames alone."""

    mark: str  # an attribute that only its tables have
    labels: Callable[[Any], Iterable[Any]]
    take: Callable[[Any, list[int]], Any]  # some columns
    column: Callable[[Any, int], Any]
    types: Callable[[Any], Iterable[Any]]
    is_number: Callable[[Any], bool]  # a type of real numbers, booleans, or nulls alone
    is_loose: Callable[[Any], bool]  # a type that one entry may give a whole column: text, objects
    floats: Callable[[Any], Any]  # the numbers of a column of such a type; null becomes NaN
    entries: tuple[Callable[[Any], Any], Callable[[Any, int], Any]]  # all of a column, and one of them


def from_frame(X: Any, library: Library, lenient: bool) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    """Return the numbers of a frame and the names of its columns; `lenient` as in `open_source`."""
    labels, types = list(library.labels(X)), list(library.types(X))
    if library is ARROW and is_lists(X.schema):
        return arrow_floats(X), None
    names = tuple(map(str, labels))
    loose = lenient or len(X) == 0  # without rows, no type is declared
    numbers = check_labels(labels, types, library, lenient=lenient)
    supported = [number or (loose and library.is_loose(type_)) for type_, number in zip(types, numbers, strict=True)]
    may_lack = _list_nullable(X.schema, supported) if library is ARROW else None
    refuse_types(names, types, supported, may_lack=may_lack, strict=not lenient)
    if library is PANDAS and all(numbers):
        return X.to_numpy(dtype=np.float64, na_value=np.nan, copy=True), names
    values = np.empty(X.shape, order="F")  # filled column by column
    for at, number in enumerate(numbers):
        column = library.column(X, at)
        values[:, at] = library.floats(column) if number else parse_floats(list_entries(column, *library.entries))
    return values, names


def check_labels(
    labels: Sequence[Any], types: Sequence[Any], library: Library, *, lenient: bool = False, apart: Sequence[int] = ()
) -> list[bool]:
    """Refuse labels that could be a record; return which types are numbers. Labels that count the columns pass."""
    numbers = [library.is_number(type_) for type_ in types]
    counts = all(type(label) is int and 0 <= label < len(labels) + _LEFT_OUT for label in labels)
    if counts and all(one < next_ for one, next_ in pairwise(labels)):
        return numbers
    if lenient:
        check_untyped_names(_parts(labels))
    else:
        judged = [label for at, label in enumerate(labels) if numbers[at] and at not in apart]
        check_names(list(map(str, labels)), list(map(str, _parts(judged))))
    return numbers


def _parts(labels: Iterable[Any]) -> list[Any]:
    """Return the labels; a label of several levels becomes several."""
    return [part for label in labels for part in (label if isinstance(label, tuple) else (label,))]


def _is_pandas(dtype: Any, *kinds: str) -> bool:
    return any(getattr(pandas_types, f"is_{kind}_dtype")(dtype) for kind in kinds)


def _polars_floats(column: Any) -> Any:
    if column.dtype.is_decimal():  # through text, to the nearest float at every scale
        column = column.cast(polars.String)
    return column.cast(polars.Float64).to_numpy()


def _is_arrow(type_: Any, *kinds: str) -> bool:
    return any(getattr(arrow_types, f"is_{kind}")(type_) for kind in kinds)


def is_arrow_number(type_: Any) -> bool:
    """Return whether a type is one of real numbers, booleans, or nulls alone."""
    return _is_arrow(type_, "integer", "floating", "boolean", "decimal", "null")


def is_arrow_text(type_: Any) -> bool:
    return _is_arrow(type_, "string", "large_string", "string_view")


def _arrow_column_floats(column: Any) -> NDArray[np.float64]:
    """Convert each number to the nearest float; decimals through text, since their scale changes the last bits."""
    if arrow_types.is_decimal(column.type):
        column = column.cast(arrow.string())
    return np.asarray(column.cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def is_lists(schema: Any) -> bool:
    return len(schema) == 1 and _is_arrow(schema.types[0], "fixed_size_list")


def arrow_floats(table: Any) -> NDArray[np.float64]:
    """Return the numbers of an Arrow table with a checked schema: numeric columns, or one of fixed-size lists."""
    if not is_lists(table.schema):
        values = np.empty(table.shape, order="F")
        for at, column in enumerate(table.columns):
            values[:, at] = _arrow_column_floats(column)
        return values
    column, type_ = table.column(0), table.schema.types[0]
    if not is_arrow_number(type_.value_type):
        raise InvalidDataError(
            "The list column does not contain real numbers. Pass lists of numbers. No budget was charged."
        )
    chunks = getattr(column, "chunks", [column])
    whole = arrow.concat_arrays(chunks) if chunks else arrow.array([], type=type_)
    values = np.full((len(whole), type_.list_size), np.nan)
    present = ~np.asarray(whole.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    values[present] = _arrow_column_floats(whole.flatten()).reshape(-1, type_.list_size)  # flatten skips nulls
    return values


def check_arrow_types(schema: Any, texts: Sequence[str]) -> None:
    """Refuse columns of a file by type; columns of text in `texts` are accepted."""
    if not is_lists(schema):
        supported = [is_arrow_number(field.type) or field.name in texts for field in schema]
        refuse_types(schema.names, schema.types, supported, may_lack=_list_nullable(schema, supported), texts=texts)


def _list_nullable(schema: Any, supported: Sequence[bool]) -> list[str] | None:
    """Return the supported columns whose types allow missing cells; None if the schema does not declare it."""
    usable = [field for field, fits in zip(schema, supported, strict=True) if fits]
    nullable = [field.name for field in usable if field.nullable]
    is_declared = len(nullable) < len(usable) or all(_is_arrow(field.type, "null") for field in usable)
    return nullable if is_declared else None


PANDAS = Library(
    mark="columns",
    labels=lambda X: X.columns.tolist(),
    take=lambda X, places: X.iloc[:, places],
    column=lambda X, at: X.iloc[:, at],
    types=lambda X: X.dtypes,
    is_number=lambda dtype: _is_pandas(dtype, "numeric") and not _is_pandas(dtype, "complex"),
    is_loose=lambda dtype: _is_pandas(dtype, "object", "string", "complex"),
    floats=lambda column: column.to_numpy(dtype=np.float64, na_value=np.nan),
    entries=(lambda column: column.tolist(), lambda column, row: column.array[row]),
)
POLARS = Library(
    mark="get_columns",
    labels=lambda X: X.columns,
    take=lambda X, places: X[:, places],  # by position: polars reads the names `*` and `^...$` as patterns
    column=lambda X, at: X.to_series(at),
    types=lambda X: X.dtypes,
    is_number=lambda dtype: dtype.is_numeric() or str(dtype) in ("Boolean", "Null"),
    is_loose=lambda dtype: str(dtype) in ("String", "Binary", "Object"),
    floats=_polars_floats,
    entries=(lambda column: column.to_list(), lambda column, row: column[row]),
)
ARROW = Library(
    mark="schema",
    labels=lambda X: X.schema.names,
    take=lambda X, places: X.select(places),
    column=lambda X, at: X.column(at),
    types=lambda X: X.schema.types,
    is_number=is_arrow_number,
    is_loose=lambda type_: (
        is_arrow_text(type_) or _is_arrow(type_, "binary", "large_binary")
    ),  # binary: of broken UTF-8
    floats=_arrow_column_floats,
    entries=(lambda column: column.to_pylist(), lambda column, row: column[row].as_py()),
)
LIBRARIES = {"pandas": PANDAS, "polars": POLARS, "pyarrow": ARROW}
