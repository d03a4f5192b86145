"""A count with noise that is exactly private: shows what secret coins before it give away."""

import math

from dimfree.audit.noise_doubles import Law


def noisy_number(numbers: Law, inner: float, least: int, most: int) -> Law:
    """A whole number plus two-sided geometric noise, held within least … most: tight at `inner`."""
    q = math.exp(-inner)
    found: Law = dict.fromkeys(range(least, most + 1), 0.0)
    for number, chance in numbers.items():
        for outcome in range(least, most + 1):
            edge = 1 / (1 + q) if outcome in (least, most) else (1 - q) / (1 + q)
            found[outcome] += chance * edge * q ** abs(outcome - number)  # type: ignore[operator]
    return found
