"""What Parquet and Arrow IPC share: which columns are coordinates, and how parts of them become blocks of rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dimfree.data.convert import check_arrow_names, from_arrow
from dimfree.data.stream import pieces
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

    @classmethod
    def of(cls, schema: Arrow, apart: Sequence[int] = ()) -> "Layout":
        places, types = [place for place in range(len(schema)) if place not in apart], schema.types
        check_arrow_names(schema, apart)
        empty, names = from_arrow(schema.empty_table().select(places))
        if not empty.shape[1]:
            raise InvalidFile("it has no columns of numbers, expected one for every coordinate.")
        stored = {_stored(types[place]) for place in places}
        dtype = np.dtype(np.float32 if stored == {np.float32} else np.float64)
        return cls(schema, places, names, int(empty.shape[1]), dtype)

    @property
    def lists(self) -> bool:
        return self.names is None

    def require(self, schema: Arrow) -> None:
        if not schema.equals(self.schema):
            raise InvalidFile("a part of it has other columns or types than the rest, expected the same everywhere.")

    def rows(self, part: Arrow) -> NDArray[Any]:
        """Of a batch with some or all of the coordinates and nothing else; a missing entry is NaN."""
        if self.dtype == np.float64 and any(_stored(type_) != np.float64 for type_ in part.schema.types):
            return from_arrow(part)[0]  # several types, or no floats
        if not self.lists:
            return np.asarray(part.to_tensor(null_to_nan=True, row_major=True).to_numpy())
        column = part.column(0)
        values = column.flatten()
        if column.null_count or values.null_count:
            return from_arrow(part)[0].astype(self.dtype)
        return values.to_numpy(zero_copy_only=False).reshape(len(column), self.dimension)

    def slabs(
        self, among: NDArray[np.bool_], width: int, read: Callable[[list[int]], Arrow], rows: int
    ) -> Iterator[NDArray[Any]]:
        """Blocks of some rows of a part, some columns at a time: a wide part is never held as Arrow keeps it."""
        at_once = max(1, SLAB_BYTES // (self.dimension * self.dtype.itemsize))
        wanted = np.flatnonzero(among)
        for first in range(0, len(wanted), at_once):
            kept = wanted[first : first + at_once]
            slab = np.empty((len(kept), self.dimension), dtype=self.dtype)
            for start in range(0, self.dimension, width):
                part = read(self.places[start : start + width]).slice(kept[0], kept[-1] - kept[0] + 1)
                values = self.rows(part)
                slab[:, start : start + width] = values if len(values) == len(kept) else values[kept - kept[0]]
                del part, values
            yield from pieces(slab, rows)
            del slab  # before there is another


def _stored(type_: Arrow) -> type:
    """The kind of float that this type, or a list of it, is; object for what is none of ours."""
    from pyarrow import types

    inner = type_.value_type if types.is_fixed_size_list(type_) else type_
    return np.float32 if types.is_float32(inner) else np.float64 if types.is_float64(inner) else object


def one_batch(table: Arrow) -> Arrow:
    """The rows of a table in one batch."""
    import pyarrow

    batches = table.combine_chunks().to_batches()
    if len(batches) == 1:
        return batches[0]
    return pyarrow.RecordBatch.from_pydict({name: [] for name in table.schema.names}, schema=table.schema)
