"""Noise that draws a given constant and records what it was asked for; tables opened with it."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.calibrate import (
    Calibration,
    calibrate_gaussian,
    calibrate_private_count,
    calibrate_public_count,
)
from dimfree.accounting.events import Tested
from dimfree.data.records import as_records
from dimfree.kernel import PrivateTable, Released, Session, View
from dimfree.kernel.rows.space import Space
from dimfree.shapes import IsotropicCovariance

BUDGET = Budget(20.0, 1e-3)
RECORDS = np.random.default_rng(0).normal(size=(60, 3))


@dataclass
class Asked:
    """Gaussian draws are `draw`, uniform draws 0, coins heads; `log` holds (kind, scale, size) in order."""

    draw: int = 0
    private: bool = False
    log: list[tuple[str, float, int]] = field(default_factory=list)

    def gaussian(self, stddev: float, size: int) -> np.ndarray:
        self.log.append(("gaussian", stddev, size))
        return np.full(size, self.draw, dtype=np.int64)

    def below(self, bound: int, size: int) -> np.ndarray:
        self.log.append(("below", bound, size))
        return np.zeros(size, dtype=np.int64)

    def coin(self, numerator: int, denominator: int) -> bool:
        self.log.append(("coin", numerator, denominator))
        return True


def space_of(X: np.ndarray, *, by_entry: bool = False) -> Space:
    return replace(Space(as_records(X, missing="complete-case"), IsotropicCovariance(1.0)), by_entry=by_entry)


def gaussian_branches(relation: Neighbors, budget: Budget = BUDGET) -> Calibration:
    return calibrate_gaussian(budget, private_count=relation is Neighbors.ADD_REMOVE)


def branches_with_test(relation: Neighbors, budget: Budget = BUDGET, **shares: float) -> Calibration:
    calibrate = calibrate_private_count if relation is Neighbors.ADD_REMOVE else calibrate_public_count
    return calibrate(budget, 0.01, **shares)


def open_session(
    X: np.ndarray, relation: Neighbors, noise: Asked, branches: Calibration | None = None, *, by_entry: bool = False
) -> tuple[Session, View]:
    """A session whose first branch is taken, and the view of all records; what the count asked for is not logged."""
    branches = gaussian_branches(relation) if branches is None else branches
    session = PrivateTable(space_of(X, by_entry=by_entry), BUDGET, relation, noise).open(branches)
    noise.log.clear()
    return session, session.take(branches.branches[0])


def session_with_test(
    relation: Neighbors, noise: Asked | None = None, *, heads: bool = True
) -> tuple[Session, View, Tested, Asked]:
    """A session whose branch has a stability test, over records close together; what opening asked is not logged."""
    noise, branches = Asked() if noise is None else noise, branches_with_test(relation, search_share=0.1)
    noise.coin = lambda *_: heads
    session = PrivateTable(space_of(RECORDS / 50), BUDGET, relation, noise).open(branches)
    noise.log.clear()
    return session, session.take(branches.tested[0]), branches.tested[0], noise


def core(view: View, branch: Tested, relation: Neighbors, **changes: Any) -> Released | None:
    floor = None if relation is Neighbors.REPLACE_ONE else 40
    given = {"radius": 1.0, "full_share": Fraction(9, 10), "tolerated": 6, "floor": floor, "mu": branch.mu / 2}
    return view.pairs(0).core_mean(**{**given, **changes})
