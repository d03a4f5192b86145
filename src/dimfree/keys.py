"""Keys: which rows belong together. What a key says stays behind this door, and so does how many there are.

Whose a row is depends on its own entry, never on the other entries of its column: one strange key must not speak for
the table, and an error would.
"""

from collections.abc import Hashable
from numbers import Integral
from operator import index
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dimfree.columns import plain_values

Integers = NDArray[np.int64]

# Below this every whole number has a float of its own; beyond, two people may share one.
_DOUBLES = 2**53
_DISTINCT: dict[type, int] = {np.float32: 2**24, np.float16: 2**11}


class Keys:
    """Private: for each row the number of its owner in order of first appearance, -1 where the key is missing."""

    __slots__ = ("_column", "_persons")

    def __init__(self, persons: Integers, column: str | None) -> None:
        persons.flags.writeable = False
        self._persons, self._column = persons, column

    @property
    def persons(self) -> Integers:
        return self._persons

    @property
    def count(self) -> int:
        """How many owners. PRIVATE: never store, print or raise it."""
        return int(self._persons.max(initial=-1)) + 1

    @property
    def column(self) -> str | None:
        """The name of the column the keys came from: schema, hence public."""
        return self._column

    def chosen(self, rows: NDArray[np.bool_]) -> "Keys":
        """Those of some rows, numbered anew."""
        persons = self._persons[rows]
        return Keys(_by_sorting(persons, persons >= 0), self._column)

    def __repr__(self) -> str:
        return "<Keys>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Keys are not copied or pickled: they are private. Read them again where they are needed.")


def open_keys(values: Any, column: str | None = None) -> Keys:
    """Keys of a list, array or column: whole numbers, text or anything hashable, side by side.

    Each is judged by its own entry (`canonical`); what tells nobody is a missing key, no error. An error speaks of a
    column that is none, never of a key.
    """
    plain = plain_values(values, "unit" if column is None else f"column {column!r}")
    if not isinstance(plain, np.ndarray):
        return Keys(_by_hashing(plain), column)
    return Keys(_by_sorting(*_whole_floats(plain) if plain.dtype.kind == "f" else (plain, None)), column)


def canonical(key: Any) -> Hashable | None:
    """What tells one key from another, a function of this entry alone (U1); None where it tells nobody.

    Whole numbers are one kind however they are stored, 3.0 being 3 (a gap turns a column into floats); text is another,
    true and false a third, the rest keep their type: 1, "1" and True are three people. Missing are None, NaN and their
    kin, floats that are no whole number or so large that several whole numbers share them, what cannot be hashed,
    tuples with such a part, and whatever objects to being looked at.
    """
    if type(key) is str or type(key) is int:
        return key  # the common case, fast
    try:
        found = _told(key)
        hash(found)
    except Exception:  # noqa: BLE001 - what a key says about itself may quote it
        return None
    return found


def _told(key: Any) -> Hashable | None:
    if key is None or key is np.ma.masked:
        return None
    if isinstance(key, bool | np.bool_):
        return bool, bool(key)
    if isinstance(key, str | bytes):
        return str.__str__(key) if isinstance(key, str) else (bytes, bytes(memoryview(key)))
    if isinstance(key, float | complex | np.inexact):
        return _whole(key.real) if key.imag == 0 else None
    if isinstance(key, Integral):
        return index(key)
    if isinstance(key, tuple | frozenset):
        parts = [_told(part) for part in key]
        whole = frozenset(parts) if isinstance(key, frozenset) else tuple(parts)
        return None if any(part is None for part in parts) else (type(key), whole)
    hash(key)  # before a comparison: arrays have none
    return None if key != key else (type(key), key)  # NaN and its kin differ from themselves


def _whole(number: Any) -> int | None:
    whole = int(number)  # raises where the number is not finite
    return whole if whole == number and abs(whole) < _DISTINCT.get(type(number), _DOUBLES) else None


def _whole_floats(keys: NDArray[Any]) -> tuple[Integers, NDArray[np.bool_]]:
    """`_whole` for an array: the whole numbers, and where they are."""
    with np.errstate(all="ignore"):
        told = (np.abs(keys) < _DISTINCT.get(keys.dtype.type, _DOUBLES)) & (np.trunc(keys) == keys)
    return np.where(told, keys, 0).astype(np.int64), told


def _by_sorting(keys: NDArray[Any], told: NDArray[np.bool_] | None = None) -> Integers:
    """Numbers in order of first appearance, -1 where a key is not told."""
    if told is not None:
        numbered = np.full(len(keys), -1, dtype=np.int64)
        numbered[told] = _by_sorting(keys[told])
        return numbered
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[group]


def _by_hashing(keys: list[Any]) -> Integers:
    numbers: dict[Hashable, int] = {}
    return np.array([_numbered(canonical(key), numbers) for key in keys], dtype=np.int64)


def _numbered(owner: Hashable | None, numbers: dict[Hashable, int]) -> int:
    try:
        return -1 if owner is None else numbers.setdefault(owner, len(numbers))
    except Exception:  # noqa: BLE001 - a comparison that objects
        return -1
