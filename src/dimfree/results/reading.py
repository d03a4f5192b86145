"""A released mean, ready to be shown: its intervals, a verdict for each column, and numbers as text.

A verdict compares noise with spread. The spread counts at the unfavourable end of its bounds: a column is called
precise only if it is so for the smallest spread that the release leaves possible. Post-processing of public values.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree.accounting.budget import large_delta
from dimfree.results.confidence_sets import Target, interval_note
from dimfree.results.names import with_noise_digits
from dimfree.results.quantiles import coordinate_quantile
from dimfree.results.release import Release

if TYPE_CHECKING:
    from dimfree.results.grouped import Means

PRECISE, ROUGH, LOST, UNLEARNED = range(4)
NAMES = ("precise", "rough", "lost in noise", "spread not learned")
NO_INTERVAL = "no interval: records may lie farther out than was measured"  # if `one_value` is True
NO_MODEL = "no interval: the population is not modelled"
PRECISION = 0.1  # of one record's standard deviation: noise below it is small
MIXED_UNITS = 100.0  # ratio of spreads above which columns do not share an axis

Places = NDArray[np.intp]


def verdicts(release: Release) -> Places:
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


def delta_warning(release: "Release | Means") -> str | None:
    """A warning where delta is large for the number of records that is stated; None where none is, or all is well."""
    each = release.values() if isinstance(release, Mapping) else [release]
    counts = [found for one in each if isinstance(found := one.parameters.get("count"), int | float)]
    return large_delta(release.guarantee.delta, sum(counts)) if counts else None


@dataclass(frozen=True, eq=False)
class Reading:
    """The mean, its error bars and a verdict for each coordinate of a release that was not refused.

    `low`, `high`: confidence intervals of the target, each coordinate separately. `all_low`, `all_high`: all
    coordinates at once. Where a coordinate has no interval all four are its unbiased mean, so that no bar is drawn.
    """

    release: Release
    mean: Floats
    low: Floats
    high: Floats
    all_low: Floats
    all_high: Floats
    noise: Floats
    over_spread: Floats  # upper bound on noise over the spread of one record; infinite: not known
    spread: Floats  # of one record, at the low end of what is known; 0: not known
    verdicts: Places
    without: NDArray[np.bool_]  # coordinates without an interval
    clear: int  # how many means have a certain sign, all at once
    threshold: float  # the strength above which the sign of the sample mean is certain
    note: str  # what the intervals cover

    @classmethod
    def of(cls, release: Release, level: float, target: Target = "population") -> Self:
        together = release.confidence_interval(level, target=target, simultaneous=True)
        ends = (*release.confidence_interval(level, target=target), *together)
        without = np.isinf(ends[0])
        low, high, all_low, all_high = (np.where(without, release.mean, end) for end in ends)
        bounds, allowed = release.spread_bounds(), float(np.hypot(1.0, release.error_model.clipping))
        return cls(
            release,
            release.mean,
            *(low, high, all_low, all_high),
            noise=release.noise_stddev,
            over_spread=release.noise_over_spread(),
            spread=np.zeros(release.dimension) if bounds is None else bounds[0],
            verdicts=verdicts(release),
            without=without,
            clear=int(((together[0] > 0) | (together[1] < 0)).sum()),
            threshold=coordinate_quantile(level, release.dimension) * allowed,
            note=interval_note(release.error_model, target),
        )

    @property
    def dimension(self) -> int:
        return len(self.mean)

    @property
    def strength(self) -> Floats:
        return np.abs(self.release.mean) / self.noise

    @property
    def by_columns(self) -> bool:
        """Whether every column was read separately."""
        return self.release.reach is not None

    @property
    def bounded(self) -> bool:
        """Whether the spread is known up to a factor only."""
        return self.release.shape is not None

    @property
    def line(self) -> str:
        """Noise compared with the spread, in one sentence."""
        return noise_line([self.release])

    @property
    def precise(self) -> int:
        """How many coordinates have noise below a tenth of their spread."""
        return int((self.verdicts == PRECISE).sum())

    @property
    def compared(self) -> bool:
        """Whether any coordinate's noise can be compared with its spread."""
        return bool(np.isfinite(self.over_spread).any())

    @cached_property
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

    def drawn_places(self, most: int) -> Places:
        """At most so many coordinates, in their order: the foremost half, and others spread evenly over the rest."""
        order = self.foremost()
        if len(order) <= most:
            return np.sort(order)
        head, rest = order[: most // 2], np.sort(order[most // 2 :])
        evenly = rest[np.linspace(0, len(rest) - 1, most - len(head)).round().astype(np.intp)]
        return np.sort(np.concatenate([head, evenly]))

    def mean_text(self, place: int) -> str:
        """The mean with two digits of its noise."""
        return with_noise_digits(float(self.noise[place]), float(self.mean[place]))

    def interval_text(self, place: int) -> str:
        """Half the width of the interval, or why there is none."""
        if self.without[place]:
            return NO_MODEL if self.without.all() and not self.release.one_value.all() else NO_INTERVAL
        half = float(self.high[place] - self.low[place]) / 2
        return f"± {with_noise_digits(float(self.noise[place]), half)}"

    def over_text(self, place: int, digits: str = ".2g", unknown: str = "not known") -> str:
        """Noise over spread."""
        ratio = float(self.over_spread[place])
        return f"{'≤ ' if self.bounded else ''}{ratio:{digits}}" if math.isfinite(ratio) else unknown


def drawn_ranks(dimension: int, most: int) -> Places:
    """At most so many ranks from 0: the first ones all, then ever sparser."""
    if dimension <= most:
        return np.arange(dimension)
    return np.unique(np.geomspace(1, dimension, most).round().astype(np.intp)) - 1
