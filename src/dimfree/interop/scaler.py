"""Centring and scaling by what one private release says: the scikit-learn transformer."""

import warnings
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dimfree._validate import check_flag, is_word
from dimfree.arguments import SCALER
from dimfree.data.records import Records, plain_table
from dimfree.data.schema import Schema
from dimfree.data.tables import selected
from dimfree.errors import InvalidParameter, InvalidRecords, RefusedRelease
from dimfree.interop.mean import Estimator, PrivateMean, RefusalWarning, check_schema, constructor, open_table
from dimfree.results.release import Release
from dimfree.shapes import as_shape

_OWN = ("with_mean", "with_std")


class SpreadWarning(UserWarning):
    """The standard deviations of some columns were not learned: they are divided by what may be far off."""


class PrivateStandardScaler(OneToOneFeatureMixin, TransformerMixin, Estimator):
    """Center X by its private mean and divide by standard deviations that were learned privately or are known.

    Guarantee: `fit` is one release of `release_mean`, and what it stores is (epsilon, delta)-private in total: the
    standard deviations come out of the same release and cost nothing more. `transform` and `inverse_transform` use
    these alone, so they spend nothing. The rows they return are records, centered, not a release.

    Mean and standard deviations carry noise, unlike those of `StandardScaler`. The SD of every column is learned
    separately (`objective="relative"`), so columns may have any units, unless `covariance` or `shape` states it. `fit`
    warns of columns whose SD was not learned (SpreadWarning): only zeros were seen in them, or records were few.
    Every `fit` spends the whole budget again, also inside a cross-validation. A refused release raises RefusedRelease,
    and its budget is spent; with neighbours="replace-one" a refusal for too few records costs nothing.

    Parameters
    ----------
    epsilon, delta, covariance, shape, neighbours, on_missing, ledger, noise
        As in `release_mean`.
    objective : {"relative", "auto", "total"}
        As in `release_mean`. "total" learns the SDs of the widest columns alone well, and may need fewer records.
    failure_probability, outliers, window
        As in `Options`.
    with_mean, with_std : bool
        Whether to centre, and whether to divide. Sparse X is for `with_mean=False` only.

    Attributes
    ----------
    mean_, scale_, learned_ : array, shape (d,), or None
        What is subtracted, what is divided by, and which standard deviations were learned; None if not asked for.
    release_, guarantee_
        The release and its promise.
    n_features_in_, feature_names_in_
        Of the columns; names where X has them.
    """

    __init__ = constructor(SCALER, objective="relative", with_mean=True, with_std=True)

    def fit(self, X: Any, y: object = None, *, unit: Any = None) -> Self:
        """Release the mean of the rows of X, once.

        Parameters
        ----------
        X : table of numbers, shape (n, d)
            As in `release_mean`.
        y : ignored
            Never read.
        unit : one key for each row, optional
            Whose each row is.

        Returns
        -------
        self

        Raises
        ------
        RefusedRelease
            If the release was refused. Its budget is spent.
        """
        for name in _OWN:  # what can fail without the data fails here, before the budget is spent
            check_flag(name, getattr(self, name))
        table = self._table(X, unit)
        check_schema(self, table)
        self.__dict__.pop("mean_", None)  # a failed fit leaves no older result behind
        options = {name: value for name, value in self.get_params(deep=False).items() if name not in _OWN}
        if self.covariance is not None or not (self.shape is None or is_word(self.shape, "auto")):
            options["objective"] = "total"  # the known SDs weigh the columns
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RefusalWarning)  # an error instead
            release = PrivateMean(**options, basis=None).fit(table, unit=unit).release_  # variances are what is wanted
        if release.refused:
            raise RefusedRelease(
                f"The release was refused, so there is nothing to centre by, and its budget is spent. Reason: "
                f"{release.refusal} More records, a larger epsilon, fewer columns or a known covariance= make one "
                "more likely; dimfree plan says beforehand how many records a budget needs."
            )
        self.release_, self.guarantee_ = release, release.guarantee
        self.mean_ = release.mean if self.with_mean else None
        scale: tuple[Any, Any] = self._scale(release) if self.with_std else (None, None)
        self.scale_, self.learned_ = scale
        return self

    def _scale(self, release: Release) -> tuple[Any, Any]:
        """The SDs, and which of them are known, learned or stated; warns, in public words, if some are not."""
        if release.shape is None:
            known = as_shape(self.covariance, self.shape, release.dimension)
            return np.sqrt(known.covariance_diagonal(release.dimension)), release.resolved
        if not release.resolved.all():
            warnings.warn(
                f"The spread of {int((~release.resolved).sum())} of {release.dimension} columns was not learned: "
                "scale_ may be far off there (see learned_). Drop columns that hardly vary, give more records or a "
                "larger epsilon, or pass a public covariance=.",
                SpreadWarning,
                stacklevel=3,
            )
        return np.sqrt(release.shape.variances), release.resolved

    def transform(self, X: Any) -> Any:
        """(X - mean_) / scale_, column by column; spends nothing.

        Parameters
        ----------
        X : table of numbers, shape (n, d)
            Rows with the columns of the fit.

        Returns
        -------
        array or CSR matrix
            A copy; what is missing stays missing.
        """
        values = self._opened(X)
        if self.mean_ is not None:
            values = values - self.mean_
        return values if self.scale_ is None else _times(values, 1 / self.scale_)

    def inverse_transform(self, X: Any) -> Any:
        """X * scale_ + mean_: back to the units of the records.

        Parameters
        ----------
        X : table of numbers, shape (n, d)
            Rows with the columns of the fit.

        Returns
        -------
        array or CSR matrix
            A copy.
        """
        values = self._opened(X)
        if self.scale_ is not None:
            values = _times(values, self.scale_)
        return values if self.mean_ is None else values + self.mean_

    def _opened(self, X: Any) -> Any:
        """A copy of X as float64, dense or CSR, after scikit-learn's checks of names and width."""
        check_is_fitted(self)
        table = self._table(X)
        check_schema(self, table, reset=False)
        source = plain_table(table, self.on_missing)
        values = source.copy() if sparse.issparse(source) else np.array(source, dtype=np.float64)
        numbers = values.data if sparse.issparse(values) else values
        if is_word(self.on_missing, "raise") and not np.isfinite(numbers).all():
            raise InvalidRecords(
                "X has an entry that is not a finite number (NaN, infinity or missing): clean the table, or pass "
                "on_missing='column' or 'drop'."
            )
        return values

    def _table(self, X: Any, unit: Any = None) -> Any:
        """Centring would fill a sparse table, an AnnData's as well."""
        table = open_table(selected(X, Schema(), (unit,)), self.on_missing)
        if self.with_mean and _is_sparse(table):
            raise InvalidParameter("Expected with_mean=False for sparse X, since centring fills it: or X.toarray().")
        return table

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "mean_")


def _is_sparse(table: Any) -> bool:
    """Whether it is a sparse table, or an AnnData that holds a sparse X, in memory or on disk."""
    if isinstance(table, Records):
        return table.is_sparse
    rows = table if sparse.issparse(table) or hasattr(table, "columns") else getattr(table, "X", None)
    return sparse.issparse(rows) or "sparse" in type(rows).__module__


def _times(values: Any, factors: Any) -> Any:
    """Column by column."""
    if sparse.issparse(values):
        return sparse.csr_array(values @ sparse.dia_array((factors[None], [0]), shape=(len(factors),) * 2))
    return values * factors
