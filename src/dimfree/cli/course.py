"""The progress of the running command, for its last sentence, and its response to Ctrl-C, SIGTERM and SIGHUP."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType

STDOUT = "standard output"
_STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Stopped(KeyboardInterrupt):
    """Ctrl-C, SIGTERM or SIGHUP."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.code = 128 + number  # the exit code of shells


@dataclass
class Course:
    """The charge of a ledger, in words, and the outputs that were written."""

    spends: bool = False  # the command may release something
    charged: str = ""
    written: list[str] = field(default_factory=list)
    writing: str = ""  # what is being written now

    @contextmanager
    def output(self, name: str) -> Iterator[None]:
        """Write one output in the block."""
        self.writing = name
        try:
            yield
            self.written.append(name)
        except Exception:  # an interrupt leaves the name, as the output may be there
            self.writing = ""
            raise
        self.writing = ""

    def describe_interrupt(self) -> str:
        """Describe an interrupt, the outputs that were written, and what was charged."""
        if not self.spends:
            return "Interrupted; no file is half-written."
        begun = [f"{self.writing} may be written"] if self.writing not in ("", *self.written) else []
        if self.writing == STDOUT:
            begun = ["part of the mean may be on standard output"]
        done = [f"written: {', '.join(self.written)}"] if self.written else []
        return f"Interrupted; {'; '.join(begun + done) or 'no mean was written'}. {self._charges()}"

    def describe_failure(self, sentence: str) -> str:
        """Describe a failure, and what was charged or written before it."""
        after = [f"Written: {', '.join(self.written)}."] if self.written else []
        after += [self._charges()] if self.charged else []
        return " ".join([sentence, *after])

    def _charges(self) -> str:
        return f"Charged to the ledger: {self.charged}." if self.charged else "No ledger was charged."


_course: ContextVar[Course | None] = ContextVar("course", default=None)


def current() -> Course:
    """Return the course of the running command."""
    return _course.get() or Course()


@contextmanager
def follow(course: Course) -> Iterator[None]:
    """Run a command that Ctrl-C, SIGTERM and SIGHUP stop in the same way."""

    def stop(number: int, _: FrameType | None) -> None:
        raise Stopped(number)

    before = _course.set(course)
    try:
        with _handle_signals(stop):
            yield
    finally:
        _course.reset(before)


@contextmanager
def _handle_signals(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Pass stopping signals to the handler in the block. A signal that is ignored, as under nohup, stays ignored.

    Python handles signals in the main thread only, so nothing changes in another thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _STOPPING}
    taken = [number for number in _STOPPING if before[number] not in (signal.SIG_IGN, None)]
    try:
        for number in taken:
            signal.signal(number, handler)
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])


@contextmanager
def defer_signals() -> Iterator[None]:
    """Deliver a stopping signal that arrives in the block after the block. Keep the block short."""
    came: list[int] = []
    try:
        with _handle_signals(lambda number, _: came.append(number)):
            yield
    finally:
        if came:
            signal.raise_signal(came[0])
