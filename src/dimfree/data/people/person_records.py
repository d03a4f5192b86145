"""Privacy units: all rows of one person become one record before anything else reads them (U1).

The record of a person is a function of that person's own rows in their own order, bit for bit. Rows are added one by
one, each step one rounded addition of two numbers; a batched sum would round by who else is in the table. The work is
one pass over the entries: no step depends on the number of rows of one person.
Proof: proofs/data/people/person_records.md.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats, Integers
from dimfree.data.extras import sparse
from dimfree.data.people.keys import ONE_KEY_EACH, Keys, open_keys, take_column
from dimfree.data.records import Records, require_valid
from dimfree.errors import InvalidDataError, InvalidParameterError

_ZERO = -0.0  # the zero that, added to any number, gives that number's own bits


def split_unit(X: Any, privacy_unit: object, missing: str = "complete-case") -> tuple[Any, Keys]:
    """Return X without the column that `privacy_unit` names, and the persons of its rows."""
    if isinstance(privacy_unit, Keys):
        return X, privacy_unit
    rest, column, name = take_column(X, privacy_unit, "privacy_unit")
    return rest, open_keys(column, name, missing)


def person_records(rows: Records, keys: Keys, max_rows: int | None, missing: str) -> Records:
    """Return one record per person, in the order of first appearance.

    The mean of the person's rows, or the total of the first `max_rows` rows. Guarantee: a record is a function of the
    person's own rows in their order (U1), so privacy of records is privacy of persons. Under "complete-case", rows that
    are not finite and rows without a key are left out; a person with no row left is an invalid record, and so is a
    total beyond the range of floats. Under "available-case" the mean of each column is over the person's rows with a
    finite entry there; without any the person's entry is missing.
    """
    if len(keys.persons) != rows.count:
        raise InvalidParameterError(f"`privacy_unit` must have one key for each row of X. {ONE_KEY_EACH}")
    require_valid(rows, missing)
    if missing == "raise" and (keys.persons < 0).any():
        raise InvalidDataError(
            "A row has no key, which missing='raise' forbids: its key is missing, a fraction, or a float of 2**53 or "
            "more, which does not distinguish whole numbers. Read IDs of many digits as text, clean the table, or pass "
            "missing='complete-case' (--missing complete-case) to leave such rows out."
        )
    with np.errstate(all="ignore"):  # a warning or error could reveal records
        return (_sparse_records if rows.is_sparse else _dense_records)(
            rows, keys, max_rows, missing == "available-case"
        )


def _dense_records(rows: Records, keys: Keys, max_rows: int | None, by_column: bool) -> Records:
    tally, width = _Tally(keys, max_rows), rows.dimension
    total = np.full(keys.count * width, _ZERO)
    entries = np.zeros(keys.count * width if by_column else 0, dtype=np.int64)  # of each cell
    for block, valid in rows.read_raw_blocks() if by_column else rows.blocks():
        chosen, person = tally.take(np.ones_like(valid) if by_column else valid)
        values, cells = block[chosen].ravel(), (person[:, None] * width + np.arange(width)).ravel()
        if by_column:
            here = np.isfinite(values)
            values, cells = values[here], cells[here]
            np.add.at(entries, cells, 1)
        _add_in_order(total, cells, values)
    records = total.reshape(keys.count, width)
    _average(records, entries.reshape(records.shape) if by_column else tally.counted[:, None], max_rows)
    records.flags.writeable = False
    return Records(records, rows.columns)


def _sparse_records(rows: Records, keys: Keys, max_rows: int | None, by_column: bool) -> Records:
    """Do the same by stored entries: an entry that is not stored is zero, and adding it changes nothing."""
    tally, width = _Tally(keys, max_rows), rows.dimension
    parts: list[tuple[Integers, Floats]] = [(np.zeros(0, np.int64), np.zeros(0))]  # cells and values
    for block, valid in ((block, None) for block in rows.read_stored_blocks()) if by_column else rows.sparse_blocks():
        chosen, person = tally.take(np.ones(len(block), dtype=np.bool_) if valid is None else valid)
        some = block[chosen]
        cells = np.repeat(person, some.stored) * width + some.columns
        parts.append((cells, np.asarray(some.values, dtype=np.float64)))
    nobody = np.flatnonzero(tally.counted == 0)
    parts.append((nobody * width, np.full(len(nobody), np.nan)))
    places, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    kept, cell = np.unique(places, return_inverse=True)
    here, person = np.isfinite(values), kept // width
    total = np.full(len(kept), _ZERO)
    _add_in_order(total, cell[here], values[here])
    _average(total, tally.counted[person] - np.bincount(cell[~here], minlength=len(kept)), max_rows)
    starts = np.searchsorted(person, np.arange(keys.count + 1))
    return Records(sparse.csr_array((total, kept % width, starts), shape=(keys.count, width)), rows.columns)


def _average(total: Floats, counted: Integers, max_rows: int | None) -> None:
    if max_rows is None:
        np.divide(total, np.maximum(counted, 1).astype(np.float64), out=total)
    np.copyto(total, np.nan, where=counted <= 0)


class _Tally:
    """Private: the person of the next rows, and the number of rows taken of each person."""

    def __init__(self, keys: Keys, max_rows: int | None) -> None:
        self._persons, self._most, self._read = keys.persons, max_rows, 0
        self.counted = np.zeros(keys.count, dtype=np.int64)

    def take(self, valid: NDArray[np.bool_]) -> tuple[Integers, Integers]:
        """Return which rows of the next block count, and their persons: valid, with a key, among the person's first."""
        person = self._persons[self._read : self._read + len(valid)]
        self._read += len(valid)
        chosen = np.flatnonzero(valid & (person >= 0))
        if self._most is not None:
            owner = person[chosen]
            chosen = chosen[self.counted[owner] + _rank_entries(owner) < self._most]
        self.counted += np.bincount(person[chosen], minlength=len(self.counted))
        return chosen, person[chosen]


def _rank_entries(owner: Integers) -> Integers:
    """Count for each entry the earlier entries of the same owner."""
    order = np.argsort(owner, kind="stable")
    ordered = owner[order]
    fresh = np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(owner)]
    at = np.arange(len(owner))
    ranks = np.empty(len(owner), dtype=np.int64)
    ranks[order] = at - np.maximum.accumulate(np.where(fresh, at, 0))
    return ranks


def _add_in_order(total: Floats, cells: Integers, values: NDArray[Any]) -> None:
    """Add total[cell] += value entry by entry, in the order of the table (U1).

    `ufunc.at` is not buffered: a cell that occurs many times takes one rounded addition each time. All three arrays
    are one-dimensional and contiguous, so that this is the order of its loop.
    """
    np.add.at(total, np.ascontiguousarray(cells), np.ascontiguousarray(values, dtype=np.float64).ravel())
