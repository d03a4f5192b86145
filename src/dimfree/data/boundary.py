"""The boundary to other libraries: none of their errors and warnings crosses it.

Readers, frames, query engines, schedulers and the objects of a caller quote cells, lines and row counts in exceptions,
their chains and notes, and in warnings. Each call of another library that sees records runs inside a `boundary`.
"""

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from dimfree.errors import NO_MEMORY, DimfreeError, OutOfMemoryError, raise_alone

_PANIC = "PanicException"  # raised by polars from Rust; not a subclass of Exception


@contextmanager
def boundary(reword: Callable[[BaseException], DimfreeError]) -> Iterator[None]:
    """Replace every error of another library in this block by `reword(error)`, an error of dimfree.

    Errors of dimfree keep their text; a MemoryError becomes OutOfMemoryError; an interrupt passes. All lose their
    cause, context and notes. Warnings and floating-point errors are dropped. The block must not yield.
    """
    try:
        with np.errstate(all="ignore"), _drop_warnings():
            yield
    except DimfreeError as error:
        raise_alone(error)
    except MemoryError:
        raise_alone(OutOfMemoryError(NO_MEMORY))
    except BaseException as error:  # noqa: BLE001 - no foreign error may pass
        is_theirs = isinstance(error, Exception) or type(error).__name__ == _PANIC
        raise_alone(reword(error) if is_theirs else error)


def attempt(read: Callable[[], Any], other: Any = None) -> Any:
    """Return `read()`, or `other` if it raises: its error may quote an entry and is dropped."""
    try:
        return read()
    except MemoryError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != _PANIC:
            raise
        return other


_lock = threading.Lock()
_inside = 0  # number of open blocks in all threads
_filters = ExitStack()  # restores the warning filters of the process


@contextmanager
def _drop_warnings() -> Iterator[None]:
    """Drop all warnings while any thread is in such a block, since filters belong to the process."""
    global _inside
    if getattr(sys.flags, "context_aware_warnings", False):  # then filters belong to the context
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
        return
    with _lock:
        if _inside == 0:
            _filters.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _filters.close()
