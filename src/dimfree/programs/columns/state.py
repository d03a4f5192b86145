"""The state of the per-column estimator. Every step takes a state and returns a new one.

A state holds released values and public numbers, and the setting through which queries read the records. The whole run
is Gaussian releases whose precisions sum to at most P, whatever was released before (P17). Letters: P = precision
of the run, d = columns, n̂ = released number of records.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from dimfree._types import Booleans, Floats
from dimfree.kernel import Released
from dimfree.programs.choose import constants as c
from dimfree.programs.choose.core import compute_snr
from dimfree.programs.columns.far import Far
from dimfree.programs.learn.shrinkage import EarlierSDs, VarianceRelease
from dimfree.programs.learn.state import StepSetting

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class ColumnState:
    """Estimated center and SD of every column, and the remaining precision."""

    setting: StepSetting
    limits: tuple[Floats, Floats]  # the declared bounds of each column; infinite if not declared
    relative: bool  # whether errors are relative to the SD of each column (objective="relative")
    precision: float  # P
    left: float
    center: Floats
    center_variance: Floats
    stddev: Floats
    log_variance: Floats  # of ln stddev
    unseen: Booleans  # columns that show only zeros, or values beyond all cells
    narrow: Booleans  # columns that may be narrower than any histogram resolves, down to constant ones
    without_interval: Booleans  # those of them that are likely constant: their SD is what the noise may hide
    present: Floats  # share of the records that have a value; 1 if a record without one is invalid
    present_stddev: Floats  # of that share
    releases: int = 0
    far: Far | None = None  # the posterior of far values by the votes
    scores: VarianceRelease | None = None
    earlier: EarlierSDs | None = None  # before the scores

    @classmethod
    def at_start(
        cls, setting: StepSetting, mu: float, limits: tuple[Floats, Floats], *, relative: bool
    ) -> "ColumnState":
        """Start with the declared bounds alone."""
        d, precision = setting.view.dimension, mu**2 * (1 - 1e-9)
        nothing, none = np.zeros(d), np.zeros(d, dtype=np.bool_)
        vague = np.full(d, 2 * c.UNCERTAIN_LOG_VARIANCE)
        low, high = np.where(np.isfinite(limits[0]), limits, 0.0)
        known = (low + (high - low) / 2, nothing, (high - low) / 2, vague, none, none, none, np.ones(d), nothing)
        return cls(setting, limits, relative, precision, precision, *known)

    def within_limits(self) -> "ColumnState":
        """Return the state whose balls contain every record, if all columns have declared bounds.

        Their centers are the middles of the bounds. The offset of a mean from there is multiplied by the error of the
        number of records, which is released again; shares of present values are not: there the estimated centers stay.
        """
        by_entry, low, high = self.setting.view.by_entry, *self.limits
        middle = low + (high - low) / 2
        state = self if by_entry else replace(self._recount((self.center - middle) / (high - middle)), center=middle)
        wide = state.farthest
        return replace(state, center_variance=np.zeros_like(middle), stddev=np.sqrt(wide * state.bounded_sd(wide)))

    def _recount(self, places: Floats) -> "ColumnState":
        """Release the number of records again, as precisely as means at these places of half a range need it."""
        setting = self.setting
        if not setting.count_stddev:
            return self
        off = float(np.sqrt(np.mean(places**2))) or c.USUAL_OFFSET
        share = off / (math.sqrt(len(places)) + off) * self.left / self.precision
        state, found = self.release(share, setting.view.valid_count)
        weight = setting.count_stddev**2 / (setting.count_stddev**2 + found.stddev**2)
        count = max(setting.count + weight * (found.value - setting.count), 1.0)
        return replace(state, setting=replace(setting, count=count, count_stddev=math.sqrt(weight) * found.stddev))

    @property
    def declared(self) -> Booleans:
        """The columns with declared bounds."""
        return np.asarray(np.isfinite(self.limits[0]))

    @property
    def open(self) -> Booleans:
        """The columns that are estimated: with few records only those without declared bounds."""
        enough = self._compute_snr(len(self.present)) >= c.MIN_SNR
        return ~self.declared | enough

    def bounded_sd(self, wide: Floats) -> Floats:
        """Return the SD of each column for a ball that contains all values, up to `wide` from the center.

        The scales √(wide·SD) give the least noise relative to the SDs, never more than the ranges as scales; a minimum
        SD limits what a narrow column costs the others.
        """
        return np.clip(self.stddev, c.MIN_BOUNDED_SD * wide, wide) if self.relative else wide

    def gain_of_clipping(self, radius: float) -> float:
        """Return the factor by which a ball of this radius lowers the noise below that of all declared ranges.

        It is the geometric mean over columns, without those that may be constant; infinite if a column has no bounds.
        """
        if not self.declared.all():
            return math.inf
        half = np.subtract(*self.limits[::-1]) / 2
        scale = np.sqrt(half * self.bounded_sd(half))
        held, varies = scale * np.linalg.norm(half / scale), ~self.narrow
        gains = np.log(held / (self.scale * radius))[varies if varies.any() else slice(None)]
        return float(np.exp(gains.mean()))

    @property
    def farthest(self) -> Floats:
        """The largest distance of a value of each column from its center."""
        return np.maximum(self.center - self.limits[0], self.limits[1] - self.center)

    @property
    def longest_record(self) -> float:
        """The largest length that any record may have, in columns divided by `scale`."""
        return float(np.linalg.norm(self.farthest / self.scale)) * (1 + 1e-9)

    @property
    def snr(self) -> float:
        """n̂·√(P/d): the number of records over the noise of a column's count, d = number of estimated columns."""
        return self._compute_snr(int(self.open.sum()))

    def _compute_snr(self, columns: int) -> float:
        setting = self.setting
        count = setting.count * float(self.present.mean())
        return compute_snr(count, setting.relation, self.precision, columns)

    @property
    def ease(self) -> float:
        """The factor by which shares of P fall if records are many."""
        return min(1.0, c.EASY_SNR / self.snr)

    @property
    def counts(self) -> Floats:
        """The released number of records with a value, of each column."""
        return self.setting.count * self.present

    @property
    def miscount(self) -> Floats:
        """The SD of the share of present values, relative to it."""
        return self.present_stddev / self.present

    @property
    def count_stddevs(self) -> Floats:
        """The SDs of `counts`."""
        return np.hypot(self.setting.count_stddev * self.present, self.setting.count * self.present_stddev)

    @property
    def sd_about_center(self) -> Floats:
        """The SD of each column about its center, with the error of the center; no value lies beyond its bounds.

        In an almost constant column any other value within its bounds is within the usual radius.
        """
        usual = self.farthest / (c.USUAL_RADIUS * math.sqrt(len(self.stddev)))
        least = np.where(self.declared & self.narrow, usual, 0.0)
        about = np.maximum(np.sqrt(self.stddev**2 + self.center_variance), least)
        return np.asarray(np.minimum(about, self.farthest))

    @property
    def scale(self) -> Floats:
        """The divisor of each column before records are clipped to a ball.

        With objective="total", constant columns together add at most a tenth to the squared length: values that may not
        exist do not increase the noise of the others.
        """
        about, hidden = self.sd_about_center, self.without_interval
        if self.relative:
            return about
        rest = float(about[~hidden].sum())
        most = c.MAX_ONE_VALUE_SHARE * rest / hidden.sum() if hidden.any() and rest > 0 else np.inf
        return np.asarray(about / np.sqrt(np.where(hidden, np.minimum(about, most), about)))

    @property
    def parts(self) -> Floats:
        """The contribution of each column to the length of a record, divided by `scale`; a missing value adds 0."""
        return self.sd_about_center / self.scale * np.sqrt(self.present)

    @property
    def length(self) -> float:
        """The expected length of a record, in columns divided by `scale`."""
        return float(np.linalg.norm(self.parts))

    @property
    def longest(self) -> float:
        """The largest SD of a column divided by its `scale`."""
        return float((self.sd_about_center / self.scale).max())

    @property
    def column_bound(self) -> float:
        """The clipping bound of one value, divided by `scale`; it follows from released values."""
        return max(c.ENTRY_LENGTHS * self.length, c.ENTRY_SDS * self.longest)

    @property
    def rank(self) -> float:
        """The effective number of columns in the length of a record."""
        squares = self.parts**2
        return float(squares.sum() ** 2 / (squares**2).sum())

    @property
    def widest(self) -> float:
        """The squared length of a record over the largest contribution of a column."""
        return (self.length / float(self.parts.max())) ** 2

    def release(self, share: float, query: Callable[[float], Released[T]]) -> tuple["ColumnState", Released[T]]:
        """Release a query at the mu of a share of P, or of the remaining precision, which the state pays (P17)."""
        taken = min(share * self.precision, self.left)
        return replace(self, left=self.left - taken, releases=self.releases + 1), query(math.sqrt(taken))
