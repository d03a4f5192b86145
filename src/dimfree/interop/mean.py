"""The scikit-learn facade: validate, call, store."""

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
from dimfree.data.records import Records, as_records, plain_table
from dimfree.data.schema import Schema
from dimfree.data.tables import package_of, selected
from dimfree.errors import InvalidRecords, raise_alone
from dimfree.options import Options
from dimfree.release import release_mean


class RefusalWarning(UserWarning):
    """A fit ended in a refusal: `location_` is NaN and `release_.refusal` says why."""


class _EntryTypeError(InvalidRecords, TypeError):
    """An entry is no number at all; scikit-learn wants a TypeError for this."""


class _SchemaError(InvalidRecords, TypeError):
    """Columns that do not fit; scikit-learn wants a TypeError for names of several types."""


def constructor(door: str, **own: Any) -> Callable[..., None]:
    """Return an `__init__` that takes and stores the arguments of this call, and those of its own with defaults."""
    defaults = {name: row.default for name, row in ARGUMENTS.items() if door in row.doors} | own
    keywords = [Parameter(name, Parameter.KEYWORD_ONLY, default=default) for name, default in defaults.items()]
    signature = Signature([Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *keywords])

    def __init__(self: BaseEstimator, *given: Any, **named: Any) -> None:  # noqa: N807 - it becomes that of a class
        bound = signature.bind(self, *given, **named)
        bound.apply_defaults()
        vars(self).update({name: bound.arguments[name] for name in defaults})

    __init__.__signature__ = signature  # type: ignore[attr-defined]  # scikit-learn reads the parameters from it
    return __init__


class Estimator(BaseEstimator):
    """What estimators have in common: tags for scikit-learn."""

    on_missing: str

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # the noise differs from fit to fit, by design
        tags.input_tags.sparse = not getattr(self, "with_mean", False)  # centring would fill a sparse table
        tags.input_tags.allow_nan = takes_gaps(self.on_missing)
        return tags


class PrivateMean(Estimator):
    """The private mean of the rows of X as a scikit-learn estimator; the guarantee is that of `release_mean`.

    Every call of `fit` is a release and spends the whole budget again, also inside a search over parameters or a
    cross-validation. In a pipeline the steps before it must not learn from X, unless privately. A table without rows
    raises an error, outside the guarantee like that of `on_missing="raise"`; `release_mean` refuses instead.

    Parameters
    ----------
    epsilon, delta, objective, covariance, shape, basis, neighbours, on_missing, unit_rows, device, ledger, noise
        As in `release_mean`.
    columns, exclude, bounds
        Which columns of X and their public ends, as in `release_mean`; attributes and later tables have these columns.
    norm
        A public bound on the length of every record, as in `release_mean`.
    core_sample, scale, tails, outliers, window, failure_probability
        As in `Options`.
    unit : str, optional
        The column of X with the privacy ID. Keys themselves go to `fit`: they are data, and parameters are printed.

    Attributes
    ----------
    location_, noise_stddev_ : array, shape (d,)
        The mean and the standard deviation of its noise; NaN after a refusal.
    release_ : Release
        All that was released.
    guarantee_ : Guarantee
        The promise.
    n_features_in_, feature_names_in_
        Of the coordinates; names if X has them. The number of rows is not stored.

    Examples
    --------
    >>> import numpy as np
    >>> from dimfree import PrivateMean
    >>> X = np.random.default_rng(0).normal(size=(3000, 5))
    >>> PrivateMean(epsilon=1.0, delta=1e-6).fit(X).location_.shape
    (5,)
    """

    __init__ = constructor(ESTIMATOR)

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
        schema = Schema.checked(self.columns, self.exclude, bounds=self.bounds)
        table, whose = self._persons(open_table(selected(X, schema, (self.unit, unit)), self.on_missing), unit)
        check_schema(self, table)  # names and width only, before any budget is spent
        given = {**self.get_params(deep=False), "unit": whose, **_once_more(table, schema, self.unit)}
        options = Options(**{field.name: given.pop(field.name) for field in fields(Options)})
        release = self.release_ = release_mean(table, **given, options=options)
        missing = np.full(release.dimension, np.nan)
        self.guarantee_ = release.guarantee
        self.location_ = missing if release.refused else release.mean
        self.noise_stddev_ = missing.copy() if release.refused else release.noise_stddev
        if release.refused:
            warnings.warn(f"The release was refused: {release.refusal}", RefusalWarning, stacklevel=2)
        return self

    def _persons(self, table: Any, unit: Any) -> tuple[Any, Any]:
        """The coordinates, and whose rows they are; None if one row is one person."""
        is_name, kind = isinstance(self.unit, str | None), type(self.unit).__name__
        require(is_name, f"Expected unit to name a column, got {kind}: pass keys to fit(X, unit=keys).")
        is_one = unit is None or self.unit is None
        require(is_one, "Expected keys in fit(X, unit=keys) or the name of a column in unit=, not both.")
        named = self.unit if unit is None else unit
        return (table, None) if named is None else split_unit(table, named, self.on_missing)


