"""Which groups exist, for `release_means(..., keys="private")`: the search, and whom it leaves in a group.

What is found is released; all that follows uses the records of the named groups alone. Proof: proofs/release_groups.md.
"""

from dataclasses import replace

import numpy as np

from dimfree._types import Integers
from dimfree.accounting.budget import Budget
from dimfree.accounting.calibrate import calibrate_unlisted
from dimfree.accounting.events import Costs
from dimfree.accounting.several_runs.keys_first import keys_opening
from dimfree.data.gpu.device import device_memory_unspoken
from dimfree.data.people.labels import NOBODY, Key, alike, members
from dimfree.data.records import Records
from dimfree.errors import memory_unspoken
from dimfree.mechanisms.group_keys import published_keys
from dimfree.noise import Noise


@device_memory_unspoken()
@memory_unspoken()  # its text would tell how many people or keys there are
def find_groups(
    budget: Budget, records: Records, labels: Integers, keys: tuple[Key, ...], noise: Noise
) -> tuple[Costs, Records, Integers, tuple[Key, ...]]:
    """What the search cost, the records in the groups that it names, the place of each, and the names in their order.

    `labels`: the place of each record in `keys`. Both are private, and end here.
    """
    opening = keys_opening(budget)
    found = published_keys(labels, keys, calibrate_unlisted(budget), opening.neighbours, noise=noise)
    place = {key: at for at, key in enumerate(found.value)}
    moved = np.array([*(place.get(key, NOBODY) for key in keys), NOBODY], dtype=np.int64)
    return replace(opening, chosen=0, after=(found.event,)), *members(records, moved[labels]), alike(found.value)
