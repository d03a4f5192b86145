"""The boundary to other libraries: nothing that they raise or warn crosses it.

Readers of files, frames, query engines, schedulers and the objects of a caller quote cells, lines and numbers of rows
in exceptions, in the chains and notes of exceptions, and in warnings. Each call of one of them that sees records stands
in a `boundary`. An error that leaves it is one of dimfree and stands alone; warnings are dropped.
"""

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, TypeVar

import numpy as np

from dimfree.errors import NO_MEMORY, DimfreeError, OutOfMemory, raise_alone

Item = TypeVar("Item")

_PANIC = "PanicException"  # of Rust, as polars raises it: no Exception by its type
_END: Any = object()


@contextmanager
def boundary(reword: Callable[[BaseException], DimfreeError]) -> Iterator[None]:
    """Replace every error of another library in this block by the error that `reword` gives for it.

    Errors of dimfree keep their text; a MemoryError becomes OutOfMemory; an interrupt passes. All of them lose their
    cause, context and notes. Neither warnings nor floating-point errors are reported. The block must not yield: a
    generator passes its items through `by_steps`.
    """
    try:
        with np.errstate(all="ignore"), _without_warnings():
            yield
    except BaseException as error:  # noqa: BLE001 - whatever it is, it does not leave as it is
        raise_alone(_replaced(error, reword))


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


def by_steps(items: Iterator[Item], each: Callable[[], AbstractContextManager[None]]) -> Iterator[Item]:
    """The items, each fetched inside a boundary of its own: none is open while the caller works on an item."""
    while True:
        with each():
            item = next(items, _END)
        if item is _END:
            return
        yield item
        del item  # before the next is fetched


def _replaced(error: BaseException, reword: Callable[[BaseException], DimfreeError]) -> BaseException:
    if isinstance(error, DimfreeError):
        return error
    if isinstance(error, MemoryError):
        return OutOfMemory(NO_MEMORY)
    return reword(error) if isinstance(error, Exception) or type(error).__name__ == _PANIC else error


_lock = threading.Lock()
_inside = 0  # blocks that are open, in all threads
_filters = ExitStack()  # restores the filters of the process


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Drop all warnings while any thread is in such a block.

    The filters belong to the process: the first block changes them and the last one restores them, as blocks of several
    threads do not end in the order in which they began.
    """
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
