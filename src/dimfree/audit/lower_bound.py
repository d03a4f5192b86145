"""Samples of a mechanism on two neighbours become a lower confidence bound on its epsilon, with nothing assumed of it.

If a release is (ε, δ)-private, P(A) <= e^ε·Q(A) + δ for every set A of outputs. Sets are chosen on a part of the
samples: those where a score reaches or stays below a threshold, the score being a direction in which the two samples
differ, or the log-odds of a classifier; few are kept, those that promise most. The other part, which the choice has not
seen, rules out every ε for which no Q(A) explains both numbers of hits (Fisher's product of two binomial tails, the
failure shared out over all sets: Bonferroni). Proof: proofs/audit/lower_bound.md.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betainc, betaincc, betainccinv, betaincinv, lambertw

from dimfree._types import Floats
from dimfree._validate import as_array, as_floats, check_lengths, check_probability, check_rank, check_share
from dimfree.errors import InvalidParameter

_CHOOSING = 4  # one of so many samples chooses the sets, the others are tested
_TAILS = 80  # shares of the pooled scores, from a half to a single one, at which a threshold is considered
_KEPT = 3  # sets that are tested; every one makes the others less sure
_STEERING = 1e-3  # failure at which sets are compared: milder than that of a test, which has more samples
_CELLS, _HALVINGS, _LARGEST = 150, 30, 100.0  # of the search for the largest epsilon that is ruled out
_CLASSIFIED = 20_000  # samples that the classifier is shown, at most
_OUTWARD = 1e-9  # by how much intervals are widened, for the rounding of the special functions

Score = Callable[[Floats], Floats]
Counts = tuple[int, int, int, int]  # hits of the set and trials, where it is likely; the same where it is not


@dataclass(frozen=True)
class Tame:
    """Features about their middle, in units of their spread, with long tails pulled in; NaN lies in the middle."""

    middle: Floats
    spread: Floats

    @classmethod
    def fitted(cls, rows: Floats) -> "Tame":
        clean = np.where(np.isnan(rows), np.nan, np.clip(rows, -1e150, 1e150))
        known = np.where(np.isnan(clean).all(axis=0), 0.0, clean)
        low, middle, high = np.nanquantile(known, [0.25, 0.5, 0.75], axis=0)
        spread = np.where(high > low, high - low, np.nanstd(known, axis=0))
        return cls(middle, np.where(spread > 0, spread, 1.0))

    def __call__(self, rows: Floats) -> Floats:
        return np.nan_to_num(np.arcsinh((np.clip(rows, -1e150, 1e150) - self.middle) / self.spread))


@dataclass(frozen=True)
class Contest:
    """A score of outputs and the thresholds it is compared with; high scores speak for the first table."""

    name: str
    score: Score
    above: Floats
    below: Floats


@dataclass(frozen=True)
class Bound:
    """With the stated confidence epsilon is at least this, at the delta asked for."""

    epsilon: float
    test: str
    confidence: float
    samples: int


def lower_bound(here: Any, there: Any, delta: float, failure: float) -> Bound:
    """What samples of any mechanism on two neighbouring tables say: its epsilon at `delta` is at least this.

    Wrong with probability at most `failure`, if the outputs are independent and stand in the order they were drawn in.
    One row per output (a vector is a column), one number per feature, NaN where nothing left; the two may differ in
    length. The first quarter of either chooses the tests, the rest is tested.

    >>> from dimfree.simulation import public_simulation
    >>> noise = public_simulation().laplace(size=(2, 20_000))  # scale 1: a count that is 1-private
    >>> found = lower_bound(7 + noise[0], 6 + noise[1], delta=0.0, failure=1e-6)
    >>> 0.8 < found.epsilon < 1
    True
    """
    one, other = _samples("here", here), _samples("there", there)
    check_lengths("there", other.shape[1], "feature of here", one.shape[1])
    delta, failure = check_share("delta", delta), check_probability("failure", failure)
    first, second = len(one) // _CHOOSING, len(other) // _CHOOSING
    tests = choose_tests(one[:first], other[:second], delta)
    return bound(tests, one[first:], other[second:], delta, failure)


def _samples(name: str, value: Any) -> Floats:
    """One row per output."""
    array = as_array(name, value)
    check_rank(name, array.ndim, (1, 2))
    if len(array) < 2 * _CHOOSING:
        raise InvalidParameter(f"Expected {name} to hold at least {2 * _CHOOSING} outputs.")
    return as_floats(name, array, "iuf").reshape(len(array), -1)


def bound(tests: Sequence[Contest], here: Floats, there: Floats, delta: float, failure: float) -> Bound:
    """The best of the tests on samples that did not choose them."""
    each = failure / sum(len(test.above) + len(test.below) for test in tests)
    best = Bound(0.0, "none", 1 - failure, len(here) + len(there))
    for test in tests:
        scores, others = np.sort(test.score(here)), np.sort(test.score(there))
        seen = [*_seen(scores, others, test.above, above=True), *_seen(others, scores, test.below, above=False)]
        found = max((epsilon_at_least(counts, delta, each) for counts in seen), default=0.0)
        if found > best.epsilon:
            best = Bound(found, test.name, best.confidence, best.samples)
    return best


def _seen(scores: Floats, others: Floats, thresholds: Floats, *, above: bool) -> Iterator[Counts]:
    """How many sorted scores reach each threshold, here and there; or, not `above`, how many stay at or below it."""
    for threshold in thresholds:
        if above:
            hits, misses = (len(each) - int(np.searchsorted(each, threshold)) for each in (scores, others))
        else:
            hits, misses = (int(np.searchsorted(each, threshold, side="right")) for each in (scores, others))
        yield hits, len(scores), misses, len(others)


def epsilon_at_least(counts: Counts, delta: float, failure: float) -> float:
    """The largest ε that the counts rule out, at this δ; too large with probability at most `failure`."""
    if not rules_out(counts, 0.0, delta, failure):
        return 0.0
    low, high = 0.0, _LARGEST
    for _ in range(_HALVINGS):  # the lower end is always ruled out
        middle = (low + high) / 2
        low, high = (middle, high) if rules_out(counts, middle, delta, failure) else (low, middle)
    return low


def rules_out(counts: Counts, epsilon: float, delta: float, failure: float) -> bool:
    """Whether no Q and P <= e^ε·Q + δ explain the counts; true of the real ones with probability at most `failure`.

    The chance p of as many hits and the chance q of as few others are independent, and p·q <= c no more often than
    c·(1 - ln c) (Fisher).
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
    """Clopper–Pearson: the probability is at least this, wrong with probability at most `failure`."""
    hits = np.asarray(hits)
    found = betaincinv(np.maximum(hits, 1), trials - hits + 1, failure)
    return np.where(hits == 0, 0.0, found * (1 - _OUTWARD))


