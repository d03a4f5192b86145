"""Error bars of a release: intervals, a ball or a box about its mean, and noise compared with the records' spread."""

from abc import ABC, abstractmethod

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_flag, check_probability
from dimfree.errors import InvalidParameter
from dimfree.results.confidence_sets import ConfidenceBall, ConfidenceBox, Uncertainty
from dimfree.results.error_model import ErrorModel, LearnedShape
from dimfree.results.reach import Reach


class ErrorBars(ABC):
    """What follows from a released mean, its noise and the model of its records. Public values only."""

    __slots__ = ()

    @property
    @abstractmethod
    def mean(self) -> Floats: ...

    @property
    @abstractmethod
    def unbiased_mean(self) -> Floats: ...

    @property
    @abstractmethod
    def noise_stddev(self) -> Floats: ...

    @property
    @abstractmethod
    def shape(self) -> LearnedShape | None: ...

    @property
    @abstractmethod
    def reach(self) -> Reach | None: ...

    @property
    @abstractmethod
    def error_model(self) -> ErrorModel: ...

    def error_radius(self, confidence: float = 0.95, *, include_sampling: bool = False) -> float:
        """The Euclidean distance that the error stays within with the given confidence.

        By the exact law of the noise, a weighted chi-square, widened by what drawing in far records has likely added
        (`error_model.clipping`); infinite where that cannot be told. Where `mean` was denoised, its distance from
        `unbiased_mean` is added: valid, and wider than its likely error.

        Parameters
        ----------
        confidence : float, default 0.95
            Between 0 and 1.
        include_sampling : bool, default False
            False: the distance from the mean of these records, each farther than `reach.radius` drawn in to it; what
            that has likely moved is allowed for, towards the records as they are. True: the distance from the
            population mean, if records are independent draws with the stated or learned variances, widened and
            correlated as their lengths tell (`error_model`).

        Returns
        -------
        float

        Raises
        ------
        RefusedRelease
            If the release was refused.
        InvalidParameter
            If `include_sampling` is True and the release says nothing of the population.
        """
        confidence = check_probability("confidence", confidence)
        radius = self._uncertainty(include_sampling).length(confidence)
        return radius + float(np.linalg.norm(self.mean - self.unbiased_mean))

    def interval(
        self, confidence: float = 0.95, *, simultaneous: bool = False, include_sampling: bool = False
    ) -> tuple[Floats, Floats]:
        """An interval for each coordinate, centred at `unbiased_mean`, so that it is valid for any prior.

        Parameters
        ----------
        confidence : float, default 0.95
            Between 0 and 1.
        simultaneous : bool, default False
            True: all intervals hold at once with the given confidence. False: each one by itself.
        include_sampling : bool, default False
            False: for the mean of these records, each farther than `reach.radius` drawn in to it. True: for the
            population mean, if records are independent draws with the stated or learned variances, widened as their
            lengths tell (`error_model`): by one factor for all columns.

        Returns
        -------
        low, high : ndarray of shape (d,)
            Ends of the intervals; infinite where a column looks like one value (`one_value`), or where so few records
            lie far out that no tail can be seen (`error_model.clipping` is infinite): no interval holds.

        Raises
        ------
        RefusedRelease
            If the release was refused.
        InvalidParameter
            If `include_sampling` is True and the release says nothing of the population.
        """
        confidence = check_probability("confidence", confidence)
        uncertainty = self._uncertainty(include_sampling)
        reach = uncertainty.reach(confidence, simultaneous=check_flag("simultaneous", simultaneous))
        return self.unbiased_mean - reach, self.unbiased_mean + reach

    def confidence_ball(self, confidence: float = 0.95) -> ConfidenceBall:
        """A ball about `unbiased_mean` that covers the population mean, and what its radius is made of.

        Records are taken to be independent draws with the stated or learned variances, widened and correlated as
        their lengths tell. Where the release says nothing of the population, the ball covers the mean of these
        records, each farther than `reach.radius` drawn in to it. Its attribute `covers` says which. Columns that look
        like one value (`one_value`) are not covered.

        Parameters
        ----------
        confidence : float, default 0.95
            Between 0 and 1.

        Returns
        -------
        ConfidenceBall

        Raises
        ------
        RefusedRelease
            If the release was refused.
        """
        return ConfidenceBall.about(self.unbiased_mean, self._uncertainty(self._records_modelled), confidence)

    def confidence_box(self, confidence: float = 0.95, *, simultaneous: bool = True) -> ConfidenceBox:
        """An interval per coordinate about `unbiased_mean`. They cover what `confidence_ball` covers.

        Parameters
        ----------
        confidence : float, default 0.95
            Between 0 and 1.
        simultaneous : bool, default True
            True: all intervals hold at once with the given confidence. False: each one by itself.

        Returns
        -------
        ConfidenceBox

        Raises
        ------
        RefusedRelease
            If the release was refused.
        """
        uncertainty = self._uncertainty(self._records_modelled)
        return ConfidenceBox.about(self.unbiased_mean, uncertainty, confidence, simultaneous=simultaneous)

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

        Raises
        ------
        RefusedRelease
            If the release was refused.
        """
        bounds = self.spread_bounds()
        low = np.zeros_like(self.noise_stddev) if bounds is None else bounds[0]
        with np.errstate(divide="ignore"):
            return self.noise_stddev / low

    @property
    def _records_modelled(self) -> bool:
        model = self.error_model
        return model.record_stddev is not None and model.records is not None

    def _uncertainty(self, include_sampling: bool) -> Uncertainty:
        if check_flag("include_sampling", include_sampling) and not self._records_modelled:
            raise InvalidParameter(
                "Expected include_sampling=False: this release says nothing of the population, only of these records."
                " Their spread or number was not released, or some lie so far out that their mean square is not known."
            )
        model, learned = self.error_model, self.shape
        return Uncertainty.of(self.noise_stddev, model, learned, self.reach, include_sampling=include_sampling)
