"""Public bounds on the columns of a table: an entry beyond them counts as the bound.

Each entry is clipped separately, by public numbers: no other record is touched and no charge changes
(proofs/README.md). An entry that is missing or not finite stays as it is.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import check_finite, quoted
from dimfree.data import sparse
from dimfree.data.columns import require_names
from dimfree.data.gpu.rows import DeviceRows, beside, namespace
from dimfree.errors import InvalidParameter

_EXAMPLE = "such as {'age': [0, 120]}: public knowledge, never computed from the records."
_NAMELESS = (
    "The columns have no names, and bounds go by name: write names, give bounds by place, as in {0: [0, 120]}, for an "
    "array, or leave bounds out."
)
_DENSE = (
    "The rows are sparse, and the bounds of a column exclude 0, which is what an entry that is not stored is: write "
    "the table dense, or leave such bounds out."
)


@dataclass(frozen=True)
class Bounds:
    """Public: the lowest and the highest number that an entry of a column counts as.

    By the column's name; a table without names takes places, counted from 0. A number and its text are one name, since
    labels of a frame may be numbers and a command line has text alone.
    """

    ends: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def checked(cls, given: object) -> "Bounds":
        """Check the parameter `bounds`; None means no bounds."""
        if given is None or isinstance(given, Bounds):
            return given or cls()
        if not isinstance(given, Mapping) or not all(type(name) in (str, int) for name in given):
            raise InvalidParameter(f"Expected bounds to give [low, high] for each column by name, {_EXAMPLE}")
        checked = {str(name): _pair(name, ends) for name, ends in given.items()}
        if len(checked) < len(given):
            raise InvalidParameter(
                "Expected bounds to name each column once, got a number and the text that writes it."
            )
        return cls(checked)

    def among(self, columns: Sequence[str] | None) -> "Bounds":
        """Return those of these columns, in their order."""
        return Bounds({name: self.ends[name] for name in columns or () if name in self.ends})

    def within(self, other: "Bounds") -> "Bounds":
        """Return the bounds of entries that are clipped to both."""
        ends = {**self.ends, **other.ends}
        for name in self.ends.keys() & other.ends.keys():
            (low, high), (lower, higher) = self.ends[name], other.ends[name]
            ends[name] = _pair(name, [max(low, lower), min(high, higher)])
        return Bounds(ends)

    def require_columns(self, names: Sequence[str] | None) -> None:
        """Raise an error unless the table has all these columns, of which some may not be coordinates."""
        if names is not None:
            require_names(names, list(self.ends))
        elif not all(re.fullmatch("-?[0-9]+", name) for name in self.ends):
            raise InvalidParameter(_NAMELESS)

    def limits(self, columns: Sequence[str] | None, width: int) -> "Limits | None":
        """Return what clips the entries of a table with these coordinates; None where none of them has bounds."""
        keys = list(map(str, range(width))) if columns is None else columns
        if columns is None:
            self.require_columns(None)
            if not self.ends.keys() <= set(keys):
                raise InvalidParameter(f"Expected bounds by places from 0 to {width - 1}, which are the columns of X.")
        kept = self.among(keys).ends
        places = [at for at, key in enumerate(keys) if key in kept]
        low, high = (np.array([ends[side] for ends in kept.values()]) for side in (0, 1))
        return Limits(places, low, high) if kept else None

    def stated(self) -> dict[str, str]:
        """Return what a release states of them among its public parameters: nothing where there are none."""
        return {"bounds": self.to_json()} if self.ends else {}

    def to_json(self) -> str:
        """Return one line of text that reads back as the same numbers."""
        return json.dumps({name: list(ends) for name, ends in self.ends.items()})


@dataclass(frozen=True, eq=False)
class Limits:
    """Public: which columns of a table have bounds, by their places, and which."""

    places: list[int]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def clip(self, rows: Any) -> Any:
        """Return a copy of some rows, each entry beyond a bound at the bound: a function of that entry alone.

        Rows are an array, a CSR array or DeviceRows, and come back as such, in float64.
        """
        if sparse.issparse(rows):
            low, high = np.full(rows.shape[1], -np.inf), np.full(rows.shape[1], np.inf)
            low[self.places], high[self.places] = self.low, self.high
            values, column = np.array(rows.data, dtype=np.float64), rows.indices
            values = np.where(np.isfinite(values), np.clip(values, low[column], high[column]), values)
            return sparse.csr_array((values, column, rows.indptr), shape=rows.shape)
        if isinstance(rows, DeviceRows):
            return DeviceRows(self._clip(rows.floats().tensor.clone()))
        with np.errstate(all="ignore"):  # a warning or error could reveal records
            return self._clip(np.array(rows, dtype=np.float64, order="C"))

    def _clip(self, numbers: Any) -> Any:
        where, entries = namespace(numbers).where, numbers[:, self.places]
        finite, low, high = namespace(numbers).isfinite(entries), beside(entries, self.low), beside(entries, self.high)
        entries = where(finite & (entries < low), low, entries)
        numbers[:, self.places] = where(finite & (entries > high), high, entries)
        return numbers

    def require_zero(self) -> None:
        """Raise an error unless what a sparse table does not store is within the bounds."""
        if (self.low > 0).any() or (self.high < 0).any():
            raise InvalidParameter(_DENSE)


def _pair(name: str | int, ends: object) -> tuple[float, float]:
    try:
        numbers = [check_finite("bounds", end) for end in ends] if isinstance(ends, list | tuple) else []
    except InvalidParameter:
        numbers = []
    if len(numbers) == 2 and numbers[0] < numbers[1]:
        return numbers[0], numbers[1]
    which = quoted(name) if any(map(str.isalpha, str(name))) else "a column"  # else the name could be an entry
    raise InvalidParameter(f"Expected bounds of {which} to be [low, high]: two finite numbers, low below high.")
