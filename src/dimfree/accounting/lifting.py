"""The exact cost of a mechanism that runs after the paper's BasicFilter (P1).

Proof: proofs/accounting/lifting.md.
"""

import math

_LARGEST = 20.0  # a larger epsilon is used as this one: the lifting's factor on delta grows like its exponential


def before_lifting(epsilon: float, delta: float) -> tuple[float, float]:
    """The (epsilon, delta) that the mechanism on friendly data may spend for a total of (epsilon, delta)."""
    epsilon = min(epsilon, _LARGEST)
    return math.log1p(epsilon / 2) * (1 - 1e-14), delta * epsilon / (2 * math.expm1(epsilon)) * (1 - 1e-12)


def after_lifting(epsilon: float, delta: float) -> tuple[float, float]:
    """The total cost of a mechanism that is (epsilon, delta)-private on friendly data, rounded up."""
    c = math.expm1(epsilon)
    return 2 * c * (1 + 1e-15), math.expm1(2 * c) / c * delta * (1 + 1e-13)  # c's rounding is doubled in the exponent
