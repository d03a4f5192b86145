"""A noisy total: the number of records, or the total weight (M6, P3, P5'). Proof: proofs/mechanisms/count.md."""

from fractions import Fraction

import numpy as np

from dimfree._types import Integers
from dimfree.accounting.events import COUNT_STEPS, charged_gaussian, counted_records
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
    count = int(space.summed(number_of, 1)[0])
    event = charged_gaussian(COUNT_STEPS, mu, 1, 1 / COUNT_STEPS, "number of valid records")
    drawn = int(noise.gaussian(event.stddev, 1)[0])
    return Measured((count * COUNT_STEPS + drawn) / COUNT_STEPS, event)


def number_of(rows: Rows) -> Integers:
    return np.array([len(rows)], dtype=np.int64)


def noisy_total(total: Fraction, sensitivity: float, mu: float, purpose: str, *, noise: Noise) -> Measured[float]:
    """A total rounded to the grid plus Gaussian noise of precision mu²; rounding adds one step of sensitivity."""
    steps = sensitivity * COUNT_STEPS + 1
    event = charged_gaussian(steps, mu, 1, 1 / COUNT_STEPS, purpose)
    drawn = int(noise.gaussian(event.stddev, 1)[0])
    return Measured((int(total * COUNT_STEPS) + drawn) / COUNT_STEPS, event)
