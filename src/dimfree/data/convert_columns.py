"""What pandas, polars and Arrow have in common: a column at a time becomes numbers, after a check of its type."""

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dimfree.errors import InvalidRecords

IF_MISSING = "If cells are missing, also pass on_missing='column' (--on-missing column) or 'drop'."


def stacked(shape: tuple[int, int], columns: Iterator[NDArray[np.float64]]) -> NDArray[np.float64]:
    values = np.empty(shape, order="F")  # filled column by column
    for index, column in enumerate(columns):
        values[:, index] = column
    return values


def check_columns(
    names: Sequence[str],
    types: Sequence[object],
    supported: Sequence[bool],
    *,
    may_lack: Sequence[str] | None = None,
    texts: Sequence[str] = (),
    strict: bool = True,
) -> None:
    """Refuse a table with columns of unsupported types: one error names all of them. By schema alone.

    `may_lack`: the supported columns that may have missing cells by their types; None where types do not tell. `texts`:
    the supported columns whose cells are text and have to be numbers. `strict`: missing cells are errors.
    """
    if name := next((name for name in names if name.startswith("__index_level_")), None):
        raise InvalidRecords(f"Column {name!r} is a pandas index, not a coordinate: write the table with index=False.")
    wrong = {name: _kind(type_) for name, type_, fits in zip(names, types, supported, strict=True) if not fits}
    if not wrong:
        return
    have = "has type" if len(wrong) == 1 else "have types"
    stored = f" Stored as text: {joined(texts)}; every cell has to be a number." if texts else ""
    raise InvalidRecords(
        f"{_columns(list(wrong))} {have} {_joined(list(wrong.values()))}; only numeric and boolean columns are "
        f"supported. {remedies(list(wrong))}{stored}"
        f"{_of_missing_cells(may_lack) if strict else ''} No budget was charged."
    )


def remedies(names: Sequence[str]) -> str:
    """What to do about columns that do not hold numbers."""
    it = "it" if len(names) == 1 else "them"
    return (
        f"Exclude {it} with exclude={list(names)} (--exclude), or convert {it} by a rule that does not depend on the "
        "table: a date to a number, a category to one 0/1 column for each level of a list that is publicly known. "
        "Levels that occur in the table are private."
    )


def joined(names: Sequence[object]) -> str:
    """Names in a sentence."""
    return _joined(list(map(repr, names)))


def _joined(texts: Sequence[str]) -> str:
    *most, last = texts
    return f"{', '.join(most)} and {last}" if most else last


def _of_missing_cells(names: Sequence[str] | None) -> str:
    if names is None:
        return f" {IF_MISSING}"
    remedy = "pass on_missing='column' (--on-missing column) or 'drop' if they do."
    return f" {_columns(names)} may have missing cells by type: {remedy}" if names else ""


def _columns(names: Sequence[str]) -> str:
    return f"Column{'s' if len(names) > 1 else ''} {joined(names)}"


def _kind(type_: object) -> str:
    """The first word of a type: what follows may be the categories, and these are entries."""
    found = re.match(r"\w+", str(type_))
    return found.group() if found else "unknown"
