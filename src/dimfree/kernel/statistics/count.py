"""A noisy total: the number of records, or the total weight (M6, P3, P5'). Proof: proofs/statistics/counts.md."""

import numpy as np

from dimfree._types import Integers
from dimfree.data.blocks import Rows


def number_of(rows: Rows) -> Integers:
    return np.array([len(rows)], dtype=np.int64)
