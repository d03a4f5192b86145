"""Samples of a mechanism on two neighbours become a lower confidence bound on its epsilon, with nothing assumed of it.

If a release is (ε, δ)-private, P(A) <= e^ε·Q(A) + δ for every set A of outputs. Sets are chosen on one half of the
samples: those where a score exceeds a threshold, the score being a direction in which the two halves differ, or the
log-odds of a classifier. The other half, which the choice has not seen, bounds P(A) from below and Q(A) from above
(Clopper–Pearson, shared out over all sets, both directions: Bonferroni).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

Floats = NDArray[np.float64]

TAILS = (
    0.5,
    0.35,
    0.25,
    0.15,
    0.1,
    0.06,
    0.04,
    0.025,
    0.015,
    0.01,
    0.005,
    0.002,
)  # of pooled scores, beyond a threshold
_CLASSIFIED = 20_000  # samples that the classifier is shown, at most


@dataclass(frozen=True)
class Test:
    """A score of outputs and the thresholds it is compared with; high scores speak for the first table."""

    name: str
    score: Callable[[Floats], Floats]
    above: Floats
    below: Floats


@dataclass(frozen=True)
class Bound:
    """With the stated confidence epsilon is at least this, at the delta asked for."""

    epsilon: float
    test: str
    confidence: float
    samples: int


def lower_bound(here: Floats, there: Floats, delta: float, failure: float) -> Bound:
    """The bound from samples (count, features) of two neighbours; wrong with probability at most `failure`.

    The first half of either chooses the tests, the second half is tested.
    """
    first, second = len(here) // 2, len(there) // 2
    return bound(choose_tests(here[:first], there[:second]), here[first:], there[second:], delta, failure)


def bound(tests: Sequence[Test], here: Floats, there: Floats, delta: float, failure: float) -> Bound:
    """The best of the tests on samples that did not choose them."""
    each = failure / (2 * sum(len(test.above) + len(test.below) for test in tests))
    best = Bound(0.0, "none", 1 - failure, len(here) + len(there))
    for test in tests:
        scores, others = np.sort(test.score(here)), np.sort(test.score(there))
        found = max(
            _largest(*_reaching(scores, others, test.above), delta, each),
            _largest(*_staying(others, scores, test.below), delta, each),
        )
        if found > best.epsilon:
            best = Bound(found, test.name, best.confidence, best.samples)
    return best


def _reaching(scores: Floats, others: Floats, thresholds: Floats) -> tuple[Any, int, Any, int]:
    """How many scores reach each threshold, here and there."""
    hits = len(scores) - np.searchsorted(scores, thresholds, side="left")
    misses = len(others) - np.searchsorted(others, thresholds, side="left")
    return hits, len(scores), misses, len(others)


def _staying(scores: Floats, others: Floats, thresholds: Floats) -> tuple[Any, int, Any, int]:
    """How many scores stay at or below each threshold."""
    hits, misses = (np.searchsorted(each, thresholds, side="right") for each in (scores, others))
    return hits, len(scores), misses, len(others)


def _largest(hits: Any, trials: int, others: Any, other_trials: int, delta: float, failure: float) -> float:
    gained = at_least(hits, trials, failure) - delta
    lost = at_most(others, other_trials, failure)
    found = np.log(np.maximum(gained, 1e-300) / lost)
    return float(np.max(found, initial=-math.inf))


def at_least(hits: Any, trials: int, failure: float) -> Floats:
    """Clopper–Pearson: the probability is at least this, wrong with probability at most `failure`."""
    hits = np.asarray(hits)
    return np.where(hits == 0, 0.0, betaincinv(np.maximum(hits, 1), trials - hits + 1, failure))


def at_most(hits: Any, trials: int, failure: float) -> Floats:
    """Clopper–Pearson from above."""
    return 1 - at_least(trials - np.asarray(hits), trials, failure)


def choose_tests(here: Floats, there: Floats) -> list[Test]:
    """Tests that tell these samples apart: the best single feature, its distance from the middle, the difference of
    means, and a classifier's log-odds."""
    tame = _Tame.fitted(np.vstack([here, there]))
    one, other = tame(here), tame(there)
    scores = [*_single_features(one, other), ("difference of means", _difference(one, other))]
    if (odds := _classifier(one, other)) is not None:
        scores.append(("classifier", odds))
    return [_with_thresholds(name, partial(_tamed, score, tame), here, there) for name, score in scores]


