"""Keys: which rows belong together. Private: what a key says, and how many different ones there are.

Whose a row is depends on its own entry, never on the other entries of its column nor on the type that they gave it
(`canonical`): one strange key must not speak for the table, and an error would.
"""

from collections.abc import Hashable
from numbers import Number
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Integers
from dimfree.data.boundary import boundary
from dimfree.data.people.canonical import canonical, distinct_below
from dimfree.data.people.key_column import ONE_KEY_EACH, plain_values
from dimfree.errors import InvalidParameter

MIXED = "holds text beside numbers"
RESPELLED = "writes one number in several ways, such as 7 and 007"
_TEXTS = frozenset({str, bytes, np.str_, np.bytes_})
_PLAIN = frozenset({str, bytes, int, float, bool, type(None)})


class Keys:
    """Private: for each row the number of its owner in order of first appearance, -1 where the key is missing."""

    __slots__ = ("_column", "_doubt", "_persons")

    def __init__(self, persons: Integers, column: str | None, doubt: str | None = None) -> None:
        persons.flags.writeable = False
        self._persons, self._column, self._doubt = persons, column, doubt

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

    @property
    def doubt(self) -> str | None:
        """A fixed text that says how the column writes one key in several forms; None where it does not. PRIVATE."""
        return self._doubt

    def chosen(self, rows: NDArray[np.bool_]) -> "Keys":
        """Those of some rows, numbered anew."""
        persons = self._persons[rows]
        return Keys(_by_sorting(persons, persons >= 0)[0], self._column, self._doubt)

    def __repr__(self) -> str:
        return "<Keys>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Keys are not copied or pickled: they are private. Read them again where they are needed.")


class Coded(NamedTuple):
    """Private: a column in normal form."""

    numbers: Integers  # of each row's form, in order of first appearance; -1 where it is missing
    forms: list[Hashable]  # the different forms, in that order
    doubt: str | None = None  # MIXED or RESPELLED


def open_keys(values: Any, column: str | None = None) -> Keys:
    """Keys of a list, array or column: whole numbers, text or anything hashable, side by side.

    Each is judged by its own entry (`canonical`); what tells nobody is a missing key, no error. An error speaks of a
    column that is none, never of a key.
    """
    found = coded(values, "unit" if column is None else f"column {column!r}")
    return Keys(found.numbers, column, found.doubt)


def in_doubt(what: str, doubt: str) -> str:
    """The sentence of an error under on_missing="raise"; of the column, never of an entry."""
    return (
        f"The {what} {doubt}, and on_missing='raise' forbids it: read the whole column as text (in pandas "
        "read_csv(..., dtype={name: str})) and write each key in one way, or pass on_missing='drop' "
        "(--on-missing drop), to which 7, '7' and '007' are one key."
    )


def coded(values: Any, what: str) -> Coded:
    """The normal form of every entry. Arrays of one kind are sorted first, which gives the same as entry by entry."""
    with boundary(lambda _: InvalidParameter(f"Expected {what} to be a list or an array. {ONE_KEY_EACH}")):
        return _coded(plain_values(values, what))


def _coded(plain: NDArray[Any] | list[Any]) -> Coded:
    if not isinstance(plain, np.ndarray):
        return _of_entries(plain)
    if plain.dtype.kind in "biuf":
        whole, told = _whole_numbers(plain)
        numbers, first = _by_sorting(whole, told)
        return Coded(numbers, whole[first].tolist())
    numbers, first = _by_sorting(plain, np.ones(len(plain), dtype=np.bool_))
    few = _of_entries(plain[first].tolist() if plain.dtype.kind in "US" else list(plain[first]))
    return Coded(few.numbers[numbers], few.forms, few.doubt)


def _whole_numbers(keys: NDArray[Any]) -> tuple[Integers, NDArray[np.bool_]]:
    """`canonical` for an array of numbers: the whole numbers, and where they are."""
    limit = distinct_below(keys.dtype.type)
    with np.errstate(all="ignore"):
        told = (keys > -limit) & (keys < limit)
        told &= np.trunc(keys) == keys
    return np.where(told, keys, 0).astype(np.int64), told


def _by_sorting(keys: NDArray[Any], told: NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """Numbers in order of first appearance, -1 where a key is not told; and where each appears first."""
    rows = np.flatnonzero(told)
    _, first, group = np.unique(keys[rows], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    numbers = np.full(len(keys), -1, dtype=np.int64)
    numbers[rows] = rank[group]
    return numbers, rows[first[order]]


def _of_entries(entries: list[Any]) -> Coded:
    """Equal entries of plain types have one form, so that each different one is looked at once."""
    if not set(map(type, entries)) <= _PLAIN:
        return _one_by_one(entries)
    different = list(dict.fromkeys(entries))
    few = _one_by_one(different)
    number = dict(zip(different, few.numbers.tolist(), strict=True))
    return few._replace(numbers=np.array([number[entry] for entry in entries], dtype=np.int64))


def _one_by_one(entries: list[Any]) -> Coded:
    forms: dict[Hashable, int] = {}
    numbers = [_numbered(canonical(entry), forms) for entry in entries]
    return Coded(np.array(numbers, dtype=np.int64), list(forms), _doubt(entries, numbers, list(forms)))


def _numbered(form: Hashable | None, forms: dict[Hashable, int]) -> int:
    try:
        return -1 if form is None else forms.setdefault(form, len(forms))
    except Exception:  # noqa: BLE001 - a comparison that objects
        return -1


def _doubt(entries: list[Any], numbers: list[int], forms: list[Hashable]) -> str | None:
    """Whether text stands beside numbers, or two texts, spaces aside, are one number."""
    told = [(entry, at) for entry, at in zip(entries, numbers, strict=True) if at >= 0]
    types = {type(entry) for entry, _ in told}
    texts = {each for each in types if issubclass(each, str | bytes)}
    if texts and any(issubclass(each, Number | np.bool_) for each in types):
        return MIXED
    if len(told) == len(forms):
        return None  # nothing occurs twice
    spelled = {(entry.strip(), at) for entry, at in told if type(entry) in _TEXTS and type(forms[at]) is int}
    return RESPELLED if len({at for _, at in spelled}) < len(spelled) else None
