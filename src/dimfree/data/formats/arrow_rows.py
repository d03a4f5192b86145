"""What Parquet and Arrow IPC share: which columns are coordinates, and how parts of them become blocks of rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dimfree.data.columns import joined
from dimfree.data.entries import text_floats
from dimfree.data.formats.cells import not_a_number
from dimfree.data.frames import ARROW, arrow_floats, check_arrow_types, check_labels, is_arrow_text
from dimfree.data.schema import Schema
from dimfree.data.source import pieces
from dimfree.errors import InvalidFile

SLAB_BYTES = 2**28  # of rows put together from columns; a larger part of a file is read so many times over

Arrow: TypeAlias = Any  # a Table, RecordBatch or Schema; Arrow ships no types


@dataclass(frozen=True, repr=False)
class Layout:
    """The coordinates of an Arrow table: numeric columns, or one column of fixed-size lists (which has no names)."""

    schema: Arrow  # of all columns
    places: list[int]  # of those that are coordinates
    names: tuple[str, ...] | None
    dimension: int
    dtype: np.dtype[Any]  # float32 where nothing else is stored, else float64
    texts: tuple[str, ...]  # coordinates that are stored as text, whose entries are judged one by one
    leaf_ends: NDArray[np.int64]  # how many columns Parquet counts before each one: a nested column is several
    lists: bool

    @classmethod
    def of(cls, schema: Arrow, how: Schema) -> "Layout":
        import pyarrow

        (apart, places), types = how.split(schema.names, len(schema)), schema.types
        chosen = pyarrow.schema([schema.field(place) for place in places])
        lists = any(pyarrow.types.is_fixed_size_list(types[place]) for place in places)
        if not lists:  # whose column has a name that nobody sees
            check_labels(schema.names, types, ARROW, apart=apart)
        texts = tuple(field.name for field in chosen if is_arrow_text(field.type))
        check_arrow_types(chosen, texts)
        dimension = int(arrow_floats(_with_numbers(chosen.empty_table())).shape[1])
        if not dimension:
            raise InvalidFile("it has no columns of numbers, expected one for every coordinate.")
        stored = {_stored(types[place]) for place in places}
        dtype = np.dtype(np.float32 if stored == {np.float32} else np.float64)
        ends = np.cumsum([0, *map(_leaf_count, types)])
        return cls(schema, places, None if lists else tuple(chosen.names), dimension, dtype, texts, ends, lists)

    def leaves(self, places: list[int]) -> list[int]:
        """The same columns as Parquet counts them."""
        ends = self.leaf_ends
        return [leaf for place in places for leaf in range(int(ends[place]), int(ends[place + 1]))]

    def require(self, schema: Arrow) -> None:
        if not schema.equals(self.schema):
            raise InvalidFile("a part of it has other columns or types than the rest, expected the same everywhere.")

    def rows(self, part: Arrow) -> NDArray[Any]:
        """Of a batch with some or all of the coordinates and nothing else; a missing entry is NaN."""
        part = _with_numbers(part, self.texts)
        if self.dtype == np.float64 and any(_stored(type_) != np.float64 for type_ in part.schema.types):
            return arrow_floats(part)  # several types, or no floats
        if not self.lists:
            return np.asarray(part.to_tensor(null_to_nan=True, row_major=True).to_numpy())
        column = part.column(0)
        values = column.flatten()
        if column.null_count or values.null_count:
            return arrow_floats(part).astype(self.dtype)
        return values.to_numpy(zero_copy_only=False).reshape(len(column), self.dimension)

    def slabs(
        self, first: int, last: int, width: int, read: Callable[[list[int]], Arrow], rows: int
    ) -> Iterator[NDArray[Any]]:
        """Blocks of consecutive rows of a part, some columns at a time: a wide part is never held as Arrow keeps it."""
        at_once = max(1, SLAB_BYTES // (self.dimension * self.dtype.itemsize))
        for start in range(first, last, at_once):
            slab = np.empty((min(at_once, last - start), self.dimension), dtype=self.dtype)
            for place in range(0, self.dimension, width):
                part = read(self.places[place : place + width]).slice(start, len(slab))
                slab[:, place : place + width] = self.rows(part)
                del part
            yield from [slab] if len(slab) <= rows else map(np.copy, pieces(slab, rows))
            del slab  # before there is another: a block that waits for its turn holds its own rows alone


def _stored(type_: Arrow) -> type:
    """The kind of float that this type, or a list of it, is; object for what is none of ours."""
    from pyarrow import types

    inner = type_.value_type if types.is_fixed_size_list(type_) else type_
    return np.float32 if types.is_float32(inner) else np.float64 if types.is_float64(inner) else object


def _with_numbers(part: Arrow, texts: Sequence[str] = ()) -> Arrow:
    """Columns of text as numbers; an error names all that hold other text, and `texts` of which it is not known."""
    wrong: list[str] = []
    right: list[str] = []
    for at, column in enumerate(part.schema):
        if is_arrow_text(column.type):
            numbers = text_floats(part.column(at))
            (wrong if numbers is None else right).append(column.name)
            part = part if numbers is None else part.set_column(at, column.name, numbers)
    if wrong:
        unread = [name for name in texts if name not in {*wrong, *right}]
        raise InvalidFile(not_a_number(wrong) + (f" Also stored as text: {joined(unread)}." if unread else ""))
    return part


def _leaf_count(type_: Arrow) -> int:
    """How many columns Parquet stores for a column of this type."""
    from pyarrow import BaseExtensionType, types

    if isinstance(type_, BaseExtensionType):
        return _leaf_count(type_.storage_type)
    if types.is_struct(type_):
        return sum(_leaf_count(field.type) for field in type_)
    if types.is_map(type_):
        return _leaf_count(type_.key_type) + _leaf_count(type_.item_type)
    return _leaf_count(type_.value_type) if types.is_nested(type_) else 1
