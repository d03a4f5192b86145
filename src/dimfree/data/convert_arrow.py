"""Arrow tables as arrays of numbers: numeric columns, or one column of fixed-size lists."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._validate.column_names import check_names, check_untyped_names
from dimfree.data.convert_columns import check_columns, stacked
from dimfree.data.entries import floats_of, listed
from dimfree.errors import InvalidRecords


def from_arrow_table(X: Any, lenient: bool) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    check_arrow_names(X.schema, lenient=lenient)
    return from_arrow(X, lenient or X.num_rows == 0)


def check_arrow_names(schema: Any, apart: Sequence[int] = (), *, lenient: bool = False) -> None:
    """An error where the names of the coordinates could be a record; columns that are apart hold keys."""
    from pyarrow.types import is_fixed_size_list

    rest = [field for place, field in enumerate(schema) if place not in apart]
    if any(is_fixed_size_list(field.type) for field in rest):
        return  # whose column has a name that nobody sees
    if lenient:
        check_untyped_names(schema.names)
    else:
        check_names(schema.names, [field.name for field in rest if _is_arrow_number(field.type)])


def from_arrow(table: Any, lenient: bool = False) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    """Values and names of an Arrow table: numeric columns, or one column of fixed-size lists (which has no names)."""
    import pyarrow.types

    types = table.schema.types
    if len(types) == 1 and pyarrow.types.is_fixed_size_list(types[0]):
        return _from_lists(table.column(0), types[0]), None
    names = tuple(table.schema.names)
    check_arrow_columns(table.schema, lenient=lenient)
    return stacked(table.shape, map(_arrow_floats, table.columns)), names


def check_arrow_columns(schema: Any, texts: Sequence[str] = (), *, lenient: bool = False) -> None:
    """Refuse columns by type. Columns of text are read where `texts` names them, and all of them with `lenient`."""
    from pyarrow.types import is_fixed_size_list, is_null

    if len(schema) == 1 and is_fixed_size_list(schema.types[0]):
        return
    supported = [
        _is_arrow_number(field.type) or field.name in texts or (lenient and _is_arrow_text(field.type))
        for field in schema
    ]
    usable = [field for field, fits in zip(schema, supported, strict=True) if fits]
    may_lack = [field.name for field in usable if field.nullable]
    told = len(may_lack) < len(usable) or all(is_null(field.type) for field in usable)  # else nobody declared it
    check_columns(
        schema.names,
        schema.types,
        supported,
        may_lack=may_lack if told else None,
        texts=texts,
        strict=not lenient,
    )


def _from_lists(column: Any, type_: Any) -> NDArray[np.float64]:
    if not _is_arrow_number(type_.value_type):
        raise InvalidRecords(
            "The list column does not hold real numbers: make lists of numbers. No budget was charged."
        )
    values = np.full((len(column), type_.list_size), np.nan)
    present = ~np.asarray(column.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    values[present] = _arrow_floats(_one_chunk(column).flatten()).reshape(-1, type_.list_size)  # flatten skips nulls
    return values


def _is_arrow_number(type_: Any) -> bool:
    """Real numbers, truth, or nothing at all: the type of a column of which every entry is missing."""
    from pyarrow.types import is_boolean, is_decimal, is_floating, is_integer, is_null

    return any(is_kind(type_) for is_kind in (is_integer, is_floating, is_boolean, is_decimal, is_null))


def text_entries(column: Any, other: str | None = None) -> list[Any]:
    """The entries of a column of text. Arrow keeps any bytes as text: `other` stands for those that are not UTF-8."""
    return listed(column, lambda whole: whole.to_pylist(), lambda whole, row: whole[row].as_py(), other)


def _is_arrow_text(type_: Any) -> bool:
    """Text, or the bytes that Arrow's reader makes of a whole column where one cell is no UTF-8."""
    from pyarrow.types import is_binary, is_large_binary, is_large_string, is_string, is_string_view

    return any(is_kind(type_) for is_kind in (is_string, is_large_string, is_string_view, is_binary, is_large_binary))


def _one_chunk(column: Any) -> Any:
    """One Arrow array: combining the chunks of a column without chunks needs its type, which `concat_arrays` lacks."""
    import pyarrow

    chunks = getattr(column, "chunks", [column])
    return pyarrow.concat_arrays(chunks) if chunks else pyarrow.array([], type=column.type)


def _arrow_floats(column: Any) -> NDArray[np.float64]:
    """Convert to floats: null becomes NaN, and every other number the nearest float, whatever stands in other rows.

    Arrow divides decimals by a power of ten, so that the scale of the column, which one entry may decide, would change
    the last bits of the others: decimals go through their text.
    """
    import pyarrow

    if _is_arrow_text(column.type):
        return floats_of(text_entries(column))
    if pyarrow.types.is_decimal(column.type):
        column = column.cast(pyarrow.string())
    return np.asarray(column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
