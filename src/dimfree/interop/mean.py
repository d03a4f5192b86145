"""`PrivateMean`: the private mean as a scikit-learn estimator."""

import warnings
from collections.abc import Callable
from dataclasses import fields
from inspect import Parameter, Signature
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from dimfree._validate import is_word, require
from dimfree._validate.column_names import check_names
from dimfree.arguments import ARGUMENTS, ESTIMATOR
from dimfree.data.boundary import boundary
from dimfree.data.people.person_records import split_unit
from dimfree.data.records import Records, as_records, to_plain_table
from dimfree.data.schema import Schema
from dimfree.data.tables import find_package, select_columns
from dimfree.errors import InvalidDataError, RefusalWarning, raise_alone
from dimfree.options import Options
from dimfree.release import release_mean


class _EntryTypeError(InvalidDataError, TypeError):
    """An entry is not a number; scikit-learn expects a TypeError."""


class _SchemaError(InvalidDataError, TypeError):
    """The columns do not match; scikit-learn expects a TypeError for names of mixed types."""


def make_constructor(door: str, **own: Any) -> Callable[..., None]:
    """Return an `__init__` that stores the arguments of this entry point and its own arguments with defaults."""
    defaults = {name: row.default for name, row in ARGUMENTS.items() if door in row.doors} | own
    keywords = [Parameter(name, Parameter.KEYWORD_ONLY, default=default) for name, default in defaults.items()]
    signature = Signature([Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *keywords])

    def __init__(self: BaseEstimator, *given: Any, **named: Any) -> None:  # noqa: N807 - a class takes it over
        bound = signature.bind(self, *given, **named)
        bound.apply_defaults()
        vars(self).update({name: bound.arguments[name] for name in defaults})

    __init__.__signature__ = signature  # type: ignore[attr-defined]  # for scikit-learn
    return __init__


class Estimator(BaseEstimator):
    """The common base of the estimators: tags for scikit-learn."""

    missing: str

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # the noise differs from fit to fit
        tags.input_tags.sparse = not getattr(self, "with_mean", False)  # centering would fill a sparse table
        tags.input_tags.allow_nan = allows_missing(self.missing)
        return tags


class PrivateMean(Estimator):
    """The private mean of the rows of X as a scikit-learn estimator; the guarantee is that of `release_mean`.

    Every call of `fit` is a release with its own budget, also inside a parameter search or cross-validation. In a
    pipeline, earlier steps must not be fitted to X, unless privately. A table without rows raises an error that is
    outside the guarantee, like the errors of `missing="raise"`; `release_mean` refuses instead.

    Parameters
    ----------
    epsilon, delta, objective, covariance, basis, neighbors, missing, max_contributions, device, ledger, noise
        See `release_mean`.
    columns, exclude, bounds
        The columns of X and their public bounds; see `release_mean`. Attributes and later tables have these columns.
    norm
        A public bound on the length of every record; see `release_mean`.
    core_sample, scale, tails, outliers, window, failure_probability
        See `Options`.
    privacy_unit : str, optional
        The column of X with the privacy ID. Or pass IDs to `fit`: IDs are data, and parameters are printed.

    Attributes
    ----------
    location_, noise_stddev_ : array, shape (d,)
        The mean and the SD of its noise; NaN after a refusal.
    release_ : Release
        The release.
    guarantee_ : Guarantee
        The guarantee.
    n_features_in_, feature_names_in_
        Number and names of the columns, if X has names. The number of rows is not stored.

    Examples
    --------
    >>> import numpy as np
    >>> from dimfree import PrivateMean
    >>> X = np.random.default_rng(0).normal(size=(3000, 5))
    >>> PrivateMean(epsilon=1.0, delta=1e-6).fit(X).location_.shape
    (5,)
    """

    __init__ = make_constructor(ESTIMATOR)

    def fit(self, X: Any, y: object = None, *, privacy_unit: Any = None) -> Self:
        """Release the mean of the rows of X; a refusal gives a `RefusalWarning`.

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
        """
        schema = Schema.from_arguments(self.columns, self.exclude, bounds=self.bounds)
        table, ids = self._split_ids(
            open_table(select_columns(X, schema, (self.privacy_unit, privacy_unit)), self.missing), privacy_unit
        )
        check_schema(self, table)  # names and width only, before any budget is charged
        given = {**self.get_params(deep=False), "privacy_unit": ids, **_once_more(table, schema, self.privacy_unit)}
        options = Options(**{field.name: given.pop(field.name) for field in fields(Options)})
        release = self.release_ = release_mean(table, **given, options=options)
        missing = np.full(release.dimension, np.nan)
        self.guarantee_ = release.guarantee
        self.location_ = missing if release.refused else release.mean
        self.noise_stddev_ = missing.copy() if release.refused else release.noise_stddev
        if release.refused:
            warnings.warn(f"The release was refused: {release.refusal}", RefusalWarning, stacklevel=2)
        return self

    def _split_ids(self, table: Any, privacy_unit: Any) -> tuple[Any, Any]:
        """Return the coordinates and the privacy IDs of the rows; None if one row is one person."""
        is_name, kind = isinstance(self.privacy_unit, str | None), type(self.privacy_unit).__name__
        require(
            is_name,
            f"`privacy_unit` must be the name of a column, got {kind}. Pass IDs of rows to fit(X, privacy_unit=ids).",
        )
        is_one = privacy_unit is None or self.privacy_unit is None
        require(
            is_one,
            "Pass IDs to fit(X, privacy_unit=ids) or a column name as privacy_unit=, not both.",
        )
        named = self.privacy_unit if privacy_unit is None else privacy_unit
        return (table, None) if named is None else split_unit(table, named, self.missing)


