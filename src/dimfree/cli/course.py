"""How far the command that runs has come, for the sentence with which it ends when it fails or is stopped."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType

from dimfree.results.signals import handled


class Stopped(KeyboardInterrupt):
    """Ctrl-C, SIGTERM or SIGHUP."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.code = 128 + number  # the exit code, as shells have it


@dataclass
class Course:
    """What a ledger was charged, in words, and which outputs are there."""

    spends: bool = False  # the command may release something
    charged: str = ""
    written: list[str] = field(default_factory=list)
    printing: bool = False  # a mean to standard output: part of it may be out

    def interrupted(self) -> str:
        if not self.spends:
            return "Interrupted; no file is half-written."
        return f"Interrupted; {self._outputs()} {self._charges()}"

    def failed(self, sentence: str) -> str:
        """The sentence about a failure, and what was charged or written before it."""
        after = [f"Written: {', '.join(self.written)}."] if self.written else []
        after += [self._charges()] if self.charged else []
        return " ".join([sentence, *after])

    def _outputs(self) -> str:
        if self.printing:
            also = f"; {', '.join(self.written)} written" if self.written else ""
            return f"part of the mean may be out on standard output{also}."
        return f"everything is written: {', '.join(self.written)}." if self.written else "no mean is out."

    def _charges(self) -> str:
        return f"Charged to the ledger and spent: {self.charged}." if self.charged else "No ledger was charged."


_course: ContextVar[Course | None] = ContextVar("course", default=None)


def current() -> Course:
    """Of the command that runs."""
    return _course.get() or Course()


@contextmanager
def begun(course: Course) -> Iterator[None]:
    """A command; Ctrl-C, SIGTERM and SIGHUP stop it in the same way."""
    before = _course.set(course)
    try:
        with handled(_stop):
            yield
    finally:
        _course.reset(before)


def _stop(number: int, _: FrameType | None) -> None:
    raise Stopped(number)
