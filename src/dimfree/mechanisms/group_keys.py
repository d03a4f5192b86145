"""Which groups exist: keys that nobody listed, published where enough people hold them (M4 with Gaussian noise).

Every key that somebody holds gets a noisy count; a key is published if that reaches a threshold which the key of one
person reaches with small probability. Only names leave, no count. Proof: proofs/mechanisms/group_keys.md.
"""

from collections.abc import Sequence

import numpy as np

from dimfree._types import Integers
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import Unlisted
from dimfree.data.people.labels import Key, public_order
from dimfree.mechanisms import Measured
from dimfree.mechanisms.gaussian_histogram import moved_counts, publishing
from dimfree.noise import Noise

PURPOSE = "which groups exist"


def least_people(branch: Unlisted, relation: Neighbours) -> float:
    """How many people, noise included, a key needs to be published. Public."""
    event, _, least = publishing(moved_counts(1, relation), branch.mu, branch.failure, PURPOSE)
    return least * event.step


def published_keys(
    places: Integers, keys: Sequence[Key], branch: Unlisted, relation: Neighbours, *, noise: Noise
) -> Measured[tuple[Key, ...]]:
    """The keys that many people hold, in public order.

    `places`: for each person the place of their key in `keys`, -1 without one: a function of this person's rows.
    Guarantee: the profile of `branch` for tables that differ by one person. Proof: proofs/mechanisms/group_keys.md.
    """
    event, bits, least = publishing(moved_counts(1, relation), branch.mu, branch.failure, PURPOSE)
    counts = np.bincount(places[places >= 0], minlength=len(keys))
    held = sorted(np.flatnonzero(counts).tolist(), key=lambda place: public_order(keys[place]))
    if not held:
        return Measured((), event)
    noisy = counts[held] * 2**bits + noise.gaussian(event.stddev, len(held))
    return Measured(tuple(keys[place] for place, count in zip(held, noisy, strict=True) if count >= least), event)
