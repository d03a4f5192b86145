"""Bound the epsilon of any mechanism from below by samples of its outputs on two neighboring tables.

If a release is (ε, δ)-private, P(A) <= e^ε·Q(A) + δ for every set A of outputs. One part of the samples chooses a few
sets: those with a score above or below a threshold, where the score is one feature or the log-odds of a classifier. The
other part rules out every ε for which no Q(A) explains both numbers of hits (Fisher's product of two binomial tails,
with Bonferroni's correction over all sets). Proof: proofs/audit/lower_bound.md.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betainc, betaincc, betainccinv, betaincinv, lambertw

from dimfree._types import Floats
from dimfree._validate import as_array, as_floats, check_lengths, check_probability, check_rank, check_share
from dimfree.errors import InvalidParameterError

_CHOOSING = 4  # one sample in four chooses the sets; the others test them
_TAILS = 80  # candidate thresholds, from the median of the pooled scores to the extreme ones
_KEPT = 3  # sets that are tested; each costs a share of the failure probability
_STEERING = 1e-3  # failure probability at which sets are compared
_CELLS, _HALVINGS, _LARGEST = 150, 30, 100.0  # of the search for the largest epsilon that is ruled out
_CLASSIFIED = 20_000  # maximal number of samples for the classifier
_OUTWARD = 1e-9  # intervals are widened by this for the rounding of special functions

Score = Callable[[Floats], Floats]
Counts = tuple[int, int, int, int]  # hits of the set and trials on the first table, and on the second


@dataclass(frozen=True)
class Standardizer:
    """Standardize features by median and quartile range, and compress long tails; NaN becomes the median."""

    median: Floats
    width: Floats

    @classmethod
    def fit(cls, rows: Floats) -> "Standardizer":
        clean = np.where(np.isnan(rows), np.nan, np.clip(rows, -1e150, 1e150))
        known = np.where(np.isnan(clean).all(axis=0), 0.0, clean)
        low, median, high = np.nanquantile(known, [0.25, 0.5, 0.75], axis=0)
        width = np.where(high > low, high - low, np.nanstd(known, axis=0))
        return cls(median, np.where(width > 0, width, 1.0))

    def __call__(self, rows: Floats) -> Floats:
        return np.nan_to_num(np.arcsinh((np.clip(rows, -1e150, 1e150) - self.median) / self.width))


@dataclass(frozen=True)
class ThresholdTest:
    """A score of outputs and its thresholds; high scores are more likely on the first table."""

    name: str
    score: Score
    above: Floats
    below: Floats


@dataclass(frozen=True)
class Bound:
    """A lower bound on epsilon, its confidence, and the test that found it."""

    epsilon: float
    test: str
    confidence: float
    samples: int


def lower_bound(here: Any, there: Any, delta: float, failure: float) -> Bound:
    """Bound the epsilon of any mechanism at `delta` from below, by its outputs on two neighboring tables.

    The bound is wrong with probability at most `failure`, if the outputs are independent and in the order in which they
    were drawn. `here` and `there` have one row per output (a vector is a column), one number per feature, NaN for a
    missing output; they may differ in length. The first quarter of each chooses the tests, the rest is tested.

    >>> from dimfree.simulation import public_simulation
    >>> noise = public_simulation().laplace(size=(2, 20_000))  # scale 1: a count that is 1-private
    >>> found = lower_bound(7 + noise[0], 6 + noise[1], delta=0.0, failure=1e-6)
    >>> 0.8 < found.epsilon < 1
    True
    """
    one, other = _check_samples("here", here), _check_samples("there", there)
    check_lengths("there", other.shape[1], "feature of here", one.shape[1])
    delta, failure = check_share("delta", delta), check_probability("failure", failure)
    first, second = len(one) // _CHOOSING, len(other) // _CHOOSING
    tests = choose_tests(one[:first], other[:second], delta)
    return bound(tests, one[first:], other[second:], delta, failure)


def _check_samples(name: str, value: Any) -> Floats:
    """Return one row per output."""
    array = as_array(name, value)
    check_rank(name, array.ndim, (1, 2))
    if len(array) < 2 * _CHOOSING:
        raise InvalidParameterError(f"`{name}` must have at least {2 * _CHOOSING} outputs.")
    return as_floats(name, array, "iuf").reshape(len(array), -1)


def bound(tests: Sequence[ThresholdTest], here: Floats, there: Floats, delta: float, failure: float) -> Bound:
    """Return the best bound of the tests on samples that did not choose them."""
    each = failure / sum(len(test.above) + len(test.below) for test in tests)
    best = Bound(0.0, "none", 1 - failure, len(here) + len(there))
    for test in tests:
        scores, others = np.sort(test.score(here)), np.sort(test.score(there))
        seen = [
            *_count_hits(scores, others, test.above, above=True),
            *_count_hits(others, scores, test.below, above=False),
        ]
        found = max((epsilon_at_least(counts, delta, each) for counts in seen), default=0.0)
        if found > best.epsilon:
            best = Bound(found, test.name, best.confidence, best.samples)
    return best


def _count_hits(scores: Floats, others: Floats, thresholds: Floats, *, above: bool) -> Iterator[Counts]:
    """Count the sorted scores above each threshold on both tables, or those at or below it."""
    for threshold in thresholds:
        if above:
            hits, misses = (len(each) - int(np.searchsorted(each, threshold)) for each in (scores, others))
        else:
            hits, misses = (int(np.searchsorted(each, threshold, side="right")) for each in (scores, others))
        yield hits, len(scores), misses, len(others)


def epsilon_at_least(counts: Counts, delta: float, failure: float) -> float:
    """Return the largest ε that the counts rule out at this δ; too large with probability at most `failure`."""
    if not rules_out(counts, 0.0, delta, failure):
        return 0.0
    low, high = 0.0, _LARGEST
    for _ in range(_HALVINGS):  # the lower end is always ruled out
        middle = (low + high) / 2
        low, high = (middle, high) if rules_out(counts, middle, delta, failure) else (low, middle)
    return low


def rules_out(counts: Counts, epsilon: float, delta: float, failure: float) -> bool:
    """Return whether no Q and P <= e^ε·Q + δ explain the counts, wrong with probability at most `failure`.

    The probability p of so many hits and the probability q of so few others are independent, and p·q <= c with
    probability at most c·(1 - ln c) (Fisher).
    """
    hits, trials, others, other_trials = counts
    c = math.exp(1 + float(lambertw(-failure / math.e, -1).real)) * (1 - _OUTWARD)  # c·(1 - ln c) = failure
    least = (float(at_least(hits, trials, c)) - delta) / math.exp(epsilon)  # below it p alone is at most c
    most = float(at_most(others, other_trials, c))  # beyond it q alone is
    if least >= most:
        return True
    ends = np.linspace(max(0.0, least), most, _CELLS + 1)
    allowed = np.minimum(1.0, math.exp(epsilon) * ends[1:] + delta)
    many = betainc(hits, trials - hits + 1, allowed) if hits else np.ones(_CELLS)
    few = betaincc(others + 1, other_trials - others, ends[:-1]) if others < other_trials else np.ones(_CELLS)
    return bool(np.max(many * few) * (1 + _OUTWARD) <= c)  # p at the upper, q at the lower end of every cell


def at_least(hits: Any, trials: Any, failure: float) -> Floats:
    """Return the Clopper–Pearson lower bound on a probability, wrong with probability at most `failure`."""
    hits = np.asarray(hits)
    found = betaincinv(np.maximum(hits, 1), trials - hits + 1, failure)
    return np.where(hits == 0, 0.0, found * (1 - _OUTWARD))


def at_most(hits: Any, trials: Any, failure: float) -> Floats:
    """Return the Clopper–Pearson upper bound on a probability."""
    hits = np.asarray(hits)
    found = betainccinv(hits + 1, np.maximum(trials - hits, 1), failure)
    return np.where(hits == trials, 1.0, np.minimum(1.0, found * (1 + _OUTWARD)))


def choose_tests(here: Floats, there: Floats, delta: float = 0.01) -> list[ThresholdTest]:
    """Choose the few sets that separate these samples best at this delta."""
    standardize = Standardizer.fit(np.vstack([here, there]))
    one, other = standardize(here), standardize(there)
    found = [
        each
        for name, score in candidates(one, other)
        for each in _rank_thresholds(name, score, standardize, one, other, delta)
    ]
    return [test for _, test in sorted(found, key=lambda each: -each[0])[:_KEPT]]


def _rank_thresholds(
    name: str, score: Score, standardize: Standardizer, one: Floats, other: Floats, delta: float
) -> list[tuple[float, ThresholdTest]]:
    """Return the estimated bound and the test for the best threshold from above, and from below."""
    high, low, none = np.sort(score(one)), np.sort(score(other)), np.zeros(0)
    pooled, shares = np.concatenate([high, low]), np.geomspace(0.5, 1 / (len(one) + len(other)), _TAILS)
    above, below = np.quantile(pooled, 1 - shares), np.quantile(pooled, shares)
    above, below = above - _OUTWARD * (1 + abs(above)), below + _OUTWARD * (1 + abs(below))  # clear of frequent outputs
    upper = _estimate_bounds(_count_hits(high, low, above, above=True), delta)
    lower = _estimate_bounds(_count_hits(low, high, below, above=False), delta)
    best, second = int(np.argmax(upper)), int(np.argmax(lower))
    return [
        (float(upper[best]), ThresholdTest(name, lambda rows: score(standardize(rows)), above[best : best + 1], none)),
        (
            float(lower[second]),
            ThresholdTest(name, lambda rows: score(standardize(rows)), none, below[second : second + 1]),
        ),
    ]


def _estimate_bounds(seen: Iterator[Counts], delta: float) -> Floats:
    """Estimate ln((P - δ)/Q) of every set, with the lower bound of P and the upper bound of Q."""
    hits, trials, others, other_trials = np.array(list(seen)).T
    gained = at_least(hits, trials, _STEERING) - delta
    return np.asarray(np.log(np.maximum(gained, 1e-300) / at_most(others, other_trials, _STEERING)))


# ---- scores, fitted on samples that the tests do not use


def candidates(one: Floats, other: Floats) -> list[tuple[str, Score]]:
    """Return the feature that separates best, the same for distances from the median, and a classifier."""
    plain, folded = _separation(one, other), _separation(np.abs(one), np.abs(other))
    best, second = int(np.argmax(np.abs(plain))), int(np.argmax(np.abs(folded)))
    sign, other_sign = np.sign(plain[best]) or 1.0, np.sign(folded[second]) or 1.0
    scores: list[tuple[str, Score]] = [
        ("one feature", lambda rows: sign * rows[:, best]),
        ("distance from the median", lambda rows: other_sign * np.abs(rows[:, second])),
    ]
    return [*scores, ("classifier", _classifier(one, other))] if min(len(one), len(other)) >= 2 else scores


def _separation(one: Floats, other: Floats) -> Floats:
    """Return the difference of means in units of the pooled SD."""
    sd = np.sqrt(one.var(axis=0) + other.var(axis=0))
    gap = one.mean(axis=0) - other.mean(axis=0)
    return np.where(sd > 0, gap / np.where(sd > 0, sd, 1.0), np.sign(gap) * 1e6)


def _classifier(one: Floats, other: Floats) -> Score:
    """Fit the log-odds of a logistic regression on features and their squares: the privacy loss for two Gaussians.

    Summed row by row: the rounding of a matrix product depends on the size of the batch, so a frequent output, such as
    a refusal, could be on both sides of a threshold.
    """
    from sklearn.linear_model import LogisticRegression

    one, other = one[:_CLASSIFIED], other[:_CLASSIFIED]
    labels = np.repeat([1, 0], [len(one), len(other)])

    def squared(rows: Floats) -> Floats:
        return np.hstack([rows, rows**2])

    model = LogisticRegression(C=1.0, max_iter=200).fit(squared(np.vstack([one, other])), labels)
    return lambda rows: np.asarray((squared(rows) * model.coef_[0]).sum(axis=1))
