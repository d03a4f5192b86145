"""Public bounds on the columns of a table: an entry beyond them counts as the bound.

Each entry is mapped by itself, by public numbers: no other record is touched and no charge changes (proofs/README.md).
An entry that is missing or not finite stays as it is.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import check_finite, quoted
from dimfree.data.columns import require_names
from dimfree.data.stream import Stream
from dimfree.errors import InvalidFile, InvalidParameter

_EXAMPLE = "such as {'age': [0, 120]}: public knowledge, never computed from the records."


@dataclass(frozen=True)
class Bounds:
    """Public: the lowest and the highest number that an entry of a column counts as, by the column's name."""

    ends: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def checked(cls, given: object) -> "Bounds":
        """Of the parameter `bounds`; None says nothing."""
        if given is None:
            return cls()
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise InvalidParameter(f"Expected bounds to give [low, high] for each column by name, {_EXAMPLE}")
        return cls({name: _pair(name, ends) for name, ends in given.items()})

    def among(self, columns: Sequence[str] | None) -> "Bounds":
        """Those of these columns, in their order."""
        return Bounds({name: self.ends[name] for name in columns or () if name in self.ends})

    def limits(self, columns: Sequence[str] | None, names: Sequence[str] | None) -> "Limits | None":
        """What holds the entries of a table with these columns; None where none of them has bounds.

        `names` are all names in the file, where they are known: bounds for a name that is not there are an error, those
        for a column that is not released say nothing.
        """
        if self.ends and columns is None:
            raise InvalidFile("its columns have no names, and bounds go by name: write names, or leave bounds out.")
        if names is not None:
            require_names(names, tuple(self.ends))
        held = self.among(columns).ends
        places = [at for at, name in enumerate(columns or ()) if name in held]
        low, high = (np.array([ends[side] for ends in held.values()]) for side in (0, 1))
        return Limits(places, low, high) if held else None

    def stated(self) -> dict[str, str]:
        """What a release says of them among its public parameters: nothing where there are none."""
        return {"bounds": self.to_json()} if self.ends else {}

    def to_json(self) -> str:
        """One line of text that reads back as the same numbers."""
        return json.dumps({name: list(ends) for name, ends in self.ends.items()})


@dataclass(frozen=True, eq=False)
class Limits:
    """Public: which columns of a table have bounds, by their places, and which."""

    places: list[int]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def held(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """A copy of some rows, each entry beyond a bound at the bound: a function of that entry alone."""
        with np.errstate(all="ignore"):  # a warning or error could reveal records
            numbers = np.array(rows, dtype=np.float64, order="C")
            entries = numbers[:, self.places]
            finite = np.isfinite(entries)
            entries = np.where(finite & (entries < self.low), self.low, entries)
            numbers[:, self.places] = np.where(finite & (entries > self.high), self.high, entries)
        return numbers


class BoundedStream(Stream):
    """Private: the rows of another dense stream, held within bounds."""

    def __init__(self, stream: Stream, limits: Limits) -> None:
        self._stream, self._limits = stream, limits
        self.shape, self.columns = stream.shape, stream.columns

    def row_blocks(self, rows: int) -> Iterator[NDArray[Any]]:
        return map(self._limits.held, self._stream.row_blocks(rows))

    def chosen(self, rows: NDArray[np.bool_]) -> "BoundedStream":
        return BoundedStream(self._stream.chosen(rows), self._limits)


def _pair(name: str, ends: object) -> tuple[float, float]:
    try:
        numbers = [check_finite("bounds", end) for end in ends] if isinstance(ends, list | tuple) else []
    except InvalidParameter:
        numbers = []
    if len(numbers) == 2 and numbers[0] < numbers[1]:
        return numbers[0], numbers[1]
    which = quoted(name) if any(map(str.isalpha, name)) else "a column"  # a name without a letter could be an entry
    raise InvalidParameter(f"Expected bounds of {which} to be [low, high]: two finite numbers, low below high.")
