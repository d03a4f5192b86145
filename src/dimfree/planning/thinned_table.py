"""Simulated records with exact moments, a few that represent many, and their distances. Public."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dimfree._types import Floats
from dimfree.data.records import Records
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.distances import PairDistances
from dimfree.planning.question import Question
from dimfree.planning.spectra import DISTANCE
from dimfree.programs.choose.constants import LEAST_ROWS, LENGTH_QUANTILES, TABLE_ENTRIES
from dimfree.shapes import Isotropic
from dimfree.simulation import public_simulation

SEED = 20250607


@dataclass(frozen=True)
class Table:
    """Simulated records with an exact mean and exact variances. Public."""

    rows: Floats
    mean: Floats
    stands_for: int  # n

    @classmethod
    def of(cls, question: Question, draw: int, most: int = LENGTH_QUANTILES) -> "Table":
        coins, dimension = public_simulation([SEED, draw]), question.dimension
        wanted = min(question.count, max(LEAST_ROWS, min(most, TABLE_ENTRIES // dimension)))
        half = coins.normal(size=(max(1, wanted // 2), dimension))
        half *= question.stddevs / np.sqrt((half**2).mean(axis=0))
        direction = coins.normal(size=dimension)  # far from 0 in a random direction, so that shrinking gains nothing
        mean = direction * (DISTANCE * np.linalg.norm(question.stddevs) / np.linalg.norm(direction))
        return cls(mean + np.concatenate([half, -half]), mean, question.count)

    @cached_property
    def space(self) -> Space:
        return Space(Records(self.rows, None), Isotropic(1.0))

    @property
    def factor(self) -> float:
        """n / m: how much sharper every release must be."""
        return self.stands_for / len(self.rows)


@dataclass(frozen=True, repr=False)
class RememberedPairs(PairDistances):
    """Distances that are asked for at the same few radii again and again."""

    @cached_property
    def _counted(self) -> dict[float, int]:
        return {}

    def friend_pairs(self, radius: float) -> int:
        if radius not in self._counted:
            self._counted[radius] = super().friend_pairs(radius)
        return self._counted[radius]
