"""Costs that are not Gaussian, and loss distributions on a grid, by whose convolution any costs compose (M9).

A cost (of Laplace noise, of thresholded counts) has a curve, its profile:
an upper bound on the hockey-stick divergence between the outputs of neighbors at every real level x, in both
directions. A curve is replaced by the chords between its values at some levels ("connect the dots"), which lie above
it; the chords are the curve of a discrete distribution of losses, and those compose by convolution. What the Fourier
transforms may lose is added back. Proof: proofs/accounting/composition.md.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree._validate import check_positive, check_probability

_TRANSFORM = 12 * 2.0**-52  # error of one convolution by Fourier transforms, per sqrt(length)·log2(length)
_FLOOR = 1e-13  # everything else that is rounded; no delta below ten times this is returned
_LEVEL = 1e-12  # relative shift of the level against the rounding of losses
_LEVELS = 256  # on either side of 0, of a curve that is slow to evaluate: 1 % above all levels of the grid
_FEW = 32  # with up to this number of atoms on one side, shifted copies are added: no transform, nothing to lose


@dataclass(frozen=True)
class Pure:
    """One release that is epsilon-private (delta = 0)."""

    purpose: str
    epsilon: float

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)

    def profile(self, x: Floats) -> Floats:
        return response_profile(self.epsilon, 0.0, x)


@dataclass(frozen=True)
class Approximate:
    """One release that is (epsilon, delta)-private and otherwise unknown."""

    purpose: str
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_probability("delta", self.delta)

    def profile(self, x: Floats) -> Floats:
        return response_profile(self.epsilon, self.delta, x)


Loss = Pure | Approximate


def response_profile(epsilon: float, delta: float, x: Floats) -> Floats:
    """Return the largest profile of an (epsilon, delta)-private release: a failure, or a randomized response."""
    inside = -np.expm1(np.minimum(x - epsilon, 0.0)) / (1 + math.exp(-epsilon))
    equal = -np.expm1(np.minimum(x, 0.0))  # (1 - e^x)_+, the profile of two equal outputs; no profile is below it
    curve = delta + (1 - delta) * np.where(x <= -epsilon, equal, inside)
    return np.minimum(curve * (1 + 1e-11), 1.0)  # rounded up by more than the float errors above


@dataclass(frozen=True, eq=False)
class Dots:
    """A discrete distribution of privacy losses whose profile is nowhere below that of the release."""

    interval: float
    first: int  # masses[j] lies at the loss (first + j)·interval
    masses: Floats
    infinite: float  # the mass at an infinite loss
    lost: float = 0.0  # a bound on the mass misplaced by rounding

    @classmethod
    def connect_levels(cls, curve: Callable[[Floats], Floats], steps: NDArray[np.int64], interval: float) -> "Dots":
        """Make chords of `curve`, convex in e^x, between the levels steps · interval; constant above the last one."""
        values = np.minimum(curve(np.asarray(steps * interval, dtype=np.float64)), 1.0)
        falling = np.maximum.accumulate(values[::-1])[::-1]  # rounding may have made it rise; the larger is kept
        drops, gaps = np.diff(falling), np.diff(steps) * interval
        with np.errstate(over="ignore"):  # levels hundreds apart: the chord is flat
            left = np.append(1 - falling[0], drops / np.expm1(-gaps))  # minus the slope before each level, times e^x
            right = np.append(drops / np.expm1(gaps), 0.0)  # the slope after it
        masses = np.zeros(int(steps[-1] - steps[0]) + 1)
        masses[steps - steps[0]] = np.maximum(left + right, 0.0)  # where values are not convex: 0, the private side
        return cls(interval, int(steps[0]), masses, float(falling[-1]))

    def then(self, other: "Dots") -> "Dots":
        """Compose both in sequence; the second may depend on the output of the first."""
        if self.interval != other.interval:
            raise ValueError("The two distributions must have the same grid of losses.")
        masses, lost = _convolve(self.masses, other.masses)
        finite, all_other = float(self.masses.sum()), float(other.masses.sum()) + other.infinite
        infinite = self.infinite * all_other + finite * other.infinite
        return Dots(self.interval, self.first + other.first, masses, infinite, self.lost + other.lost + lost)

    def compose_times(self, times: int) -> "Dots":
        """Compose the same release `times` times."""
        if times == 1:
            return self
        half = self.compose_times(times // 2)
        return half.then(half).then(self) if times % 2 else half.then(half)

    def delta(self, level: float) -> float:
        """Return the curve at one level, rounded up."""
        losses = (self.first + np.arange(self.masses.size)) * self.interval
        lost = -np.expm1(np.minimum(level - _LEVEL * (1 + abs(level)) - losses, 0.0))
        found = self.infinite + float((self.masses * lost).sum())
        return min(1.0, found * (1 + 1e-12) + self.lost + _FLOOR)


def _convolve(one: Floats, other: Floats) -> tuple[Floats, float]:
    """Convolve two lists of masses; also return a bound on the mass that rounding misplaces."""
    few, many = sorted((one, other), key=np.count_nonzero)
    size, atoms = few.size + many.size - 1, np.flatnonzero(few)
    if atoms.size <= _FEW:
        result = np.zeros(size)
        for at in atoms:
            result[at : at + many.size] += few[at] * many
        return result, (atoms.size + 1) * 2.0**-52
    length = 1 << (size - 1).bit_length()
    product = np.fft.rfft(few, length) * np.fft.rfft(many, length)
    result = np.maximum(np.fft.irfft(product, length)[:size], 0.0)  # below 0 by rounding only
    return result, _TRANSFORM * math.sqrt(length) * math.log2(length)


def between(edge: float, interval: float) -> NDArray[np.int64]:
    """Return all steps from -edge to edge, rounded outwards."""
    last = math.ceil(edge / interval)
    return np.arange(-last, last + 1, dtype=np.int64)


def space_levels(edge: float, scale: float, interval: float) -> NDArray[np.int64]:
    """Return some steps from -edge to edge: even up to about `scale`, then ever farther apart."""
    last, unit = math.ceil(edge / interval), scale / interval
    places = unit * np.sinh(np.linspace(0.0, math.asinh(last / unit), _LEVELS + 1))
    above = np.minimum(np.round(places), last).astype(np.int64)
    return np.unique(np.concatenate([-above, above, [-last, last]]))


def around(edge: float, interval: float) -> NDArray[np.int64]:
    """Return the steps next to -edge and to edge, where a curve bends that is a chord in between."""
    below, above = math.floor(edge / interval), math.ceil(edge / interval)
    return np.unique(np.array([-above, -below, below, above], dtype=np.int64))
