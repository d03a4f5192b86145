"""A public random rotation: every record's coordinates are mixed until no one of them is large.

Each round flips signs and applies the Walsh–Hadamard transform, in d·log d additions. Privacy asks of it only that each
record is rotated by itself: what follows looks at the rotated records only. Notation: d columns, D >= d a power of two.
Proof: proofs/comparison/baselines/huang_liang_yi.md.
"""

import math

import numpy as np

from dimfree.kernel.rows.bases.hadamard import Rounds, padded_width
from dimfree.simulation import public_simulation

_SEED = 20210601
_ROUNDS = 3  # as in the authors' experiments


class Rotation(Rounds):
    """Orthogonal up to rounding; the same one for everybody."""

    name = "random rotation"

    def __init__(self, dimension: int) -> None:
        width = padded_width(dimension)
        flips = public_simulation(_SEED).integers(0, 2, (_ROUNDS, width))
        signs = (1 - 2 * flips).astype(np.float64)
        super().__init__(dimension, signs / math.sqrt(width))
