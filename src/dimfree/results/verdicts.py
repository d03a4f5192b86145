"""Whether a released mean is useful, column by column: its noise compared with the spread of the column.

Post-processing. The spread counts at the unfavourable end of its bounds: a column is called precise only if it is so
for the smallest spread that the release leaves possible.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dimfree.results.release import Release

PRECISE, ROUGH, LOST, UNLEARNED = range(4)
NAMES = ("precise", "rough", "lost in noise", "spread not learned")
NO_INTERVAL = "no interval: records may lie farther out than was measured"  # if `one_value` is True
NO_MODEL = "no interval: the population is not modelled"
PRECISION = 0.1  # of one record's standard deviation: noise below it is small

Verdicts = NDArray[np.intp]


def verdicts(release: Release) -> Verdicts:
    """One verdict for each column of a release that was not refused."""
    bounds = release.spread_bounds()
    if bounds is None:
        return np.full(release.dimension, UNLEARNED, dtype=np.intp)
    noise, (low, high) = release.noise_stddev, bounds
    unlearned = low <= 0
    lost = (noise > high) | (~unlearned & (noise > low))
    chosen = [lost, unlearned, noise <= PRECISION * low]
    return np.select(chosen, [LOST, UNLEARNED, PRECISE], ROUGH).astype(np.intp)


def noise_line(releases: Sequence[Release]) -> str:
    """How many columns of these releases have noise below a tenth of their spread, above it, or neither known."""
    found = np.concatenate([verdicts(release) for release in releases])
    precise, lost, unlearned = (int((found == verdict).sum()) for verdict in (PRECISE, LOST, UNLEARNED))
    have = "columns have" if len(found) > 1 else "column has"
    line = f"{precise} of {len(found)} {have} noise below a tenth of the spread, {lost} above one spread"
    return line if not unlearned else f"{line}; spread not learned: {unlearned}, whose noise may be above it"
