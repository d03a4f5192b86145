"""The scikit-learn facade: validate, call, store."""

import warnings
from dataclasses import fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from dimfree._validate import is_word
from dimfree._validate.column_names import check_names
from dimfree.data.boundary import boundary
from dimfree.data.people.person_records import split_unit
from dimfree.data.records import Records, as_records, plain_table
from dimfree.data.schema import Schema
from dimfree.data.tables import selected
from dimfree.errors import InvalidParameter, InvalidRecords, raise_alone
from dimfree.options import Options
from dimfree.release import release_mean
from dimfree.results.release import Release

_NO_ROW = "Expected X with at least one row."


class RefusalWarning(UserWarning):
    """A fit ended in a refusal: `location_` is NaN and `release_.refusal` says why."""


class _EntryTypeError(InvalidRecords, TypeError):
    """An entry is no number at all; scikit-learn wants a TypeError for this."""


class _SchemaError(InvalidRecords, TypeError):
    """Columns that do not fit; scikit-learn wants a TypeError for names of several types."""


class PrivateMean(BaseEstimator):
    """The private mean of the rows of X as a scikit-learn estimator; the guarantee is that of `release_mean`.

    Every call of `fit` is a release of its own and spends the whole budget again: a search over parameters or a
    cross-validation spends it once for every fit. In a pipeline the steps before it must not learn from X (or do so
    privately, at a cost of their own). As scikit-learn asks, a table without rows raises an error. Like the error of
    `on_missing="raise"` it is outside the guarantee; `release_mean` refuses instead.

    Parameters
    ----------
    epsilon, delta, objective, covariance, shape, basis, neighbours, on_missing, unit_rows, device, ledger, noise
        As in `release_mean`.
    columns, exclude, bounds
        Which columns of X and their public ends, as in `release_mean`; attributes and later tables have these columns.
    core_sample, scale, tails, outliers, window, failure_probability
        As in `Options`.
    unit : str, optional
        The column of X that says whose each row is. Keys themselves go to `fit`: they are data, and parameters are
        printed.

    Attributes
    ----------
    location_, noise_stddev_ : array, shape (d,)
        The mean and the standard deviation of its noise; NaN after a refusal.
    release_ : Release
        All that was released.
    guarantee_ : Guarantee
        The promise.
    n_features_in_, feature_names_in_
        Of the coordinates; names where X has them. Nothing tells how many rows there were.

    Examples
    --------
    >>> import numpy as np
    >>> from dimfree import PrivateMean
    >>> X = np.random.default_rng(0).normal(size=(3000, 5))
    >>> PrivateMean(epsilon=1.0, delta=1e-6).fit(X).location_.shape
    (5,)
    """

    def __init__(
        self,
        *,
        epsilon: Any,
        delta: Any,
        objective: Any = "auto",
        covariance: Any = None,
        shape: Any = None,
        basis: Any = "auto",
        neighbours: Any = "add-remove",
        failure_probability: Any = 0.01,
        on_missing: Any = "raise",
        outliers: Any = 0.03,
        tails: Any = "heavy",
        scale: Any = "auto",
        core_sample: Any = "auto",
        window: Any = Options.window,
        unit: Any = None,
        unit_rows: Any = None,
        columns: Any = None,
        exclude: Any = None,
        bounds: Any = None,
        device: Any = None,
        ledger: Any = None,
        noise: Any = None,
    ) -> None:
        store_parameters(self, locals())

    def fit(self, X: Any, y: object = None, *, unit: Any = None) -> Self:
        """Release the mean of the rows of X; a refusal is a warning (`RefusalWarning`).

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
        """
        selection = Schema.checked(self.columns, self.exclude, bounds=self.bounds)
        table, whose = self._persons(open_table(selected(X, selection, (self.unit, unit)), self.on_missing), unit)
        check_schema(self, table)  # names and width only, before any budget is spent
        given = {**self.get_params(deep=False), "unit": whose, **_once_more(table, selection, self.unit)}
        options = Options(**{field.name: given.pop(field.name) for field in fields(Options)})
        self._store(release_mean(table, **given, options=options))
        if self.release_.refused:
            warnings.warn(f"The release was refused: {self.release_.refusal}", RefusalWarning, stacklevel=2)
        return self

    def _persons(self, table: Any, unit: Any) -> tuple[Any, Any]:
        """The coordinates, and whose rows they are; None where one row is one person."""
        if not isinstance(self.unit, str | None):
            kind = type(self.unit).__name__
            raise InvalidParameter(f"Expected unit to name a column, got {kind}: pass keys to fit(X, unit=keys).")
        if unit is not None and self.unit is not None:
            raise InvalidParameter("Expected keys in fit(X, unit=keys) or the name of a column in unit=, not both.")
        named = self.unit if unit is None else unit
        return (table, None) if named is None else split_unit(table, named, self.on_missing)

    def _store(self, release: Release) -> None:
        missing = np.full(release.dimension, np.nan)
        self.release_ = release
        self.guarantee_ = release.guarantee
        self.location_ = missing if release.refused else release.mean
        self.noise_stddev_ = missing.copy() if release.refused else release.noise_stddev

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # the noise differs from fit to fit, by design
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = takes_gaps(self.on_missing)
        return tags


