"""The one bit that leaves the stability test (P6). Proof: proofs/mechanisms/bit.md."""

from dimfree.accounting.ladder import DENOMINATOR, Ladder
from dimfree.noise import Noise


def passes(statistic: int, ladder: Ladder, *, noise: Noise) -> bool:
    """True with probability exactly p_T; its cost is the ladder's, charged by the branch of the ledger's menu."""
    return noise.coin(ladder.numerator(statistic), DENOMINATOR)
