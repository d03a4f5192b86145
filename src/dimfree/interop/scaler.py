"""`PrivateStandardScaler`: center and scale by a private release, as a scikit-learn transformer."""

import warnings
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dimfree._validate import check_flag, is_word
from dimfree.arguments import SCALER
from dimfree.data.records import Records, to_plain_table
from dimfree.data.schema import Schema
from dimfree.data.tables import select_columns
from dimfree.errors import (
    InvalidDataError,
    InvalidParameterError,
    RefusalWarning,
    RefusedReleaseError,
    UnresolvedColumnWarning,
)
from dimfree.interop.mean import Estimator, PrivateMean, check_schema, make_constructor, open_table
from dimfree.results.release import Release
from dimfree.shapes import as_covariance

_OWN = ("with_mean", "with_std")


class PrivateStandardScaler(OneToOneFeatureMixin, TransformerMixin, Estimator):
    """Center X by its private mean and divide by privately estimated or given standard deviations.

    Guarantee: `fit` is one call of `release_mean`. All stored values together are (epsilon, delta)-differentially
    private; the standard deviations are part of the release and need no additional budget. `transform` and
    `inverse_transform` spend no budget, but the rows that they return are records, not a release.

    Mean and SDs carry noise, unlike those of `StandardScaler`. The SD of every column is estimated separately
    (`objective="relative"`), so columns may have any units, unless `covariance` is given. `fit` raises an
    UnresolvedColumnWarning if the SD of a column could not be estimated: too few records, or only zeros. Every `fit`
    spends its own budget, also inside a cross-validation. A refused release raises RefusedReleaseError, and its budget
    is spent; with neighbors="replace-one" a refusal for too few records spends no budget.

    Parameters
    ----------
    epsilon, delta, covariance, neighbors, missing, ledger, noise
        See `release_mean`.
    objective : {"relative", "auto", "total"}
        See `release_mean`. "total" estimates the largest SDs well, and may need fewer records.
    failure_probability, outliers, window
        See `Options`.
    with_mean, with_std : bool
        Whether to center, and whether to divide. Sparse X is for `with_mean=False` only.

    Attributes
    ----------
    mean_, scale_, learned_ : array, shape (d,), or None
        The subtracted means, the divisors, and whether each SD is given or estimated; None if not used.
    release_, guarantee_
        The release and its guarantee.
    n_features_in_, feature_names_in_
        Number and names of the columns, if X has names.
    """

    __init__ = make_constructor(SCALER, objective="relative", with_mean=True, with_std=True)

    def fit(self, X: Any, y: object = None, *, privacy_unit: Any = None) -> Self:
        """Release the mean of the rows of X, once.

        Parameters
        ----------
        X : table of numbers, shape (n, d)
            See `release_mean`.
        y : ignored
            Not used.
        privacy_unit : array of shape (n,), optional
            The privacy ID of each row.

        Returns
        -------
        self

        Raises
        ------
        RefusedReleaseError
            If the release was refused. Its budget was charged.
        """
        for name in _OWN:  # before any budget is charged
            check_flag(name, getattr(self, name))
        table = self._open(X, privacy_unit)
        check_schema(self, table)
        self.__dict__.pop("mean_", None)  # a failed fit must not keep an older result
        options = {name: value for name, value in self.get_params(deep=False).items() if name not in _OWN}
        if self.covariance is not None:
            options["objective"] = "total"  # the given SDs are the weights of the columns
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RefusalWarning)  # raised as an error below
            release = (
                PrivateMean(**options, basis=None).fit(table, privacy_unit=privacy_unit).release_
            )  # the variances of the columns are needed
        if release.refused:
            raise RefusedReleaseError(
                f"The release was refused, so there is no mean to center by. The budget is spent. Reason: "
                f"{release.refusal} Use more records, a larger epsilon, fewer columns or a known covariance=. dimfree "
                "plan computes how many records a budget needs."
            )
        self.release_, self.guarantee_ = release, release.guarantee
        self.mean_ = release.mean if self.with_mean else None
        scale: tuple[Any, Any] = self._estimate_scale(release) if self.with_std else (None, None)
        self.scale_, self.learned_ = scale
        return self

    def _estimate_scale(self, release: Release) -> tuple[Any, Any]:
        """Return the SDs, and whether each is given or estimated; warn if some are neither."""
        if release.estimated_variances is None:
            known = as_covariance(self.covariance, release.dimension)
            return np.sqrt(known.covariance_diagonal(release.dimension)), release.resolved
        if not release.resolved.all():
            warnings.warn(
                f"The SD of {int((~release.resolved).sum())} of {release.dimension} columns could not be estimated, so "
                "their scale_ may be far off (see learned_). Exclude nearly constant columns, use more records or a "
                "larger epsilon, or pass a public covariance=.",
                UnresolvedColumnWarning,
                stacklevel=3,
            )
        return np.sqrt(release.estimated_variances.variances), release.resolved

    def transform(self, X: Any) -> Any:
        """Return (X - mean_) / scale_ per column. This spends no budget.

        Parameters
        ----------
        X : table of numbers, shape (n, d)
            Rows with the columns of the fit.

        Returns
        -------
        array or CSR matrix
            A copy; missing values stay missing.
        """
        values = self._copy_values(X)
        if self.mean_ is not None:
            values = values - self.mean_
        return values if self.scale_ is None else _multiply_columns(values, 1 / self.scale_)

    def inverse_transform(self, X: Any) -> Any:
        """Return X * scale_ + mean_: the original units.

        Parameters
        ----------
        X : table of numbers, shape (n, d)
            Rows with the columns of the fit.

        Returns
        -------
        array or CSR matrix
            A copy.
        """
        values = self._copy_values(X)
        if self.scale_ is not None:
            values = _multiply_columns(values, self.scale_)
        return values if self.mean_ is None else values + self.mean_

    def _copy_values(self, X: Any) -> Any:
        """Return a copy of X as float64, dense or CSR, after the checks of names and width."""
        check_is_fitted(self)
        table = self._open(X)
        check_schema(self, table, reset=False)
        source = to_plain_table(table, self.missing)
        values = source.copy() if sparse.issparse(source) else np.array(source, dtype=np.float64)
        numbers = values.data if sparse.issparse(values) else values
        if is_word(self.missing, "raise") and not np.isfinite(numbers).all():
            raise InvalidDataError(
                "X has an entry that is not a finite number (NaN, infinity or missing): clean the table, or pass "
                "missing='available-case' or 'complete-case'."
            )
        return values

    def _open(self, X: Any, privacy_unit: Any = None) -> Any:
        """Open the table; refuse to center a sparse one, which would fill it."""
        table = open_table(select_columns(X, Schema(), (privacy_unit,)), self.missing)
        if self.with_mean and _is_sparse(table):
            raise InvalidParameterError(
                "`with_mean` must be False for sparse X, because centering fills it. Or pass X.toarray()."
            )
        return table

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "mean_")


def _is_sparse(table: Any) -> bool:
    """Return whether the table, or the X of an AnnData, is sparse, in memory or on disk."""
    if isinstance(table, Records):
        return table.is_sparse
    rows = table if sparse.issparse(table) or hasattr(table, "columns") else getattr(table, "X", None)
    return sparse.issparse(rows) or "sparse" in type(rows).__module__


def _multiply_columns(values: Any, factors: Any) -> Any:
    """Multiply each column by its factor."""
    if sparse.issparse(values):
        return sparse.csr_array(values @ sparse.dia_array((factors[None], [0]), shape=(len(factors),) * 2))
    return values * factors
