"""What pandas, polars and Arrow have in common: a column at a time becomes numbers, after a check of its type."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dimfree.errors import InvalidRecords


def stacked(shape: tuple[int, int], columns: Iterator[NDArray[np.float64]]) -> NDArray[np.float64]:
    values = np.empty(shape, order="F")  # filled column by column
    for index, column in enumerate(columns):
        values[:, index] = column
    return values


def check_column(name: str, numeric: bool) -> None:
    if name.startswith("__index_level_"):
        raise InvalidRecords(f"Column {name!r} is a pandas index, not a coordinate: write the table with index=False.")
    if not numeric:
        column = f"Column {name!r}" if name else "The list column"
        hint = f" (exclude=[{name!r}], --exclude)" if name else ""
        raise InvalidRecords(f"{column} does not hold real numbers: leave it out{hint} or turn it into numbers first.")