def _once_more(table: Any, schema: Schema, privacy_unit: object) -> dict[str, Any]:
    """Return the schema arguments that are left after the columns were selected; none for an open file."""
    if isinstance(table, Records):
        return {"columns": None, "exclude": None, "bounds": None}
    chosen = schema.repeat_choice(privacy_unit)
    kept, left = chosen["columns"], {*schema.exclude, privacy_unit}
    ends = {name: each for name, each in schema.bounds.ends.items() if name not in left and name in (kept or (name,))}
    return {**chosen, "bounds": ends or None}


def allows_missing(missing: object) -> bool:
    """Return whether missing values are allowed."""
    return is_word(missing, "complete-case") or is_word(missing, "available-case")


def check_schema(estimator: Any, table: Any, *, reset: bool = True) -> None:
    """Let scikit-learn check names and width; its messages are about the columns alone."""
    opened, fitted = isinstance(table, Records), getattr(estimator, "feature_names_in_", None)
    names = table.columns if opened else None  # scikit-learn cannot read them
    try:
        if names is not None and fitted is not None and not reset:
            if list(names) != list(fitted):
                raise ValueError("The feature names should match those that were passed during fit, in the same order.")
            return
        shown = np.empty((0, table.dimension)) if opened else _keep_header(table, estimator.missing)
        validate_data(estimator, shown, reset=reset, skip_check_array=True)
        if reset and names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
    except (ValueError, TypeError) as error:
        raise_alone(_SchemaError(str(error)))


def _keep_header(table: Any, missing: object) -> Any:
    """Return the table, or a frame without rows if scikit-learn cannot read its column names.

    Names that could be a record are refused here, because scikit-learn would store and quote them. With missing values
    allowed, types are not checked: a missing value may have determined the type of its column.
    """
    if _is_anndata(table):
        import pandas as pd  # AnnData requires it

        names = [str(name) for name in table.var_names]
        check_names(names)
        return pd.DataFrame(columns=names)
    if _is_frame(table):
        table = table._meta if find_package(table) == "dask" else table  # its schema, a pandas frame without rows
        as_records(table[:0], missing="complete-case" if allows_missing(missing) else "raise")
    return table


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "shape")


def _is_anndata(X: Any) -> bool:
    return find_package(X) == "anndata" and hasattr(X, "var_names")


def open_table(X: Any, missing: str) -> Any:
    """Return X as an input of `as_records`; errors of scikit-learn and NumPy would quote entries or count rows."""
    with boundary(_not_numeric):
        is_opened = isinstance(X, Records) or sparse.issparse(X) or _is_frame(X) or _is_anndata(X)
        table: Any = X if is_opened else to_plain_table(X, missing) if allows_missing(missing) else _numeric(X)
        rows = table.count if isinstance(table, Records) else _count(table)
        if isinstance(rows, int) and rows == 0:  # a Dask frame does not know its length
            raise InvalidDataError("X must have at least one row.")
        return table


def _count(table: Any) -> Any:
    """Return the number of rows, if known, of a table with columns."""
    if len(table.shape) != 2:
        hint = " Reshape your data: X.reshape(-1, 1) for one column." if len(table.shape) == 1 else ""
        raise InvalidDataError(f"X must have rank 2, got rank {len(table.shape)}.{hint}")
    if table.shape[1] == 0:
        # scikit-learn expects this wording; the number of rows is left out
        raise InvalidDataError("Found X with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")
    return table.shape[0]


def _numeric(X: Any) -> NDArray[Any]:
    """Return X as an array, with object entries converted to numbers."""
    array: NDArray[Any] = np.asanyarray(X)  # keeps a mask: masked entries are missing
    array = array.astype(np.float64) if array.dtype == object else array
    if array.dtype.kind == "c":
        raise InvalidDataError("Complex data not supported: X must hold real numbers.")
    return array


def _not_numeric(error: BaseException) -> InvalidDataError:
    if isinstance(error, TypeError):
        return _EntryTypeError("X has an entry that is not a number: every argument must be a string or a number.")
    return InvalidDataError("X must be a table of numbers with rows of equal length.")
