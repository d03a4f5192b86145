"""A noisy total: the number of records, or the total weight (M6, P3, P5'). Proof: proofs/mechanisms/count.md."""

from fractions import Fraction

import numpy as np

from dimfree._types import Integers
from dimfree.accounting.events import COUNT_STEPS, charged_gaussian, counted_records, refining_bits
from dimfree.data.blocks import Rows
from dimfree.geometry.space import Space
from dimfree.mechanisms import Measured
from dimfree.noise import Noise


def noisy_count(count: int, stddev: float, *, noise: Noise) -> Measured[float]:
    """The number of records plus Gaussian noise; sensitivity one record, exactly on the grid (P5')."""
    event = counted_records(stddev)
    drawn = int(noise.gaussian(event.stddev, 1)[0])
    return Measured((count * COUNT_STEPS + drawn) / COUNT_STEPS, event)


def noisy_valid_count(space: Space, mu: float, *, noise: Noise) -> Measured[float]:
    """The number of valid records plus Gaussian noise; one record moves it by at most one, an exchange too."""
    total, bits = space.summed(_number_of, 1), refining_bits(1.0, mu)
    event = charged_gaussian(2.0**bits, mu, 1, 1 / 2**bits, "number of valid records")
    noisy = total * 2**bits + noise.gaussian(event.stddev, 1)
    return Measured(float(noisy[0]) * event.step, event)


def _number_of(rows: Rows) -> Integers:
    return np.array([len(rows)], dtype=np.int64)


def noisy_total(total: Fraction, sensitivity: float, mu: float, purpose: str, *, noise: Noise) -> Measured[float]:
    """A total rounded to the grid plus Gaussian noise of precision mu²; rounding adds one step of sensitivity."""
    steps = sensitivity * COUNT_STEPS + 1
    event = charged_gaussian(steps, mu, 1, 1 / COUNT_STEPS, purpose)
    drawn = int(noise.gaussian(event.stddev, 1)[0])
    return Measured((int(total * COUNT_STEPS) + drawn) / COUNT_STEPS, event)
