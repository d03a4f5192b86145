"""Sums of clipped records with noise, block by block: the largest tables take gigabytes."""

from collections.abc import Iterator

import numpy as np

from benchmarks.peers.gaussians import Gaussians
from dimfree._types import Floats

_ENTRIES = 2**22  # of a working block


def blocks(X: Floats) -> Iterator[Floats]:
    step = max(1, _ENTRIES // X.shape[1])
    return (X[start : start + step] for start in range(0, len(X), step))


def lengths(X: Floats, center: Floats, scale: Floats | float = 1.0) -> Floats:
    """|(x - center) / scale| of every record."""
    return np.concatenate([np.zeros(0), *(np.linalg.norm((rows - center) / scale, axis=1) for rows in blocks(X))])


def sum_clipped(
    X: Floats, center: Floats, radius: float, scale: Floats | float = 1.0, clipping: Floats | None = None
) -> Floats:
    """Σ of (x - center) / scale, each shortened to `radius`; first every entry to within `clipping`."""
    total = np.zeros(X.shape[1])
    for rows in blocks(X):
        offsets = (rows - center) / scale
        if clipping is not None:
            np.clip(offsets, -clipping, clipping, out=offsets)
        total += np.minimum(1.0, radius / np.maximum(np.linalg.norm(offsets, axis=1), 1e-300)) @ offsets
    return total


def clipped_mean(
    X: Floats,
    center: Floats,
    radius: float,
    count: float,
    noise: Gaussians,
    mu: float,
    *,
    scale: Floats | float = 1.0,
    clipping: Floats | None = None,
) -> Floats:
    """The mean of the clipped records, over a released or public count: one record moves the sum by its radius."""
    total = sum_clipped(X, center, radius, scale, clipping)
    return np.asarray(center + scale * noise.release(total, noise.changed * radius, mu) / count)
