"""A noisy histogram of every coordinate."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from dimfree.accounting.budget import Neighbours
from dimfree.audit.audited import DELTA, MU, Audited, ChargeCase
from dimfree.audit.numerics.records import COLUMNS, made_up
from dimfree.mechanisms.gaussian_histogram import heaviest_cells, lone_cells


def _charges() -> Iterator[ChargeCase]:
    cells = [np.floor(made_up().T).astype(np.int64)]
    for relation, moved in ((Neighbours.ADD_REMOVE, 1), (Neighbours.REPLACE_ONE, 2)):
        release = partial(heaviest_cells, cells, COLUMNS, MU, lone_cells(DELTA), relation)
        yield ChargeCase(f"histograms of coordinates, {relation}", release, MU, math.sqrt(moved * COLUMNS), None)


AUDIT = Audited(charges=_charges)
