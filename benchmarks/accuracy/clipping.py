"""The mean of the records after the clipping that a release states."""

import math

import numpy as np

from dimfree import Release
from dimfree._types import Floats


def clipped_mean(X: Floats, release: Release) -> Floats:
    """Clip each record to the stated reach, and average; a column averages the records that have a value in it."""
    reach = release.reach
    if reach is None:
        return np.asarray(np.nanmean(X, axis=0))
    bound = math.inf if reach.cap is None else reach.cap
    Z = np.clip((X - reach.centre) / reach.scale, -bound, bound)
    present = np.isfinite(Z)
    Z = np.where(present, Z, 0.0)
    Z *= np.minimum(1.0, reach.radius / np.maximum(np.linalg.norm(Z, axis=1), 1e-300))[:, None]
    return np.asarray(reach.centre + reach.scale * Z.sum(axis=0) / np.maximum(present.sum(axis=0), 1))
