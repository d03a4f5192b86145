"""How long a release takes, on neighbouring tables and for refusals: measured and reported, not promised.

The guarantee speaks of what a release says, not of when it says it. Whoever can time a release to the millisecond may
learn from that; these figures say how much on this machine, in these cases.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dimfree._types import Floats
from dimfree.audit.numerics.calls import COLUMNS, Call, calls, table

_LEAST, _MOST = 5, 400  # runs on either table


@dataclass(frozen=True)
class Timing:
    """Median seconds on either table, and how often a guess by time alone is right about which table it was."""

    name: str
    here: float
    there: float
    area: float  # under the ROC curve: 0.5 tells nothing, 1 tells all
    runs: int

    def __str__(self) -> str:
        chance = 0.5 + 2 / np.sqrt(6 * self.runs)  # two deviations above what equal times give
        told = "told apart" if self.area > chance else "not told apart"
        medians = f"{1e3 * self.here:.3g} / {1e3 * self.there:.3g} ms"
        return f"{self.name}: {medians}, AUC {self.area:.2f} ({told}, {self.runs} runs each)"


def cases() -> dict[str, tuple[Call, Floats, Floats]]:
    """A name, a call, and the two tables it is timed on."""
    honest, known = table(), calls()
    outlier = np.concatenate([honest[:-1], np.full((1, COLUMNS), 1e12)])
    apart = np.where(np.arange(len(honest))[:, None] % 2, honest, honest + 100.0)
    return {
        "soft, far outlier": (known["soft"], honest, outlier),
        "soft, refusal": (known["soft"], honest, apart),
        "recentred, far outlier": (known["recentred, Isotropic"], honest, outlier),
        "recentred, one record more": (known["recentred, Isotropic"], honest, honest[:-1]),
        "recentred, refusal": (known["recentred, Isotropic"], honest, apart),
        "auto, far outlier": (known["auto"], honest, outlier),
    }


def timed(
    name: str, call: Call, here: Floats, there: Floats, seconds: float, clock: Callable[[], float] = time.perf_counter
) -> Timing:
    """Both tables in turn until the time is over, after one run of each that is not counted."""
    spent: tuple[list[float], list[float]] = ([], [])
    call(here), call(there)
    end = clock() + seconds
    while len(spent[0]) < _LEAST or (len(spent[0]) < _MOST and clock() < end):
        for times, each in zip(spent, (here, there), strict=True):
            started = clock()
            call(each)
            times.append(clock() - started)
    first, second = map(np.array, spent)
    return Timing(name, float(np.median(first)), float(np.median(second)), area(first, second), len(first))


def area(first: Floats, second: Floats) -> float:
    """P(a time from the one is longer than one from the other), ties half; the better of both directions."""
    longer = float(np.mean(np.sign(second[:, None] - first) / 2 + 0.5))
    return max(longer, 1 - longer)


def timings(seconds: float = 3.0) -> list[Timing]:
    """All cases, in about so many seconds together."""
    todo = cases()
    return [timed(name, *case, seconds / len(todo)) for name, case in todo.items()]


def timing(seconds: float = 3.0) -> str:
    """The text of an informational row."""
    return "; ".join(map(str, timings(seconds))) + ". Reported, not promised."
