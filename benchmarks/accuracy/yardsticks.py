"""What an estimator is measured against: the sample mean (np) and an oracle that knows the true mean (floor).

Letters: A = Σ^{1/2}, the covariance of records rescaled by Σ^{-1/4}; its eigenvalues are the standard deviations.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy.spectra import Floats
from dimfree.accounting.precision import largest_mu

_CELLS = 2**21  # entries of a working block


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
