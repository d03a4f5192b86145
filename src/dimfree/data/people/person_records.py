"""Privacy units: all rows of one person become one record before anything else looks at them (U1).

The record of a person is a function of that person's own rows in their own order, to the last bit. Rows are added one
after another, each step one rounded addition of two numbers; a batched sum would round by who else is in the table.
The work is one pass over the entries, whosever they are: no step depends on how many rows one person has.
Proof: proofs/data/people/person_records.md.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats, Integers
from dimfree.data import sparse
from dimfree.data.blocks import SparseRows
from dimfree.data.people.key_column import ONE_KEY_EACH, check_same_index, take_column
from dimfree.data.people.keys import Keys, in_doubt, open_keys
from dimfree.data.records import Records, require_valid
from dimfree.errors import InvalidParameter, InvalidRecords

_ZERO = -0.0  # the zero that, added to any number, gives that number's own bits


def split_unit(X: Any, unit: object) -> tuple[Any, Keys]:
    """X without the column that `unit` names, and the persons of its rows; or X itself, where `unit` holds the keys."""
    if isinstance(unit, Keys):
        return X, unit
    if not isinstance(unit, str):
        check_same_index(X, unit, "unit")
        return X, open_keys(unit)
    rest, column = take_column(X, unit, "unit")
    return rest, open_keys(column, unit)


def person_records(rows: Records, keys: Keys, most_rows: int | None, on_missing: str) -> Records:
    """One record for each person, in the order of first appearance.

    The mean of the person's rows, or with `most_rows` the total of the first rows, so many at most. Guarantee: a record
    is a function of the person's own rows in their order (U1), so what is private for records is private for persons.
    Under "drop", rows that are not finite and rows without a key are left out; a person with no row left is an
    invalid record, and so is a total beyond the range of floats. Under "column" the mean of each column is over the
    person's rows that have a finite entry there; where none has, the person's entry is missing.
    """
    if len(keys.persons) != rows.count:
        raise InvalidParameter(f"Expected unit with as many keys as X has rows. {ONE_KEY_EACH}")
    require_valid(rows, on_missing)
    if on_missing == "raise":
        _require_keys(keys)
    with np.errstate(all="ignore"):  # a warning or error could reveal records
        if on_missing == "column":
            return _sparse_means(rows, keys) if rows.is_sparse else _dense_means(rows, keys)
        return (_sparse_records if rows.is_sparse else _dense_records)(rows, keys, most_rows)


def _require_keys(keys: Keys) -> None:
    if keys.doubt is not None:
        raise InvalidRecords(
            in_doubt("column of keys" if keys.column is None else f"column {keys.column!r}", keys.doubt)
        )
    if (keys.persons < 0).any():
        raise InvalidRecords(
            "A row has no key that says whose it is, and on_missing='raise' forbids it: the key is missing, or reads "
            "as a number that is no whole number below 2**53 (floats do not tell larger ones apart). Read ids as text "
            "and put a letter before those that look like such numbers; clean the table, or pass on_missing='drop' "
            "(--on-missing drop) to leave such rows out."
        )


def _dense_records(rows: Records, keys: Keys, most_rows: int | None) -> Records:
    tally = _Tally(keys, most_rows)
    total = np.full(keys.count * rows.dimension, _ZERO)
    for block, valid in rows.blocks():
        chosen, person = tally.take(valid)
        _add_in_order(total, _cells(person, rows.dimension), block[chosen])
    records = tally.averaged(total.reshape(keys.count, rows.dimension), np.arange(keys.count))
    records[tally.counted == 0] = np.nan
    records.flags.writeable = False
    return Records(records, rows.columns)


def _sparse_records(rows: Records, keys: Keys, most_rows: int | None) -> Records:
    """The same, entry by entry: an entry that is not stored is a zero, and adding it changes nothing."""
    tally, parts, width = _Tally(keys, most_rows), [], rows.dimension
    for block, valid in rows.sparse_blocks():
        parts.append(_entries(block, *tally.take(valid), width))
    nobody = np.flatnonzero(tally.counted == 0)
    parts.append((nobody * width, np.full(len(nobody), np.nan)))
    places, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    kept, cell = np.unique(places, return_inverse=True)
    total = np.full(len(kept), _ZERO)
    _add_in_order(total, cell, values)
    person = kept // width
    starts = np.searchsorted(person, np.arange(keys.count + 1))
    table = (tally.averaged(total, person), kept % width, starts)
    return Records(sparse.csr_array(table, shape=(keys.count, width)), rows.columns)


def _dense_means(rows: Records, keys: Keys) -> Records:
    """Each column by itself: the mean over the person's rows that have an entry there, NaN where none has."""
    tally, width = _Tally(keys, None), rows.dimension
    total, counted = np.full(keys.count * width, _ZERO), np.zeros(keys.count * width, dtype=np.int64)
    for block, _ in rows.looked_at():
        chosen, person = tally.take(np.ones(len(block), dtype=np.bool_))
        values, cells = block[chosen].ravel(), _cells(person, width)
        here = np.isfinite(values)
        _add_in_order(total, cells[here], values[here])
        np.add.at(counted, cells[here], 1)
    records = _divided(total, counted).reshape(keys.count, width)
    records.flags.writeable = False
    return Records(records, rows.columns)