def at_most(hits: Any, trials: Any, failure: float) -> Floats:
    """Clopper–Pearson from above."""
    hits = np.asarray(hits)
    found = betainccinv(hits + 1, np.maximum(trials - hits, 1), failure)
    return np.where(hits == trials, 1.0, np.minimum(1.0, found * (1 + _OUTWARD)))


def choose_tests(here: Floats, there: Floats, delta: float = 0.01) -> list[Contest]:
    """The few sets that tell these samples apart best, as far as they can say, at this delta."""
    tame = Tame.fitted(np.vstack([here, there]))
    one, other = tame(here), tame(there)
    found = [
        each for name, score in candidates(one, other) for each in _promising(name, score, tame, one, other, delta)
    ]
    return [contest for _, contest in sorted(found, key=lambda each: -each[0])[:_KEPT]]


def _promising(
    name: str, score: Score, tame: Tame, one: Floats, other: Floats, delta: float
) -> list[tuple[float, Contest]]:
    """(what it promises, the contest) for the best threshold from above and the best from below."""
    high, low, none = np.sort(score(one)), np.sort(score(other)), np.zeros(0)
    pooled, shares = np.concatenate([high, low]), np.geomspace(0.5, 1 / (len(one) + len(other)), _TAILS)
    above, below = np.quantile(pooled, 1 - shares), np.quantile(pooled, shares)
    above, below = above - _OUTWARD * (1 + abs(above)), below + _OUTWARD * (1 + abs(below))  # clear of frequent outputs
    upper = _promise(_seen(high, low, above, above=True), delta)
    lower = _promise(_seen(low, high, below, above=False), delta)
    best, second = int(np.argmax(upper)), int(np.argmax(lower))
    return [
        (float(upper[best]), Contest(name, lambda rows: score(tame(rows)), above[best : best + 1], none)),
        (float(lower[second]), Contest(name, lambda rows: score(tame(rows)), none, below[second : second + 1])),
    ]


def _promise(seen: Iterator[Counts], delta: float) -> Floats:
    """ln((P - δ)/Q) of every set, P at its least and Q at its most: quick, and good enough to choose by."""
    hits, trials, others, other_trials = np.array(list(seen)).T
    gained = at_least(hits, trials, _STEERING) - delta
    return np.asarray(np.log(np.maximum(gained, 1e-300) / at_most(others, other_trials, _STEERING)))


# ---- scores, fitted on samples that are not used in the test


def candidates(one: Floats, other: Floats) -> list[tuple[str, Score]]:
    """The single feature that separates best, the same of distances from the middle, and a classifier's log-odds."""
    plain, folded = _separation(one, other), _separation(np.abs(one), np.abs(other))
    best, second = int(np.argmax(np.abs(plain))), int(np.argmax(np.abs(folded)))
    sign, other_sign = np.sign(plain[best]) or 1.0, np.sign(folded[second]) or 1.0
    scores: list[tuple[str, Score]] = [
        ("one feature", lambda rows: sign * rows[:, best]),
        ("distance from the middle", lambda rows: other_sign * np.abs(rows[:, second])),
    ]
    return [*scores, ("classifier", _classifier(one, other))] if min(len(one), len(other)) >= 2 else scores


def _separation(one: Floats, other: Floats) -> Floats:
    """Difference of means in units of the pooled spread."""
    spread = np.sqrt(one.var(axis=0) + other.var(axis=0))
    gap = one.mean(axis=0) - other.mean(axis=0)
    return np.where(spread > 0, gap / np.where(spread > 0, spread, 1.0), np.sign(gap) * 1e6)


def _classifier(one: Floats, other: Floats) -> Score:
    """Log-odds of a logistic regression on features and their squares: the privacy loss itself for two Gaussians.

    Summed row by row: a matrix product rounds by the size of the batch, and an output that both tables give often, a
    refusal say, would lie on either side of a threshold.
    """
    from sklearn.linear_model import LogisticRegression

    one, other = one[:_CLASSIFIED], other[:_CLASSIFIED]
    labels = np.repeat([1, 0], [len(one), len(other)])

    def squared(rows: Floats) -> Floats:
        return np.hstack([rows, rows**2])

    model = LogisticRegression(C=1.0, max_iter=200).fit(squared(np.vstack([one, other])), labels)
    return lambda rows: np.asarray((squared(rows) * model.coef_[0]).sum(axis=1))
