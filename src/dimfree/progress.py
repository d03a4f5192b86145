"""How far a pass over the records is, for a progress bar on the terminal of the data owner.

A listener is given the name of the stage, which is public, and how many rows of how many were read. Under add/remove
that is private: it must not be logged or written. It never sees a value and cannot change a result.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Listener: TypeAlias = Callable[[str, int, int], None]  # (stage, rows done, rows in all)

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_stage: ContextVar[str] = ContextVar("stage", default="")


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Every pass inside this block is reported to the listener."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


@contextmanager
def during(stage: str) -> Iterator[None]:
    """The name of the passes inside this block; also a decorator."""
    before = _stage.set(stage)
    try:
        yield
    finally:
        _stage.reset(before)


def heard(done: int, total: int) -> None:
    listener = _listener.get()
    if listener is not None:
        listener(_stage.get(), done, total)
