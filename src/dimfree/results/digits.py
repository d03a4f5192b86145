"""Numbers as text, with no more digits than their noise leaves."""

import math


def with_noise_digits(noise: float, value: float) -> str:
    """As many decimals as give the noise two digits: more would be meaningless."""
    if not 1e-6 <= noise < 1e9 or abs(value) >= 1e12:
        return typeset(f"{value:.4g}")
    decimals = max(0, 1 - math.floor(math.log10(noise)))
    return typeset(f"{round(value, decimals) + 0.0:,.{decimals}f}")  # + 0.0: no sign before a zero


def typeset(text: str) -> str:
    return text.replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", "\N{MINUS SIGN}")
