"""A progress bar that nobody sees when the work is quick.

It is for the curator's eyes: on stderr, only on a terminal, gone when the work is done. How fast it moves tells about
how many rows there are, which the release itself protects, so it is never written to a file or a log.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.0  # seconds before the bar shows

Tell = Callable[[str, int, int], None]  # what is being done, how many steps are done, of how many


@contextmanager
def working(what: str) -> Iterator[Tell]:
    """A progress bar on a terminal, once the work has taken more than a second; it moves if it is told to."""
    with _bar(what) as (progress, task):
        yield lambda step, done, total: progress.update(
            task, description=f"{what}: {step} of {total}", completed=done, total=total
        )


@contextmanager
def passing(what: str) -> Iterator[None]:
    """The same for work that passes over the records, stage by stage, with the time that the present pass will take."""
    from dimfree.progress import listening

    with _bar(what, timed=True) as (progress, task), listening(_Passes(what, progress, task)):
        yield


class _Passes:
    """Moves the bar, and begins anew with every pass."""

    def __init__(self, what: str, progress: "Progress", task: "TaskID") -> None:
        self._what, self._progress, self._task = what, progress, task
        self._before = 0

    def __call__(self, stage: str, done: int, total: int) -> None:
        if done <= self._before:
            self._progress.reset(self._task, total=total)
        self._before = done
        description = f"{self._what}: {stage}" if stage else self._what
        self._progress.update(self._task, description=description, completed=done, total=total)


@contextmanager
def _bar(what: str, *, timed: bool = False) -> Iterator[tuple["Progress", "TaskID"]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    time = TimeRemainingColumn(elapsed_when_finished=True) if timed else TimeElapsedColumn()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), time)
    progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = progress.add_task(what, total=None)
    timer = threading.Timer(PATIENCE, progress.start)
    timer.daemon = True
    timer.start()
    try:
        yield progress, task
    finally:
        timer.cancel()
        timer.join()  # a bar that is just starting must have started before it can be stopped
        if console.is_terminal:  # rich before 14.3 ends a bar that nobody saw with an empty line
            with suppress(OSError):  # of a terminal that is gone: the release behind this bar may be paid for
                progress.stop()
