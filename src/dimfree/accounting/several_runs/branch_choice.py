"""The branches of a run as one privacy loss: the worst of them at every level (P9).

A run is Gaussian releases, then one of several branches, chosen by public numbers. The Gaussians of several runs add up
by precision; the choice of each run enters a composition by its profile D*.
Proof: proofs/accounting/several_runs/composed_runs.md (M9).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dimfree.accounting.events import Branch, branches_profile

_FAR = 600.0  # a level above every finite loss that floats resolve
_CHUNK = 1024  # levels at a time: a ladder makes a column for each of its rungs
_SETTLED = 1e-3  # how far above its limit, relatively, a profile may be at its edge


@dataclass(frozen=True)
class BranchChoice:
    """One public choice among branches, or a refusal."""

    branches: tuple[Branch, ...]

    def profile(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """D*(x), an upper bound on the divergence at every real level x, in both directions."""
        parts = [self._profile(x[start : start + _CHUNK]) for start in range(0, len(x), _CHUNK)]
        return np.minimum(np.concatenate(parts), 1.0)

    def _profile(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return branches_profile(self.branches, x)

    def edge(self) -> float:
        """A level at which the profile is within 0.1 % of its limit. Any level is sound; a larger one is tighter."""
        level, limit = 0.5, self._limit()
        while level < _FAR and float(self.profile(np.array([level]))[0]) > limit * (1 + _SETTLED) + 1e-16:
            level *= 1.25
        return level

    def _limit(self) -> float:
        """The limit of the profile: the probability that everything is revealed."""
        return float(self.profile(np.array([_FAR]))[0])
