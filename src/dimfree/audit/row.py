"""One row of an audit's report, and a check that gives one."""

from collections.abc import Callable
from dataclasses import dataclass

HELD, VIOLATED, SKIPPED, REPORTED = "held", "violated", "no time", "reported"
EXACT, NUMERICS, ONE_RUN, SAMPLED, SEARCHED, TIMING = "exact", "numerics", "one run", "sampled", "searched", "timing"


@dataclass(frozen=True)
class Row:
    """What was claimed and what was found.

    A lower bound is certain (exact, searched) or holds with the stated confidence (one run, sampled). `pairs` counts
    pairs of tables, for a one-run audit canaries.
    """

    mechanism: str
    how: str
    epsilon: float | None = None
    delta: float | None = None
    lower_bound: float | None = None
    pairs: int = 0
    samples: int = 0
    verdict: str = HELD
    detail: str = ""
    seconds: float = 0.0  # set by whoever runs the check


@dataclass(frozen=True)
class Check:
    """Runs within a time and gives a row; a check of weight 0 takes the time it needs."""

    mechanism: str
    how: str
    run: Callable[["Time"], Row]
    weight: float = 0.0


@dataclass(frozen=True)
class Time:
    """Seconds: the share of one check, and all that are left. A check that needs more than its share may take it from
    the rest; if that is not enough it is skipped, as too few samples find nothing."""

    share: float
    left: float

    def enough(self, needed: float) -> float | None:
        """The seconds to use if at least `needed` are needed; None if they are not left."""
        return max(self.share, needed) if needed <= self.left else None
