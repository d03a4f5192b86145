"""Which counts reach a threshold, at most k of them: the sparse vector technique, with corrected constants.

Noise of scale s on the threshold, *redrawn after every positive answer*; noise of scale 2s on every count; stop after
k positive answers. Everything up to one positive answer is 2/s-private, whatever its length; k of them compose.
(The paper prints one draw of the threshold and s = sqrt(32k·ln(1/delta)/(epsilon·m)); see the errata.)
Proof: proofs/paper/sparse_vector.md.
"""

import math

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import check_between, check_count, check_finite, check_integers, check_probability
from dimfree.accounting.losses import Approximate
from dimfree.noise import Noise, check_noise
from dimfree.paper.noisy import Priced


def sparse_scale(most: int, epsilon: float, delta: float) -> float:
    """s: sqrt(32k·ln(1/delta))/epsilon (Dwork–Roth), or 2k/epsilon where their composition does not cover it.

    With e = 2/s the k stretches are together k·e-private, and (k·e·tanh(e/2) + e·sqrt(2k·ln(1/delta)), delta)-private.
    """
    log = -math.log(delta)
    scale = math.sqrt(32 * most * log) / epsilon * (1 + 1e-12)
    each = 2 / scale
    advanced = most * each * math.tanh(each / 2) + each * math.sqrt(2 * most * log)
    if min(most * each, advanced * (1 + 1e-12)) > epsilon:
        return 2 * most / epsilon * (1 + 1e-12)
    return scale


def sparse_vector(
    queries: NDArray[np.int64],
    threshold: float,
    most: int,
    epsilon: float,
    delta: float,
    *,
    noise: Noise,
    purpose: str = "sparse vector",
) -> Priced[list[int], Approximate]:
    """The positions of the first `most` counts that are at least `threshold` after noise, in order.

    Guarantee: (epsilon, delta), if no count moves by more than one between neighbors, in either direction.
    Proof: proofs/paper/sparse_vector.md.

    Parameters
    ----------
    queries : array of int64
        The counts, in the order in which they are asked. Private.
    threshold : float
        Public; rounded up to a whole number.
    most : int
        At least 1: how many positions are returned at most.
    epsilon, delta : float
        The cost: epsilon from 1e-9 to 1e9, delta in (0, 1).
    noise : Noise
        `SystemNoise()`, or `SeededNoise(seed)` in a test.
    purpose : str
        Named in the cost.

    Returns
    -------
    Priced
        `value`: the list of positions. `event`: the cost.

    Raises
    ------
    InvalidParameter
        If a number is out of range, or `queries` is no vector of integers. No count is quoted.

    Examples
    --------
    >>> import numpy as np
    >>> from dimfree import SeededNoise
    >>> from dimfree.paper import sparse_vector
    >>> sparse_vector(np.array([0, 5000, 0, 9000]), 2000, 2, 1.0, 1e-6, noise=SeededNoise(0)).value
    [1, 3]
    """
    event = Approximate(purpose, check_between("epsilon", epsilon, 1e-9, 1e9), check_probability("delta", delta))
    bar = math.ceil(check_finite("threshold", threshold))  # counts and noise are integers
    scale = sparse_scale(check_count("most", most), event.epsilon, event.delta)
    check_noise(noise, "laplace")
    counts = check_integers("queries", queries).tolist()
    return Priced(_first_above(counts, bar, most, scale, noise), event)


def _first_above(counts: list[int], bar: int, most: int, scale: float, noise: Noise) -> list[int]:
    found: list[int] = []
    lifted = bar + int(noise.laplace(scale, 1)[0])
    for place, (count, drawn) in enumerate(zip(counts, noise.laplace(2 * scale, len(counts)).tolist(), strict=True)):
        if count + drawn >= lifted:
            found.append(place)
            if len(found) == most:
                break
            lifted = bar + int(noise.laplace(scale, 1)[0])  # redrawn after a positive answer
    return found
