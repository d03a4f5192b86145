"""A prior on fixed atoms, fitted to released values by a fixed number of EM steps. Post-processing; sees no record."""

import numpy as np

from dimfree._types import Floats

_BLOCK = 2**16  # entries worked on at a time, near a core


def posterior(density: Floats, start: Floats, steps: int, pseudo: float = 0.0) -> Floats:
    """Probabilities of the atoms for each row of densities (rows, atoms), after so many EM steps from `start`.

    `pseudo`: so many rows more are taken to be distributed as `start`.
    """
    weights = start
    for _ in range(steps):
        weights = (_sums(density, weights) + pseudo * start) / (len(density) + pseudo)
    joint = density * weights
    joint /= joint.sum(axis=1, keepdims=True)
    return joint


def _sums(density: Floats, weights: Floats) -> Floats:
    """Σ over the rows of the probabilities of the atoms, a block of rows at a time.

    The first row of the table is the sum so far: rows are added in their order, wherever a block ends.
    """
    rows, each = max(1, _BLOCK // len(weights)), (density @ weights)[:, None]
    table = np.zeros((min(rows, len(density)) + 1, len(weights)))
    for first in range(0, len(density), rows):
        block = density[first : first + rows]
        joint = np.multiply(block, weights, out=table[1 : len(block) + 1])
        joint /= each[first : first + rows]
        table[0] = np.einsum("ij->j", table[: len(block) + 1])
    return table[0]
