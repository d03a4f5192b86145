"""Names of columns. They are published with every release, so a record that was taken for a header must be refused.

A reader that expects a header (pandas.read_csv without header=None) takes the first record as names. Such names have no
letters except in numbers and in the few words for an empty cell or a truth value.
"""

import math
import re
from collections.abc import Sequence

from dimfree.errors import InvalidRecords

MISSING = frozenset({"", "na", "n/a", "null", "none"})  # cells of text that hold nothing, beside nan

_VALUES = MISSING | {"<na>", "#n/a", "nat", "true", "false"}
_HALF = re.compile(r"[\ud800-\udfff]")  # of a pair of surrogates
_EMPTY = re.compile(r"Unnamed: \d+(_level_\d+)?")  # what pandas calls a column whose name is empty
_REPEATED = re.compile(r"(_duplicated_|[.-])\d+$")  # what polars, pandas and AnnData add to a repeated name

_NEED = (
    "Expected a column name with a letter. All names here could be the first record of a table without a header, and "
    "names are published with the mean. Read such a table without a header (header=None in pandas, has_header=False in "
    "polars); if these are names, such as years, put a letter in front (X.add_prefix('y') in pandas)."
)
_NO_NULL = "Expected column names without a null character, which arrays of text do not keep: rename the column."
_NO_TEXT = (
    "Expected column names that can be written in UTF-8, where half of a pair of surrogates cannot: rename the column."
)
_NEED_EVERYWHERE = (
    "Expected a letter in every column name, unless on_missing='raise'. A name here is a number, so that the names "
    "could be the first record of a table without a header, and names are published with the mean. Read such a table "
    "without a header; if these are names, such as years, put a letter in front of them."
)


def check_names(names: Sequence[str], judged: Sequence[str] | None = None) -> None:
    """An error where all names could be cells of a record, unless they count the columns: 0, 1, 2 and so on.

    `judged` are the names of the columns that hold numbers, where others hold something else. The error quotes no name.
    """
    if any("\0" in name for name in names):
        raise InvalidRecords(_NO_NULL)
    if any(map(_HALF.search, names)):  # a release with such a name could not be written
        raise InvalidRecords(_NO_TEXT)
    cells = judged or names
    if cells and not are_counted(names) and all(map(could_be_a_cell, cells)):
        raise InvalidRecords(_NEED)


def check_untyped_names(names: Sequence[object]) -> None:
    """The same where one entry may decide whether a column holds numbers: an error that no entry has a part in.

    One text among the names that is a number is enough, as in a .csv file; a name that is a number by its type was not
    read from a header. The error quotes no name.
    """
    texts = [str(name) for name in names]
    check_names(texts)
    if not are_counted(texts) and any(isinstance(name, str) and _is_a_number(name) for name in names):
        raise InvalidRecords(_NEED_EVERYWHERE)


def are_counted(names: Sequence[str]) -> bool:
    """Whether these are the names of columns that were never given any."""
    return list(names) == [str(place) for place in range(len(names))]


def number_in(cell: str) -> float | None:
    """The number in a cell of text, NaN where it is empty; None where it holds something else."""
    try:
        return float("nan") if cell.strip().lower() in MISSING else float(cell)
    except ValueError:
        return None


def could_be_a_cell(name: str) -> bool:
    """Whether a name could be a cell of a record, which no error may quote."""
    return not any(map(str.isalpha, name)) or _holds_a_value(name) or _holds_a_value(_REPEATED.sub("", name))


def _is_a_number(name: str) -> bool:
    numbers = (number_in(text) for text in (name, _REPEATED.sub("", name)))
    return any(number is not None and math.isfinite(number) for number in numbers)


def _holds_a_value(text: str) -> bool:
    return number_in(text) is not None or text.strip().lower() in _VALUES or _EMPTY.fullmatch(text.strip()) is not None
