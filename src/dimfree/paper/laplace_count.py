"""The number of records plus discrete Laplace noise: pure, so it adds up with other epsilons (M6).

Proof: proofs/paper/kernel.md.
"""

import math

from dimfree.accounting.losses import Pure
from dimfree.noise import Noise
from dimfree.paper.charged import Charged


def laplace_count(count: int, epsilon: float, *, noise: Noise) -> Charged[int, Pure]:
    """Add/remove: n̂ with (epsilon, 0); one record moves the count by one."""
    drawn = int(noise.laplace(1 / epsilon * (1 + 1e-15), 1)[0])
    return Charged(count + drawn, Pure("number of records", epsilon))


def laplace_stddev(epsilon: float) -> float:
    """Of the noise, rounded up."""
    return math.sqrt(2) / epsilon
