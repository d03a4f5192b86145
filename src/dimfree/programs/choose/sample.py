"""How many records are looked at before the last look at the lengths: all, or a sample. Public; costs nothing.

Letters: P = precision of the branch, d = coordinates, n̂ = released number of records.
"""

import math

from dimfree.accounting.budget import CHANGED_RECORDS, Neighbours
from dimfree.programs.choose import constants as c
from dimfree.programs.choose.core import Size


def strength(count: float, relation: Neighbours, precision: float, columns: int) -> float:
    """n̂·√(P/d), with the noise that the relation asks for."""
    return max(count, 0.0) * math.sqrt(precision / (columns * CHANGED_RECORDS[relation]))


def early_rate(size: Size, precision: float, columns: int, present: float = 1.0) -> float:
    """The share of the records that is enough for centres, scales and coordinates; 1: all of them are looked at.

    `present`: the released share of the records that say something of every column: so many more are looked at.
    """
    strong = c.EARLY_STRENGTH / strength(1.0, size.relation, precision, columns)
    enough = math.ceil(max(strong / present, c.EARLY_LEAST / present, size.core_sample))
    few = size.count < c.EARLY_WORTH * enough or 8 * enough * columns > c.EARLY_BYTES
    return 1.0 if few else enough / size.count
