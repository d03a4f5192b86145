"""A released mean read coordinate by coordinate: which ones stand out from their noise. Post-processing: free.

Letters: z = |mean| / standard deviation of the noise, a coordinate's strength.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dimfree.result import Release

CLEAR, PRECISE, UNCERTAIN, LOST = range(4)
WORDS = ("clear", "precise", "uncertain", "lost in noise")
NOISE, NOISE_AND_CLIPPING = "noise", "noise and allowance for clipping"
PRECISION = 0.1  # noise below this part of one record's standard deviation is small, whatever the mean

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Reading:
    """The mean, its error bars and a verdict for each coordinate.

    `low`, `high`: noise and, where there is one, the allowance for clipping (`bars` names them), each coordinate by
    itself. `all_low`, `all_high`: all coordinates at once, and with sampling where the release models its records
    (`covers` says of what).
    """

    mean: Floats
    noise: Floats
    strength: Floats
    low: Floats
    high: Floats
    all_low: Floats
    all_high: Floats
    spread: Floats | None  # of one record, where it was given or released
    shrunk: bool  # error bars stand about another point than the mean
    covers: str
    bars: str  # what the shorter error bars are made of
    verdicts: Places
    threshold: float  # the strength from which on a coordinate is clear; the median where it differs

    @classmethod
    def of(cls, release: Release, confidence: float) -> Self:
        """Of a release that was not refused."""
        low, high = release.interval(confidence)
        together = release.interval(confidence, simultaneous=True)
        box, spread = release.confidence_box(confidence), release.error_model.record_stddev
        return cls(
            mean=release.mean,
            noise=release.noise_stddev,
            strength=np.abs(release.unbiased_mean) / release.noise_stddev,
            low=low,
            high=high,
            all_low=box.low,
            all_high=box.high,
            spread=spread,
            shrunk=release.denoised,
            covers=box.covers,
            bars=NOISE if release.error_model.clipping is None else NOISE_AND_CLIPPING,
            verdicts=_verdicts((low, high), together, release.noise_stddev, spread),
            threshold=float(np.median((together[1] - together[0]) / 2 / release.noise_stddev)),
        )

    @property
    def dimension(self) -> int:
        return len(self.mean)

    @property
    def usable(self) -> int:
        """How many coordinates are clear or precise."""
        return int((self.verdicts <= PRECISE).sum())

    def counts(self) -> list[tuple[str, int]]:
        """(verdict, how many), in the order of the verdicts."""
        return [(word, int((self.verdicts == verdict).sum())) for verdict, word in enumerate(WORDS)]

    def strongest(self) -> Places:
        """All coordinates, the strongest first; equal ones in the order of the table."""
        return np.argsort(-self.strength, kind="stable")


def _verdicts(
    alone: tuple[Floats, Floats], together: tuple[Floats, Floats], noise: Floats, spread: Floats | None
) -> Places:
    """Clear: zero is outside, all coordinates at once. Uncertain: outside this coordinate's own interval only."""
    clear, leaning = ((low > 0) | (high < 0) for low, high in (together, alone))
    precise = np.zeros_like(clear) if spread is None else noise <= PRECISION * spread
    return np.select([clear, precise, leaning], [CLEAR, PRECISE, UNCERTAIN], LOST).astype(np.intp)


def drawn_places(reading: Reading, most: int) -> Places:
    """At most so many coordinates, in their order: the strongest half, and others spread evenly over the rest."""
    order = reading.strongest()
    if len(order) <= most:
        return np.sort(order)
    head, rest = order[: most // 2], np.sort(order[most // 2 :])
    evenly = rest[np.linspace(0, len(rest) - 1, most - len(head)).round().astype(np.intp)]
    return np.sort(np.concatenate([head, evenly]))


def drawn_ranks(dimension: int, most: int) -> Places:
    """At most so many ranks from 0: the first ones all, then ever sparser."""
    if dimension <= most:
        return np.arange(dimension)
    return np.unique(np.geomspace(1, dimension, most).round().astype(np.intp)) - 1
