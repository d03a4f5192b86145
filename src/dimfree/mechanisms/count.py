"""A noisy total: the number of records, or the total weight (M6, P3, P5'). Proof: proofs/mechanisms/count.md."""

from fractions import Fraction

from dimfree.accounting.events import Gaussian
from dimfree.mechanisms import Measured
from dimfree.noise import Noise

_STEPS = 2**14  # grid steps to one record


def noisy_count(count: int, stddev: float, *, noise: Noise) -> Measured[float]:
    """The number of records plus Gaussian noise; sensitivity one record, exactly on the grid (P5')."""
    event = Gaussian("number of records", _STEPS, stddev * _STEPS, 1, 1 / _STEPS)
    drawn = int(noise.gaussian(event.stddev, 1)[0])
    return Measured((count * _STEPS + drawn) / _STEPS, event)


def noisy_total(total: Fraction, sensitivity: float, mu: float, purpose: str, *, noise: Noise) -> Measured[float]:
    """A total rounded to the grid plus Gaussian noise of precision mu²; rounding adds one step of sensitivity."""
    steps = sensitivity * _STEPS + 1
    event = Gaussian(purpose, steps, steps / mu * (1 + 1e-15), 1, 1 / _STEPS)
    drawn = int(noise.gaussian(event.stddev, 1)[0])
    return Measured((int(total * _STEPS) + drawn) / _STEPS, event)
