"""How far the command that runs has come, for the sentence with which it ends when it fails or is stopped."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType

from dimfree.cli.signals import handled

STDOUT = "standard output"


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
    writing: str = ""  # what is being written now

    @contextmanager
    def output(self, name: str) -> Iterator[None]:
        """Write one output in here."""
        self.writing = name
        try:
            yield
            self.written.append(name)
        except Exception:  # an interrupt leaves the name, as the output may be there
            self.writing = ""
            raise
        self.writing = ""

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
        begun = [f"{self.writing} may be written"] if self.writing not in ("", *self.written) else []
        if self.writing == STDOUT:
            begun = ["part of the mean may be out on standard output"]
        done = [f"written: {', '.join(self.written)}"] if self.written else []
        return f"{'; '.join(begun + done) or 'no mean is out'}."

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
