"""The privacy curve of one run, as a distribution of privacy losses whose moments a ledger can add up (L1).

Notation: x = a level of loss, a = e^x; D = an upper bound on the divergence of the run at that level, in both
directions; p = mass of an atom. Proof: proofs/ledger/spending.md.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from dimfree._types import Floats
from dimfree.accounting.discrete import Slack, reserve
from dimfree.accounting.events import Costs
from dimfree.accounting.lifting import after_lifting, before_lifting
from dimfree.accounting.precision import compose
from dimfree.accounting.profile import after_gaussians
from dimfree.accounting.several_runs.branch_choice import BranchChoice

_LEVELS = 400  # below epsilon, and as many above; any number is valid, more are tighter
_PIECE, _CHORDS = 400, 1000  # levels at a time, and chords for each
_FARTHEST = 3.0  # times epsilon: larger losses count as infinite
_SETTLED = 1.005  # times the limit: a curve this close counts as having reached it
# Times the limit: where the curve may be cut. What is beyond counts as an infinite loss.
_TRUNCATIONS = (1.0005, 1.01, 1.05, 1.2, 1.5, 2.0, 4.0, 10.0)
_LARGEST_LIFTED, _TINY = 20.0, 1e-9
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Losses:
    """Atoms of loss with their masses, and the mass of an infinite loss."""

    levels: Floats
    masses: Floats
    told: float

    def moment(self, order: float) -> float:
        """ln E[e^{(order - 1) L}] given a finite loss, rounded up; infinite where the loss is always infinite."""
        if self.told >= 1:
            return math.inf
        terms = (order - 1) * self.levels
        total = float(logsumexp(terms, b=self.masses)) - math.log1p(-self.told)
        return max(0.0, total) * (1 + _ROUNDING) + _ROUNDING


@lru_cache(maxsize=64)  # seconds each; a function of public numbers
def losses_of(run: Costs) -> tuple[Losses, ...]:
    """Several distributions that all dominate the run: more mass on an infinite loss leaves smaller finite losses."""
    x = _levels(run)
    values = np.minimum.accumulate(np.minimum(run_profile(run, x), 1.0))  # a divergence falls with the level
    return tuple(_atoms(x, values, end) for end in _ends(values))


def run_profile(run: Costs, x: Floats) -> Floats:
    """D at levels x >= 0, discrete noise included: of the Gaussians before the branch, then of all branches."""
    if run.filtered:
        return _lifted(run, x)
    slack = reserve(run.budget.usable_epsilon, run.budget.delta)  # M8
    return _unfiltered(run, slack, x)


def _unfiltered(run: Costs, slack: Slack, x: Floats) -> Floats:
    """P9 at every level, in pieces on which the chords are fine."""
    mu, menu = compose(event.mu for event in run.before), BranchChoice(run.menu)
    pieces = [x[start : start + _PIECE] - slack.epsilon for start in range(0, len(x), _PIECE)]
    ideal = np.concatenate([after_gaussians(mu, menu.profile, piece, _CHORDS) for piece in pieces])
    return math.exp(slack.ratio) * ideal * (1 + _ROUNDING) + slack.tail


def _lifted(run: Costs, x: Floats) -> Floats:
    """P1 at every level: a mechanism that is (ln(1 + x/2), D)-private on friendly data costs x in total."""
    promised = min(run.budget.usable_epsilon, _LARGEST_LIFTED)
    levels = np.clip(x, _TINY, _LARGEST_LIFTED)
    inside = np.array([before_lifting(level, run.budget.delta)[0] for level in levels])
    inner = _unfiltered(run, reserve(*before_lifting(promised, run.budget.delta)), inside)
    lifted = np.array([after_lifting(each, value)[1] for each, value in zip(inside, inner, strict=True)])
    return lifted + np.where(x < _TINY, 2 * _TINY, 0.0)  # from level 0 to this one a divergence falls by no more


def _levels(run: Costs) -> Floats:
    """From 0 past epsilon to where the curve has reached its limit."""
    epsilon = run.budget.usable_epsilon
    far = epsilon * np.linspace(1.0, _FARTHEST, 41)
    values = np.minimum.accumulate(run_profile(run, far))
    last = float(far[np.argmax(values <= _SETTLED * values[-1])])
    below = np.linspace(0.0, epsilon, _LEVELS, endpoint=False)
    return np.concatenate([below, np.linspace(epsilon, max(last, 1.05 * epsilon), _LEVELS)])


def _ends(values: Floats) -> list[int]:
    """Where each truncation cuts the curve: beyond, it counts as constant."""
    found = {int(np.argmax(values <= factor * values[-1])) for factor in _TRUNCATIONS}
    return sorted(found, reverse=True)


def _atoms(x: Floats, values: Floats, end: int) -> Losses:
    """The lower hull of the values, mirrored to negative levels, as atoms: a change of slope at a is mass on ln a."""
    x, values = x[: end + 1], values[: end + 1]
    levels = np.concatenate([-x[:0:-1], x])
    mirrored = -np.expm1(-x[:0:-1]) + np.exp(-x[:0:-1]) * values[:0:-1]  # D(1/a) = 1 - 1/a + D(a)/a
    a, heights = np.exp(levels), np.concatenate([mirrored, values])
    kept = _lower_hull(np.append(0.0, a), np.append(1.0, heights))[1:] - 1
    a, heights, levels = a[kept], heights[kept], levels[kept]
    gaps = np.diff(np.append(0.0, a))
    slopes = np.append(np.diff(np.append(1.0, heights)) / gaps, 0.0)
    masses = np.maximum(np.diff(slopes), 0.0) * a + _ROUNDING * heights * a / gaps
    return Losses(levels, masses, float(heights[-1]) * (1 + _ROUNDING))


def _lower_hull(a: Floats, heights: Floats) -> NDArray[np.intp]:
    """The points that carry the largest convex function below all of them."""
    kept: list[int] = []
    for new in range(len(a)):
        while len(kept) > 1 and _above(a, heights, kept[-2], kept[-1], new):
            kept.pop()
        kept.append(new)
    return np.array(kept, dtype=np.intp)


def _above(a: Floats, heights: Floats, left: int, middle: int, right: int) -> bool:
    """Whether the middle point lies on or above the chord of the other two."""
    rise = (heights[right] - heights[left]) * (a[middle] - a[left])
    return bool((heights[middle] - heights[left]) * (a[right] - a[left]) >= rise)
