"""The audit: named checks in a fixed order, within a time, to rows that say what was claimed and what was found.

Exact and numerical checks come first and take what they need; the rest of the time is shared by canaries, searches
and samples. With the stated confidence nothing in the whole run is called violated by bad luck.
"""

import time
from collections.abc import Callable, Iterator

from dimfree.audit.audited import DELTA, Subject
from dimfree.audit.canaries.one_run import fewest_releases
from dimfree.audit.exact.divergence import judge
from dimfree.audit.numerics.checks import NUMERICS as NUMERICAL
from dimfree.audit.numerics.timing import timing
from dimfree.audit.registry import CANARIES, SEARCHES, subjects
from dimfree.audit.registry import EXACT as EXACT_CHECKS
from dimfree.audit.row import (
    EXACT,
    HELD,
    NUMERICS,
    ONE_RUN,
    REPORTED,
    SAMPLED,
    SEARCHED,
    SKIPPED,
    TIMING,
    VIOLATED,
    Check,
    Row,
    Time,
)
from dimfree.audit.sampling import sample
from dimfree.audit.search.climb import find_worst_pair
from dimfree.audit.workers import Workers, alone, row_of

EPSILONS = (0.5, 1.0, 3.0)
FAILURE = 1e-4  # of the whole run: all rows that rest on samples together
_SEARCH_WEIGHT, _ONE_RUN_WEIGHT = 0.25, 2.0  # beside 1 for a mechanism that is sampled
_MOST_RELEASES = 400  # of a one-run audit


def checks(failure: float = FAILURE, epsilons: tuple[float, ...] = EPSILONS) -> list[Check]:
    """Everything there is to check, in order."""
    asked = [subject for epsilon in sorted(epsilons, reverse=True) for subject in subjects(epsilon)]  # dearest first
    each = failure / (len(asked) + len(CANARIES) * len(epsilons))
    return [
        *(_exact(name, epsilon) for name in EXACT_CHECKS for epsilon in epsilons),
        *(_numerical(name) for name in NUMERICAL),
        Check("time of a release", TIMING, _timed),
        *(_one_run(name, epsilon, each) for name in CANARIES for epsilon in epsilons),
        *(_searched(name, epsilon) for name in SEARCHES for epsilon in epsilons),
        *(_sampled(subject, each) for subject in asked),
    ]


def weighted(mechanism: str | None = None) -> list[Check]:
    """Those that share the time and have this in their name; each worker makes the list for itself."""
    return [check for check in checks() if check.weight and (mechanism is None or mechanism in check.mechanism)]


def names() -> list[str]:
    """What --mechanism understands."""
    return list(dict.fromkeys(check.mechanism for check in checks(epsilons=EPSILONS[-1:])))


def audit(
    budget: float,
    chosen: list[Check] | None = None,
    tell: Callable[[str], None] = lambda _: None,
    workers: Workers = alone,
) -> Iterator[Row]:
    """Run the checks. `budget` seconds are shared by weight among the checks that have one; the clock starts with the
    first of them. A check that raises counts as violated: no mechanism may fail on these tables."""
    todo = checks() if chosen is None else chosen
    free = [check for check in todo if not check.weight]
    for check in free:
        tell(check.mechanism)
        yield row_of(check, Time(0.0, budget))
    yield from workers([check for check in todo if check.weight], budget, tell)


def _verdict(violated: object) -> str:
    return VIOLATED if violated else HELD


def _exact(name: str, epsilon: float) -> Check:
    make, delta = EXACT_CHECKS[name]

    def run(given: Time) -> Row:
        found = judge(make(epsilon, DELTA), epsilon, delta)
        detail = f"delta {found.delta:.3g} at epsilon"
        return Row(name, EXACT, epsilon, delta, found.epsilon, found.pairs, 0, _verdict(found.violated), detail)

    return Check(name, EXACT, run)


def _searched(name: str, epsilon: float) -> Check:
    def run(given: Time) -> Row:
        found = find_worst_pair(SEARCHES[name](epsilon), given.share)
        claim, verdict = (found.epsilon, found.delta), _verdict(found.violated)
        return Row(name, SEARCHED, *claim, found.found, found.tried, 0, verdict, found.detail)

    return Check(name, SEARCHED, run, _SEARCH_WEIGHT)


def _numerical(name: str) -> Check:
    def run(given: Time) -> Row:
        complaints = NUMERICAL[name]()
        return Row(name, NUMERICS, verdict=_verdict(complaints), detail="; ".join(complaints))

    return Check(name, NUMERICS, run)


def _timed(given: Time) -> Row:
    return Row("time of a release", TIMING, verdict=REPORTED, detail=timing())


def _one_run(name: str, epsilon: float, failure: float) -> Check:
    """The number of releases follows from the time of one, measured on one that is not counted."""

    def run(given: Time) -> Row:
        releases = _affordable(name, epsilon, failure, given) if given.left > 0 else None
        if releases is None:
            return Row(name, ONE_RUN, epsilon, DELTA, verdict=SKIPPED)
        found = CANARIES[name](epsilon, failure, releases=releases)
        detail = f"{found.correct} of {found.game.most} guesses right"
        claim, played = (epsilon, DELTA, found.epsilon), (found.game.canaries, releases)
        return Row(name, ONE_RUN, *claim, *played, _verdict(found.epsilon > epsilon), detail)

    return Check(name, ONE_RUN, run, _ONE_RUN_WEIGHT)


def _affordable(name: str, epsilon: float, failure: float, given: Time) -> int | None:
    """Enough releases to find one that tells everything, or more if time allows; None if it does not.

    Two are played beforehand and not counted: the first may calibrate, the second is timed.
    """
    play = CANARIES[name]
    game = play(epsilon, failure, releases=1).game
    started = time.monotonic()
    play(epsilon, failure, releases=1)
    cost = time.monotonic() - started
    fewest = fewest_releases(game, epsilon, DELTA, failure)
    seconds = given.enough(fewest * cost)
    return None if seconds is None else int(min(_MOST_RELEASES, max(fewest, seconds / cost)))


def _sampled(subject: Subject, failure: float) -> Check:
    return Check(subject.name, SAMPLED, lambda given: sample(subject, given, failure), subject.weight)
