"""Progress of a pass over the records, for a progress bar on the terminal of the data owner.

A listener receives the public name of the stage, the number of rows read and the number of all rows. Under add-remove
both numbers are private: they must not be logged or written. It receives no value and cannot change a result.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Listener: TypeAlias = Callable[[str, int, int], None]  # (stage, rows done, rows in all)

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_stage: ContextVar[str] = ContextVar("stage", default="")


@contextmanager
def report_to(listener: Listener) -> Iterator[None]:
    """Report every pass inside this block to the listener."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


@contextmanager
def during(stage: str) -> Iterator[None]:
    """Name the passes inside this block; also a decorator."""
    before = _stage.set(stage)
    try:
        yield
    finally:
        _stage.reset(before)


def report_progress(done: int, total: int) -> None:
    """Report the rows read so far, and all rows, to the listener, if there is one."""
    listener = _listener.get()
    if listener is not None:
        listener(_stage.get(), done, total)
