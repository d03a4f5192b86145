"""The branches of a run as one privacy loss: the worst of them at every level (P9).

A run is Gaussian releases, then one of several branches, chosen by public numbers. The Gaussians of several runs add up
by precision; the choice of each run enters a composition by its profile D*.
Proof: proofs/accounting/composition.md (M9).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dimfree.accounting.events import Branch, branches_profile

_FAR = 600.0  # a level above every finite loss that floats resolve
_PIECE, _SPAN = 130, 8.0  # levels at a time at most, and how far apart: each piece has a grid of its own
_SETTLED = 1e-3  # how far above its limit, relatively, a profile may be at its edge
_TAIL = 6.0  # standard deviations of the searches' loss by which they move the edge


@dataclass(frozen=True)
class BranchChoice:
    """One public choice among branches, or a refusal."""

    branches: tuple[Branch, ...]

    def profile(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """D*(x), an upper bound on the divergence at every real level x, in both directions.

        Below 0 from the level -x of the other direction: H(P, Q; -x) = 1 - e^-x + e^-x H(Q, P; x).
        """
        levels, places = np.unique(np.abs(x), return_inverse=True)
        cuts = np.flatnonzero(np.diff(np.arange(len(levels)) // _PIECE) + np.diff(levels // _SPAN)) + 1
        parts = [branches_profile(self.branches, piece) for piece in np.split(levels, cuts)]
        values = np.minimum(np.concatenate(parts), 1.0)[places]
        below = np.minimum(x, 0.0)
        return np.minimum(-np.expm1(below) + np.exp(below) * values * (1 + 1e-14), 1.0)

    def edge(self) -> float:
        """A level at which the profile is within 0.1 % of its limit. Any level is sound; a larger one is tighter."""
        levels = np.append(np.geomspace(_FAR / 2**10, _FAR, 33), _FAR)
        values = np.max([branch.without_searches(levels) for branch in self.branches], axis=0)
        level = float(levels[np.argmax(values <= values[-1] * (1 + _SETTLED) + 1e-16)])
        searches = max(branch.search_mu for branch in self.branches)
        return level + searches * (_TAIL + searches / 2)

    def scale(self) -> float:
        """About how large a privacy loss is likely to be."""
        return 6 * max(branch.mu for branch in self.branches)
