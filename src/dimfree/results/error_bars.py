"""Confidence intervals, a ball or a box about a released mean, and noise compared with the records' spread."""

from abc import ABC, abstractmethod

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_choice, check_flag, check_probability
from dimfree.results.confidence_sets import TARGETS, ConfidenceBall, ConfidenceBox, Target, Uncertainty
from dimfree.results.error_model import ErrorModel, LearnedShape, Reach


class ErrorBars(ABC):
    """What follows from a released mean, its noise and the model of its records. Public values only.

    Every method about the mean raises RefusedRelease if the release was refused.
    """

    __slots__ = ()
    error_model: ErrorModel
    shape: LearnedShape | None
    reach: Reach | None

    @property
    @abstractmethod
    def mean(self) -> Floats: ...

    @property
    @abstractmethod
    def noise_stddev(self) -> Floats: ...

    def confidence_interval(
        self, level: float = 0.95, *, target: Target = "population", simultaneous: bool = False
    ) -> tuple[Floats, Floats]:
        """A confidence interval for each coordinate, about `mean`.

        Parameters
        ----------
        level : float, default 0.95
            Between 0 and 1.
        target : {"population", "sample"}, default "population"
            "population": for the population mean, if records are independent draws with the stated or learned
            variances, widened by one factor as their lengths tell (`error_model`): sampling error, privacy noise and
            clipping bias together. "sample": for the mean of these records, each clipped to `reach`:
            privacy noise and clipping bias, without sampling error.
        simultaneous : bool, default False
            True: all intervals hold at once at the given level. False: each one separately.

        Returns
        -------
        low, high : ndarray of shape (d,)
            Ends of the intervals. Infinite, which means no interval, where a column has no interval
            (`one_value`), and everywhere for the population mean if the release does not state the standard deviation
            and the number of the records.
        """
        level, uncertainty = check_probability("level", level), self._uncertainty(target)
        reach = uncertainty.reach(level, simultaneous=check_flag("simultaneous", simultaneous))
        return self.mean - reach, self.mean + reach

    def error_radius(self, level: float = 0.95, *, target: Target = "population") -> float:
        """The Euclidean distance that the error stays within at the given level.

        By the exact law of the noise, a weighted chi-square, widened by what drawing in far records has likely added
        (`error_model.clipping`).

        Parameters
        ----------
        level, target : float, str
            As in `confidence_interval`.

        Returns
        -------
        float
            Infinite if the population mean has no interval.
        """
        return self._uncertainty(target).length(check_probability("level", level))

    def confidence_ball(self, level: float = 0.95, *, target: Target = "population") -> ConfidenceBall:
        """A ball about `mean` that covers the target, and what its radius is made of.

        Columns that have no interval (`one_value`) are not covered. About the population, columns are taken to be as
        correlated as the lengths of the records tell.

        Parameters
        ----------
        level, target : float, str
            As in `confidence_interval`.

        Returns
        -------
        ConfidenceBall
        """
        return ConfidenceBall.about(self.mean, self._uncertainty(target), check_probability("level", level))

    def confidence_box(
        self, level: float = 0.95, *, target: Target = "population", simultaneous: bool = True
    ) -> ConfidenceBox:
        """The intervals of `confidence_interval`, and what their width is made of.

        Parameters
        ----------
        level, target, simultaneous : float, str, bool
            As in `confidence_interval`, but all intervals hold at once by default.

        Returns
        -------
        ConfidenceBox
        """
        level, uncertainty = check_probability("level", level), self._uncertainty(target)
        return ConfidenceBox.about(self.mean, uncertainty, level, simultaneous=simultaneous)

    def spread_bounds(self) -> tuple[Floats, Floats] | None:
        """Bounds on the standard deviation of one record in each column.

        Returns
        -------
        (low, high) : pair of ndarray of shape (d,), or None
            Where the user stated the covariance, both are its standard deviations. Where it was learned, each pair of
            bounds holds with about 95 % confidence for columns not far from normal, and low is 0 if the spread of that
            column was not learned. Large entries count little in what is learned: a column with a heavy tail, or with
            a few entries far from all others, may be wider than high. None if nothing is known.
        """
        if self.shape is not None:
            return self.shape.stddev_bounds()
        stated = self.error_model.record_stddev
        return None if stated is None else (stated, stated)

    def noise_over_spread(self) -> Floats:
        """The noise of each column in standard deviations of one record: an upper bound.

        Returns
        -------
        ndarray of shape (d,)
            Infinite where the spread of a column was not learned.
        """
        bounds = self.spread_bounds()
        low = np.zeros_like(self.noise_stddev) if bounds is None else bounds[0]
        with np.errstate(divide="ignore"):
            return self.noise_stddev / low

    def _uncertainty(self, target: Target) -> Uncertainty:
        check_choice("target", target, TARGETS)
        return Uncertainty.of(self.noise_stddev, self.error_model, self.shape, self.reach, target)