def _tamed(score: Callable[[Floats], Floats], tame: Callable[[Floats], Floats], rows: Floats) -> Floats:
    return score(tame(rows))


@dataclass(frozen=True)
class _Tame:
    """Features about their middle, in units of their spread, with long tails pulled in; NaN lies in the middle."""

    middle: Floats
    spread: Floats

    @classmethod
    def fitted(cls, rows: Floats) -> "_Tame":
        clean = np.where(np.isnan(rows), np.nan, np.clip(rows, -1e150, 1e150))
        known = np.where(np.isnan(clean).all(axis=0), 0.0, clean)
        low, middle, high = np.nanquantile(known, [0.25, 0.5, 0.75], axis=0)
        spread = np.where(high > low, high - low, np.nanstd(known, axis=0))
        return cls(middle, np.where(spread > 0, spread, 1.0))

    def __call__(self, rows: Floats) -> Floats:
        return np.nan_to_num(np.arcsinh((np.clip(rows, -1e150, 1e150) - self.middle) / self.spread))


Score = Callable[[Floats], Floats]


def _single_features(one: Floats, other: Floats) -> list[tuple[str, Score]]:
    """Of all features the one that tells most, as it is and as its distance from the middle."""
    plain = _separation(one, other)
    folded = _separation(np.abs(one), np.abs(other))
    best, second = int(np.argmax(np.abs(plain))), int(np.argmax(np.abs(folded)))
    sign, other_sign = np.sign(plain[best]) or 1.0, np.sign(folded[second]) or 1.0
    return [
        ("one feature", lambda rows: sign * rows[:, best]),
        ("distance from the middle", lambda rows: other_sign * np.abs(rows[:, second])),
    ]


def _separation(one: Floats, other: Floats) -> Floats:
    """Difference of means in units of the pooled spread."""
    spread = np.sqrt(one.var(axis=0) + other.var(axis=0))
    gap = one.mean(axis=0) - other.mean(axis=0)
    return np.where(spread > 0, gap / np.where(spread > 0, spread, 1.0), np.sign(gap) * 1e6)


def _difference(one: Floats, other: Floats) -> Score:
    """Fisher's direction, with a ridge: the features may repeat each other."""
    pooled = np.cov(one.T, ddof=0) + np.cov(other.T, ddof=0)
    matrix = np.atleast_2d(pooled) + 1e-6 * np.eye(one.shape[1])
    direction = np.linalg.solve(matrix, one.mean(axis=0) - other.mean(axis=0))
    return lambda rows: rows @ direction


def _classifier(one: Floats, other: Floats) -> Score | None:
    """Log-odds of a logistic regression on features and their squares: the privacy loss itself for two Gaussians."""
    from sklearn.linear_model import LogisticRegression

    if min(len(one), len(other)) < 2:
        return None
    one, other = one[:_CLASSIFIED], other[:_CLASSIFIED]
    labels = np.repeat([1, 0], [len(one), len(other)])
    model = LogisticRegression(C=1.0, max_iter=200).fit(_squared(np.vstack([one, other])), labels)
    return lambda rows: np.asarray(model.decision_function(_squared(rows)))


def _squared(rows: Floats) -> Floats:
    return np.hstack([rows, rows**2])


def _with_thresholds(name: str, score: Score, here: Floats, there: Floats) -> Test:
    pooled = score(np.vstack([here, there]))
    above, below = (np.unique(np.quantile(pooled, shares)) for shares in (1 - np.array(TAILS), TAILS))
    return Test(name, score, above, below)
