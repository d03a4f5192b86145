"""Labels: which public group each row belongs to. A record is in one group at most; how many are in each is private."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree.columns import plain_values, take_column
from dimfree.errors import InvalidParameter
from dimfree.keys import Keys, canonical
from dimfree.records import Records
from dimfree.units import person_records

Key = str | int
Integers = NDArray[np.int64]

NOBODY = -1  # a row in none of the groups
_NEED = "Pass the public names of the groups: distinct words or whole numbers, all of one kind, known beforehand."


def check_group_keys(keys: object) -> tuple[Key, ...]:
    """The public names of the groups, at least one."""
    if isinstance(keys, str | bytes) or not isinstance(keys, Iterable):
        raise InvalidParameter(f"Expected keys to be a list, got {type(keys).__name__}. {_NEED}")
    try:
        names = tuple(key.item() if isinstance(key, np.generic) else key for key in keys)
    except Exception:  # noqa: BLE001 - it may quote an entry
        names = ()
    if not names or {type(name) for name in names} not in ({str}, {int}) or len(set(names)) < len(names):
        raise InvalidParameter(f"Expected keys to be one or more distinct words, or whole numbers. {_NEED}")
    return names


def split_groups(X: Any, groups: object, keys: tuple[Key, ...]) -> tuple[Any, Integers]:
    """X without the column that `groups` names, and each row's place in `keys`, NOBODY where its entry is not there.

    Words are compared with the text of an entry, so that "3" names the rows with 3. Looks at one row at a time.
    """
    table, values = take_column(X, groups, "groups") if isinstance(groups, str) else (X, groups)
    return table, labelled(values, keys)


def labelled(values: Any, keys: tuple[Key, ...]) -> Integers:
    """Each entry's place in `keys`: a function of this entry alone (G1).

    Nobody's is an entry that is not there, or missing, or cannot be looked at. Whole numbers match however they are
    stored, 3.0 as 3; bytes match as text.
    """
    plain = plain_values(values, "groups")
    places: dict[object, int] = {key: place for place, key in enumerate(keys)}
    named = _as_word if isinstance(keys[0], str) else _as_number
    entries = plain.tolist() if isinstance(plain, np.ndarray) else plain
    return np.array([_place(entry, named, places) for entry in entries], dtype=np.int64)


def _place(entry: Any, named: Callable[[Any], object], places: dict[object, int]) -> int:
    try:
        return places.get(named(entry), NOBODY)
    except Exception:  # noqa: BLE001 - what an entry says about itself may quote it
        return NOBODY


def _as_word(entry: Any) -> str | None:
    told = canonical(entry)
    if told is None or isinstance(told, str | int):
        return None if told is None else str(told)
    return entry.decode() if isinstance(entry, bytes) else str(entry)


def _as_number(entry: Any) -> object:
    return None if isinstance(entry, bool | np.bool_) else entry  # to Python, True is 1


def members(rows: Records, labels: Integers) -> tuple[Records, Integers]:
    """The rows that are in some group, and which: one row, one person (G1)."""
    _check_length(rows, labels)
    inside = labels != NOBODY
    return rows.chosen(inside), labels[inside]


def person_members(
    rows: Records, labels: Integers, keys: Keys, most_rows: int | None, on_invalid: str
) -> tuple[Records, Integers]:
    """The records of persons who are in some group, and which: that of their first row in any (G1).

    Their rows in other groups are left out, so that one person is in one group: a function of their own rows (U1).
    """
    _check_length(rows, labels)
    if len(keys.persons) != rows.count:
        raise InvalidParameter("Expected unit with as many keys as X has rows.")
    inside, owned = labels != NOBODY, keys.persons >= 0
    own = _first_labels(keys.persons, labels, inside & owned, keys.count)
    kept = inside & (~owned | (labels == own[keys.persons]))  # a row without a key is for `person_records` to judge
    whose = keys.chosen(kept)
    people = person_records(rows.chosen(kept), whose, most_rows, on_invalid)
    return people, _first_labels(whose.persons, labels[kept], whose.persons >= 0, whose.count)[: whose.count]


def _first_labels(persons: Integers, labels: Integers, counted: NDArray[np.bool_], count: int) -> Integers:
    """For each person the label of the first counted row; NOBODY without one. One place more, for persons[-1]."""
    rows = np.flatnonzero(counted)
    found, first = np.unique(persons[rows], return_index=True)
    own = np.full(count + 1, NOBODY, dtype=np.int64)
    own[found] = labels[rows[first]]
    return own


def _check_length(rows: Records, labels: Integers) -> None:
    if len(labels) != rows.count:
        raise InvalidParameter("Expected groups with as many entries as X has rows.")
