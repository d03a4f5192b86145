"""Ctrl-C, SIGTERM and SIGHUP: how they are handled, and steps that they must not interrupt."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Stopping signals go to the handler in here. One that is ignored, as under nohup, stays ignored.

    Python handles signals in the main thread only, so nothing changes in another thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in STOPPING}
    taken = [number for number in STOPPING if before[number] not in (signal.SIG_IGN, None)]
    try:
        for number in taken:
            signal.signal(number, handler)
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])


@contextmanager
def undivided() -> Iterator[None]:
    """A stopping signal that comes in here is delivered when the block has ended, done or failed. Keep it short."""
    came: list[int] = []
    try:
        with handled(lambda number, _: came.append(number)):
            yield
    finally:
        if came:
            signal.raise_signal(came[0])
