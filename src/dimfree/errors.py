"""Typed errors. They speak of parameters and schema, never of record values or of how many records there are."""

from collections.abc import Iterator
from contextlib import contextmanager


class DimfreeError(Exception):
    """Everything dimfree raises on purpose."""


class InvalidParameter(DimfreeError, ValueError):
    """A parameter (budget, shape, option) cannot be used; the message names it, its value and the remedy."""


class InvalidRecords(DimfreeError, ValueError):
    """The table of records cannot be used: wrong rank, non-numeric column, width mismatch, a non-finite entry."""


class InvalidFile(DimfreeError, ValueError):
    """A file cannot be read or written; the message names the path and the remedy."""


class LostWorkers(DimfreeError, RuntimeError):
    """Work that was handed to a scheduler did not come back: it is not there, its workers died, or a task failed."""


class BudgetExceeded(DimfreeError, ValueError):
    """A ledger has not enough left for this release; the message says what is left and what would fit."""


class RefusedRelease(DimfreeError, RuntimeError):
    """The mean of a refused release was asked for."""


class NoiseMisuse(DimfreeError, RuntimeError):
    """The noise door was used by a process that does not own the release."""


class OutOfMemory(DimfreeError, MemoryError):
    """The machine's memory did not suffice; the sentence is the same for every table."""


@contextmanager
def memory_unspoken() -> Iterator[None]:
    """NumPy's own words on running out of memory would tell how many records there are; these do not."""
    try:
        yield
    except MemoryError:
        raise OutOfMemory(_NO_MEMORY) from None


_NO_MEMORY = (
    "There is not enough memory for this table: use a machine with more, fewer columns, a smaller core_sample, or no "
    "basis, which makes sparse rows dense. Count the budget as spent."
)
