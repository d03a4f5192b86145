"""The privacy curve of one run, as a distribution of privacy losses whose moments a ledger can add up (L1).

Notation: x = a level of loss, a = e^x; D = an upper bound on the divergence of the run at that level, in both
directions; p = mass of an atom. Proof: proofs/ledger/spending.md.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import logsumexp

from dimfree._types import Floats
from dimfree.accounting.discrete import reserve
from dimfree.accounting.events import Costs
from dimfree.accounting.precision import compose, hockey_stick

_BELOW, _ABOVE = 60, 42  # levels below epsilon and above; any number is valid, more are tighter: these to 0.5 %
_FARTHEST = 3.0  # times epsilon: larger losses count as infinite
# Times the limit: where the curve may be cut. What is beyond counts as an infinite loss.
_TRUNCATIONS = (1.0005, 1.01, 1.05, 1.2, 1.5, 2.0, 4.0, 10.0)
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Losses:
    """Atoms of loss with their masses, and the mass of an infinite loss."""

    levels: Floats
    masses: Floats
    told: float

    def moments(self, orders: tuple[float, ...]) -> tuple[float, ...]:
        """ln E[e^{(order - 1) L}] given a finite loss, rounded up; infinite if the loss is always infinite."""
        if self.told >= 1:
            return (math.inf,) * len(orders)
        totals = logsumexp(np.outer(np.array(orders) - 1, self.levels), b=self.masses, axis=1)
        return tuple((np.maximum(0.0, totals - math.log1p(-self.told)) * (1 + _ROUNDING) + _ROUNDING).tolist())

    def behind(self, mu: float, x: Floats) -> Floats:
        """The curve, at levels x, of Gaussian releases of precision mu² followed by a release with these losses."""
        return self.told + hockey_stick(mu, x[:, None] - self.levels) @ self.masses * (1 + _ROUNDING)


@lru_cache(maxsize=64)  # a function of public numbers
def losses_of(run: Costs) -> tuple[Losses, ...]:
    """Several distributions that all dominate the run: more mass on an infinite loss leaves smaller finite losses."""
    x = _levels(run.budget.usable_epsilon)
    values = run_profile(run, x)
    return tuple(_chords(x[: end + 1], values[: end + 1]) for end in _ends(values))


def run_profile(run: Costs, x: Floats) -> Floats:
    """D at levels x >= 0 (P9), discrete noise included (M8): of the Gaussians before the branch, then of all branches.

    Each branch is evaluated once, at few levels; its chords take the place of its curve.
    """
    if run.filtered:
        raise ValueError("A run behind the filter of P1 is charged by its guarantee.")
    levels, slack = _levels(run.budget.usable_epsilon), reserve(run.budget.usable_epsilon, run.budget.delta)
    worst = np.zeros(len(levels))
    for branch in run.menu:
        values = branch.without_searches(levels)
        worst = np.maximum(worst, _chords(levels, values).behind(branch.search_mu, levels))
    mu = compose(event.mu for event in run.before)
    ideal = _chords(levels, worst).behind(mu, x - slack.epsilon)
    return math.exp(slack.ratio) * ideal * (1 + _ROUNDING) + slack.tail


def _levels(epsilon: float) -> Floats:
    """From 0 past epsilon, the closest to each other just above it."""
    above = 1 + (_FARTHEST - 1) * np.linspace(0.0, 1.0, _ABOVE) ** 2
    return epsilon * np.concatenate([np.linspace(0.0, 1.0, _BELOW, endpoint=False), above])


def _ends(values: Floats) -> list[int]:
    """Where each truncation cuts the curve: beyond, it counts as constant."""
    found = {int(np.argmax(values <= factor * values[-1])) for factor in _TRUNCATIONS}
    return sorted(found, reverse=True)


def _chords(x: Floats, values: Floats) -> Losses:
    """Chords between these values, mirrored to negative levels, as atoms: a change of slope at a is mass on ln a."""
    values = np.minimum.accumulate(np.minimum(values, 1.0))  # a divergence falls with the level
    levels = np.concatenate([-x[:0:-1], x])
    mirrored = -np.expm1(-x[:0:-1]) + np.exp(-x[:0:-1]) * values[:0:-1]  # D(1/a) = 1 - 1/a + D(a)/a
    a, heights = np.exp(levels), np.concatenate([mirrored, values])
    gaps = np.diff(a, prepend=0.0)
    slopes = np.append(np.diff(heights, prepend=1.0) / gaps, 0.0)
    masses = np.maximum(np.diff(slopes), 0.0) * a + _ROUNDING * heights * a / gaps  # rounding may have made it concave
    return Losses(levels, masses, float(heights[-1]) * (1 + _ROUNDING))
