"""The error of Algorithm 1 with every constant (thm:accuracy_main), at the user's total budget, and when it reaches α.

Notation: α = accuracy, β' = the failure probability of one of the proof's events, M = the shape of the noise,
λ = the distance of friends, A = M^-1/4 Σ M^-1/4, (ε', δ') = what the theorem calls (ε, δ): the budget of one step.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dimfree.accounting.lifting import before_lifting
from dimfree.planning.paper_bounds.aim import Aim

_WIDEST_EPSILON = 10.0  # where thm:main-customizable ends; a larger budget is used as this one


@dataclass(frozen=True)
class ErrorBound:
    """The error of thm:accuracy_main in units of α: sampling/n^1/2 + noise·λ/n, λ = flat + steep·log(n/β')^1/2."""

    sampling: float
    noise: float
    flat: float
    steep: float
    failure: float
    count: float

    @classmethod
    def of(cls, aim: Aim, roots: NDArray[np.float64]) -> Self:
        """`roots` are the roots of M's eigenvalues, one for each of the aim's standard deviations."""
        inside, delta_inside = before_lifting(min(aim.epsilon, _WIDEST_EPSILON), aim.delta)  # P1
        epsilon, delta = inside / 2, delta_inside / 1.5  # a count, ε'; a mean, (ε', δ'); δ'/2 for too high a count
        failure = aim.failure * 2 / 7
        sure, rescaled = -math.log(failure), aim.spread**2 / roots
        reach = math.sqrt(float(roots.sum())) + math.sqrt(2 * float(roots.max()) * sure)
        return cls(
            sampling=math.sqrt(aim.square) + math.sqrt(2 * sure) * aim.largest,
            noise=4 * math.sqrt(2 * math.log(1.25 / delta)) * reach / epsilon,
            flat=math.sqrt(2 * float(rescaled.sum())),
            steep=math.sqrt(8 * float(rescaled.max())),
            failure=failure,
            count=2 * (sure - math.log(delta)) / epsilon,
        )

    def radius(self, records: float) -> float:
        """The smallest λ that the theorem allows."""
        return self.flat + self.steep * math.sqrt(math.log(records / self.failure))

    def records(self, sampling: float, radius: float | None) -> float:
        """The n at which the error is α: with λ held, a quadratic in n^1/2; λ follows, a contraction by 2/5 or less."""
        found = 1.0
        for _ in range(60):
            pull = self.noise * (self.radius(found) if radius is None else radius)
            found = max(1.0, ((sampling + math.sqrt(sampling**2 + 4 * pull)) / 2) ** 2)
        return found
