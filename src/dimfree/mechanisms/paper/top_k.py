"""The k largest of many scores, by one draw of Gumbel noise: k peels of the exponential mechanism (M3).

Proof: proofs/mechanisms/paper/top_k.md.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import check_between, check_count, check_integers
from dimfree.accounting.losses import Ranged
from dimfree.mechanisms import Charged
from dimfree.noise import Noise, check_noise

SCALES = (1e-9, 1e9)  # beyond, the noise would drown every count, or none


def loss_range(sensitivity: int, scale: float) -> float:
    """2·sensitivity/scale, rounded up: scores may move in both directions at once, so the losses spread over both."""
    return math.nextafter(float(Fraction(2 * sensitivity) / Fraction(scale)), math.inf)


def top_k(
    scores: NDArray[np.int64], count: int, scale: float, purpose: str, *, noise: Noise
) -> Charged[NDArray[np.int64], Ranged]:
    """Where the `count` largest scores seem to be, the largest first.

    Guarantee: `count` choices of range 2/scale each, if no score moves by more than one between neighbours.
    Accuracy: with probability 1 - β every pick is within scale·ln(count·len(scores)/β) of the best that was left.
    Proof: proofs/mechanisms/paper/top_k.md (M3).
    """
    whole = check_integers("scores", scores)
    width = check_between("scale", scale, *SCALES)
    event = Ranged(purpose, loss_range(1, width), check_count("count", count, most=len(whole)))
    return Charged(check_noise(noise, "noisy_top").noisy_top(whole, event.times, width), event)
