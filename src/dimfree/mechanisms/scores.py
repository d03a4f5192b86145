"""Which coordinates vary, and how much: one noisy sum of clipped per-record scores (P10).

A record's score is the vector φ((x - c)²/(R·g²)), φ(u) = u up to 1 and 2√u - 1 beyond, clipped to norm C. Small
coordinates vanish in φ, so C pays only for those that matter. Sensitivity C; √2·C under replace-one, since scores are
non-negative. Proof: proofs/mechanisms/scores.md.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from dimfree.accounting.events import Gaussian
from dimfree.budget import Neighbours
from dimfree.clip import BALL, are_outside, clipped_total
from dimfree.mechanisms import Measured
from dimfree.mechanisms.search import STEPS, noisy_search
from dimfree.noise import Noise
from dimfree.rows import Columns, Floats
from dimfree.space import Space

_FINEST = 2.0**24
MOVES = {Neighbours.ADD_REMOVE: 1.0, Neighbours.REPLACE_ONE: math.sqrt(2)}  # of a clipped non-negative sum (P10)


def phi(u: Floats) -> Floats:
    """Identity up to 1, then as slow as a root: one wild coordinate cannot take the whole norm."""
    return np.where(u <= 1, u, 2 * np.sqrt(np.maximum(u, 1)) - 1)


def phi_inverse(v: Floats) -> Floats:
    return np.where(v <= 1, v, ((np.maximum(v, 1) + 1) / 2) ** 2)


@dataclass(frozen=True)
class Scoring:
    """Public: the centre, the guessed standard deviations, and the norm C of a score."""

    centre: Floats
    guess: Floats | float
    norm: float

    def scores(self, unit: float, values: Floats, columns: Columns) -> Floats:
        """φ of squared offsets in units of R·g²; one entry at a time."""
        with np.errstate(all="ignore"):
            units = np.broadcast_to(unit * np.square(self.guess), self.centre.shape)
            return phi((values - self.centre[columns]) ** 2 / units[columns])


def clipped_scores(space: Space, scoring: Scoring, unit: float) -> int:
    """How many records would be clipped with this unit R. Private."""
    scores = partial(scoring.scores, unit)
    return sum(int(are_outside(rows, scoring.norm, scores).sum()) for rows in space.valid_blocks())


def noisy_unit(
    space: Space, scoring: Scoring, allowed: float, grid: Floats, mu: float, *, noise: Noise
) -> Measured[float]:
    """The unit R of the grid at which about `allowed` records are clipped; the count moves by at most one."""

    def spare(unit: float) -> int:
        return round(allowed * STEPS) - clipped_scores(space, scoring, unit) * STEPS

    return noisy_search(spare, grid, 1.0, mu, "unit of the scores", noise=noise)


def noisy_scores(
    space: Space, scoring: Scoring, unit: float, mu: float, relation: Neighbours, *, noise: Noise
) -> Measured[Floats]:
    """The noisy sum of clipped scores, in units of the score."""
    total = np.zeros(space.dimension, dtype=np.int64)
    for rows in space.valid_blocks():
        total += clipped_total(rows, scoring.norm, partial(scoring.scores, unit))
    moves = BALL * MOVES[relation] * (1 + 1e-15)
    bits = max(0, math.ceil(math.log2(_FINEST * mu / moves)))
    step = scoring.norm / BALL / 2**bits
    event = Gaussian("variances", moves * 2**bits, moves * 2**bits / mu * (1 + 1e-15), space.dimension, step)
    noisy = total * 2**bits + noise.gaussian(event.stddev, space.dimension)
    return Measured(noisy * step, event)
