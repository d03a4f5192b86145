"""Errors and warnings. Their texts name parameters and schema, never values of records or their number."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


class DimfreeError(Exception):
    """Base class of all errors of dimfree."""


class InvalidParameterError(DimfreeError, ValueError):
    """A parameter cannot be used. The message names the parameter, its value and the remedy. No budget was charged."""


class InvalidDataError(DimfreeError, ValueError):
    """The table cannot be used: text columns, wrong width, or a missing value with `missing="raise"`."""


class InvalidFileError(DimfreeError, ValueError):
    """A file cannot be read or written. The message names the path and the remedy."""


class ClusterError(DimfreeError, RuntimeError):
    """A Dask scheduler did not return a result: no connection, dead workers, or a failed task."""


class BudgetExceededError(DimfreeError, ValueError):
    """A privacy ledger has too little budget left. The message states the largest next epsilon."""


class RefusedReleaseError(DimfreeError, RuntimeError):
    """The mean of a refused release was read."""


class NoiseMisuseError(DimfreeError, RuntimeError):
    """A forked process drew the noise of its parent."""


class InstallationError(DimfreeError, RuntimeError):
    """A library that every release needs cannot be loaded or used. No budget was charged."""


class AccountingError(DimfreeError, ValueError):
    """The charges of a run exceed its budget. By construction this never happens; nothing is released."""


class OutOfMemoryError(DimfreeError, MemoryError):
    """There is not enough memory. The message is the same for every table. Count the budget as spent."""


class WeakGuaranteeWarning(UserWarning):
    """Epsilon or delta is so large that the guarantee protects little. Raised before a record is read."""


class IdentifierWarning(UserWarning):
    """A column to be averaged looks like an identifier. Raised before budget is charged."""


class RefusalWarning(UserWarning):
    """A fit of `PrivateMean` was refused: `location_` is NaN, and `release_.refusal` states the reason."""


class UnresolvedColumnWarning(UserWarning):
    """`PrivateStandardScaler` could not estimate the SD of a column."""


def raise_alone(error: BaseException) -> NoReturn:
    """Raise an error without cause, context and notes, which may contain data.

    `from None` hides the context from a traceback, but `__context__` keeps it, and loggers read it.
    """
    vars(error).pop("__notes__", None)
    try:
        raise error from None
    except BaseException:
        error.__context__ = None
        raise


@contextmanager
def redact_memory_errors() -> Iterator[None]:
    """Replace NumPy's MemoryError, whose text reveals the number of records, by OutOfMemoryError."""
    try:
        yield
    except MemoryError:
        raise_alone(OutOfMemoryError(NO_MEMORY))


NO_MEMORY = (
    "There is not enough memory for this table. Use more memory, fewer columns, a smaller core_sample, or "
    "basis=None, which keeps sparse rows sparse. Count the budget as spent."
)
