"""A pair of neighbouring tables, and the public parameters that pairs are built from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours

Table: TypeAlias = Any  # a dense array or a sparse matrix, one row per record
Both: TypeAlias = tuple[Table, Table]


@dataclass(frozen=True, repr=False)
class Pair:
    """Two neighbouring tables."""

    name: str
    relation: Neighbours
    here: Table
    there: Table

    def __repr__(self) -> str:
        return f"<Pair: {self.name}, {self.relation}>"


@dataclass(frozen=True)
class TableSize:
    """Records of the larger table, the length at which friendship or clipping is decided, and columns."""

    size: int
    radius: float = 1.0
    dimension: int = 2

    def table(self, *positions: tuple[int, float]) -> Floats:
        """A table of (number of records, their first coordinate in radii), zero in the other coordinates."""
        column = np.concatenate([np.full(times, where * self.radius) for times, where in positions])
        table = np.zeros((len(column), self.dimension))
        table[:, 0] = column
        return table


Builder = Callable[[TableSize], Both]
