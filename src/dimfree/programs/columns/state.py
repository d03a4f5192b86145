"""The state of a run that reads every column by itself. Every step takes a state and returns a new one.

A state holds released values and public numbers, and the setting through which mechanisms see the records. The whole
run is Gaussian releases whose precisions sum to at most P, whatever was released before (P17). Letters: P = precision
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
from dimfree.programs.choose.core import strength
from dimfree.programs.columns.far import Far
from dimfree.programs.learn.shrinkage import EarlierSpreads, VarianceRelease
from dimfree.programs.learn.state import StageSetting

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class ColumnState:
    """Centre and spread of every column as known so far, and the precision that is left."""

    setting: StageSetting
    limits: tuple[Floats, Floats]  # the declared ends of each column; infinite where none were declared
    relative: bool  # whether columns count by their own spread (objective="relative")
    precision: float  # P
    left: float
    centre: Floats
    centre_variance: Floats
    stddev: Floats
    log_variance: Floats  # of ln stddev
    unseen: Booleans  # columns in which only zeros were seen, or entries beyond all cells
    narrow: Booleans  # columns that may be narrower than any look could tell, down to constant ones
    one_value: Booleans  # those of them that likely hold one value: their spread is what the noise may hide
    present: Floats  # share of the records that have an entry; 1 where a record without one is invalid
    present_stddev: Floats  # of that share
    releases: int = 0
    far: Far | None = None  # what votes say of entries far out
    scores: VarianceRelease | None = None
    earlier: EarlierSpreads | None = None  # before the scores

    @classmethod
    def at_start(
        cls, setting: StageSetting, mu: float, limits: tuple[Floats, Floats], *, relative: bool
    ) -> "ColumnState":
        """Nothing is known of any column but declared ends."""
        d, precision = setting.view.dimension, mu**2 * (1 - 1e-9)
        nothing, none = np.zeros(d), np.zeros(d, dtype=np.bool_)
        vague = np.full(d, 2 * c.UNCERTAIN_LOG_VARIANCE)
        low, high = np.where(np.isfinite(limits[0]), limits, 0.0)
        known = (low + (high - low) / 2, nothing, (high - low) / 2, vague, none, none, none, np.ones(d), nothing)
        return cls(setting, limits, relative, precision, precision, *known)

    def within_limits(self) -> "ColumnState":
        """The state whose balls hold every record, where all columns have declared ends.

        They lie about the middles. How far the means are from there counts times the error of the number of records,
        which is released again; the share of present entries is not, and there the learned centers stay.
        """
        by_entry, low, high = self.setting.view.by_entry, *self.limits
        middle = low + (high - low) / 2
        state = self if by_entry else replace(self._recounted((self.centre - middle) / (high - middle)), centre=middle)
        return replace(state, centre_variance=np.zeros_like(middle), stddev=state.farthest)

    def _recounted(self, places: Floats) -> "ColumnState":
        """With a better number of records, as far as means at these places of half a range ask for it."""
        setting = self.setting
        if not setting.count_stddev:
            return self
        off = float(np.sqrt(np.mean(places**2))) or c.USUAL_PLACE
        share = off / (math.sqrt(len(places)) + off) * self.left / self.precision
        state, found = self.release(share, setting.view.valid_count)
        weight = setting.count_stddev**2 / (setting.count_stddev**2 + found.stddev**2)
        count = max(setting.count + weight * (found.value - setting.count), 1.0)
        return replace(state, setting=replace(setting, count=count, count_stddev=math.sqrt(weight) * found.stddev))

    @property
    def declared(self) -> Booleans:
        """Which columns have declared ends."""
        return np.asarray(np.isfinite(self.limits[0]))

    @property
    def open(self) -> Booleans:
        """Which columns are looked at: with few records only those that have no declared ends."""
        enough = self._strength(len(self.present)) >= c.LEAST_STRENGTH
        return ~self.declared | enough

    @property
    def pays(self) -> bool:
        """Whether a ball of learned scales promises less noise than one that holds all declared ranges."""
        return self.widest_record > c.WIDE_BOUNDS * self.length

    @property
    def widest_record(self) -> float:
        """The length of a record at the declared ends of all columns, from their middles, over `scale`."""
        half = np.where(self.declared, np.subtract(*self.limits[::-1]) / 2, np.inf)
        return float(np.linalg.norm(half / self.scale))

    @property
    def farthest(self) -> Floats:
        """How far an entry of each column may lie from its centre."""
        return np.maximum(self.centre - self.limits[0], self.limits[1] - self.centre)

    @property
    def longest_record(self) -> float:
        """The largest length that any record may have, in columns divided by `scale`."""
        return float(np.linalg.norm(self.farthest / self.scale)) * (1 + 1e-9)

    @property
    def strength(self) -> float:
        """n̂·√(P/d): how far a column's number of records stands above its noise, of d columns that are looked at."""
        return self._strength(int(self.open.sum()))

    def _strength(self, columns: int) -> float:
        setting = self.setting
        count = setting.count * float(self.present.mean())
        return strength(count, setting.relation, self.precision, columns)

    @property
    def ease(self) -> float:
        """The part of a usual share of P that shows as much where records are many."""
        return min(1.0, c.EASY_STRENGTH / self.strength)

    @property
    def counts(self) -> Floats:
        """The released number of records that have an entry, of each column."""
        return self.setting.count * self.present

    @property
    def miscount(self) -> Floats:
        """The deviation of the share of present entries, as a part of it."""
        return self.present_stddev / self.present

    @property
    def count_stddevs(self) -> Floats:
        """Of `counts`."""
        return np.hypot(self.setting.count_stddev * self.present, self.setting.count * self.present_stddev)

    @property
    def about_centre(self) -> Floats:
        """The spread of each column about its centre, whose own error is included; no entry lies beyond its ends."""
        return np.asarray(np.minimum(np.sqrt(self.stddev**2 + self.centre_variance), self.farthest))

    @property
    def scale(self) -> Floats:
        """What each column is divided by before records are clipped to a ball.

        Where columns count by their own units, those of one value together add at most a tenth to the squared length:
        values that may not exist do not make the noise of the others larger.
        """
        about, hidden = self.about_centre, self.one_value
        if self.relative:
            return about
        rest = float(about[~hidden].sum())
        most = c.ONE_VALUE_PART * rest / hidden.sum() if hidden.any() and rest > 0 else np.inf
        return np.asarray(about / np.sqrt(np.where(hidden, np.minimum(about, most), about)))

    @property
    def parts(self) -> Floats:
        """What each column adds to the length of a record, in columns divided by `scale`; 0 in a missing entry."""
        return self.about_centre / self.scale * np.sqrt(self.present)

    @property
    def length(self) -> float:
        """The expected length of a record, in columns divided by `scale`."""
        return float(np.linalg.norm(self.parts))

    @property
    def longest(self) -> float:
        """The largest spread of a column divided by its `scale`."""
        return float((self.about_centre / self.scale).max())

    @property
    def cap(self) -> float:
        """How far one entry counts, in columns divided by `scale`. Released values alone decide it."""
        return max(c.ENTRY_LENGTHS * self.length, c.ENTRY_SPREADS * self.longest)

    @property
    def rank(self) -> float:
        """How many columns share the length of a record."""
        squares = self.parts**2
        return float(squares.sum() ** 2 / (squares**2).sum())

    @property
    def widest(self) -> float:
        """How many columns as long as the longest one would have all of the length of a record."""
        return (self.length / float(self.parts.max())) ** 2

    def release(self, share: float, query: Callable[[float], Released[T]]) -> tuple["ColumnState", Released[T]]:
        """What a query releases at the mu of a share of P, or of what is left; the state has paid for it (P17)."""
        taken = min(share * self.precision, self.left)
        return replace(self, left=self.left - taken, releases=self.releases + 1), query(math.sqrt(taken))
