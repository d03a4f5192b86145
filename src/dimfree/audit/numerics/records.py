"""Public records on which sums, lattices and charges are checked."""

from typing import Any

import numpy as np

from dimfree._types import Floats
from dimfree.data.records import as_records
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.clipped_sum import Ball
from dimfree.kernel.statistics.scores import Scoring
from dimfree.kernel.statistics.unit_vectors import Lookout
from dimfree.shapes import Diagonal
from dimfree.simulation import public_simulation

ROWS, COLUMNS = 211, 5
BALL = Ball(np.array([0.1, -0.2, 0.3, 0.0, 0.7]), 1.0, 2.5)
SCORING = Scoring(BALL.centre, 1.0, 3.0)
LOOKOUT = Lookout(BALL.centre, np.array([1.0, 0.7, 2.0, 1.0, 0.3]))
GRID: Floats = 0.1 * np.power(1.5, np.arange(17, dtype=np.float64))  # sixteen cells: a bisection asks four times


def made_up() -> Floats:
    """Records of many sizes, some entries zero, all of single precision; float sums of them depend on the order."""
    rng = public_simulation(7)
    sizes = np.ldexp(1.0, rng.choice([0, 0, 0, 1, 2, -30, 20], (ROWS, 1)))
    table = rng.normal(size=(ROWS, COLUMNS)) * sizes
    return np.where(rng.random(table.shape) < 0.3, 0.0, table).astype(np.float32).astype(np.float64)


def space_of(table: Any) -> Space:
    return Space(as_records(table), Diagonal(np.array([1.0, 2.0, 0.5, 1.0, 3.0])))
