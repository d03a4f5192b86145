"""Noisy medians of all coordinates at once."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from dimfree.accounting.budget import Neighbours
from dimfree.audit.audited import MU, Audited, ChargeCase
from dimfree.audit.numerics.records import COLUMNS, made_up
from dimfree.mechanisms.medians import noisy_medians


def _charges() -> Iterator[ChargeCase]:
    table, widths, answers = made_up(), np.full(COLUMNS, 0.5), 4 * COLUMNS  # [-4, 4] is halved four times
    for relation, moved in ((Neighbours.ADD_REMOVE, 1), (Neighbours.REPLACE_ONE, 2)):
        release = partial(noisy_medians, lambda: [table], 4.0, widths, MU, relation, "audit")
        yield ChargeCase(f"medians, {relation}", release, MU, moved * math.sqrt(answers), answers)


AUDIT = Audited(charges=_charges)
