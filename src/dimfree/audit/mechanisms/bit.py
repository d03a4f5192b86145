"""The bit of the stability test, between a noisy count and a Gaussian (P6, P9)."""

import math
from fractions import Fraction

from dimfree.accounting.budget import Budget
from dimfree.accounting.calibrate import Calibration, calibrate_private_count, calibrate_public_count
from dimfree.accounting.ladder import DENOMINATOR, Ladder
from dimfree.accounting.precision import compose
from dimfree.audit.audited import Audited, ExactCheck
from dimfree.audit.exact.divergence import CountBitMean, WorstOf
from dimfree.audit.noise_doubles import ZeroNoise
from dimfree.kernel.statistics.bit import passes

_FAILURE = 0.01
_SEARCH_SHARE = 0.07  # of the squared mu: what the estimators give their searches


def bit(epsilon: float, delta: float) -> WorstOf:
    """Every branch that this budget is calibrated to, after the noisy count."""
    return _branches(calibrate_private_count(Budget(epsilon, delta), _FAILURE))


def searched_bit(epsilon: float, delta: float) -> WorstOf:
    """The same after a count and a search."""
    return _branches(calibrate_private_count(Budget(epsilon, delta), _FAILURE, search_share=_SEARCH_SHARE))


def public_bit(epsilon: float, delta: float) -> WorstOf:
    """Replace-one: nothing before the bit."""
    return _branches(calibrate_public_count(Budget(epsilon, delta), _FAILURE))


def _branches(found: Calibration) -> WorstOf:
    count = 1 / found.count_stddev if found.count_stddev else 0.0
    return WorstOf([CountBitMean(_tossed(b.ladder), compose((count, b.search_mu)), b.mu) for b in found.tested])


def _tossed(ladder: Ladder) -> Ladder:
    """The coins that the code tosses, at every statistic and one beyond."""
    noise = ZeroNoise()
    if not all(passes(statistic, ladder, noise=noise) for statistic in range(ladder.length + 2)):
        raise AssertionError("Heads must pass.")
    coins = [Fraction(int(numerator), denominator) * DENOMINATOR for _, numerator, denominator in noise.asked]
    return Ladder(tuple(math.ceil(coin) for coin in coins))


AUDIT = Audited(
    exact={
        "bit and Gaussian": ExactCheck(bit),
        "bit after a search": ExactCheck(searched_bit),
        "bit, replace-one": ExactCheck(public_bit),
    }
)
