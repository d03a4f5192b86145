"""Straight lines on logarithmic scales, with the standard error of their slope."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Line:
    """y ≈ scale · x^slope, by least squares on the logarithms; the error is None where two points say nothing of it."""

    slope: float
    error: float | None
    scale: float

    @property
    def words(self) -> str:
        return f"{self.slope:.3f}" + ("" if self.error is None else f" ± {self.error:.3f}")

    def at(self, x: float) -> float:
        return self.scale * x**self.slope

    def verdict(self, most: float) -> str:
        """Whether the slope is at most `most`, two standard errors apart."""
        if self.error is None:
            return "too few points to say"
        if self.slope + 2 * self.error <= most:
            return "met"
        return "not met" if self.slope - 2 * self.error > most else "within two standard errors of the bound"


def fitted(along: Sequence[float], values: Sequence[float]) -> Line | None:
    """None below two different places."""
    if len(set(along)) < 2:
        return None
    x, y = np.log(along), np.log(values)
    centred = x - x.mean()
    slope = float(centred @ y / (centred @ centred))
    rest = y - y.mean() - slope * centred
    freedom = len(x) - 2
    error = math.sqrt(float(rest @ rest) / freedom / float(centred @ centred)) if freedom > 0 else None
    return Line(slope, error, math.exp(float(y.mean()) - slope * float(x.mean())))
