"""Sessions that stand on a branch already, for tests of one step of a program."""

from dataclasses import replace

import numpy as np

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.events import OnlyGaussian
from dimfree.data.records import Records, as_records
from dimfree.kernel import Session, View
from dimfree.kernel.rows.space import Space
from dimfree.noise import Noise
from dimfree.shapes import Diagonal, Shape

AMPLE = 1e6  # precision of the branch: no test of one step exceeds it
BUDGET = Budget(100.0, 1e-3)


def standing_session(
    table: np.ndarray | Records | Space,
    relation: Neighbours | str = Neighbours.ADD_REMOVE,
    *,
    noise: Noise,
    shape: Shape | None = None,
    by_entry: bool = False,
    mu: float = AMPLE,
) -> tuple[Session, View]:
    """A session on a branch of Gaussian releases of precision mu², and the view of all records; nothing is drawn."""
    if not isinstance(table, Space):
        records = table if isinstance(table, Records) else as_records(table)
        table = Space(records, Diagonal(np.ones(records.dimension)) if shape is None else shape)
    space = replace(table, by_entry=table.by_entry or by_entry)
    branches = Calibration(None, (), untested=OnlyGaussian(mu))
    session = Session(space, noise, BUDGET, Neighbours(relation), branches)
    return session, session.take(branches.menu[0])


def standing_view(
    table: np.ndarray | Records | Space, relation: Neighbours | str = Neighbours.ADD_REMOVE, **rest: object
) -> View:
    """The view of all records alone."""
    return standing_session(table, relation, **rest)[1]
