"""What an estimator is measured against: the sample mean (np) and an oracle that knows the true mean (floor).

On real data the true mean is not to be had: the yardstick there is the sample mean, and the oracle knows it.
Letters: A = Σ^{1/2}, the covariance of records rescaled by Σ^{-1/4}; its eigenvalues are the standard deviations.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy.spectra import Floats
from dimfree.accounting.precision import largest_mu

_CELLS = 2**21  # entries of a working block
QUANTILE = 0.95  # of the distances: where the oracle of real data clips


@dataclass(frozen=True)
class Oracle:
    """The true mean is public: clip about it, average, one Gaussian at the full budget (sensitivity r/n)."""

    stddevs: Floats
    count: int
    epsilon: float
    delta: float

    @property
    def radius(self) -> float:
        """r = sqrt(tr A) + sqrt(2 ‖A‖ log n): hardly any Gaussian record is clipped."""
        return float(np.sqrt(self.stddevs.sum()) + np.sqrt(2 * self.stddevs.max() * np.log(self.count)))

    @property
    def noise_stddev(self) -> Floats:
        """Per coordinate, after restoring with Σ^{1/4}."""
        return self.radius / self.count / largest_mu(self.epsilon, self.delta) * np.sqrt(self.stddevs)

    @property
    def noise_rms(self) -> float:
        """Root of the expected squared length of the noise."""
        return float(np.linalg.norm(self.noise_stddev))

    def estimate(self, X: Floats, mean: Floats, generator: np.random.Generator) -> Floats:
        return mean + self._clipped_mean(X, mean) + generator.normal(size=len(mean)) * self.noise_stddev

    def _clipped_mean(self, X: Floats, mean: Floats) -> Floats:
        total = np.zeros(len(mean))
        root = np.sqrt(self.stddevs)
        step = max(1, _CELLS // len(mean))
        for start in range(0, len(X), step):
            offsets = (X[start : start + step] - mean) / root
            lengths = np.linalg.norm(offsets, axis=1)
            total += np.minimum(1.0, self.radius / lengths) @ offsets
        return total * root / len(X)


def error(estimate: Floats, mean: Floats) -> float:
    """Euclidean distance to the true mean."""
    return float(np.linalg.norm(estimate - mean))


def noise_ratio(noise_stddev: Floats, oracle: Oracle) -> float:
    """Length of the released noise over the oracle's: the harsher figure where sampling error dominates."""
    return float(np.linalg.norm(noise_stddev)) / oracle.noise_rms


@dataclass(frozen=True)
class SampleOracle:
    """Knows the mean and the standard deviations of these very records: what it misses of the mean is noise and bias.

    Clips at the QUANTILE of the distances from the mean (of records divided by `roots`), one Gaussian at the full
    budget, so that both parts of its error are known without a draw.
    """

    roots: Floats  # noise is proportional to them; ones: spherical
    radius: float
    bias: float
    count: int

    @classmethod
    def of(cls, offsets: Floats, roots: Floats) -> "SampleOracle":
        """From records minus their mean; a coordinate of root 0 is constant, and the oracle knows it."""
        rescaled = np.divide(offsets, roots, out=np.zeros_like(offsets), where=roots > 0)
        lengths = np.sqrt(np.einsum("ij,ij->i", rescaled, rescaled))
        radius = float(np.quantile(lengths, QUANTILE))
        kept = np.minimum(1.0, radius / np.maximum(lengths, 1e-300))
        return cls(roots, radius, float(np.linalg.norm(kept @ offsets / len(offsets))), len(offsets))

    def noise(self, epsilon: float, delta: float) -> float:
        """Root of the expected squared length of the noise."""
        return self.radius / self.count / largest_mu(epsilon, delta) * float(np.linalg.norm(self.roots))

    def error(self, epsilon: float, delta: float) -> float:
        """Root of the expected squared distance from the sample mean."""
        return float(np.hypot(self.bias, self.noise(epsilon, delta)))
