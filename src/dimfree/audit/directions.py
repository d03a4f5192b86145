"""Scores of outputs that separate two samples: single features, directions, a classifier. Any score is allowed.

They are fitted on samples that are not used in the test (proofs/audit/lower_bound.md).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dimfree._types import Floats

Score = Callable[[Floats], Floats]

_CLASSIFIED = 20_000  # samples that the classifier is shown, at most


def candidates(one: Floats, other: Floats) -> list[tuple[str, Score]]:
    """The best single feature, its distance from the middle, the difference of means, a classifier's log-odds."""
    scores = [*_single_features(one, other), ("difference of means", _difference(one, other))]
    if (odds := _classifier(one, other)) is not None:
        scores.append(("classifier", odds))
    return scores


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
    return lambda rows: _along(rows, direction)


def _classifier(one: Floats, other: Floats) -> Score | None:
    """Log-odds of a logistic regression on features and their squares: the privacy loss itself for two Gaussians."""
    from sklearn.linear_model import LogisticRegression

    if min(len(one), len(other)) < 2:
        return None
    one, other = one[:_CLASSIFIED], other[:_CLASSIFIED]
    labels = np.repeat([1, 0], [len(one), len(other)])
    model = LogisticRegression(C=1.0, max_iter=200).fit(_squared(np.vstack([one, other])), labels)
    return lambda rows: _along(_squared(rows), model.coef_[0])


def _along(rows: Floats, direction: Floats) -> Floats:
    """A row at a time: a matrix product rounds by the size of the batch, and an output that both tables give often, a
    refusal say, would lie on either side of a threshold."""
    return np.asarray((rows * direction).sum(axis=1))


def _squared(rows: Floats) -> Floats:
    return np.hstack([rows, rows**2])
