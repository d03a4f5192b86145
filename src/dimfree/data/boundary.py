"""The boundary to other libraries: nothing that they raise or warn crosses it.

Readers, frames, query engines, schedulers and the objects of a caller quote cells, lines and numbers of rows in
exceptions, their chains and notes, and in warnings. Each call of one of them that sees records stands in a `boundary`.
"""

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from dimfree.errors import NO_MEMORY, DimfreeError, OutOfMemory, raise_alone

_PANIC = "PanicException"  # of Rust, as polars raises it: no Exception by its type


@contextmanager
def boundary(reword: Callable[[BaseException], DimfreeError]) -> Iterator[None]:
    """Replace every error of another library in this block by the error of dimfree that `reword` gives for it.

    Errors of dimfree keep their text; a MemoryError becomes OutOfMemory; an interrupt passes. All lose their cause,
    context and notes. Warnings and floating-point errors are dropped. The block must not yield.
    """
    try:
        with np.errstate(all="ignore"), _without_warnings():
            yield
    except DimfreeError as error:
        raise_alone(error)
    except MemoryError:
        raise_alone(OutOfMemory(NO_MEMORY))
    except BaseException as error:  # noqa: BLE001 - whatever it is, it does not leave unchanged
        is_theirs = isinstance(error, Exception) or type(error).__name__ == _PANIC
        raise_alone(reword(error) if is_theirs else error)


def attempt(read: Callable[[], Any], other: Any = None) -> Any:
    """Return what `read` returns, or `other` where it raises: an error that may quote an entry is dropped."""
    try:
        return read()
    except MemoryError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != _PANIC:
            raise
        return other


_lock = threading.Lock()
_inside = 0  # blocks that are open, in all threads
_filters = ExitStack()  # restores the filters of the process


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Drop all warnings while any thread is in such a block: the filters belong to the process."""
    global _inside
    if getattr(sys.flags, "context_aware_warnings", False):  # filters belong to the context
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
