"""One line of an audit's report, and the things that can be said of a claim."""

from collections.abc import Callable
from dataclasses import dataclass

HELD, VIOLATED, SKIPPED, REPORTED = "held", "violated", "no time", "reported"
EXACT, HUNTED, NUMERICS, ONE_RUN, SAMPLED, TIMING = "exact", "hunted", "numerics", "one run", "sampled", "timing"


@dataclass(frozen=True)
class Row:
    """What was claimed and what was found.

    A lower bound is certain (exact, hunted) or holds with the stated confidence (one run, sampled). `pairs` counts
    pairs of tables, for a one-run audit canaries.
    """

    mechanism: str
    how: str
    epsilon: float | None
    delta: float | None
    lower_bound: float | None
    pairs: int
    samples: int
    verdict: str
    detail: str
    seconds: float


@dataclass(frozen=True)
class Check:
    """Something to run within a time; one without a weight takes what it needs."""

    mechanism: str
    how: str
    run: Callable[["Time"], Row]
    weight: float = 0.0


@dataclass(frozen=True)
class Time:
    """Seconds: the share of one check, and all that is left. Whoever cannot do with the share may take what it needs
    of the rest, or leave it: a look too short to find anything is no look."""

    share: float
    left: float

    def enough(self, needed: float) -> float | None:
        """What to use if at least so much is needed; None where it is not to be had."""
        return max(self.share, needed) if needed <= self.left else None
