"""Checks of the columns of a table: how many, and whether two tables name them alike."""

from collections.abc import Sequence

from dimfree._validate.column_names import are_counted
from dimfree.errors import InvalidParameter

MOST_COLUMNS = 2**22  # the error bounds of proofs/statistics (friends, distances) hold up to here


def check_same_columns(name: str, names: Sequence[str] | None, columns: Sequence[str] | None) -> None:
    """Where both have names they are the same, in the same order; what has none goes by position.

    Frames that were never given names count their columns: 0, 1, 2 and so on are none, unless they are out of order.
    """
    if not names or not columns or tuple(names) == tuple(columns):
        return
    if (are_counted(names) or are_counted(columns)) and sorted(names) != sorted(columns):
        return
    if len(names) != len(columns):
        apart = f"the records have {len(columns)}, it names fewer or more"
    else:
        at = next(place for place, name in enumerate(names) if name != columns[place])
        apart = f"column {at + 1} is {columns[at]!r} in the records and has another name there"
    raise InvalidParameter(
        f"Expected {name} to name the columns of the records, in their order: {apart}. Bring its columns into that "
        "order under the same names, or pass the numbers without names, which go by position."
    )


def check_columns(dimension: int, epsilon: float) -> None:
    """Not so many columns that exact comparisons are unproved, or that the grid of the noise is too coarse for them."""
    if dimension > MOST_COLUMNS:
        raise InvalidParameter(
            f"Expected at most {MOST_COLUMNS} columns, got {dimension}: exact comparisons of records are proved up to"
            " there. Drop columns, or release them in parts that share the budget."
        )
    if dimension > 3e7 * epsilon:
        raise InvalidParameter(
            f"Expected at most {int(3e7 * epsilon)} columns at epsilon={epsilon!r}, got {dimension}: the grid of the"
            " noise is no finer. Use a larger epsilon or fewer columns."
        )
