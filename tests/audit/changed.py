"""Releases of the audit's list, right and changed by a twin."""

import numpy as np

from dimfree.audit.numerics.calls import BUDGET, calls, ways
from dimfree.release import release_mean

QUICK = ("soft", "basic", "stable, replace-one", "paper", "variance profile")


def some(*names):
    return {name: call for name, call in calls().items() if name in names}


def changed(change, way="soft"):
    """A release whose outcome a twin has changed, knowing the table."""

    def release(X, **options):
        found = release_mean(X, **BUDGET, **ways()[way], **options)
        return change(found, np.asarray(X))

    return {way: release}
