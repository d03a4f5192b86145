"""A claim against samples of its code: try all pairs, then test the worst one on fresh samples.

The number of samples of the test is fixed before the first of them is drawn, from the cost of the first trial: stopping
by the clock could prefer outputs that are quick. Proof: proofs/audit/lower_bound.md.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dimfree._types import Floats
from dimfree.audit.audited import Subject
from dimfree.audit.lower_bound import Contest, bound, choose_tests, epsilon_at_least
from dimfree.audit.noise_doubles import PooledNoise
from dimfree.audit.pairs.pair import Pair
from dimfree.audit.row import HELD, SAMPLED, SKIPPED, VIOLATED, Row, Time
from dimfree.noise import Noise, SystemNoise

MOST = 400_000  # samples of either table
AMPLE = Time(math.inf, math.inf)
_TRIAL_SHARE = 1 / 3  # of the time
_TRIAL_SAMPLES = 30  # of either table, at least
_FEWEST_PAIRS = 4  # that are tried, if there are as many
_TRIAL_FAILURE = 0.1  # at which tried pairs are compared
_DETECTED = 1.3  # times the claim: the bound on a mechanism that tells everything must reach this


@dataclass(frozen=True)
class Trial:
    """A pair, the epsilon that a first trial suggests, its tests, and the seconds for one output of either table."""

    pair: Pair
    epsilon: float
    tests: list[Contest]
    cost: float


def fewest(epsilon: float, delta: float, failure: float) -> int:
    """The number of samples of either table that shows a mechanism which tells everything: fewer find nothing."""
    count = 8
    while epsilon_at_least((count, count, 0, count), delta, failure) < _DETECTED * epsilon:
        count = math.ceil(1.1 * count)
    return count


def sample(subject: Subject, given: Time, failure: float, noise: Noise | None = None, most: int = MOST) -> Row:
    """One row: the claim is violated if the bound on the worst pair exceeds it."""
    started, claim = time.monotonic(), (subject.name, SAMPLED, subject.epsilon, subject.delta)
    least = min(most, fewest(subject.epsilon, subject.delta, failure / 3))
    suite = subject.pairs() if given.left > 0 else ()
    cost = _cost(subject, suite[0], noise or PooledNoise(SystemNoise())) if suite else math.inf
    trials = min(len(suite), _FEWEST_PAIRS) * _TRIAL_SAMPLES
    seconds = given.enough(2 * (trials + least) * cost + time.monotonic() - started)
    if seconds is None:
        return Row(*claim, verdict=SKIPPED)
    tried = list(_tried(subject, suite, seconds * _TRIAL_SHARE, noise or PooledNoise(SystemNoise()), most // 2))
    worst = max(tried, key=lambda each: each.epsilon)
    count = _affordable(started + seconds - time.monotonic(), worst.cost, least, most)
    here, there = draws(subject, worst.pair, count, noise or PooledNoise(SystemNoise()))
    found = bound(worst.tests, here, there, subject.delta, failure)
    verdict = VIOLATED if found.epsilon > subject.epsilon else HELD
    detail = f"{worst.pair.name}, by {found.test}" if found.epsilon else worst.pair.name
    return Row(*claim, found.epsilon, len(tried), found.samples, verdict, detail)


def _cost(subject: Subject, pair: Pair, noise: Noise) -> float:
    """Seconds for one output, after one that may have calibrated."""
    subject.draw(pair.here, noise)
    started = time.monotonic()
    subject.draw(pair.there, noise)
    return time.monotonic() - started


def _tried(subject: Subject, suite: tuple[Pair, ...], seconds: float, noise: Noise, most: int) -> Iterator[Trial]:
    """As many pairs as time allows, each for its share of it."""
    end = time.monotonic() + seconds
    for place, pair in enumerate(suite):
        started = time.monotonic()
        if place and started >= end:
            return
        here, there = _until(subject, pair, (end - started) / (len(suite) - place), noise, most)
        cost = (time.monotonic() - started) / len(here)
        tests = choose_tests(here, there, subject.delta)
        yield Trial(pair, bound(tests, here, there, subject.delta, _TRIAL_FAILURE).epsilon, tests, cost)


def _until(subject: Subject, pair: Pair, seconds: float, noise: Noise, most: int) -> tuple[Floats, Floats]:
    """Outputs on both tables, in turn, until the time is over; they are not used in the test."""
    end = time.monotonic() + seconds
    here: list[Floats] = []
    there: list[Floats] = []
    while len(here) < min(_TRIAL_SAMPLES, most) or (len(here) < most and time.monotonic() < end):
        here.append(subject.draw(pair.here, noise))
        there.append(subject.draw(pair.there, noise))
    return np.array(here), np.array(there)


def _affordable(seconds: float, cost: float, least: int, most: int) -> int:
    """How many outputs of either table to test."""
    return int(min(most, max(least, seconds / max(cost, 1e-9))))


def draws(subject: Subject, pair: Pair, count: int, noise: Noise) -> tuple[Floats, Floats]:
    """So many outputs on either table."""
    both = [(subject.draw(pair.here, noise), subject.draw(pair.there, noise)) for _ in range(count)]
    here, there = zip(*both, strict=True)
    return np.array(here), np.array(there)
