"""Checks of column names, which every release publishes: a record that was read as a header must be rejected.

A reader that expects a header (pandas.read_csv without header=None) reads the first record as names. Such names have no
letters except in numbers and in the few words for an empty cell or a truth value.
"""

import math
import re
from collections.abc import Sequence

from dimfree.errors import InvalidDataError

MISSING = frozenset({"", "na", "n/a", "null", "none"})  # empty cells of text, in addition to nan

_VALUES = MISSING | {"<na>", "#n/a", "nat", "true", "false"}
_HALF = re.compile(r"[\ud800-\udfff]")  # of a pair of surrogates
_EMPTY = re.compile(r"Unnamed: \d+(_level_\d+)?")  # what pandas calls a column whose name is empty
_REPEATED = re.compile(r"(_duplicated_|[.-])\d+$")  # what polars, pandas and AnnData add to a repeated name

_NEED = (
    "At least one column name must have a letter. These names could be the first record of a table without a header, "
    "and every release publishes names. Read such a table without a header (header=None in pandas, has_header=False in "
    "polars). If these are names, such as years, prepend a letter (X.add_prefix('y') in pandas)."
)
_NO_NULL = "Column names must not contain a null character. Rename the column."
_NO_TEXT = "Column names must be valid UTF-8, without half of a pair of surrogates. Rename the column."
_NEED_EVERYWHERE = (
    "Every column name must have a letter, unless missing='raise'. One name is a number, so the names could be the "
    "first record of a table without a header, and every release publishes names. Read such a table without a header. "
    "If these are names, such as years, prepend a letter."
)


def check_names(names: Sequence[str], judged: Sequence[str] | None = None) -> None:
    """Reject names that could all be cells of a record, unless they are 0, 1, 2, …; the error quotes no name.

    `judged` are the names of the columns of numbers, if there are others.
    """
    if any("\0" in name for name in names):
        raise InvalidDataError(_NO_NULL)
    if any(map(_HALF.search, names)):  # a release with such a name could not be written
        raise InvalidDataError(_NO_TEXT)
    cells = judged or names
    if cells and not are_counted(names) and all(map(could_be_a_cell, cells)):
        raise InvalidDataError(_NEED)


def check_untyped_names(names: Sequence[object]) -> None:
    """Reject names if any text among them is a number, as in a .csv file; the error depends on no entry.

    This is for tables in which one entry may decide whether a column has numbers. A name whose type is a number was not
    read from a header. The error quotes no name.
    """
    texts = [str(name) for name in names]
    check_names(texts)
    if not are_counted(texts) and any(isinstance(name, str) and _is_a_number(name) for name in names):
        raise InvalidDataError(_NEED_EVERYWHERE)


def are_counted(names: Sequence[str]) -> bool:
    """Return whether these are the default names 0, 1, 2, …"""
    return list(names) == [str(place) for place in range(len(names))]


def number_in(cell: str) -> float | None:
    """Read the number in a cell of text: NaN if it is empty, None if it is something else."""
    try:
        return float("nan") if cell.strip().lower() in MISSING else float(cell)
    except ValueError:
        return None


def could_be_a_cell(name: str) -> bool:
    """Return whether a name could be a cell of a record, which no error may quote."""
    return not any(map(str.isalpha, name)) or _holds_a_value(name) or _holds_a_value(_REPEATED.sub("", name))


def _is_a_number(name: str) -> bool:
    numbers = (number_in(text) for text in (name, _REPEATED.sub("", name)))
    return any(number is not None and math.isfinite(number) for number in numbers)


def _holds_a_value(text: str) -> bool:
    return number_in(text) is not None or text.strip().lower() in _VALUES or _EMPTY.fullmatch(text.strip()) is not None
