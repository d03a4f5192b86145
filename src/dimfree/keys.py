"""Keys: which rows belong together. What a key says stays behind this door, and so does how many there are."""

from numbers import Integral
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dimfree.errors import InvalidParameter

Integers = NDArray[np.int64]

_SORTED_KINDS = "iubUS"  # NumPy's own comparison tells these apart as Python's does
_NEED = "Pass one key for each row: whole numbers or text, all of one kind."
_NO_FLOATS = (
    "Expected {what} to hold whole numbers or text, not floating-point numbers, which do not tell people apart safely: "
    "turn them into whole numbers first (in pandas .astype('Int64') keeps missing ones)."
)


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
        numbered = np.full(len(persons), -1, dtype=np.int64)
        numbered[persons >= 0] = _by_sorting(persons[persons >= 0])
        return Keys(numbered, self._column)

    def __repr__(self) -> str:
        return "<Keys>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Keys are not copied or pickled: they are private. Read them again where they are needed.")


def open_keys(values: Any, column: str | None = None) -> Keys:
    """Keys of a list, array or column of whole numbers, text or anything hashable of one kind; floats are refused.

    None, NaN and null are missing. Two keys are the same where Python calls them equal. An error names the column and
    the kind of trouble, never a key.
    """
    what = "unit" if column is None else f"column {column!r}"
    plain = plain_values(values, what)
    numbered = _by_sorting(plain) if isinstance(plain, np.ndarray) else _by_hashing(plain, what)
    return Keys(numbered, column)


def plain_values(values: Any, what: str) -> NDArray[Any] | list[Any]:
    """An array that NumPy can sort, or a list of objects."""
    package = type(values).__module__.partition(".")[0]
    if package in ("polars", "pyarrow", "pandas"):
        return _of_column(values, package, what)
    if isinstance(values, np.ndarray) and not isinstance(values, np.ma.MaskedArray):
        if values.dtype.kind in "fc":
            raise InvalidParameter(_NO_FLOATS.format(what=what))
        if values.ndim != 1 or values.dtype.kind not in _SORTED_KINDS + "O":
            raise InvalidParameter(f"Expected {what} to be a vector of keys. {_NEED}")
        return values if values.dtype.kind in _SORTED_KINDS else values.tolist()
    if isinstance(values, str | bytes | dict | set | frozenset) or not hasattr(values, "__len__"):
        raise InvalidParameter(f"Expected {what} to be a column name or keys, got {type(values).__name__}. {_NEED}")
    return values.tolist() if isinstance(values, np.ma.MaskedArray) else list(values)


def _of_column(values: Any, package: str, what: str) -> NDArray[Any] | list[Any]:
    """A column of a frame; whole numbers without gaps stay an array."""
    if not hasattr(values, "type" if package == "pyarrow" else "dtype"):
        raise InvalidParameter(f"Expected {what} to be one column, got a {package} {type(values).__name__}. {_NEED}")
    if _is_floating(values, package):
        raise InvalidParameter(_NO_FLOATS.format(what=what))
    if package == "pandas":
        whole = isinstance(values.dtype, np.dtype) and values.dtype.kind in "iu"
        return np.asarray(values) if whole else list(values.astype(object))
    return values.to_pylist() if package == "pyarrow" else values.to_list()


def _is_floating(values: Any, package: str) -> bool:
    if package == "pyarrow":
        from pyarrow.types import is_floating

        return bool(is_floating(values.type))
    return bool(values.dtype.is_float()) if package == "polars" else getattr(values.dtype, "kind", "O") in "fc"


def _by_sorting(keys: NDArray[Any]) -> Integers:
    """Numbers in order of first appearance."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[group]


def _by_hashing(keys: list[Any], what: str) -> Integers:
    numbers: dict[Any, int] = {}
    try:
        owners = [-1 if is_missing(key) else numbers.setdefault(key, len(numbers)) for key in keys]
    except Exception:  # noqa: BLE001 - what a key says about itself may quote it
        raise InvalidParameter(f"Expected {what} to hold keys that can be hashed and compared. {_NEED}") from None
    present = {type(key) for key, owner in zip(keys, owners, strict=True) if owner >= 0}  # 1 and True are equal, too
    kinds = {_kind(key_type) for key_type in present}
    if float in kinds:
        raise InvalidParameter(_NO_FLOATS.format(what=what))
    if len(kinds) > 1:
        raise InvalidParameter(f"Expected {what} to hold keys of one kind, not a mixture. {_NEED}")
    return np.array(owners, dtype=np.int64)


def is_missing(key: object) -> bool:
    if key is None or isinstance(key, str | int):
        return key is None
    return type(key).__name__ == "NAType" or bool(key != key)  # NaN and its kin differ from themselves


def _kind(key_type: type) -> type:
    if issubclass(key_type, float | complex | np.inexact):
        return float
    if issubclass(key_type, bool | np.bool_):
        return bool
    return int if issubclass(key_type, Integral) else str if issubclass(key_type, str) else key_type
