"""A progress bar that nobody sees when the work is quick."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 1.0  # seconds before the bar shows

Tell = Callable[[str, int, int], None]  # what is being done, how many steps are done, of how many


@contextmanager
def working(what: str) -> Iterator[Tell]:
    """A progress bar on a terminal, once the work has taken more than a second; it moves if it is told to."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = progress.add_task(what, total=None)
    timer = threading.Timer(PATIENCE, progress.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda step, done, total: progress.update(
            task, description=f"{what}: {step} of {total}", completed=done, total=total
        )
    finally:
        timer.cancel()
        timer.join()  # a bar that is just starting must have started before it can be stopped
        progress.stop()
