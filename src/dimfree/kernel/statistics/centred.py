"""What several mechanisms share: a public centre, and a public scale that offsets from it are divided by."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from dimfree._types import Floats
from dimfree.data.blocks import Columns
from dimfree.data.gpu.rows import beside

_LONG = 2**16  # columns of a row that NumPy repeats without loss


class PerColumn:
    """A public number for each column, or one for all of them, to be put beside entries wherever they are.

    Beside a table of rows that are not very long it is a table, too, laid out once for all tiles of a pass: NumPy takes
    longer to repeat a row.
    """

    def __init__(self, numbers: Floats | float) -> None:
        self._numbers = np.asarray(numbers)
        self._laid = self._numbers[None]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._numbers.dtype

    def beside(self, values: Any, columns: Columns) -> Any:
        """For entries of these columns."""
        if self._numbers.ndim == 0:
            return self._numbers[()]
        if np.ndim(values) < 2 or not isinstance(values, np.ndarray):
            return beside(values, self._numbers[columns])
        if len(self._numbers) >= _LONG:
            return self._numbers
        laid = self._laid
        if len(laid) < len(values):
            laid = self._laid = np.tile(self._numbers, (len(values), 1))  # by two threads at once: twice the same
        return laid[: len(values)]


@dataclass(frozen=True)
class Centred:
    """Public: a centre, and what the offset of each coordinate from it is divided by."""

    centre: Floats
    scale: Floats | float

    def before(self, units: Floats | None) -> Self:
        """The same for records whose coordinates are not yet divided by the public `units`; None: nothing to divide.

        A copy for one pass over the records: what it lays out for them ends with it.
        """
        if units is None or (units == 1).all():
            return replace(self)
        return replace(self, centre=self.centre * units, scale=self.scale * units)

    def per_column(self, name: str, at: float, make: Callable[[], Floats | float]) -> PerColumn:
        """Public numbers that `make` computes for this step or unit; kept until another one is asked for."""
        found = self._kept.get(name)
        if found is None or found[0] != at:
            found = self._kept[name] = (at, PerColumn(make()))
        return found[1]

    @cached_property
    def _kept(self) -> dict[str, tuple[float, PerColumn]]:
        return {}
