"""Labels: the group of each row. A record is in one group at most; how many are in each is private (M4)."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Integers
from dimfree.data.people.keys import Coded, Keys, coded, normalize_key, take_column, written_value
from dimfree.data.people.person_records import person_records
from dimfree.data.records import Records
from dimfree.errors import InvalidParameter

Key = str | int

NOBODY = -1  # a row in none of the groups
_NEED = (
    "Pass the public names of the groups: distinct words or whole numbers, all of one kind, known beforehand; or "
    "keys='private' to find them within the budget."
)


def check_group_keys(keys: object) -> tuple[Key, ...]:
    """The public names of the groups, at least one; no two may have one form, and none may be missing."""
    if isinstance(keys, str | bytes) or not isinstance(keys, Iterable):
        raise InvalidParameter(f"Expected keys to be a list, got {type(keys).__name__}. {_NEED}")
    try:
        names = tuple(key.item() if isinstance(key, np.generic) else key for key in keys)
    except Exception:  # noqa: BLE001 - it may quote an entry
        names = ()
    if not names or {type(name) for name in names} not in ({str}, {int}) or len(set(names)) < len(names):
        raise InvalidParameter(f"Expected keys to be one or more distinct words, or whole numbers. {_NEED}")
    first: dict[object, Key] = {}
    for name in names:
        form = normalize_key(name)
        if form is None:
            raise InvalidParameter(
                f"Expected keys without {name!r}: it reads as a missing entry. Put a letter before it, here and in the "
                "column of groups."
            )
        if form in first:
            raise InvalidParameter(
                f"Expected keys without {name!r} and {first[form]!r} together: they read as the same key, so that one "
                "row would be in both groups. Leave one out, or put a letter before them, here and in the column."
            )
        first[form] = name
    return names


def split_groups(
    X: Any, groups: object, keys: tuple[Key, ...] | None, on_missing: str = "drop"
) -> tuple[Any, Integers, tuple[Key, ...]]:
    """X without the column that `groups` names, each row's place in `keys` or NOBODY, and the keys.

    Without a list of them, all keys that occur. PRIVATE: which they are and how many.
    """
    table, values, name = take_column(X, groups, "groups")
    what = "column of groups" if name is None else f"column {name!r}"
    if keys is not None:
        return table, labelled(values, keys, on_missing, what), keys
    found = coded(values, what, on_missing)
    # whole numbers, and text that a file can hold: half of a pair of surrogates cannot be written as UTF-8
    names = (form for form in found.forms if isinstance(form, str | int))
    keys = tuple(name for name in names if str(name).encode("utf-8", "ignore").decode() == str(name))
    return table, _placed(found, {key: place for place, key in enumerate(keys)}), keys


def public_order(key: Key) -> tuple[bool, Key]:
    """Whole numbers by value, then text by code points: no order of rows, no size of a group."""
    return isinstance(key, str), key


def alike(keys: tuple[Key, ...]) -> tuple[Key, ...]:
    """Released keys as names of one kind: whole numbers if all of them are, else text."""
    return keys if all(isinstance(key, int) for key in keys) else tuple(str(key) for key in keys)


def labelled(values: Any, keys: tuple[Key, ...], on_missing: str = "drop", what: str = "column of groups") -> Integers:
    """The index of each entry in `keys`: a function of this entry and the public names alone (G1).

    The names 3 and "3" stand for the whole number and the text alike. A name that writes a truth value, a date or a
    moment ("true", "2024-01-31") stands for that value, too. An entry that is missing or not named is in no group.
    """
    places: dict[object, int] = {normalize_key(key): place for place, key in enumerate(keys)}
    for place, key in enumerate(keys):
        places.setdefault(written_value(key.strip()) if isinstance(key, str) else None, place)
    return _placed(coded(values, what, on_missing), places)


def _placed(found: Coded, places: dict[Any, int]) -> Integers:
    own = [places.get(form, NOBODY) for form in found.forms]
    return np.array([*own, NOBODY], dtype=np.int64)[found.numbers]


def members(rows: Records, labels: Integers) -> tuple[Records, Integers]:
    """The rows that are in some group, and which: one row, one person (G1)."""
    _check_length(rows, labels)
    inside = labels != NOBODY
    return rows.chosen(inside), labels[inside]


def person_members(
    rows: Records, labels: Integers, keys: Keys, most_rows: int | None, on_missing: str
) -> tuple[Records, Integers]:
    """The records of persons in some group, and which: that of their first row in any, without other rows (G1, U1)."""
    _check_length(rows, labels)
    if len(keys.persons) != rows.count:
        raise InvalidParameter("Expected unit with as many keys as X has rows.")
    inside, owned = labels != NOBODY, keys.persons >= 0
    own = _first_labels(keys.persons, labels, inside & owned, keys.count)
    kept = inside & (~owned | (labels == own[keys.persons]))  # a row without a key is for `person_records` to judge
    whose = keys.chosen(kept)
    people = person_records(rows.chosen(kept), whose, most_rows, on_missing)
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
