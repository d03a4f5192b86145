"""The covariance-aware estimator of Brown, Hopkins and Smith (2023), simulated: stable covariance, then noise by it.

After "Fast, Sample-Efficient, Affine-Invariant Private Mean and Covariance Estimation for Subgaussian Distributions"
(COLT 2023; Duchi, Haque and Kuditipudi found a relative of it at the same time). Half-differences of records are peeled
by leverage at rising thresholds, which gives a covariance that one record hardly moves; records that are near, in its
norm, to almost all of a random reference set are averaged; a test of how close both came to failing; noise N(0, c²Σ̂).

Constants are those of the authors' published code. `favourable` is what no calibration of this proof can do better
than at the same threshold: the test costs nothing, the learned covariance costs nothing, and one record moves the mean
by no more than the diameter that the threshold allows, over n. Replace-one, as in the paper: the number of records is
public. This is a simulation in floating point for public draws. It protects nobody.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from benchmarks.accuracy.spectra import Floats
from dimfree.accounting.precision import largest_mu

_MISSED = 0.01  # probability that some Gaussian record, or pair, lies beyond the threshold
_BLOCK = 4000  # records whose distances to the references are held at once


@dataclass(frozen=True)
class Constants:
    """What is printed, for n records: the length k of the ladder, the references, the noise c, the least n."""

    k: int
    references: int
    noise: float
    least: float

    @classmethod
    def printed(cls, count: int, threshold: float, epsilon: float, delta: float) -> "Constants":
        k = math.ceil(6 * math.log(6 / delta) / epsilon) + 4
        references = 6 * k + math.ceil(18 * math.log(16 * count / delta))
        noise = math.sqrt(810 * threshold * math.log(12 / delta)) / (epsilon * count)
        return cls(k, references, noise, 20 * k * threshold)


def gaussian_threshold(count: int, dimension: int, epsilon: float, delta: float) -> float:
    """The smallest squared length that hardly any half-difference of Gaussian records exceeds: it has d degrees."""
    pairs = count * Constants.printed(count, 1.0, epsilon, delta).references
    return float(chi2.isf(_MISSED / pairs, dimension))


def least_records(dimension: int, epsilon: float, delta: float) -> int:
    """From how many Gaussian records on the printed constants give an answer; 2 % closely."""
    count = 1000
    while count < Constants.printed(count, gaussian_threshold(count, dimension, epsilon, delta), epsilon, delta).least:
        count = math.ceil(1.02 * count)
    return count


def estimate(X: Floats, epsilon: float, delta: float, rng: np.random.Generator, *, favourable: bool) -> Floats | None:
    """The noisy mean; None where it refuses."""
    threshold = gaussian_threshold(*X.shape, epsilon, delta)
    given = Constants.printed(len(X), threshold, epsilon, delta)
    if not favourable and len(X) < given.least:
        return None
    covariance, first = stable_covariance(X, threshold, given.k)
    mean, second = stable_mean(X, covariance, threshold, given, rng)
    if max(first, second) > 0 and not (favourable or _passes(max(first, second), epsilon / 3, delta / 6, rng)):
        return None
    noise = math.sqrt(2 * threshold) / len(X) / largest_mu(epsilon, delta) if favourable else given.noise
    return np.asarray(mean + noise * np.linalg.cholesky(covariance) @ rng.normal(size=X.shape[1]))


def stable_covariance(X: Floats, threshold: float, k: int) -> tuple[Floats, int]:
    """(Σ̂, score): half-differences weighted by how many of the upper k rungs of the ladder keep them."""
    m = len(X) // 2
    Y = (X[:m] - X[m : 2 * m]) / math.sqrt(2)
    kept, lengths = np.ones(m, dtype=bool), _leverages(Y, np.ones(m, dtype=bool))
    rungs, sizes = np.zeros(m), np.zeros(2 * k + 1, dtype=int)
    for rung in range(2 * k, -1, -1):
        limit = threshold / (1 - rung / (10 * k))
        while (beyond := kept & (lengths > limit)).any():
            kept = kept & ~beyond
            lengths = _leverages(Y, kept)
        rungs += kept if rung > k else 0
        sizes[rung] = kept.sum()
    return np.asarray(Y.T @ (Y * (rungs / (k * m))[:, None])), _score(m, sizes, k)


def _leverages(Y: Floats, kept: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> Floats:
    """yᵀ (Σ over kept / m)⁻¹ y; infinite where what is kept does not span the columns."""
    chosen = Y[kept]
    if len(chosen) < Y.shape[1]:
        return np.full(len(Y), np.inf)
    root = np.linalg.cholesky(chosen.T @ chosen / len(Y))
    return np.asarray(np.sum(np.linalg.solve(root, Y.T) ** 2, axis=0))


def stable_mean(
    X: Floats, covariance: Floats, threshold: float, given: Constants, rng: np.random.Generator
) -> tuple[Floats, int]:
    """(mean, score): records weighted by how many of the upper k rungs hold them near to almost all references."""
    n, k = len(X), given.k
    W = np.asarray(np.linalg.solve(np.linalg.cholesky(covariance), X.T).T)
    references = W[rng.choice(n, size=min(given.references, n), replace=False)]
    step = -math.log1p(-(50 / 9) * threshold / n) if (50 / 9) * threshold < n else math.inf
    blocks = (W[at : at + _BLOCK] for at in range(0, n, _BLOCK))
    first = np.concatenate([_first_rung(rows, references, threshold, step, k) for rows in blocks])
    sizes = np.array([np.count_nonzero(first <= rung) for rung in range(2 * k + 1)])
    weights = np.clip(2 * k + 1 - np.maximum(first, k + 1), 0, k)
    return np.asarray(weights @ X / max(weights.sum(), 1)), _score(n, sizes, k)


def _first_rung(rows: Floats, references: Floats, threshold: float, step: float, k: int) -> Floats:
    """The lowest rung on which a record is near to all but `rung` references; 2k + 1: on none."""
    squares = (rows**2).sum(axis=1)[:, None] + (references**2).sum(axis=1) - 2 * rows @ references.T
    levels = np.ceil(np.log(np.maximum(squares / 2 / threshold, 1.0)) / step)
    found = np.zeros(len(rows))
    for place in np.flatnonzero((levels > 0).any(axis=1)):
        far = np.sort(levels[place])[::-1]  # on rung r at most r references may need a higher one
        found[place] = next((rung for rung in range(2 * k + 1) if rung >= len(far) or far[rung] <= rung), 2 * k + 1)
    return found


def _score(count: int, sizes: "np.ndarray[tuple[int], np.dtype[np.int_]]", k: int) -> int:
    return int(min(k, (count - sizes[: k + 1] + np.arange(k + 1)).min()))


def _passes(score: int, epsilon: float, delta: float, rng: np.random.Generator) -> bool:
    if score >= 2 * math.log((1 - delta) / delta) / epsilon + 4:
        return False
    return bool(rng.random() < 1 - math.exp(epsilon / 2 * (score - 2)) * delta)
