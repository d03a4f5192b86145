"""Which records share a group: a fixed number of slots, filled by secret coins (M1).

Guarantee: between neighbors the layouts can be coupled so that they differ in at most one slot; whatever looks at
the records through the layout sees at most one group changed, appeared or vanished. Proof: proofs/paper/groups.md.
"""

import numpy as np
from numpy.typing import NDArray

from dimfree.noise import Noise

EMPTY = -1  # a slot without a record
_KEY = 2**62

Layout = NDArray[np.int64]


def slots(count: int, groups: int, size: int, noise: Noise) -> Layout:
    """Record indices in slots (groups, size), EMPTY where there are more slots than records.

    `groups` and `size` are public or released numbers. Under add/remove `count` is private and `groups` must not be
    computed from it; under replace-one, where it is public, `full_groups` is the natural choice.
    """
    wanted = groups * size
    order = _permutation(max(count, wanted), noise)[:wanted]
    return np.where(order < count, order, EMPTY).reshape(groups, size)


def full_groups(count: float, size: int) -> int:
    """How many full groups a public or released number of records is worth."""
    return max(0, int(count // size))


def _permutation(items: int, noise: Noise) -> Layout:
    """Uniform, secret. Two keys for each item: both equal for some pair with probability below items²·2^-125."""
    first, second = noise.below(_KEY, items), noise.below(_KEY, items)
    return np.lexsort((second, first)).astype(np.int64)
