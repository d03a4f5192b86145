"""The mean of the records after the clipping that a release states."""

import math

import numpy as np

from dimfree import Release
from dimfree._types import Floats


def clipped_mean(X: Floats, release: Release) -> Floats:
    """Clip each record as the release states, and average; a column averages the records with a value in it."""
    clipping = release.clipping
    if clipping is None:
        return np.asarray(np.nanmean(X, axis=0))
    bound = math.inf if clipping.column_bound is None else clipping.column_bound
    Z = np.clip((X - clipping.center) / clipping.scale, -bound, bound)
    present = np.isfinite(Z)
    Z = np.where(present, Z, 0.0)
    Z *= np.minimum(1.0, clipping.radius / np.maximum(np.linalg.norm(Z, axis=1), 1e-300))[:, None]
    return np.asarray(clipping.center + clipping.scale * Z.sum(axis=0) / np.maximum(present.sum(axis=0), 1))
