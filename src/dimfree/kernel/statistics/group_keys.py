"""Which groups exist: keys that nobody listed, published where enough people hold them (M4 with Gaussian noise).

Every key that somebody holds gets a noisy count; a key is published if that reaches a threshold which the key of one
person reaches with small probability. Only names leave, no count. Proof: proofs/statistics/group_keys.md.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from dimfree._types import Integers
from dimfree.accounting.budget import CHANGED_RECORDS, Neighbours
from dimfree.accounting.events import Gaussian, Unlisted, charged_gaussian, refining_bits

PURPOSE = "which groups exist"


def publishing(branch: Unlisted, relation: Neighbours) -> tuple[Gaussian, int, int]:
    """The cost of the noisy counts, the bits of their grid, and the least count that is published, in its steps.

    One person moves one count by one, an exchange two counts (M2). Of the keys that one person has alone, one is
    published with probability `branch.failure` at most.
    """
    cells = CHANGED_RECORDS[relation]
    bits = refining_bits(math.sqrt(cells), branch.mu)
    moves = math.sqrt(cells) * 2**bits * (1 + 1e-15)
    event = charged_gaussian(moves, branch.mu, cells, 1 / 2**bits, PURPOSE)
    distance = float(-ndtri(branch.failure / cells)) * (1 + 1e-12) + 1e-9
    return event, bits, 2**bits + math.ceil(event.stddev * distance) + 1


def least_people(branch: Unlisted, relation: Neighbours) -> float:
    """How many people, noise included, a key needs to be published. Public."""
    event, _, least = publishing(branch, relation)
    return least * event.step


def key_counts(places: Integers, keys: int, order: Callable[[int], Any]) -> tuple[list[int], Integers]:
    """The places of the keys that somebody holds, in public order, and how many people hold each. Private.

    `places`: for each person the place of their key, -1 without one: a function of this person's rows.
    """
    counts = np.bincount(places[places >= 0], minlength=keys)
    held = sorted(np.flatnonzero(counts).tolist(), key=order)
    return held, counts[held]
