"""A run's menu of branches as one loss: the bit and all that follows it, or a bounded release, whichever is worst (P9).

A run is Gaussian releases, then one branch of a public menu. The Gaussians of several runs add up by precision; each
menu enters a composition by its curve D*. Proof: proofs/accounting/several_runs/composed_runs.md (M9).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dimfree.accounting.events import Branch, branches_profile

_FAR = 600.0  # a level beyond every finite loss that floats can tell
_CHUNK = 1024  # levels at a time: a ladder makes a column for each of its rungs
_SETTLED = 1e-3  # of the limit, that a curve may still be above it at its edge


@dataclass(frozen=True)
class BranchChoice:
    """One public choice from a menu of branches, a refusal among them."""

    branches: tuple[Branch, ...]

    def profile(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """D*(x), an upper bound on the divergence at every real level x, in both directions."""
        parts = [self._profile(x[start : start + _CHUNK]) for start in range(0, len(x), _CHUNK)]
        return np.minimum(np.concatenate(parts), 1.0)

    def _profile(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return branches_profile(self.branches, x)

    def edge(self) -> float:
        """A level from which on the curve has all but reached its limit. Any is sound; a far one is tight."""
        level, limit = 0.5, self._limit()
        while level < _FAR and float(self.profile(np.array([level]))[0]) > limit * (1 + _SETTLED) + 1e-16:
            level *= 1.25
        return level

    def _limit(self) -> float:
        """What the curve falls to: the chance that everything is told."""
        return float(self.profile(np.array([_FAR]))[0])
