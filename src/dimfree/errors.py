"""Exceptions. Their texts speak of parameters and schema, never of record values or of the number of records."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


class DimfreeError(Exception):
    """The base class of every exception that dimfree raises on purpose."""


class InvalidParameter(DimfreeError, ValueError):
    """A parameter (budget, shape, option) cannot be used. The message names it, its value and the remedy."""


class InvalidRecords(DimfreeError, ValueError):
    """The table of records cannot be used: wrong rank, non-numeric column, wrong width, a non-finite entry."""


class InvalidFile(DimfreeError, ValueError):
    """A file cannot be read or written. The message names the path and the remedy."""


class LostWorkers(DimfreeError, RuntimeError):
    """A Dask scheduler did not return a result: it cannot be reached, its workers died, or a task failed."""


class BudgetExceeded(DimfreeError, ValueError):
    """A ledger has too little budget left for this release. The message states the largest next epsilon."""


class RefusedRelease(DimfreeError, RuntimeError):
    """The mean of a refused release was read."""


class NoiseMisuse(DimfreeError, RuntimeError):
    """Noise was drawn by a process that does not own the release."""


class InstallationError(DimfreeError, RuntimeError):
    """A library that every release needs cannot be loaded or used. Raised before anything is charged."""


class AccountingError(DimfreeError, ValueError):
    """The charges of a run contradict its budget. By calibration this never happens; nothing is released if it does."""


class OutOfMemory(DimfreeError, MemoryError):
    """There is not enough memory. The message is the same for every table."""


def raise_alone(error: BaseException) -> NoReturn:
    """Raise an error without cause, context and notes: those that led to it may quote records.

    `from None` hides the context of an error from a traceback, but leaves it in `__context__` for loggers to find.
    """
    vars(error).pop("__notes__", None)
    try:
        raise error from None
    except BaseException:
        error.__context__ = None
        raise


@contextmanager
def memory_unspoken() -> Iterator[None]:
    """Replace NumPy's MemoryError, whose text reveals the number of records, by OutOfMemory."""
    try:
        yield
    except MemoryError:
        raise_alone(OutOfMemory(NO_MEMORY))


NO_MEMORY = (
    "There is not enough memory for this table: use a machine with more, fewer columns, a smaller core_sample, or no "
    "basis, which makes sparse rows dense. Count the budget as spent."
)