def _once_more(table: Any, schema: Schema, unit: object) -> dict[str, Any]:
    """What remains to be chosen from a table that was chosen already; that of a file is settled, and has warned."""
    if isinstance(table, Records):
        return {"columns": None, "exclude": None, "bounds": None}
    chosen = schema.once_more(unit)
    kept, left = chosen["columns"], {*schema.exclude, unit}
    ends = {name: each for name, each in schema.bounds.ends.items() if name not in left and name in (kept or (name,))}
    return {**chosen, "bounds": ends or None}


def takes_gaps(on_missing: object) -> bool:
    """Whether missing entries are no error."""
    return is_word(on_missing, "drop") or is_word(on_missing, "column")


def check_schema(estimator: Any, table: Any, *, reset: bool = True) -> None:
    """Let scikit-learn check names and width, in its own words: they are about the columns alone."""
    opened, fitted = isinstance(table, Records), getattr(estimator, "feature_names_in_", None)
    names = table.columns if opened else None  # scikit-learn cannot read them
    try:
        if names is not None and fitted is not None and not reset:
            if list(names) != list(fitted):
                raise ValueError("The feature names should match those that were passed during fit, in the same order.")
            return
        shown = np.empty((0, table.dimension)) if opened else _headed(table, estimator.on_missing)
        validate_data(estimator, shown, reset=reset, skip_check_array=True)
        if reset and names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
    except (ValueError, TypeError) as error:
        raise_alone(_SchemaError(str(error)))


def _headed(table: Any, on_missing: object) -> Any:
    """Return the table, or if scikit-learn cannot read its column names a frame without rows.

    Names that could be a record are refused here: scikit-learn would store and quote them. If entries may be missing,
    types do not count: a missing entry may have decided the type of its column.
    """
    if _is_anndata(table):
        import pandas as pd  # AnnData needs it, too

        names = [str(name) for name in table.var_names]
        check_names(names)
        return pd.DataFrame(columns=names)
    if _is_frame(table):
        table = table._meta if package_of(table) == "dask" else table  # its schema, a frame of pandas without rows
        as_records(table[:0], on_missing="drop" if takes_gaps(on_missing) else "raise")
    return table


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "shape")


def _is_anndata(X: Any) -> bool:
    return package_of(X) == "anndata" and hasattr(X, "var_names")


def open_table(X: Any, on_missing: str) -> Any:
    """X as something `as_records` opens; scikit-learn's and NumPy's errors would repeat entries or count rows."""
    with boundary(_not_numeric):
        is_opened = isinstance(X, Records) or sparse.issparse(X) or _is_frame(X) or _is_anndata(X)
        table: Any = X if is_opened else plain_table(X, on_missing) if takes_gaps(on_missing) else _numeric(X)
        rows = table.count if isinstance(table, Records) else _count(table)
        if isinstance(rows, int) and rows == 0:  # a Dask frame does not know its length
            raise InvalidRecords("Expected X with at least one row.")
        return table


def _count(table: Any) -> Any:
    """The number of rows, if it is known, of a table with columns."""
    if len(table.shape) != 2:
        hint = " Reshape your data: X.reshape(-1, 1) for one coordinate." if len(table.shape) == 1 else ""
        raise InvalidRecords(f"Expected X of rank 2, one row for each person; got rank {len(table.shape)}.{hint}")
    if table.shape[1] == 0:
        # scikit-learn asks for this wording; the row count it would print is left out
        raise InvalidRecords("Found X with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")
    return table.shape[0]


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
