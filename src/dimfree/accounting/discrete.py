"""The part of a total budget that is left for its releases, after discrete noise (M8) or the paper's filter (P1).

On integer values the discrete Gaussian is not a post-processing of the continuous one, so its exact privacy is
charged separately: a tiny amount of epsilon and delta for every release, which the grid keeps below a millionth.
Proofs: proofs/accounting/discrete.md, lifting.md.
"""

import math
from dataclasses import dataclass

MAX_RELEASES = 1000  # a public limit on the Gaussian releases in one run
EPSILON_SHARE = 1e-6  # of epsilon, reserved for all of them together
DELTA_SHARE = 2e-3  # of delta, reserved likewise: half for the tails, half for the factor exp(entropy loss)
_MAX_LIFTED = 20.0  # a larger epsilon is used as this one: the lifting's factor on delta grows exponentially


@dataclass(frozen=True)
class Slack:
    """Extra (epsilon, delta) of a discrete release over the continuous one."""

    ratio: float  # e1: the ideal delta is multiplied by exp(ratio)
    epsilon: float  # e1 + e2
    tail: float  # probability of noise outside the ball where the comparison holds


def tail_exponent(delta: float) -> float:
    """Return the x of M8: each release may leave its ball with probability e^-x."""
    return math.log(1000 * MAX_RELEASES / delta)


def slack(stddev: float, sensitivity: float, dimension: int, delta: float) -> Slack:
    """Return the slack of M8 for one release; `stddev` and `sensitivity` in grid units, stddev >= 1."""
    x = tail_exponent(delta)
    ball = stddev * math.sqrt(dimension + 2 * math.sqrt(dimension * x) + 2 * x) + sensitivity
    e1 = dimension / (8 * stddev**2)
    e2 = ball**2 / (8 * stddev**4) + 3 * dimension * math.exp(-2 * math.pi**2 * stddev**2)
    return Slack(ratio=e1, epsilon=e1 + e2, tail=math.exp(-x))


def idealize(epsilon: float, delta: float) -> tuple[float, float]:
    """Return the budget of the continuous releases if (epsilon, delta) is the total."""
    return epsilon * (1 - EPSILON_SHARE), delta * (1 - DELTA_SHARE)


def reserve(epsilon: float, delta: float) -> Slack:
    """Return the largest total slack of all discrete releases of one run, whichever of them are made."""
    share = EPSILON_SHARE * epsilon
    return Slack(ratio=share, epsilon=share, tail=MAX_RELEASES * math.exp(-tail_exponent(delta)))


def before_lifting(epsilon: float, delta: float) -> tuple[float, float]:
    """Return the (epsilon, delta) of a mechanism on friendly data for a total after the paper's filter (P1)."""
    epsilon = min(epsilon, _MAX_LIFTED)
    return math.log1p(epsilon / 2) * (1 - 1e-14), delta * epsilon / (2 * math.expm1(epsilon)) * (1 - 1e-12)


def after_lifting(epsilon: float, delta: float) -> tuple[float, float]:
    """Return the total cost of a mechanism that is (epsilon, delta)-private on friendly data, rounded up (P1)."""
    c = math.expm1(epsilon)
    return 2 * c * (1 + 1e-15), math.expm1(2 * c) / c * delta * (1 + 1e-13)  # c's rounding is doubled in the exponent
