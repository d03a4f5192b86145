"""Labels: the group of each row. A record is in at most one group; the sizes of groups are private (M4)."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Integers
from dimfree.data.people.keys import EncodedKeys, Keys, encode_keys, normalize_key, parse_written, take_column
from dimfree.data.people.person_records import person_records
from dimfree.data.records import Records
from dimfree.errors import InvalidParameterError

Key = str | int

NO_GROUP = -1  # a row in none of the groups
_REMEDY = (
    "Pass the public names of the groups, which are known beforehand, or groups='private' to find them within the "
    "budget. No budget was charged."
)


def check_group_keys(keys: object) -> tuple[Key, ...]:
    """Check the public names of groups: at least one, no two of one form, none that reads as missing."""
    if isinstance(keys, str | bytes) or not isinstance(keys, Iterable):
        raise InvalidParameterError(f"`groups` must be a list, got {type(keys).__name__}. {_REMEDY}")
    try:
        names = tuple(key.item() if isinstance(key, np.generic) else key for key in keys)
    except Exception:  # noqa: BLE001 - it may quote an entry
        names = ()
    if not names or {type(name) for name in names} not in ({str}, {int}) or len(set(names)) < len(names):
        raise InvalidParameterError(
            f"`groups` must be one or more distinct words, or distinct whole numbers. {_REMEDY}"
        )
    first: dict[object, Key] = {}
    for name in names:
        form = normalize_key(name)
        if form is None:
            raise InvalidParameterError(
                f"`groups` must not contain {name!r}, which reads as a missing value. Put a letter before it, here and "
                "in the column of groups."
            )
        if form in first:
            raise InvalidParameterError(
                f"`groups` must not contain both {name!r} and {first[form]!r}, which read as the same key. Leave one "
                "out, or put a letter before them, here and in the column of groups."
            )
        first[form] = name
    return names


def split_groups(
    X: Any, groups: object, keys: tuple[Key, ...] | None, missing: str = "complete-case"
) -> tuple[Any, Integers, tuple[Key, ...]]:
    """Return X without the column of groups, the position of each row's group in `keys` or NO_GROUP, and the keys.

    Without a list of keys, all keys that occur. PRIVATE: which ones occur and how many.
    """
    table, values, name = take_column(X, groups, "by")
    what = "column of groups" if name is None else f"column {name!r}"
    if keys is not None:
        return table, label_rows(values, keys, missing, what), keys
    found = encode_keys(values, what, missing)
    # integers, and text that can be written: half of a surrogate pair is not valid UTF-8
    names = (form for form in found.forms if isinstance(form, str | int))
    keys = tuple(name for name in names if str(name).encode("utf-8", "ignore").decode() == str(name))
    return table, _place_rows(found, {key: place for place, key in enumerate(keys)}), keys


def public_order(key: Key) -> tuple[bool, Key]:
    """Sort integers by value, then text by code points: independent of the order of rows and sizes of groups."""
    return isinstance(key, str), key


def unify_keys(keys: tuple[Key, ...]) -> tuple[Key, ...]:
    """Return released keys as names of one kind: integers if all of them are, else text."""
    return keys if all(isinstance(key, int) for key in keys) else tuple(str(key) for key in keys)


def label_rows(
    values: Any, keys: tuple[Key, ...], missing: str = "complete-case", what: str = "column of groups"
) -> Integers:
    """Return the position of each entry in `keys`, a function of this entry and the public names alone (G1).

    The names 3 and "3" stand for both the integer and the text. A name that writes a boolean, date or time ("true",
    "2024-01-31") stands for that value, too. An entry that is missing or not listed is in no group.
    """
    places: dict[object, int] = {normalize_key(key): place for place, key in enumerate(keys)}
    for place, key in enumerate(keys):
        places.setdefault(parse_written(key.strip()) if isinstance(key, str) else None, place)
    return _place_rows(encode_keys(values, what, missing), places)


def _place_rows(found: EncodedKeys, places: dict[Any, int]) -> Integers:
    own = [places.get(form, NO_GROUP) for form in found.forms]
    return np.array([*own, NO_GROUP], dtype=np.int64)[found.numbers]


def select_members(rows: Records, labels: Integers) -> tuple[Records, Integers]:
    """Return the rows that are in a group, and their groups, for one row per person (G1)."""
    _check_length(rows, labels)
    inside = labels != NO_GROUP
    return rows.select_rows(inside), labels[inside]


def select_person_members(
    rows: Records, labels: Integers, keys: Keys, max_rows: int | None, missing: str
) -> tuple[Records, Integers]:
    """Return one record per person in a group, and the groups: that of the person's first row in any (G1, U1)."""
    _check_length(rows, labels)
    if len(keys.persons) != rows.count:
        raise InvalidParameterError("`privacy_unit` must have one key for each row of X. No budget was charged.")
    inside, owned = labels != NO_GROUP, keys.persons >= 0
    own = _find_first_labels(keys.persons, labels, inside & owned, keys.count)
    kept = inside & (~owned | (labels == own[keys.persons]))  # `person_records` handles rows without a key
    chosen = keys.select_rows(kept)
    people = person_records(rows.select_rows(kept), chosen, max_rows, missing)
    return people, _find_first_labels(chosen.persons, labels[kept], chosen.persons >= 0, chosen.count)[: chosen.count]


def _find_first_labels(persons: Integers, labels: Integers, counted: NDArray[np.bool_], count: int) -> Integers:
    """Return the label of each person's first counted row, NO_GROUP without one; one entry more, for persons[-1]."""
    rows = np.flatnonzero(counted)
    found, first = np.unique(persons[rows], return_index=True)
    own = np.full(count + 1, NO_GROUP, dtype=np.int64)
    own[found] = labels[rows[first]]
    return own


def _check_length(rows: Records, labels: Integers) -> None:
    if len(labels) != rows.count:
        raise InvalidParameterError("`by` must have one entry for each row of X. No budget was charged.")