def _once_more(table: Any, schema: Schema, unit: object) -> dict[str, Any]:
    """What remains to be chosen from a table that was chosen already; that of a file is settled, and has warned."""
    if isinstance(table, Records):
        return {"columns": None, "exclude": None, "bounds": None}
    chosen = schema.once_more(unit)
    kept, left = chosen["columns"], {*schema.exclude, unit}
    ends = {name: each for name, each in schema.bounds.ends.items() if name not in left and name in (kept or (name,))}
    return {**chosen, "bounds": ends or None}


def store_parameters(estimator: BaseEstimator, given: dict[str, Any]) -> None:
    """Store every parameter under its name, as scikit-learn asks of a constructor; `given` is its `locals()`."""
    for name in estimator._get_param_names():
        setattr(estimator, name, given[name])


def check_schema(estimator: Any, table: Any, *, reset: bool = True) -> None:
    """scikit-learn's checks of names and width, in its own words: they speak of the columns alone."""
    try:
        if isinstance(table, Records):
            _check_records(estimator, table, reset)
        else:
            validate_data(estimator, headed(table, estimator.on_missing), reset=reset, skip_check_array=True)
    except (ValueError, TypeError) as error:
        raise_alone(_SchemaError(str(error)))


def _check_records(estimator: Any, records: Records, reset: bool) -> None:
    """The same for records of a file, which is no frame that scikit-learn knows."""
    names, fitted = records.columns, getattr(estimator, "feature_names_in_", None)
    if not reset and names is not None and fitted is not None:
        if list(names) != list(fitted):
            raise ValueError("The feature names should match those that were passed during fit, in the same order.")
        return
    validate_data(estimator, np.empty((0, records.dimension)), reset=reset, skip_check_array=True)
    if reset and names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def headed(table: Any, on_missing: object) -> Any:
    """Something whose column names scikit-learn can read: the table, or for an AnnData a frame without rows.

    Names that could be a record are refused here: scikit-learn would store them and quote them. Where entries may be
    missing, one of them may have decided the type of its column: then types have no part in it.
    """
    if not _is_anndata(table):
        table = table._meta if _is_dask_frame(table) else table  # its schema, a frame of pandas without rows
        if _is_frame(table):
            as_records(table[:0], on_missing="drop" if takes_gaps(on_missing) else "raise")
        return table
    import pandas as pd  # AnnData needs it, too

    names = [str(name) for name in table.var_names]
    check_names(names)
    return pd.DataFrame(columns=names)


def takes_gaps(on_missing: object) -> bool:
    """Whether missing entries are no error."""
    return is_word(on_missing, "drop") or is_word(on_missing, "column")


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "shape")


def _is_dask_frame(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "dask" and _is_frame(X)


def _is_anndata(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "anndata" and hasattr(X, "var_names")


def open_table(X: Any, on_missing: str) -> Any:
    """X as something `as_records` opens. Errors are worded here because scikit-learn's and NumPy's would repeat
    entries of X or the number of its rows."""
    with boundary(_not_numeric):
        return _table_of(X, on_missing)


def _table_of(X: Any, on_missing: str) -> Any:
    if isinstance(X, Records):
        if X.count == 0:
            raise InvalidRecords(_NO_ROW)
        return X
    is_opened = sparse.issparse(X) or _is_frame(X) or _is_anndata(X)
    table = X if is_opened else plain_table(X, on_missing) if takes_gaps(on_missing) else _numeric(X)
    if len(table.shape) != 2:
        hint = " Reshape your data: X.reshape(-1, 1) for one coordinate." if len(table.shape) == 1 else ""
        raise InvalidRecords(f"Expected X of rank 2, one row for each person; got rank {len(table.shape)}.{hint}")
    if table.shape[1] == 0:
        # scikit-learn asks for this wording; the row count it would print is left out
        raise InvalidRecords("Found X with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")
    if isinstance(table.shape[0], int) and table.shape[0] == 0:  # a Dask frame does not know its length
        raise InvalidRecords(_NO_ROW)
    return table


def _numeric(X: Any) -> NDArray[Any]:
    """An array of X, object entries read as numbers."""
    array: NDArray[Any] = np.asanyarray(X)  # keeps a mask: masked entries are missing ones
    array = array.astype(np.float64) if array.dtype == object else array
    if array.dtype.kind == "c":
        raise InvalidRecords("Complex data not supported: X must hold real numbers.")
    return array


def _not_numeric(error: BaseException) -> InvalidRecords:
    if isinstance(error, TypeError):
        return _EntryTypeError("X has an entry that is not a number: every argument must be a string or a number.")
    return InvalidRecords("Expected X to be a table of numbers with rows of equal length.")
