"""A released mean coordinate by coordinate: noise compared with the spread and with the mean. Post-processing.

Notation: z = |mean| / standard deviation of the noise, called the strength of a coordinate.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree.results.confidence_sets import Target, interval_note
from dimfree.results.quantiles import coordinate_quantile
from dimfree.results.release import Release
from dimfree.results.verdicts import NAMES, NO_INTERVAL, NO_MODEL, PRECISE, noise_line, verdicts

MIXED_UNITS = 100.0  # ratio of spreads above which columns do not share an axis

Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Reading:
    """The mean, its error bars and a verdict for each coordinate.

    `low`, `high`: confidence intervals of the target, each coordinate separately. `all_low`, `all_high`: all
    coordinates at once. Where a coordinate has no interval all four are its unbiased mean, so that no bar is drawn.
    """

    mean: Floats
    noise: Floats
    strength: Floats
    low: Floats
    high: Floats
    all_low: Floats
    all_high: Floats
    over_spread: Floats  # upper bound on noise over the spread of one record; infinite: not known
    spread: Floats  # of one record, at the low end of what is known; 0: not known
    by_columns: bool  # every column was read by itself
    bounded: bool  # the spread is known up to a factor only
    line: str  # noise compared with the spread, in one sentence
    note: str  # what the intervals cover
    verdicts: Places
    without: NDArray[np.bool_]  # coordinates without an interval
    why_without: str
    clear: int  # how many means have a certain sign, all at once
    threshold: float  # the strength above which the sign of the sample mean is certain

    @classmethod
    def of(cls, release: Release, level: float, target: Target = "population") -> Self:
        """Of a release that was not refused."""
        together = release.confidence_interval(level, target=target, simultaneous=True)
        ends = (*release.confidence_interval(level, target=target), *together)
        without = np.isinf(ends[0])
        low, high, all_low, all_high = (np.where(without, release.mean, end) for end in ends)
        clipping = release.error_model.clipping
        return cls(
            mean=release.mean,
            noise=release.noise_stddev,
            strength=np.abs(release.mean) / release.noise_stddev,
            low=low,
            high=high,
            all_low=all_low,
            all_high=all_high,
            over_spread=release.noise_over_spread(),
            spread=np.zeros(release.dimension) if (bounds := release.spread_bounds()) is None else bounds[0],
            by_columns=release.reach is not None,
            bounded=release.shape is not None,
            line=noise_line([release]),
            note=interval_note(release.error_model, target),
            verdicts=verdicts(release),
            without=without,
            why_without=NO_MODEL if without.all() and not release.one_value.all() else NO_INTERVAL,
            clear=int(((together[0] > 0) | (together[1] < 0)).sum()),
            threshold=coordinate_quantile(level, release.dimension) * float(np.hypot(1.0, clipping)),
        )

    @property
    def dimension(self) -> int:
        return len(self.mean)

    @property
    def precise(self) -> int:
        """How many coordinates have noise below a tenth of their spread."""
        return int((self.verdicts == PRECISE).sum())

    @property
    def compared(self) -> bool:
        """Whether any coordinate's noise can be compared with its spread."""
        return bool(np.isfinite(self.over_spread).any())

    @property
    def mixed(self) -> bool:
        """Whether the units of the columns differ so much that one axis would hide most of them."""
        known = self.spread[self.spread > 0]
        return 2 * len(known) >= self.dimension and bool(known.max() > MIXED_UNITS * known.min())

    def in_spreads(self) -> Self:
        """Every column from its own mean, in units of its own spread; all 0 where that is not known."""
        origin, known = (self.low + self.high) / 2, self.spread > 0
        unit = np.where(known, self.spread, np.inf)
        places = {
            name: (getattr(self, name) - origin) / unit for name in ("mean", "low", "high", "all_low", "all_high")
        }
        return replace(self, **places)

    def counts(self) -> list[tuple[str, int]]:
        """(verdict, how many), in the order of the verdicts."""
        return [(word, int((self.verdicts == verdict).sum())) for verdict, word in enumerate(NAMES)]

    def strongest(self) -> Places:
        """All coordinates, the strongest first; equal ones in the order of the table."""
        return np.argsort(-self.strength, kind="stable")

    def foremost(self) -> Places:
        """All coordinates, those first that a reader has to know of: by columns the noisiest beside their spread."""
        return np.argsort(-self.over_spread, kind="stable") if self.by_columns else self.strongest()


def drawn_places(reading: Reading, most: int) -> Places:
    """At most so many coordinates, in their order: the foremost half, and others spread evenly over the rest."""
    order = reading.foremost()
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
