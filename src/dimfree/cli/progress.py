"""One progress bar for a whole run; a quick run shows none.

Only the person who releases sees the bar: it is on stderr, only on a terminal, and disappears at the end. Its speed
reveals the number of rows, which is private, so it is never written to a file or a log.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from dimfree.progress import report_to

PATIENCE = 1.0  # seconds before the bar shows


class Bar:
    """The progress bar of a run with several stages."""

    def __init__(self, stage: str) -> None:
        console, text = Console(stderr=True), TextColumn("{task.description}")
        columns = (SpinnerColumn(), text, BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._progress.add_task("", total=None)
        self.stage(stage)

    def stage(self, what: str) -> None:
        """Begin a stage of the run."""
        self._stage, self._before, self._stepped = what, 0, False
        self._progress.reset(self._task, total=None, description=what)

    def steps(self, step: str, done: int, total: int) -> None:
        """Report the completed steps of a stage; passes over rows within a step are not shown then."""
        self._stepped = True
        self._progress.update(self._task, description=f"{self._stage}: {step}", completed=done, total=total)

    def rows(self, part: str, done: int, total: int) -> None:
        """Report the rows of a pass that were read; the bar starts again with every pass."""
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
        """Remove the bar."""
        self._timer.cancel()
        self._timer.join()  # the bar must have started before it can be stopped
        if not self._progress.disable:  # rich before 14.3 ends a hidden bar with an empty line
            with suppress(OSError):  # the terminal is closed; the budget of the release may be charged
                self._progress.stop()


@contextmanager
def show_progress(stage: str) -> Iterator[Bar]:
    """Show the progress of the block on a terminal."""
    bar = Bar(stage)
    bar.begin()
    try:
        with report_to(bar.rows):
            yield bar
    finally:
        bar.end()
