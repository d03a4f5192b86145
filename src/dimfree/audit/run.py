"""The audit: named checks in a fixed order, within a time, to rows that say what was claimed and what was found.

Exact and numerical checks come first and take what they need; the rest of the time is shared by the sampled ones. A
sampled check scouts all its pairs, then spends the larger part of its share on the pair that looked worst, with fresh
samples: only these are tested. With the stated confidence no sampled row of the whole run is violated by bad luck.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dimfree.audit.doors import Pooled
from dimfree.audit.exact import judge
from dimfree.audit.lower_bound import Test, bound, choose_tests
from dimfree.audit.neighbours import Pair
from dimfree.audit.numerics import NUMERICS
from dimfree.audit.subjects import DELTA, Subject, subjects
from dimfree.audit.worlds import WORLDS
from dimfree.noise import Noise, SystemNoise

Floats = NDArray[np.float64]

EPSILONS = (0.5, 1.0, 3.0)
FAILURE = 1e-6  # of the whole run: all sampled rows together
HELD, VIOLATED, SKIPPED = "held", "violated", "no time"
_SCOUTING = 1 / 3  # of a sampled check's time
_SCOUTED, _FEWEST = 30, 100  # samples of either table, at least, of a scouted pair and of the one that is tested
_MOST = 400_000


@dataclass(frozen=True)
class Row:
    """One line of the report. A lower bound is certain (exact) or holds with the stated confidence (sampled)."""

    mechanism: str
    how: str  # exact, numerics or sampled
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
    """Something to run; a sampled one is given seconds."""

    mechanism: str
    how: str
    run: Callable[[float], Row]
    weight: float = 0.0  # of its share of the time; what is not sampled takes what it needs


def checks(failure: float = FAILURE, epsilons: tuple[float, ...] = EPSILONS) -> list[Check]:
    """Everything there is to check, in order."""
    exact = [_exact(name, epsilon) for name in WORLDS for epsilon in epsilons]
    numerics = [_numerical(name) for name in NUMERICS]
    asked = [subject for epsilon in epsilons for subject in subjects(epsilon)]
    return [*exact, *numerics, *(_sampled(subject, failure / len(asked)) for subject in asked)]


def names() -> list[str]:
    """What --mechanism understands."""
    return list(dict.fromkeys(check.mechanism for check in checks()))


def audit(
    budget: float, chosen: list[Check] | None = None, tell: Callable[[str], None] = lambda _: None
) -> Iterator[Row]:
    """Rows, one after another. `budget` in seconds; checks for which no time is left are listed as such."""
    todo = checks() if chosen is None else chosen
    end = time.monotonic() + budget
    for place, check in enumerate(todo):
        waiting = sum(other.weight for other in todo[place:])
        tell(check.mechanism)
        yield check.run((end - time.monotonic()) * check.weight / waiting if waiting else 0.0)


def _exact(name: str, epsilon: float) -> Check:
    make, approximate = WORLDS[name]
    delta = DELTA if approximate else 0.0

    def run(seconds: float) -> Row:
        started = time.monotonic()
        found = judge(make(epsilon, DELTA), epsilon, delta)
        verdict, detail = (VIOLATED if found.violated else HELD), f"delta {found.delta:.3g} at epsilon"
        spent = time.monotonic() - started
        return Row(name, "exact", epsilon, delta, found.epsilon, found.pairs, 0, verdict, detail, spent)

    return Check(name, "exact", run)


def _numerical(name: str) -> Check:
    def run(seconds: float) -> Row:
        started = time.monotonic()
        complaints = NUMERICS[name]()
        spent = time.monotonic() - started
        verdict = VIOLATED if complaints else HELD
        return Row(name, "numerics", None, None, None, 0, 0, verdict, "; ".join(complaints), spent)

    return Check(name, "numerics", run)


def _sampled(subject: Subject, failure: float) -> Check:
    return Check(subject.name, "sampled", lambda seconds: sample(subject, seconds, failure), subject.weight)


def sample(subject: Subject, seconds: float, failure: float, noise: Noise | None = None, most: int = _MOST) -> Row:
    """Scout all pairs, then test the worst on fresh samples. How many there are depends on time, never on outputs."""
    started = time.monotonic()
    door = noise or Pooled(SystemNoise())

    def row(found: float | None, tried: int, samples: int, verdict: str, detail: str) -> Row:
        spent = time.monotonic() - started
        claim = subject.epsilon, subject.delta
        return Row(subject.name, "sampled", *claim, found, tried, samples, verdict, detail, spent)

    if seconds <= 0:
        return row(None, 0, 0, SKIPPED, "")
    suite = subject.pairs()
    if seconds < 2 * (_SCOUTED + _FEWEST) * _cost(subject, suite[0], door) + time.monotonic() - started:
        return row(None, 0, 0, SKIPPED, "")
    scouted = list(_scout(subject, suite, seconds * _SCOUTING, door, most // 2))
    _, pair, tests = max(scouted, key=lambda each: each[0])
    here, there = collect(subject, pair, started + seconds - time.monotonic(), door, _FEWEST, most)
    found = bound(tests, here, there, subject.delta, failure)
    verdict = VIOLATED if found.epsilon > subject.epsilon else HELD
    detail = f"{pair.name}, by {found.test}" if found.epsilon else pair.name
    return row(found.epsilon, len(scouted), found.samples, verdict, detail)


def _cost(subject: Subject, pair: Pair, noise: Noise) -> float:
    """Seconds for one output, after one that may have calibrated."""
    subject.draw(pair.here, noise)
    started = time.monotonic()
    subject.draw(pair.there, noise)
    return time.monotonic() - started


def _scout(
    subject: Subject, suite: tuple[Pair, ...], seconds: float, noise: Noise, most: int
) -> Iterator[tuple[float, Pair, list[Test]]]:
    """(how bad a pair looks, the pair, the tests its samples suggest), for as many pairs as time allows."""
    end = time.monotonic() + seconds
    for place, pair in enumerate(suite):
        left = end - time.monotonic()
        if place and left <= 0:
            return
        here, there = collect(subject, pair, left / (len(suite) - place), noise, _SCOUTED, most)
        tests = choose_tests(here, there)
        yield bound(tests, here, there, subject.delta, 0.1).epsilon, pair, tests


def collect(subject: Subject, pair: Pair, seconds: float, noise: Noise, least: int, most: int) -> tuple[Floats, Floats]:
    """Outputs on both tables, in turn, until the time is over; never fewer than `least` of each."""
    end = time.monotonic() + seconds
    here: list[Floats] = []
    there: list[Floats] = []
    while len(here) < least or (len(here) < most and time.monotonic() < end):
        here.append(subject.draw(pair.here, noise))
        there.append(subject.draw(pair.there, noise))
    return np.array(here), np.array(there)
