"""How far a pass over the records is, for a bar on the curator's own terminal; told to nobody else.

A listener hears the name of the stage, which is public, and how many rows of how many were read: under add/remove that
is private, so it must not be logged or written. It never sees a value and cannot change a result.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Listener: TypeAlias = Callable[[str, int, int], None]  # the stage, how much of this pass is done, of how much

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_stage: ContextVar[str] = ContextVar("stage", default="")


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Every pass in here is told to the listener."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


@contextmanager
def during(stage: str) -> Iterator[None]:
    """The passes in here have this name; also a decorator of a function that makes them."""
    before = _stage.set(stage)
    try:
        yield
    finally:
        _stage.reset(before)


def heard(done: int, total: int) -> None:
    listener = _listener.get()
    if listener is not None:
        listener(_stage.get(), done, total)
