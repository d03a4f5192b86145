"""Runs the checks that share the time in one process or in several.

A check cannot be pickled: it is made of functions. So each process makes the whole list and gets positions in it.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import replace
from functools import partial
from multiprocessing import get_context

from dimfree.audit.row import VIOLATED, Check, Row, Time

Tell = Callable[[str], None]
Workers = Callable[[list[Check], float, Tell], Iterator[Row]]  # checks, seconds, progress → rows in the same order


def row_of(check: Check, given: Time) -> Row:
    """The row of a check. An exception is a finding and is shown: the tables of the audit are public."""
    started = time.monotonic()
    try:
        row = check.run(given)
    except Exception as error:  # noqa: BLE001
        detail = f"broke off: {type(error).__name__}: {error}"
        row = Row(check.mechanism, check.how, verdict=VIOLATED, detail=detail)
    return replace(row, seconds=time.monotonic() - started)


def share(checks: list[Check], place: int, left: float, workers: int = 1) -> Time:
    """Seconds for the check at this place: the waiting checks share by weight what all workers have left."""
    waiting = sum(check.weight for check in checks[place:])
    return Time(min(left, left * workers * checks[place].weight / waiting), left)


def alone(checks: list[Check], budget: float, tell: Tell) -> Iterator[Row]:
    """One after another."""
    end = time.monotonic() + budget
    for place, check in enumerate(checks):
        tell(check.mechanism)
        yield row_of(check, share(checks, place, end - time.monotonic()))


_MADE: list[Check] = []  # of this process


def _make(make: Callable[[], list[Check]]) -> None:
    _MADE[:] = make()


def _at(place: int, given: Time) -> Row:
    return row_of(_MADE[place], given)


def together(count: int, make: Callable[[], list[Check]]) -> Workers:
    """So many processes; `make` gives each of them the same list of checks, and has to be importable."""

    def run(checks: list[Check], budget: float, tell: Tell) -> Iterator[Row]:
        end, rows, shown = time.monotonic() + budget, {}, 0
        with ProcessPoolExecutor(count, get_context("spawn"), _make, (make,)) as pool:
            running: dict[Future[Row], int] = {}
            for place, check in enumerate(checks):
                if len(running) == count:
                    rows.update(_finished(running))
                    while shown in rows:
                        yield rows.pop(shown)
                        shown += 1
                tell(check.mechanism)
                running[pool.submit(partial(_at, place, share(checks, place, end - time.monotonic(), count)))] = place
            while running:
                rows.update(_finished(running))
        yield from (rows[place] for place in sorted(rows))

    return run


def _finished(running: dict[Future[Row], int]) -> dict[int, Row]:
    """Wait for one at least; those that are done leave the table of the running."""
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    return {running.pop(future): future.result() for future in done}
