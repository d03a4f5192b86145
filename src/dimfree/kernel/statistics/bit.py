"""The bit that the stability test releases (P6). Proof: proofs/statistics/stable.md."""

from dimfree.accounting.ladder import DENOMINATOR, Ladder
from dimfree.noise import Noise


def passes(statistic: int, ladder: Ladder, *, noise: Noise) -> bool:
    """True with probability exactly p_T; its cost is part of the branch (`Tested`) that the run states."""
    return noise.coin(ladder.numerator(statistic), DENOMINATOR)