def _sparse_means(rows: Records, keys: Keys) -> Records:
    """The same, entry by entry: an entry that is not stored is a zero, which the person has."""
    tally, parts, width = _Tally(keys, None), [], rows.dimension
    for block in rows.stored_blocks():
        parts.append(_entries(block, *tally.take(np.ones(len(block), dtype=np.bool_)), width))
    places, values = (np.concatenate(part) for part in zip((np.zeros(0, np.int64), np.zeros(0)), *parts, strict=True))
    kept, cell = np.unique(places, return_inverse=True)
    here, person = np.isfinite(values), kept // width
    total = np.full(len(kept), _ZERO)
    _add_in_order(total, cell[here], values[here])
    counted = tally.counted[person] - np.bincount(cell[~here], minlength=len(kept))
    starts = np.searchsorted(person, np.arange(keys.count + 1))
    table = (_divided(total, counted), kept % width, starts)
    return Records(sparse.csr_array(table, shape=(keys.count, width)), rows.columns)


def _divided(total: Floats, counted: Integers) -> Floats:
    """Totals over the number of entries; NaN where there are none."""
    return np.where(counted > 0, total / np.maximum(counted, 1).astype(np.float64), np.nan)


def _entries(block: SparseRows, chosen: Integers, person: Integers, width: int) -> tuple[Integers, Floats]:
    """For the stored entries of the chosen rows: the cell, person times width plus column, and the value."""
    rows = block[chosen]
    return np.repeat(person, rows.stored) * width + rows.columns, np.asarray(rows.values, dtype=np.float64)


class _Tally:
    """Private: whose rows come next, and how many of each person's have been taken."""

    def __init__(self, keys: Keys, most_rows: int | None) -> None:
        self._persons, self._most, self._read = keys.persons, most_rows, 0
        self.counted = np.zeros(keys.count, dtype=np.int64)

    def take(self, valid: NDArray[np.bool_]) -> tuple[Integers, Integers]:
        """Which rows of the next block count, and whose they are: valid, of somebody, and among the first of theirs."""
        person = self._persons[self._read : self._read + len(valid)]
        self._read += len(valid)
        chosen = np.flatnonzero(valid & (person >= 0))
        if self._most is not None:
            owner = person[chosen]
            chosen = chosen[self.counted[owner] + _ranks(owner) < self._most]
        self.counted += np.bincount(person[chosen], minlength=len(self.counted))
        return chosen, person[chosen]

    def averaged(self, total: Floats, person: Integers) -> Floats:
        """The totals as they are where a public bound caps their rows, else divided by the number of rows."""
        if self._most is not None:
            return total
        share = np.maximum(self.counted[person], 1).astype(np.float64)
        return np.divide(total, share.reshape(-1, *(1,) * (total.ndim - 1)), out=total)


def _ranks(owner: Integers) -> Integers:
    """For each entry, how many entries of the same owner stand before it."""
    order = np.argsort(owner, kind="stable")
    ordered = owner[order]
    fresh = np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(owner)]
    at = np.arange(len(owner))
    ranks = np.empty(len(owner), dtype=np.int64)
    ranks[order] = at - np.maximum.accumulate(np.where(fresh, at, 0))
    return ranks


def _cells(person: Integers, width: int) -> Integers:
    """For every entry of the rows of these persons: the cell, person times width plus column."""
    return (person[:, None] * width + np.arange(width)).ravel()


def _add_in_order(total: Floats, cells: Integers, values: NDArray[Any]) -> None:
    """total[cell] += value for one entry after another, in the order of the table (U1).

    `ufunc.at` is not buffered: a cell that occurs many times takes one rounded addition each time. All three arrays
    have one dimension and lie in order in memory, so that this is the order of its loop.
    """
    np.add.at(total, np.ascontiguousarray(cells), np.ascontiguousarray(values, dtype=np.float64).ravel())
