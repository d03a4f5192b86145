"""One progress bar for a whole run, which nobody sees when the work is quick.

It is for the curator's eyes: on stderr, only on a terminal, gone when the work is done. How fast it moves tells about
how many rows there are, which the release itself protects, so it is never written to a file or a log.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from dimfree.progress import listening

PATIENCE = 1.0  # seconds before the bar shows


class Bar:
    """The bar of a run: its stages, and how far the present one is."""

    def __init__(self, stage: str) -> None:
        console, text = Console(stderr=True), TextColumn("{task.description}")
        columns = (SpinnerColumn(), text, BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._progress.add_task("", total=None)
        self.stage(stage)

    def stage(self, what: str) -> None:
        """Begin a stage of the run; how far it is shows when it is reported."""
        self._stage, self._before, self._stepped = what, 0, False
        self._progress.reset(self._task, total=None, description=what)

    def steps(self, step: str, done: int, total: int) -> None:
        """Report the steps of a stage that are done; passes over rows within a step do not show then."""
        self._stepped = True
        self._progress.update(self._task, description=f"{self._stage}: {step}", completed=done, total=total)

    def rows(self, part: str, done: int, total: int) -> None:
        """Report the rows of a pass that were read; the bar begins anew with every pass."""
        if self._stepped:
            return
        if done <= self._before:
            self._progress.reset(self._task, total=total)
        self._before = done
        description = f"{self._stage}: {part}" if part else self._stage
        self._progress.update(self._task, description=description, completed=done, total=total)

    def begin(self) -> None:
        """Show the bar once the work has taken more than a second."""
        self._timer = threading.Timer(PATIENCE, self._progress.start)
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        """Take the bar down."""
        self._timer.cancel()
        self._timer.join()  # a bar that is just starting must have started before it can be stopped
        if not self._progress.disable:  # rich before 14.3 ends a bar that nobody saw with an empty line
            with suppress(OSError):  # of a terminal that is gone: the release behind this bar may be paid for
                self._progress.stop()


@contextmanager
def working(stage: str) -> Iterator[Bar]:
    """Show how far the work in here is, on a terminal."""
    bar = Bar(stage)
    bar.begin()
    try:
        with listening(bar.rows):
            yield bar
    finally:
        bar.end()
