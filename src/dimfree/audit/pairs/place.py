"""Where pairs of tables are built, and what a pair is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours

Table: TypeAlias = Any  # a dense array or a sparse matrix, one row per record


@dataclass(frozen=True, repr=False)
class Pair:
    """Two tables that the promise says must look alike."""

    name: str
    relation: Neighbours
    here: Table
    there: Table

    def __repr__(self) -> str:
        return f"<Pair: {self.name}, {self.relation}>"


@dataclass(frozen=True)
class Place:
    """Where pairs are built: how many records, how wide, and the length that friendship or clipping is decided at."""

    size: int
    radius: float = 1.0
    dimension: int = 2

    def at(self, *positions: tuple[int, float]) -> Floats:
        """(how often, where along the first coordinate, in radii) for each kind of record."""
        column = np.concatenate([np.full(times, where * self.radius) for times, where in positions])
        table = np.zeros((len(column), self.dimension))
        table[:, 0] = column
        return table


Builder = Callable[[Place], tuple[Table, Table]]  # with the record and without it, or with either of two
