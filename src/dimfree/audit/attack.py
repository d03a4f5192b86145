"""The claim of one call against its releases: a lower bound on epsilon, by samples and by canaries.

All pairs of neighboring tables are tried, then the worst one is tested on fresh releases. Their number is fixed before
the first of them: stopping by the clock could prefer outputs that are quick. Proofs: proofs/audit.
"""

import math
import time
from dataclasses import dataclass

import numpy as np

from dimfree._types import Floats
from dimfree.audit import one_run
from dimfree.audit.calls import DELTA, Call, Pair, pairs, released_numbers
from dimfree.audit.lower_bound import Contest, bound, choose_tests, epsilon_at_least
from dimfree.noise import Noise, SystemNoise

SAMPLED, ONE_RUN = "sampled", "one run"
_TRIAL_SHARE = 1 / 3  # of the time
_TRIAL_RELEASES, _TRIAL_FAILURE = 30, 0.1  # of either table; at which tried pairs are compared
_DETECTED = 1.3  # times the claim: the bound on a call that releases everything must reach this
_MAX_SAMPLES, _MAX_RELEASES = 400_000, 400  # of either table; with canaries
_RADIUS_SHARE = 0.7  # of the friend radius: canaries within it have friends


@dataclass(frozen=True)
class Row:
    """A claim and what was found. `pairs` counts pairs of tables, or canaries; `samples` counts releases."""

    call: str
    how: str
    epsilon: float | None = None
    delta: float | None = None
    lower_bound: float | None = None
    pairs: int = 0
    samples: int = 0
    verdict: str = "held"
    detail: str = ""
    seconds: float = 0.0


def verdict(violated: object) -> str:
    return "violated" if violated else "held"


def sample(call: Call, epsilon: float, seconds: float, failure: float, noise: Noise | None = None) -> Row:
    """Bound epsilon from below; wrong with probability at most `failure`. `noise`: of a test, not the system's."""
    start = time.monotonic()
    tried: list[tuple[float, Pair, list[Contest], float]] = []
    for pair in pairs(call):
        begun = time.monotonic()
        if tried and begun - start > seconds * _TRIAL_SHARE:
            break
        here, there = _releases(call, pair, _TRIAL_RELEASES, epsilon, noise)
        tests = choose_tests(here, there, DELTA)
        suggested = bound(tests, here, there, DELTA, _TRIAL_FAILURE).epsilon
        tried.append((suggested, pair, tests, (time.monotonic() - begun) / _TRIAL_RELEASES))
    _, worst, tests, cost = max(tried, key=lambda each: each[0])
    count = int(min(_MAX_SAMPLES, (start + seconds - time.monotonic()) / cost))
    if count < _fewest(epsilon, failure / len(tests)):
        return Row(str(call), SAMPLED, epsilon, DELTA, verdict="no time")
    best = bound(tests, *_releases(call, worst, count, epsilon, noise), DELTA, failure)
    claim, found = (str(call), SAMPLED, epsilon, DELTA), (best.epsilon, len(tried), best.samples)
    return Row(*claim, *found, verdict(best.epsilon > epsilon), f"{worst.name}, by {best.test}")


def _releases(call: Call, pair: Pair, count: int, epsilon: float, noise: Noise | None) -> tuple[Floats, Floats]:
    """Release on both tables in turn."""
    found = [
        [released_numbers(call.release(table, epsilon, noise)) for table in (pair.here, pair.there)]
        for _ in range(count)
    ]
    here, there = zip(*found, strict=True)
    return np.array(here), np.array(there)


def _fewest(epsilon: float, failure: float) -> int:
    """Return how many releases of either table show a call that releases everything."""
    count = 8
    while epsilon_at_least((count, count, 0, count), DELTA, failure) < _DETECTED * epsilon:
        count = math.ceil(1.1 * count)
    return count


def play_canaries(call: Call, epsilon: float, seconds: float, failure: float, noise: Noise | None = None) -> Row:
    """Bound epsilon by how many canaries are guessed right; each changes one column of the release."""
    end, others, canaries = time.monotonic() + seconds, call.table(), call.columns
    first, center = call.release(others, epsilon, noise), others[:, :-1].mean(axis=0)
    radius = first.parameters.get("radius")
    lengths = first.reach.columns if radius is None else np.full(canaries, _RADIUS_SHARE * float(radius))

    def play(present: one_run.Mask) -> Floats:
        table = np.column_stack([np.diag(lengths)[present], np.zeros(int(present.sum()))])
        found = call.release(np.vstack([others, table]), epsilon, noise)
        return np.full(canaries, np.nan) if found.refused else found.mean - center

    begun = time.monotonic()
    play(np.ones(canaries, dtype=np.bool_))
    cost = time.monotonic() - begun
    releases = int(max(1, min(_MAX_RELEASES, (end - time.monotonic()) / cost)))
    share = min(0.4, max(0.08, 0.2 / epsilon))  # fewer guesses where each shows more
    game = one_run.Game(canaries, 2 * round(share * canaries / 2), releases)
    claim = str(call), ONE_RUN, epsilon, DELTA
    if releases < one_run.fewest_releases(game, _DETECTED * epsilon, DELTA, failure):
        return Row(*claim, verdict="no time")
    correct = one_run.count_right(play, game, SystemNoise() if noise is None else noise)
    found = one_run.epsilon_at_least(correct, game, DELTA, failure)
    return Row(*claim, found, canaries, releases, verdict(found > epsilon), f"{correct} of {game.most} guesses right")
