"""Seconds by the clock or of the processor, peaks of memory, and what a cell of the benchmark of speed says of them."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dimfree._types import Integers
from dimfree.noise import SystemNoise

GIB = 2.0**30

Row = dict[str, Any]


def row(what: str, value: float, unit: str, bar: float | None = None, seconds: float | None = None) -> Row:
    """One figure, in `unit`, with what it may be at most; `seconds`: the time from which a ratio was made."""
    return {"what": what, "value": value, "unit": unit, "bar": bar, "seconds": seconds}


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    work()
    return clock() - start


def best(work: Callable[[], object], rounds: int = 3, clock: Callable[[], float] = time.perf_counter) -> float:
    """The quickest of some; the first also warms up."""
    return min(seconds(work, clock) for _ in range(rounds))


def peak_gib() -> float:
    """Linux's own account of this process; ru_maxrss would begin with that of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / GIB


def child(words: Sequence[str]) -> tuple[float, float, float]:
    """A Python process of its own: seconds by the clock, of the processor, and its peak in GiB.

    It may keep compiled modules, as an installed package has them, whatever the environment of the benchmark says.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{words[0]} {words[1]} ended with {process.returncode}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / GIB


class TimedNoise(SystemNoise):
    """Private noise, with a clock. OpenDP is imported before it starts."""

    def __init__(self) -> None:
        super().__init__()
        super().gaussian(2.0**24, 1)
        self.seconds = 0.0

    def gaussian(self, stddev: float, size: int) -> Integers:
        start = time.perf_counter()
        drawn = super().gaussian(stddev, size)
        self.seconds += time.perf_counter() - start
        return drawn
